/*
 * depthwise_rolling.inc.h: a depthwise convolution of the image where it lies.
 *
 * A tile is NR vectors of columns wide and all rows of a block high, and rolls down the image. With kernels of
 * K x K and stride S, a row of data adds to at most OPEN = ceil(K / S) rows of outputs. Their sums
 * are in registers; after S rows of data the uppermost is complete and stored, and the others move
 * up. So each row of data is loaded once for each tap along x, and there is nothing else to do but
 * the multiplications. Rows outside the image are left out.
 *
 * Along x, TAPS makes of a row a vector for each tap, with zeros for lanes outside the image, as in a padded copy, and
 * touches no memory there.
 *
 * Every output sums its taps from the first row to the last, so that tiles may overlap, and the vectors of a tile too:
 * the last tile along x begins within the one before it, or its second vector within its first. With dilation D only
 * every D-th row shares data, and an image is D images.
 *
 * Parameters: C, LANES and NAME of isa/each_compute.inc.h, and
 *
 *   TAPS                             string: depthwise_rolling_load.inc.h or depthwise_rolling_permute.inc.h, which
 *                                    have
 *
 *       row_taps                     type: how the rows of a tile are read; it is kept in registers if
 *                                    ROW_TAPS_IN_REGISTERS is 1
 *       tile_width(K, S)             columns of a tile that is one vector wide
 *       first_tap(group, K, S)       the first tap of a group, of ceil(K / S) groups of up to S neighbours
 *       find_taps(taps, a, x, step, K, S, NR)
 *                                    sets row_taps of a tile whose first tap is column x of the data, and whose vectors
 *                                    of outputs are `step` columns apart; returns its EDGE, which says where lanes lie
 *                                    outside the image: INSIDE, none do; LEFT and RIGHT, of taps on that side of the
 *                                    middle alone, and SIDES, on both, which only a file with MARGINS 1 returns
 *       read_row(row, taps, EDGE)    the row_data of a row that begins at `row`
 *       read_taps(x, data, taps, dilation, group, v, K, S, NR, EDGE)
 *                                    sets x[0] to x[S - 1], the vectors v of the group's taps
 *
 *   MARGINS                          see find_taps
 *   SERVES_STRIDE_1                  1 if images with stride 1 are served too, dilated ones too; else 0
 *   NAME(lane_set)                   type: a set of the lanes of a vector
 *   NAME(lanes_between)(begin, end)  the lanes begin to end - 1; both may lie outside of it
 *   NAME(load_lanes)(from, set)      loads the lanes of a set, the others are 0
 *   NAME(store_first)(to, count, value)
 *                                    stores the first `count` lanes; it may be more than LANES
 *   EVEN_LANES, ODD_LANES, IN_ORDER  lists of LANES indices for __builtin_shufflevector; the first two, lane_set,
 *                                    lanes_between and load_lanes for depthwise_rolling_load.inc.h and
 *                                    depthwise_bands.inc.h
 */
#include "isa/vectors.inc.h"
#include "post_ops/epilogue.inc.h"

#define row_taps NAME(row_taps)
#define tile_width NAME(tile_width)
#define find_taps NAME(find_taps)
#define row_data NAME(row_data)
#define read_row NAME(read_row)
#define read_taps NAME(read_taps)
#define first_tap NAME(first_tap)
#define load_column NAME(load_column)
#define reaches_out NAME(reaches_out)
#define add_row NAME(add_row)
#define finish_row NAME(finish_row)
#define roll NAME(roll)
#define roll_filters NAME(roll_filters)
#define tile_columns NAME(tile_columns)
#define rolling_tile NAME(rolling_tile)
#define rolling_fn NAME(rolling_fn)
#define all_columns NAME(all_columns)
#define all_blocks NAME(all_blocks)

enum {
    MAX_TAPS = 7, /* along an axis */
    MAX_NR = 2,
    /* Of the data that tiles go through together. */
    CACHED_BYTES = 1 << 14,
    /* Each tile prefetches the outputs of the one after the next, and the data of the block below, or of the next
     * images: what hardware prefetches, where the data lie beyond the second level cache, comes late. */
    PREFETCH = 2,
    /* A block has at least so many times the rows of the kernel, of which its neighbour too reads
     * all but one. */
    MIN_BLOCK_ROWS = 4,
};
enum { INSIDE, LEFT, RIGHT, SIDES, ANYWHERE, EDGES };

#include TAPS

/* A tile of columns, of some filters. */
typedef struct rolling_tile {
    gops_depthwise_image image;
    row_taps taps;
    int64_t column;
    int64_t step; /* columns from one vector to the next */
} rolling_tile;

typedef void rolling_fn(const rolling_tile *);

/* Adds a row of data, whose row of the kernel is q + S * m for the m-th of the open rows of
 * outputs. With stride 2 so few are open that each product would wait for the one before. So the taps of a row are
 * summed up apart from those of the rows above: 3x3 takes 0.95 of the time, 5x5 0.88, 7x7 0.85 (Zen 3). By AVX-512 that
 * was not measured, and is not done.
 *
 * Two vectors share a weight. 25 weights have no registers, and gcc, which would keep some and spill sums instead, must
 * load each from memory where it is used: 5x5 on 28x28 takes 0.91 of the time so (Zen 5, held to AVX2). */
GOPS_INLINE void add_row(const row_taps *taps, const C *row, int64_t dilation, const vector *weight,
                         vector (*sum)[MAX_NR], const int q, const int K, const int S, const int NR,
                         const int EDGE)
{
    const bool APART = S == 2 && LANES <= 8;
    const bool SHARED = NR > 1 && K > 3;
    const row_data data = read_row(row, taps, EDGE);
    vector apart[MAX_TAPS][MAX_NR], (*to)[MAX_NR] = APART ? apart : sum;
    if (SHARED) {
        GOPS_OPAQUE(weight);
    }
    GOPS_UNROLL
    for (int group = 0; group < (K + S - 1) / S; group++) {
        const int kx = first_tap(group, K, S), next = first_tap(group + 1, K, S);
        vector x[MAX_NR][2];
        GOPS_UNROLL
        for (int v = 0; v < NR; v++) {
            read_taps(x[v], data, taps, dilation, group, v, K, S, NR, EDGE);
        }
        GOPS_UNROLL
        for (int i = 0; i < (next < K ? next : K) - kx; i++) {
            GOPS_UNROLL
            for (int m = 0; q + S * m < K; m++) {
                vector tap = weight[(q + S * m) * K + kx + i];
                if (SHARED) {
                    GOPS_IN_REGISTER(tap);
                }
                GOPS_UNROLL
                for (int v = 0; v < NR; v++) {
                    if (APART && kx + i == 0) {
                        to[m][v] = x[v][i] * tap;
                        GOPS_IN_REGISTER(to[m][v]); /* rounded, in depthwise_bands.inc.h too */
                    } else {
                        to[m][v] += x[v][i] * tap;
                    }
                }
            }
        }
    }
    GOPS_UNROLL
    for (int m = 0; q + S * m < K; m++) {
        GOPS_UNROLL
        for (int v = 0; APART && v < NR; v++) {
            sum[m][v] += apart[m][v];
        }
    }
}

/* Stores a row of outputs. */
GOPS_INLINE void finish_row(const gops_depthwise_image *a, C *output, vector *sum, const int K,
                            int64_t step, const int S, const int NR, const int EDGE)
{
    if (a->bounds != NULL) {
        NAME(epilogue_all)(sum, NR, a->bounds, broadcast(*(const C *)a->bias));
    }
    const int64_t width = tile_width(K, S);
    GOPS_UNROLL
    for (int v = 0; v < NR; v++) {
        if (S == 2) {
            sum[v] = __builtin_shufflevector(sum[v], sum[v], IN_ORDER);
        }
        if (width < LANES) {
            NAME(store_first)(output, gops_min(a->columns, width), sum[v]);
        } else if (EDGE != INSIDE && NR == 1) {
            NAME(store_first)(output, a->columns, sum[v]);
        } else {
            *(vector *)(void *)(output + v * step) = sum[v];
        }
    }
}

/* Computes `rows` rows of outputs of a filter, dilation_y apart, from row `first` on, in NR vectors
 * of columns. DX is the dilation along x, 0 for any. */
GOPS_INLINE void roll(const rolling_tile *at, const gops_depthwise_image *a, int64_t first,
                      int64_t rows, const int K, const int S, const int DX, const int NR,
                      const int EDGE)
{
    const int OPEN = (K + S - 1) / S;
    const int64_t dilation_y = DX == 1 ? 1 : a->dilation_y,
                  dilation_x = DX == 1 ? 1 : a->dilation_x;
    const int64_t pitch = dilation_y * a->width, output_pitch = dilation_y * a->columns;
    const int64_t height = a->height;
    const row_taps kept = at->taps, *taps = ROW_TAPS_IN_REGISTERS ? &kept : &at->taps;
    int64_t y = first * S - a->pad_y;
    const C *row = (const C *)a->data + y * a->width + at->column * S - a->pad_x;
    C *output =
        (C *)a->output + (first - a->first_row - (OPEN - 1) * dilation_y) * a->columns + at->column;
    /* `vector` itself is aligned as its elements are; every second load would cross a cache line. */
    _Alignas(LANES * sizeof(C)) vector weight[MAX_TAPS * MAX_TAPS];
    vector sum[MAX_TAPS][MAX_NR];
    GOPS_UNROLL
    for (int ky = 0; ky < K; ky++) {
        GOPS_UNROLL
        for (int i = ky * K; i < ky * K + K; i++) {
            weight[i] = broadcast(((const C *)a->weights)[i]);
        }
    }
    GOPS_UNROLL
    for (int i = 0; i < OPEN * NR; i++) {
        sum[i / NR][i % NR] = (vector){0};
    }
    for (int64_t i = 1 - OPEN; i < rows; i++, output += output_pitch) {
        GOPS_UNROLL
        for (int q = 0; q < S; q++, y += dilation_y, row += pitch) {
            __builtin_prefetch(row + S * rows * pitch);
            if (y >= 0 && y < height) {
                add_row(taps, row, dilation_x, weight, sum, q, K, S, NR, EDGE);
            }
        }
        __builtin_prefetch(output + PREFETCH * NR * LANES, 1);
        if (i >= 0) {
            finish_row(a, output, sum[OPEN - 1], K, at->step, S, NR, EDGE);
        }
        GOPS_UNROLL
        for (int m = OPEN - 1; m >= 0; m--) {
            GOPS_UNROLL
            for (int v = 0; v < NR; v++) {
                sum[m][v] = m > 0 ? sum[m - 1][v] : (vector){0};
            }
        }
    }
}

/* Computes the tile of all filters. */
GOPS_INLINE void roll_filters(const rolling_tile *at, const int K, const int S, const int DX,
                              const int NR, const int EDGE)
{
    GOPS_EACH_FILTER(one, &at->image, C)
    {
        if (DX == 1) {
            roll(at, &one, one.first_row, one.rows, K, S, DX, NR, EDGE);
            continue;
        }
        for (int64_t residue = 0; residue < gops_min(one.dilation_y, one.rows); residue++) {
            roll(at, &one, one.first_row + residue,
                 gops_ceil_div(one.rows - residue, one.dilation_y), K, S, DX, NR, EDGE);
        }
    }
}

/* Computes NR vectors of columns, `step` columns apart, from `column` on. */
GOPS_INLINE void tile_columns(rolling_tile *at, int64_t column, int64_t step, const int K,
                              const int S, const int NR, rolling_fn *const kernels[EDGES])
{
    const gops_depthwise_image *a = &at->image;
    at->column = column;
    at->step = step;
    const int edge = find_taps(&at->taps, a, column * S - a->pad_x, step, K, S, NR);
    kernels[edge](at);
}

/* Computes all columns, two vectors at a time where there are kernels for that. */
GOPS_INLINE void all_columns(rolling_tile *at, const int K, const int S,
                             rolling_fn *const kernels[EDGES], rolling_fn *const wide[EDGES])
{
    const int64_t columns = at->image.columns, width = tile_width(K, S);
    int64_t column = 0;
    for (; wide != NULL && columns - column > LANES; column += MAX_NR * LANES) {
        const int64_t step = gops_min(LANES, columns - column - LANES);
        tile_columns(at, column, step, K, S, MAX_NR, wide);
    }
    for (; column < columns; column += width) {
        tile_columns(at, gops_clamp(columns - width, 0, column), width, K, S, 1, kernels);
    }
}

/* Divides images into blocks of rows, or takes several of them together, so that their data stay in the
 * first level cache while one tile after the other goes through them. */
GOPS_INLINE void all_blocks(const gops_depthwise_image *a, const int K, const int S,
                            rolling_fn *const kernels[EDGES], rolling_fn *const wide[EDGES])
{
    const int64_t bytes = a->width * (int64_t)sizeof(C) * S;
    const int64_t together = a->filters > 1 ? gops_max(1, CACHED_BYTES / (bytes * a->rows)) : 1;
    const int64_t most = gops_max(MIN_BLOCK_ROWS * K, CACHED_BYTES / bytes);
    const int64_t block =
        a->rows > most ? gops_ceil_div(a->rows, gops_ceil_div(a->rows, most)) : a->rows;
    gops_depthwise_image next = *a;
    rolling_tile at;
    for (int64_t filter = 0; filter < a->filters; filter += together) {
        for (int64_t row = 0; row < a->rows; row += block) {
            at.image = next;
            at.image.filters = gops_min(together, a->filters - filter);
            at.image.output = (C *)next.output + row * a->columns;
            at.image.first_row = a->first_row + row;
            at.image.rows = gops_min(block, a->rows - row);
            all_columns(&at, K, S, kernels, wide);
        }
        for (int64_t i = 0; i < together; i++) {
            gops_depthwise_image_next(&next, (int64_t)sizeof(C));
        }
    }
}

#define GOPS_ROLLING_TILE(name, K, S, DX, NR, EDGE)                                                \
    static void NAME(name)(const rolling_tile *a)                                                  \
    {                                                                                              \
        roll_filters(a, K, S, DX, NR, EDGE);                                                       \
    }

/* The list NAME(name) of tiles by EDGE. */
#if MARGINS
#define GOPS_ROLLING_TILES(name, K, S, DX, NR)                                                     \
    GOPS_ROLLING_TILE(name##_inside, K, S, DX, NR, INSIDE)                                         \
    GOPS_ROLLING_TILE(name##_left, K, S, DX, NR, LEFT)                                             \
    GOPS_ROLLING_TILE(name##_right, K, S, DX, NR, RIGHT)                                           \
    GOPS_ROLLING_TILE(name##_sides, K, S, DX, NR, SIDES)                                           \
    GOPS_ROLLING_TILE(name##_anywhere, K, S, DX, NR, ANYWHERE)                                     \
    static rolling_fn *const NAME(name)[EDGES] = {NAME(name##_inside), NAME(name##_left),          \
                                                  NAME(name##_right), NAME(name##_sides),          \
                                                  NAME(name##_anywhere)};
#else
#define GOPS_ROLLING_TILES(name, K, S, DX, NR)                                                     \
    GOPS_ROLLING_TILE(name##_inside, K, S, DX, NR, INSIDE)                                         \
    GOPS_ROLLING_TILE(name##_anywhere, K, S, DX, NR, ANYWHERE)                                     \
    static rolling_fn *const NAME(name)[EDGES] = {                                                 \
        [INSIDE] = NAME(name##_inside), [ANYWHERE] = NAME(name##_anywhere)};
#endif

#define GOPS_ROLLING_KERNEL(name, K, S, DX)                                                        \
    GOPS_ROLLING_TILES(name##_tiles, K, S, DX, 1)                                                  \
    static void NAME(name)(const gops_depthwise_image *a)                                          \
    {                                                                                              \
        all_blocks(a, K, S, NAME(name##_tiles), NULL);                                             \
    }

/* By two vectors too. The weights of 3x3 and their sums are in registers all the time, with stride 1. */
#if SERVES_STRIDE_1
#define GOPS_ROLLING_WIDE_KERNEL(name, K, S)                                                       \
    GOPS_ROLLING_TILES(name##_tiles, K, S, 1, 1)                                                   \
    GOPS_ROLLING_TILES(name##_wide, K, S, 1, 2)                                                    \
    static void NAME(name)(const gops_depthwise_image *a)                                          \
    {                                                                                              \
        all_blocks(a, K, S, NAME(name##_tiles), NAME(name##_wide));                                \
    }
#else
#define GOPS_ROLLING_WIDE_KERNEL(name, K, S) GOPS_ROLLING_KERNEL(name, K, S, 1)
#endif

GOPS_ROLLING_KERNEL(of3_by2, 3, 2, 1)
GOPS_ROLLING_WIDE_KERNEL(of5_by2, 5, 2)
GOPS_ROLLING_KERNEL(of7_by2, 7, 2, 1)

/* By the kernel's size. */
static gops_depthwise_image_fn *const NAME(by2)[8] = {
    [3] = NAME(of3_by2),
    [5] = NAME(of5_by2),
    [7] = NAME(of7_by2),
};

#if SERVES_STRIDE_1
GOPS_ROLLING_WIDE_KERNEL(of3, 3, 1)
GOPS_ROLLING_WIDE_KERNEL(of5, 5, 1)
GOPS_ROLLING_KERNEL(of7, 7, 1, 1)
GOPS_ROLLING_KERNEL(of3_dilated, 3, 1, 0)
GOPS_ROLLING_KERNEL(of5_dilated, 5, 1, 0)
GOPS_ROLLING_KERNEL(of7_dilated, 7, 1, 0)

#include "methods/depthwise/image/depthwise_bands.inc.h"

static void NAME(masked)(const gops_depthwise_image *a)
{
    /* By the kernel's size: dense, dilated. */
    static gops_depthwise_image_fn *const by1[][2] = {
        [3] = {NAME(of3), NAME(of3_dilated)},
        [5] = {NAME(of5), NAME(of5_dilated)},
        [7] = {NAME(of7), NAME(of7_dilated)},
    };
    const bool dilated = a->dilation_y > 1 || a->dilation_x > 1;
    if (!NAME(bands)(a)) {
        (a->stride == 2 ? NAME(by2)[a->kernel_y] : by1[a->kernel_y][dilated])(a);
    }
}
#endif
