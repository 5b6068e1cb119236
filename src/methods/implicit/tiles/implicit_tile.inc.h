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
 * registers, 4 x 3 and 2 vectors x 6. 3 vectors x 9 would fill them too, but gcc 12 spills some of
 * its sums, and it takes 1.25 times as long as 3 x 8. The smaller tiles compute what these leave over.
 *
 * Parameters, from isa/each_compute.inc.h:
 *
 *   C                 type: the compute type
 *   LANES             int: the elements of a vector register
 *   LOW, HIGH         lists of lane indices: isa/transpose.inc.h
 *   NAME(symbol)      puts the type's name in front of a symbol
 *
 * and from the file that includes it:
 *
 *   MULTIPLY_ADD(sum, data, weight)
 *                     statement: adds the products of two vectors to a third one
 *   START_AND_STORE   string: the file that defines NAME(start_tile), which gives vectors of sums
 *                     their first values, and NAME(store_tile), which stores those of channels `row`
 *                     on: sum[i * nr + j] goes to sum_offsets[j] + (row + i) * step. In the channels
 *                     form `row` is 0, and i counts vectors.
 *   STEPS             int: how many steps of K an iteration of the loops takes. What counts them
 *                     also takes ports of an Intel processor that multiply.
 *   SHORT_STEPS       int: the same in the channels form where an iteration is short, of tiles of half as many sums,
 *                     and where rows leave out steps
 *   BLOCKED           int: how far apart neighbouring pixels are in blocked inputs (lanes.h); 1 if there
 *                     are none
 *   ROWS              int: of how many columns rows of outputs are at least at whose ends a tile leaves out
 *                     taps that lie on padding; 0 if none are
 *   WIDE_PRODUCT      optional: if defined, the list begins with the tiles of lanes_wide.inc.h
 *   GOPS_PIXEL_TILES(TILE)   TILE(mr, nr) for each size of the pixels form
 *   GOPS_CHANNEL_TILES(TILE) TILE(vectors, nr) for each size of the channels form; MR is
 *                            vectors * LANES
 *   GOPS_MAX_SUMS, GOPS_MAX_VECTORS
 *                            int: the most vectors of sums of a tile, and of channels of a column
 */
#include "isa/vectors.inc.h"
#include "methods/implicit/tiles/implicit_transpose.inc.h"
#include START_AND_STORE
#ifdef WIDE_PRODUCT
#include "methods/implicit/tiles/lanes_wide.inc.h"
#else
#define WIDE_CALLS(name) NULL, NULL
#endif

#define start_tile NAME(start_tile)
#define store_tile NAME(store_tile)
#define prefetch_line NAME(prefetch_line)
#define pixels_step NAME(pixels_step)
#define pixels_tile NAME(pixels_tile)
#define channels_size NAME(channels_size)
#define channels_step NAME(channels_step)
#define channels_next NAME(channels_next)
#define channels_steps NAME(channels_steps)
#define channels_loop NAME(channels_loop)
#define channels_columns NAME(channels_columns)
#define channels_tile NAME(channels_tile)
#define pixels_list NAME(pixels_list)
#define channels_list NAME(channels_list)

/* Into the second level: a tile's weights fill the first. */
GOPS_INLINE void prefetch_line(const char **at)
{
    __builtin_prefetch(*at, 0, 2);
    *at += GOPS_CACHE_LINE;
}

/* A step of K. */
GOPS_INLINE void pixels_step(const C *const *from, int64_t offset, const C *weights, const int mr,
                             const int nr, vector *sum)
{
    vector x[GOPS_MAX_NR];
    GOPS_UNROLL
    for (int j = 0; j < nr; j++) {
        x[j] = *(const vector *)(from[j] + offset);
    }
    GOPS_UNROLL
    for (int i = 0; i < mr; i++) {
        const vector weight = broadcast(weights[i]);
        GOPS_UNROLL
        for (int j = 0; j < nr; j++) {
            MULTIPLY_ADD(sum[i * nr + j], x[j], weight);
        }
    }
}

GOPS_INLINE void pixels_tile(gops_tile_work *work, const int mr, const int nr)
{
    const C *const input = work->input;
    for (int64_t tile = work->tiles; tile > 0; tile--, gops_tile_move(work, nr)) {
        const C *from[GOPS_MAX_NR];
        vector sum[GOPS_MAX_SUMS];
        GOPS_UNROLL
        for (int j = 0; j < nr; j++) {
            from[j] = input + work->columns[j];
        }
        start_tile(work, mr, nr, false, sum);
        const int64_t *offsets = work->offsets;
        const C *weights = work->weights;
        const char *ahead = gops_tile_ahead(work);
        int64_t k = work->depth;
        for (; k >= STEPS; k -= STEPS, offsets += STEPS, weights += STEPS * mr) {
            GOPS_UNROLL
            for (int s = 0; s < STEPS; s++) {
                prefetch_line(&ahead);
                pixels_step(from, offsets[s], weights + s * mr, mr, nr, sum);
            }
        }
        for (; STEPS > 1 && k > 0; k--, offsets++, weights += mr) {
            pixels_step(from, *offsets, weights, mr, nr, sum);
        }
        store_tile(work, 0, mr, nr, work->sums_ld, false, sum);
    }
}

/* Of a tile of the channels form. Columns come in runs of `run`; those of a run are equally far apart,
 * `apart` if that is not 0, so that a pointer for each run serves instead of one for each column. */
typedef struct NAME(channels_size) {
    int vectors, nr, run, apart;
} NAME(channels_size);

/* A step of K. Columns of a run are `next` apart. Those whose bit of `without` is set leave the step out. */
GOPS_INLINE void channels_step(const C *const *from, int64_t offset, const C *weights,
                               const channels_size of, int64_t next, const unsigned without,
                               vector *sum)
{
    const C *at = NULL;
    vector weight[GOPS_MAX_VECTORS];
    GOPS_UNROLL
    for (int i = 0; i < of.vectors; i++) {
        weight[i] = *(const vector *)(weights + i * LANES);
    }
    GOPS_UNROLL
    for (int j = 0; j < of.nr; j++) {
        if (of.apart == 0) {
            at = from[j / of.run] + j % of.run * next + offset;
        } else if (j % of.run == 0) {
            at = from[j / of.run] + offset;
        }
        if (without >> j & 1) {
            continue;
        }
        const vector x = broadcast(of.apart == 0 ? *at : at[j % of.run * of.apart]);
        GOPS_UNROLL
        for (int i = 0; i < of.vectors; i++) {
            MULTIPLY_ADD(sum[i * of.nr + j], x, weight[i]);
        }
    }
}

/* Where the next step of K is. */
typedef struct NAME(channels_next) {
    const int64_t *offsets;
    const C *weights;
    const char *ahead;
} NAME(channels_next);

/* `k` steps of it, `steps` of them an iteration. */
GOPS_INLINE void channels_steps(channels_next *at, int64_t k, const int steps, const C *const *from,
                                const channels_size of, int64_t next, const unsigned without,
                                vector *sum)
{
    const int length = of.vectors * LANES;
    for (; k >= steps; k -= steps, at->offsets += steps, at->weights += steps * length) {
        GOPS_UNROLL
        for (int s = 0; s < steps; s++) {
            prefetch_line(&at->ahead);
            channels_step(from, at->offsets[s], at->weights + s * length, of, next, without, sum);
        }
    }
    for (; steps > 1 && k > 0; k--, at->offsets++, at->weights += length) {
        channels_step(from, *at->offsets, at->weights, of, next, without, sum);
    }
}

/* The loop over k of the channels form; `rows` are those of gops_tile_work. */
GOPS_INLINE void channels_loop(const gops_tile_work *work, const channels_size of, const int rows,
                               vector *sum)
{
    const C *from[GOPS_MAX_NR];
    GOPS_UNROLL
    for (int j = 0; j < of.nr; j += of.run) {
        from[j / of.run] = (const C *)work->input + work->columns[j];
        if (of.run > 1) {
            GOPS_OPAQUE(from[j / of.run]);
        }
    }
    const int64_t next =
        of.apart == 0 && of.run > 1 ? work->columns[1] - work->columns[0] : of.apart;
    channels_next at = {work->offsets, work->weights, gops_tile_ahead(work)};
    const int steps = rows > 0 || 2 * of.vectors * of.nr <= GOPS_MAX_SUMS ? SHORT_STEPS : STEPS;
    if (rows == 0) {
        channels_steps(&at, work->depth, steps, from, of, next, 0, sum);
        return;
    }
    const unsigned half = rows == 2 ? 1u << of.nr / 2 : 0;
    const unsigned first = 1 | half, last = 1u << (of.nr - 1) | half >> 1;
    const int64_t period = work->begin + work->middle + work->end;
    for (int64_t k = work->depth; k > 0; k -= period) {
        channels_steps(&at, work->begin, steps, from, of, next, first, sum);
        channels_steps(&at, work->middle, steps, from, of, next, 0, sum);
        channels_steps(&at, work->end, steps, from, of, next, last, sum);
    }
}

GOPS_INLINE void channels_columns(const gops_tile_work *work, const int vectors, const int nr,
                                  const int rows, vector *sum)
{
    const int half = (nr + 1) / 2;
    const int64_t *columns = work->columns;
    if (gops_are_runs(columns, nr, half, 1)) {
        channels_loop(work, (channels_size){vectors, nr, half, 1}, rows, sum);
    } else if (BLOCKED > 1 && gops_are_runs(columns, nr, half, BLOCKED)) {
        channels_loop(work, (channels_size){vectors, nr, half, BLOCKED}, rows, sum);
    } else if (nr > 2 && gops_are_runs(columns, nr, 2, columns[1] - columns[0])) {
        channels_loop(work, (channels_size){vectors, nr, 2, 0}, rows, sum);
    } else {
        channels_loop(work, (channels_size){vectors, nr, 1, 0}, rows, sum);
    }
}

GOPS_INLINE void channels_tile(const gops_tile_work *work, const int vectors, const int nr)
{
    vector sum[GOPS_MAX_SUMS];
    start_tile(work, vectors, nr, true, sum);
    const bool one = ROWS > 0 && nr >= ROWS, two = one && nr % 2 == 0 && nr / 2 >= ROWS;
    if (one && work->rows == 1) {
        channels_columns(work, vectors, nr, 1, sum);
    } else if (two && work->rows == 2) {
        channels_columns(work, vectors, nr, 2, sum);
    } else {
        channels_columns(work, vectors, nr, 0, sum);
    }
    store_tile(work, 0, vectors, nr, LANES, true, sum);
}

#define PIXELS(mr, nr)                                                                             \
    static void NAME(pixels_##mr##x##nr)(gops_tile_work * work)                                    \
    {                                                                                              \
        pixels_tile(work, mr, nr);                                                                 \
    }
#define CHANNELS(vectors, nr)                                                                      \
    static void NAME(channels_##vectors##x##nr)(gops_tile_work * work)                             \
    {                                                                                              \
        for (int64_t tile = work->tiles; tile > 0; tile--, gops_tile_move(work, nr)) {             \
            channels_tile(work, vectors, nr);                                                      \
        }                                                                                          \
    }
GOPS_PIXEL_TILES(PIXELS)
GOPS_CHANNEL_TILES(CHANNELS)
#undef PIXELS
#undef CHANNELS

#define PIXELS(mr, nr) {mr, nr, NAME(pixels_##mr##x##nr)},
#define CHANNELS(vectors, nr) {vectors * LANES, nr, NAME(channels_##vectors##x##nr)},
static const gops_tile pixels_list[] = {
#ifdef WIDE_PRODUCT
    WIDE_LIST
#endif
        GOPS_PIXEL_TILES(PIXELS){0, 0, NULL}};
static const gops_tile channels_list[] = {GOPS_CHANNEL_TILES(CHANNELS){0, 0, NULL}};
#undef PIXELS
#undef CHANNELS
