/*
 * implicit_tile.inc.h: the two forms of register tiles of implicit_tile.h.
 *
 * Without tiles the product is
 *
 *     for each channel, column, k:
 *         sum[channel][column] += weight[k][channel] * input[column + offset[k]]
 *
 * which loads two values for each multiplication. A tile of MR channels by NR columns computes
 * MR * NR sums at once: each step of k loads MR + NR values for MR * NR multiplications. The sums
 * must stay in registers. So the sizes of a tile are constants where its function is inlined, every
 * loop over them is unrolled, and the compiler replaces the arrays by registers. The offset table
 * replaces im2col: row k of the column matrix is the input itself, shifted by offsets[k].
 *
 * Parameters:
 *
 *   C                 type: the compute type
 *   LANES             integer: values of C in a vector
 *   NAME(symbol)      puts the type's name in front of a symbol
 *   GOPS_MAX_NR       integer: the most columns of a tile
 *   GOPS_MAX_SUMS     integer: the most vectors of sums of a tile
 *   GOPS_MAX_VECTORS  integer: the most vectors that the channels of a tile in the channels form
 *                     fill
 */

typedef C NAME(vector)
    __attribute__((vector_size(LANES * sizeof(C)), aligned(sizeof(C)), may_alias));

#include "post_ops/epilogue.inc.h"

#define vector NAME(vector)
#define broadcast NAME(broadcast)
#define epilogue NAME(epilogue)
#define add_bias NAME(add_bias)
#define add_bias_residual NAME(add_bias_residual)
#define store_tile NAME(store_tile)
#define pixels_tile NAME(pixels_tile)
#define channels_loop NAME(channels_loop)
#define channels_tile NAME(channels_tile)

static inline vector broadcast(C value)
{
    return value - (vector){0};
}

/* Applies the epilogue without a residual. The lanes of a vector are channels in the channels form;
 * in the pixels form they are of one channel. */
static inline __attribute__((always_inline)) void add_bias(const gops_tile_work *work,
                                                           const int vectors, const int nr,
                                                           const bool channels_form, vector *sum)
{
    const C *bounds = work->bounds, *bias = work->bias;
    const vector low = broadcast(bounds[0]), high = broadcast(bounds[1]);
    GOPS_UNROLL
    for (int i = 0; i < vectors; i++) {
        const vector add = channels_form ? *(const vector *)(bias + i * LANES) : broadcast(bias[i]);
        GOPS_UNROLL
        for (int j = 0; j < nr; j++) {
            sum[i * nr + j] = epilogue(sum[i * nr + j], add, low, high);
        }
    }
}

/* Applies the epilogue with a residual, in the pixels form. */
static inline __attribute__((always_inline)) void
add_bias_residual(const gops_tile_work *work, const int mr, const int nr, vector *sum)
{
    const C *bounds = work->bounds, *bias = work->bias, *residual = work->residual;
    const vector low = broadcast(bounds[0]), high = broadcast(bounds[1]);
    GOPS_UNROLL
    for (int i = 0; i < mr; i++, residual += work->sums_ld) {
        const vector add = broadcast(bias[i]);
        GOPS_UNROLL
        for (int j = 0; j < nr; j++) {
            sum[i * nr + j] =
                epilogue(sum[i * nr + j] + add, *(const vector *)(residual + work->sum_offsets[j]),
                         low, high);
        }
    }
}

/* Stores a tile's vectors of sums: sum[i * nr + j] goes to sum_offsets[j] + i * step. */
static inline __attribute__((always_inline)) void store_tile(const gops_tile_work *work,
                                                             const int vectors, const int nr,
                                                             const int64_t step,
                                                             const bool channels_form, vector *sum)
{
    C *to[GOPS_MAX_NR];
    GOPS_UNROLL
    for (int j = 0; j < nr; j++) {
        to[j] = (C *)work->sums + work->sum_offsets[j];
    }
    if (work->accumulate) {
        GOPS_UNROLL
        for (int j = 0; j < nr; j++) {
            GOPS_UNROLL
            for (int i = 0; i < vectors; i++) {
                sum[i * nr + j] += *(const vector *)(to[j] + i * step);
            }
        }
    }
    if (work->bounds != NULL && work->residual != NULL && !channels_form) {
        add_bias_residual(work, vectors, nr, sum);
    } else if (work->bounds != NULL) {
        add_bias(work, vectors, nr, channels_form, sum);
    }
    GOPS_UNROLL
    for (int j = 0; j < nr; j++) {
        GOPS_UNROLL
        for (int i = 0; i < vectors; i++) {
            *(vector *)(to[j] + i * step) = sum[i * nr + j];
        }
    }
}

static inline __attribute__((always_inline)) void pixels_tile(const gops_tile_work *work,
                                                              const int mr, const int nr)
{
    const C *const input = work->input;
    const C *from[GOPS_MAX_NR];
    vector sum[GOPS_MAX_SUMS];
    GOPS_UNROLL
    for (int j = 0; j < nr; j++) {
        from[j] = input + work->columns[j];
        GOPS_UNROLL
        for (int i = 0; i < mr; i++) {
            sum[i * nr + j] = (vector){0};
        }
    }
    const int64_t *offsets = work->offsets;
    const C *weights = work->weights;
    for (int64_t k = work->depth; k > 0; k--, offsets++, weights += mr) {
        vector x[GOPS_MAX_NR];
        GOPS_UNROLL
        for (int j = 0; j < nr; j++) {
            x[j] = *(const vector *)(from[j] + *offsets);
        }
        GOPS_UNROLL
        for (int i = 0; i < mr; i++) {
            const vector weight = broadcast(weights[i]);
            GOPS_UNROLL
            for (int j = 0; j < nr; j++) {
                sum[i * nr + j] += x[j] * weight;
            }
        }
    }
    store_tile(work, mr, nr, work->sums_ld, false, sum);
}

/* The loop over k of the channels form. With `two_runs` the first half of the columns are
 * neighbouring pixels, and so are the others, so that two pointers serve instead of one for each
 * column. */
static inline __attribute__((always_inline)) void channels_loop(const gops_tile_work *work,
                                                                const int vectors, const int nr,
                                                                const bool two_runs, vector *sum)
{
    const C *from[GOPS_MAX_NR];
    const int half = (nr + 1) / 2;
    GOPS_UNROLL
    for (int j = 0; j < nr; j++) {
        from[j] = (const C *)work->input + work->columns[j];
    }
    const int64_t *offsets = work->offsets;
    const C *weights = work->weights;
    for (int64_t k = work->depth; k > 0; k--, offsets++, weights += vectors * LANES) {
        vector weight[GOPS_MAX_VECTORS];
        GOPS_UNROLL
        for (int i = 0; i < vectors; i++) {
            weight[i] = *(const vector *)(weights + i * LANES);
        }
        GOPS_UNROLL
        for (int j = 0; j < nr; j++) {
            const C *at = !two_runs ? from[j] : j < half ? from[0] + j : from[half] + (j - half);
            const vector x = broadcast(at[*offsets]);
            GOPS_UNROLL
            for (int i = 0; i < vectors; i++) {
                sum[i * nr + j] += x * weight[i];
            }
        }
    }
}

static inline __attribute__((always_inline)) void channels_tile(const gops_tile_work *work,
                                                                const int vectors, const int nr)
{
    vector sum[GOPS_MAX_SUMS];
    const int half = (nr + 1) / 2;
    const int64_t *columns = work->columns;
    GOPS_UNROLL
    for (int i = 0; i < vectors * nr; i++) {
        sum[i] = (vector){0};
    }
    if (nr > 2 && columns[half - 1] - columns[0] == half - 1 &&
        columns[nr - 1] - columns[half] == nr - 1 - half) {
        channels_loop(work, vectors, nr, true, sum);
    } else {
        channels_loop(work, vectors, nr, false, sum);
    }
    store_tile(work, vectors, nr, LANES, true, sum);
}

#undef vector
#undef broadcast
#undef epilogue
#undef add_bias
#undef add_bias_residual
#undef store_tile
#undef pixels_tile
#undef channels_loop
#undef channels_tile
