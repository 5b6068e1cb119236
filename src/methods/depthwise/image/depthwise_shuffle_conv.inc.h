/*
 * depthwise_shuffle_conv.inc.h: a depthwise convolution with stride 1 that loads each row of data
 * once: rolling rows.
 *
 * With K taps along y, a row of data adds to K rows of outputs, and no more are incomplete at a
 * time. Their sums are in registers. Each row of data adds to all of them; then the uppermost is
 * complete and stored, and the others move up. So a tile is a loop over the rows of data, NR
 * vectors wide. Tap kx needs the row shifted by kx - K / 2 columns, which is made of two
 * neighbouring vectors. The outermost neighbours are zeros, which are the padding, or, where the
 * image is wider than the tile, the columns beside it. With dilation D only every D-th row shares
 * data, so an image is D such loops, and a tap is a shift by D times as many columns.
 *
 * Every output sums its taps from the first row to the last, whatever rows are asked for.
 *
 * Parameters: C, LANES, NAME and INTRINSIC of isa/each_compute.inc.h
 */
#include "isa/vectors.inc.h"
#include "post_ops/epilogue.inc.h"

#define finish NAME(finish)
#define shifted NAME(shifted)
#define tile_columns NAME(tile_columns)
#define columns_at NAME(columns_at)
#define add_row NAME(add_row)
#define residue_rows NAME(residue_rows)
#define all_rows NAME(all_rows)
#define load_masked NAME(load_masked)
#define store_masked NAME(store_masked)
#define lane_mask NAME(lane_mask)

/* The lanes from `by` on of low followed by high; `by` is a literal number. */
#define ALIGN(low, high, by)                                                                       \
    (vector)(sizeof(C) == 4 ? _mm512_alignr_epi32((__m512i)(high), (__m512i)(low), by)             \
                            : _mm512_alignr_epi64((__m512i)(high), (__m512i)(low), by))

/* Applies the epilogue, if there is one, to `count` vectors of sums. */
GOPS_INLINE void finish(const gops_depthwise_image *a, vector *sum, const int count)
{
    if (a->bounds != NULL) {
        NAME(epilogue_all)(sum, count, a->bounds, broadcast(*(const C *)a->bias));
    }
}

/* The columns `by` further on than those of x, of which `before` and `after` are the neighbours. */
GOPS_INLINE vector shifted(vector before, vector x, vector after, const int by)
{
    switch (by) {
    case -4:
        return ALIGN(before, x, LANES - 4);
    case -2:
        return ALIGN(before, x, LANES - 2);
    case -1:
        return ALIGN(before, x, LANES - 1);
    case 1:
        return ALIGN(x, after, 1);
    case 2:
        return ALIGN(x, after, 2);
    case 4:
        return ALIGN(x, after, 4);
    default:
        return x;
    }
}

/* The columns that a tile loads of a row of data: masks of the tile's last vector and of the
 * vectors left and right of the tile. */
typedef struct tile_columns {
    unsigned last, left, right;
    int64_t left_from, right_from; /* relative to the tile's first column */
} tile_columns;

static inline tile_columns columns_at(int64_t column, int64_t width, int64_t vectors)
{
    const int64_t end = vectors * LANES;
    return (tile_columns){
        .last = lane_mask(0, width - column - end + LANES),
        .left = lane_mask(0, column > 0 ? LANES : 0),
        .right = lane_mask(0, width - column - end),
        /* A load with an empty mask stays within the row too. */
        .left_from = column > 0 ? -LANES : 0,
        .right_from = width - column > end ? end : 0,
    };
}

/* Adds a row of data to the K rows of sums. With NEIGHBOURS the image goes on beside the tile. */
GOPS_INLINE void add_row(const C *row, const tile_columns *columns, const vector *weight,
                         vector (*sum)[4], const int K, const int D, const int NR,
                         const int NEIGHBOURS)
{
    vector x[6];
    x[0] = x[NR + 1] = (vector){0};
    if (NEIGHBOURS) {
        x[0] = load_masked(row + columns->left_from, columns->left);
        x[NR + 1] = load_masked(row + columns->right_from, columns->right);
    }
    GOPS_UNROLL
    for (int v = 0; v < NR; v++) {
        x[v + 1] = v < NR - 1 ? *(const vector *)(const void *)(row + v * LANES)
                              : load_masked(row + v * LANES, columns->last);
    }
    GOPS_UNROLL
    for (int v = 0; v < NR; v++) {
        GOPS_UNROLL
        for (int kx = 0; kx < K; kx++) {
            const vector moved = shifted(x[v], x[v + 1], x[v + 2], D * (kx - K / 2));
            GOPS_UNROLL
            for (int ky = 0; ky < K; ky++) {
                sum[K - 1 - ky][v] += moved * weight[ky * K + kx];
            }
        }
    }
}

/* Computes `rows` rows of outputs of a filter, D apart, from row `first` on, and NR vectors of
 * columns from `column` on. */
GOPS_INLINE void residue_rows(const gops_depthwise_image *a, int64_t first, int64_t rows,
                              int64_t column, const int K, const int D, const int NR,
                              const int NEIGHBOURS)
{
    const tile_columns columns = columns_at(column, a->width, NR);
    const int64_t width = a->width, height = a->height;
    /* Rows `begin` to `full` of data complete the first row of outputs, and each one until `end`
     * completes another. Rows above the data are skipped. */
    const int64_t begin = first - a->pad_y, full = begin + (K - 1) * D, end = full + rows * D;
    int64_t y = gops_min(begin < 0 ? begin + gops_round_up(-begin, D) : begin, full);
    const C *row = (const C *)a->data + y * width + column;
    C *output = (C *)a->output + (y - full + first - a->first_row) * width + column;
    vector weight[25], sum[5][4];
    GOPS_UNROLL
    for (int i = 0; i < K * K; i++) {
        weight[i] = broadcast(((const C *)a->weights)[i]);
    }
    GOPS_UNROLL
    for (int i = 0; i < K * NR; i++) {
        sum[i / NR][i % NR] = (vector){0};
    }
    for (; y < end; y += D, row += D * width, output += D * width) {
        if (y >= 0 && y < height) {
            add_row(row, &columns, weight, sum, K, D, NR, NEIGHBOURS);
        }
        if (y >= full) {
            finish(a, sum[0], NR);
            GOPS_UNROLL
            for (int v = 0; v < NR; v++) {
                if (v < NR - 1) {
                    *(vector *)(void *)(output + v * LANES) = sum[0][v];
                } else {
                    store_masked(output + v * LANES, columns.last, sum[0][v]);
                }
            }
        }
        GOPS_UNROLL
        for (int i = 0; i < K * NR; i++) {
            sum[i / NR][i % NR] = i / NR < K - 1 ? sum[i / NR + 1][i % NR] : (vector){0};
        }
    }
}

/* Computes all rows of NR vectors of columns from `column` on; returns the column after them. */
GOPS_INLINE int64_t all_rows(const gops_depthwise_image *a, int64_t column, const int K,
                             const int D, const int NR, const int NEIGHBOURS)
{
    for (int64_t residue = 0; residue < gops_min(D, a->rows); residue++) {
        residue_rows(a, a->first_row + residue, gops_ceil_div(a->rows - residue, D), column, K, D,
                     NR, NEIGHBOURS);
    }
    return column + NR * LANES;
}

/* For images of at most NR vectors of columns, and for a tile of NR vectors of wider images. */
#define GOPS_ROLLING_VECTORS(name, K, D, NR)                                                       \
    static void NAME(name##_##NR)(const gops_depthwise_image *a)                                   \
    {                                                                                              \
        GOPS_EACH_FILTER(one, a, C)                                                                \
        {                                                                                          \
            all_rows(&one, 0, K, D, NR, 0);                                                        \
        }                                                                                          \
    }                                                                                              \
    static int64_t NAME(name##_tile_##NR)(const gops_depthwise_image *a, int64_t column)           \
    {                                                                                              \
        return all_rows(a, column, K, D, NR, 1);                                                   \
    }

#define GOPS_ROLLING_KERNEL(name, K, D)                                                            \
    GOPS_ROLLING_VECTORS(name, K, D, 1)                                                            \
    GOPS_ROLLING_VECTORS(name, K, D, 2)                                                            \
    GOPS_ROLLING_VECTORS(name, K, D, 3)                                                            \
    GOPS_ROLLING_VECTORS(name, K, D, 4)

#define GOPS_ROLLING_ROW(name)                                                                     \
    {                                                                                              \
        {NAME(name##_1), NAME(name##_2), NAME(name##_3), NAME(name##_4)},                          \
        {                                                                                          \
            NAME(name##_tile_1), NAME(name##_tile_2), NAME(name##_tile_3), NAME(name##_tile_4)     \
        }                                                                                          \
    }

GOPS_ROLLING_KERNEL(of3, 3, 1)
GOPS_ROLLING_KERNEL(of5, 5, 1)
GOPS_ROLLING_KERNEL(of3_dilated, 3, 2)
GOPS_ROLLING_KERNEL(of5_dilated, 5, 2)

/* Computes all columns of each filter: of images up to 4 vectors wide at once, of others in tiles
 * of equally many vectors but for the last. */
static void NAME(rolling)(const gops_depthwise_image *a)
{
    static const struct {
        gops_depthwise_image_fn *whole[4];
        int64_t (*tile[4])(const gops_depthwise_image *, int64_t);
    } kernels[2][2] = {{GOPS_ROLLING_ROW(of3), GOPS_ROLLING_ROW(of3_dilated)},
                       {GOPS_ROLLING_ROW(of5), GOPS_ROLLING_ROW(of5_dilated)}};
    const bool five = a->kernel_x == 5, dilated = a->dilation_x == 2;
    const int64_t vectors = gops_ceil_div(a->width, LANES);
    if (vectors <= 4) {
        kernels[five][dilated].whole[vectors - 1](a);
        return;
    }
    const int64_t each = gops_ceil_div(vectors, gops_ceil_div(vectors, 4));
    GOPS_EACH_FILTER(one, a, C)
    {
        for (int64_t column = 0; column < a->width;) {
            const int64_t left = gops_ceil_div(a->width - column, LANES);
            column = kernels[five][dilated].tile[gops_min(left, each) - 1](&one, column);
        }
    }
}
