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
 * The sizes fill the vector registers with the sums, the vectors of one step of k (of the columns
 * in the pixels form, of the weights in the channels form), and one more. With 32 registers that is
 * 8 x 3 or 4 x 6 in the pixels form, and 2 vectors of channels x 14 in the channels form; with 16
 * registers, 4 x 3 and 2 vectors x 6. The smaller tiles compute what these leave over.
 *
 * Parameters, from isa/each_compute.inc.h:
 *
 *   C                 type: the compute type
 *   LANES             int: the elements of a vector register
 *   LOW, HIGH         lists of lane indices: isa/transpose.inc.h
 *   NAME(symbol)      puts the type's name in front of a symbol
 *
 * and from implicit_tile.isa.c:
 *
 *   GOPS_PIXEL_TILES(TILE)   TILE(mr, nr) for each size of the pixels form
 *   GOPS_CHANNEL_TILES(TILE) TILE(vectors, nr) for each size of the channels form; MR is
 *                            vectors * LANES
 *   GOPS_MAX_SUMS, GOPS_MAX_VECTORS
 *                            int: the most vectors of sums of a tile, and of channels of a column
 */
#include "isa/vectors.inc.h"
#include "post_ops/epilogue.inc.h"
#include "methods/implicit/implicit_transpose.inc.h"

#define clamp NAME(clamp)
#define add_epilogue NAME(add_epilogue)
#define store_tile NAME(store_tile)
#define pixels_tile NAME(pixels_tile)
#define channels_loop NAME(channels_loop)
#define channels_tile NAME(channels_tile)
#define pixels_list NAME(pixels_list)
#define channels_list NAME(channels_list)

/* Applies the epilogue. The lanes of a vector are channels in the channels form; in the pixels form
 * they are of one channel. Only the pixels form has a residual. */
GOPS_INLINE void add_epilogue(const gops_tile_work *work, const int vectors, const int nr,
                              const bool channels_form, const bool adds_residual, vector *sum)
{
    const C *bounds = work->bounds, *bias = work->bias, *residual = work->residual;
    const vector low = broadcast(bounds[0]), high = broadcast(bounds[1]);
    GOPS_UNROLL
    for (int i = 0; i < vectors; i++) {
        const vector add = channels_form ? *(const vector *)(bias + i * LANES) : broadcast(bias[i]);
        GOPS_UNROLL
        for (int j = 0; j < nr; j++) {
            vector value = sum[i * nr + j] + add;
            if (adds_residual) {
                value += *(const vector *)(residual + i * work->sums_ld + work->sum_offsets[j]);
            }
            sum[i * nr + j] = clamp(value, low, high);
        }
    }
}

/* Stores a tile's vectors of sums: sum[i * nr + j] goes to sum_offsets[j] + i * step. */
GOPS_INLINE void store_tile(const gops_tile_work *work, const int vectors, const int nr,
                            const int64_t step, const bool channels_form, vector *sum)
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
        add_epilogue(work, vectors, nr, channels_form, true, sum);
    } else if (work->bounds != NULL) {
        add_epilogue(work, vectors, nr, channels_form, false, sum);
    }
    GOPS_UNROLL
    for (int j = 0; j < nr; j++) {
        GOPS_UNROLL
        for (int i = 0; i < vectors; i++) {
            *(vector *)(to[j] + i * step) = sum[i * nr + j];
        }
    }
}

GOPS_INLINE void pixels_tile(const gops_tile_work *work, const int mr, const int nr)
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
GOPS_INLINE void channels_loop(const gops_tile_work *work, const int vectors, const int nr,
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

GOPS_INLINE void channels_tile(const gops_tile_work *work, const int vectors, const int nr)
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

#define PIXELS(mr, nr)                                                                             \
    static void NAME(pixels_##mr##x##nr)(const gops_tile_work *work)                               \
    {                                                                                              \
        pixels_tile(work, mr, nr);                                                                 \
    }
#define CHANNELS(vectors, nr)                                                                      \
    static void NAME(channels_##vectors##x##nr)(const gops_tile_work *work)                        \
    {                                                                                              \
        channels_tile(work, vectors, nr);                                                          \
    }
GOPS_PIXEL_TILES(PIXELS)
GOPS_CHANNEL_TILES(CHANNELS)
#undef PIXELS
#undef CHANNELS

#define PIXELS(mr, nr) {mr, nr, NAME(pixels_##mr##x##nr)},
#define CHANNELS(vectors, nr) {vectors * LANES, nr, NAME(channels_##vectors##x##nr)},
static const gops_tile pixels_list[] = {GOPS_PIXEL_TILES(PIXELS){0, 0, NULL}};
static const gops_tile channels_list[] = {GOPS_CHANNEL_TILES(CHANNELS){0, 0, NULL}};
#undef PIXELS
#undef CHANNELS

static const gops_tiles NAME(tiles) = {LANES, pixels_list, channels_list, NAME(transpose),
                                       NAME(interleave)};
