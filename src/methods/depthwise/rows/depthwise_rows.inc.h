/*
 * depthwise_rows.inc.h: rows of a convolution with one channel.
 *
 * A vector holds neighbouring outputs of one row. A tap then is one unaligned load at the tap's
 * offset and one multiplication by its weight in all lanes: a load for each multiplication, so that
 * loads bound it. But with MR rows of outputs in registers, a loaded row of data also serves the
 * taps above and below. With KY taps along y,
 *
 *     for j = 0 .. MR + KY - 2:  x = data row j;  for all r, k with r + k = j:  sum[r] += w[k] * x
 *
 * does MR * KY multiplications with MR + KY - 1 loads. Such KY taps below each other are a tap
 * column; a kernel is a list of tap columns, for each tap along x and z (and several above each
 * other where the kernel is tall), and of single taps for what is left over. With stride 2 along y
 * the condition is 2 * r + k = j. The loop over tap columns is a run-time loop, all inside is
 * unrolled.
 *
 * Every output sums tap columns, then single taps, in the same order whatever tile it falls into.
 * The last tile along y may therefore begin within the one before it and write the same values
 * again. Along x only the wanted lanes of the last vector are stored. Its loads may read up to
 * GOPS_DEPTHWISE_SLACK bytes beyond the row; those values end in lanes that are not stored.
 *
 * Parameters: C, LANES, NAME and INTRINSIC of isa/each_compute.inc.h
 */
#include "isa/vectors.inc.h"
#include "post_ops/epilogue.inc.h"

#define row_vector NAME(row_vector)
#define store_lanes NAME(store_lanes)
#define tile NAME(tile)
#define tiles_along_x NAME(tiles_along_x)
#define tile_row NAME(tile_row)

/* Aligned, for the sums: of unaligned ones gcc makes moves more, without AVX. */
typedef C row_vector __attribute__((vector_size(LANES * sizeof(C))));

/* Stores the first `lanes` lanes, at most LANES. */
GOPS_INLINE void store_lanes(C *to, vector value, int64_t lanes)
{
    if (lanes == LANES) {
        *(vector *)(void *)to = value;
        return;
    }
#ifdef INTRINSIC
    NAME(store_masked)(to, NAME(lane_mask)(0, lanes), value);
#elif defined(__AVX2__) && !defined(GOPS_MEMORY_SANITIZER)
    static const int32_t masks[] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
    const int32_t *mask = masks + 8 - lanes * (int64_t)sizeof(C) / 4;
    _mm256_maskstore_epi32((void *)to, _mm256_loadu_si256((const void *)mask), (__m256i)value);
    if (sizeof(C) == 2 && lanes % 2 != 0) { /* the mask is of pairs */
        to[lanes - 1] = value[lanes - 1];
    }
#else
    memcpy(to, &value, (size_t)lanes * sizeof(C));
#endif
}

/* A register tile: MR rows of NR vectors of outputs, of the last of which `lanes` lanes are stored.
 * KY is the height of a tap column and SY the stride along y. */
GOPS_INLINE void tile(const gops_depthwise_rows *a, const C *data, C *output, int64_t lanes,
                      const int MR, const int NR, const int KY, const int SY)
{
    row_vector sum[MAX_MR][MAX_NR];
    const C *weight = a->weights;
    const gops_depthwise_tap *tap = a->taps, *end = tap + a->tap_columns * KY;
    GOPS_UNROLL
    for (int r = 0; r < MR; r++) {
        GOPS_UNROLL
        for (int v = 0; v < NR; v++) {
            sum[r][v] = (row_vector){0};
        }
    }
    for (; KY > 1 && tap < end; tap += KY, weight += KY) {
        const C *row = data + tap->data;
        GOPS_UNROLL
        for (int j = 0; j < (MR - 1) * SY + KY; j++, row += a->pitch) {
            GOPS_UNROLL
            for (int v = 0; v < NR; v++) {
                row_vector x = *(const vector *)(const void *)(row + v * LANES);
                GOPS_IN_REGISTER(x);
                GOPS_UNROLL
                for (int r = 0; r < MR; r++) {
                    if (j - r * SY >= 0 && j - r * SY < KY) {
                        sum[r][v] += x * weight[j - r * SY];
                    }
                }
            }
        }
    }
    end = tap + a->single_taps;
    for (; tap < end; tap++, weight++) {
        const C *row = data + tap->data;
        GOPS_UNROLL
        for (int r = 0; r < MR; r++, row += a->step) {
            GOPS_UNROLL
            for (int v = 0; v < NR; v++) {
                const row_vector x = *(const vector *)(const void *)(row + v * LANES);
                sum[r][v] += x * *weight;
            }
        }
    }
    if (a->bounds != NULL) {
        const C *bounds = a->bounds;
        const vector bias = broadcast(*(const C *)a->bias);
        const vector low = broadcast(bounds[0]), high = broadcast(bounds[1]);
        GOPS_UNROLL
        for (int r = 0; r < MR; r++) {
            GOPS_UNROLL
            for (int v = 0; v < NR; v++) { /* by value: a pointer to them costs registers */
                sum[r][v] = (row_vector)NAME(epilogue)((vector)sum[r][v], bias, low, high);
            }
        }
    }
    GOPS_UNROLL
    for (int r = 0; r < MR; r++) {
        GOPS_UNROLL
        for (int v = 0; v < NR; v++) {
            store_lanes(output + r * a->output_pitch + v * LANES, sum[r][v],
                        v < NR - 1 ? LANES : lanes);
        }
    }
}

/* Computes tiles of NR vectors from column x on, the last of which may have lanes beyond the width;
 * returns the column after them. */
GOPS_INLINE int64_t tiles_along_x(const gops_depthwise_rows *a, const C *data, C *output, int64_t x,
                                  const int MR, const int NR, const int KY, const int SY)
{
    for (; a->width - x > (NR - 1) * LANES; x += NR * LANES) {
        const int64_t last = a->width - x - (NR - 1) * LANES;
        tile(a, data + x, output + x, gops_min(last, LANES), MR, NR, KY, SY);
    }
    return x;
}

/* Computes MR rows of outputs: tiles of NR vectors, then narrower ones for the rest. */
GOPS_INLINE void tile_row(const gops_depthwise_rows *a, int64_t row, const int MR, const int NR,
                          const int KY, const int SY)
{
    const C *data = (const C *)a->data + row * a->step;
    C *output = (C *)a->output + row * a->output_pitch;
    int64_t x = tiles_along_x(a, data, output, 0, MR, NR, KY, SY);
    if (NR > 4) {
        x = tiles_along_x(a, data, output, x, MR, 4, KY, SY);
    }
    if (NR > 2) {
        x = tiles_along_x(a, data, output, x, MR, 2, KY, SY);
    }
    tiles_along_x(a, data, output, x, MR, 1, KY, SY);
}

/* Computes all rows, MR at a time; the last rows may overlap those before them. */
#define GOPS_DEPTHWISE_TILE_ROWS(name, MR, NR, KY, SY)                                             \
    static void NAME(name)(const gops_depthwise_rows *a)                                           \
    {                                                                                              \
        for (int64_t row = 0; row < a->rows; row += MR) {                                          \
            tile_row(a, gops_min(row, a->rows - MR), MR, NR, KY, SY);                              \
        }                                                                                          \
    }
#define GOPS_DEPTHWISE_COLUMN(KY, SY)                                                              \
    GOPS_DEPTHWISE_TILE_ROWS(column##KY##_by##SY##_1, 1, 2, KY, SY)                                \
    GOPS_DEPTHWISE_TILE_ROWS(column##KY##_by##SY##_4, 4, 2, KY, SY)                                \
    GOPS_DEPTHWISE_TILE_ROWS(column##KY##_by##SY##_7, 7, 2, KY, SY)
/* By MR. */
#define GOPS_DEPTHWISE_HEIGHTS(KY, SY)                                                             \
    {                                                                                              \
        NAME(column##KY##_by##SY##_1), NAME(column##KY##_by##SY##_4),                              \
            NAME(column##KY##_by##SY##_7)                                                          \
    }

GOPS_DEPTHWISE_TILE_ROWS(single_tap_rows, 1, 8, 1, 1)
GOPS_DEPTHWISE_COLUMN(2, 1)
GOPS_DEPTHWISE_COLUMN(3, 1)
GOPS_DEPTHWISE_COLUMN(5, 1)
GOPS_DEPTHWISE_COLUMN(7, 1)
GOPS_DEPTHWISE_COLUMN(3, 2)
GOPS_DEPTHWISE_COLUMN(5, 2)
GOPS_DEPTHWISE_COLUMN(7, 2)

static void NAME(rows)(const gops_depthwise_rows *a)
{
    static void (*const kernels[2][8][3])(const gops_depthwise_rows *) = {
        {[2] = GOPS_DEPTHWISE_HEIGHTS(2, 1),
         [3] = GOPS_DEPTHWISE_HEIGHTS(3, 1),
         [5] = GOPS_DEPTHWISE_HEIGHTS(5, 1),
         [7] = GOPS_DEPTHWISE_HEIGHTS(7, 1)},
        {[3] = GOPS_DEPTHWISE_HEIGHTS(3, 2),
         [5] = GOPS_DEPTHWISE_HEIGHTS(5, 2),
         [7] = GOPS_DEPTHWISE_HEIGHTS(7, 2)},
    };
    if (a->column_taps == 1) {
        NAME(single_tap_rows)(a);
        return;
    }
    /* 7 rows at a time, unless 4 at a time compute fewer rows by more than 2. */
    const int64_t by7 = gops_round_up(a->rows, 7), by4 = gops_round_up(a->rows, 4);
    const int height = a->rows < 4 ? 0 : a->rows < 7 || by7 > by4 + 2 ? 1 : 2;
    kernels[a->step != a->pitch][a->column_taps][height](a);
}
