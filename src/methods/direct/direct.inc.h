/*
 * direct.inc.h: the register tiles of direct.h.
 *
 * For each tap the loop over the input channels is innermost, and the sums stay in registers all
 * the while. So the pixels that a tap adds to must be constants where the loop is compiled: there
 * is a loop for each range that an edge of the image can leave, and a switch picks it, once for
 * each tap. With P pixels in a row these are the P - 1 ranges without some of the first pixels, as
 * many without some of the last, and all of them; and all these again for each range of rows.
 *
 * A step, one input channel of a tap, costs `vectors` loads of weights, a broadcast for each pixel,
 * and their product in multiplications. With one vector of channels each multiplication loads its
 * own pixel, so loads bound such a tile: 14 pixels take 15 loads, and a processor starts as many
 * loads in a cycle as multiplications; 28 pixels in two rows take 29; and 7 pixels are fewer than
 * the 8 multiplications in flight that two units with a latency of 4 need.
 *
 * Neighbouring pixels that share a vector read neighbouring data, which one instruction loads and
 * repeats for each channel, so 8 channels cost half of what 16 do. At the ends of a range some of
 * them may be outside the data; their lanes take zeros. With a stride of 2 a permutation drops the
 * values in between.
 *
 * Parameters, from isa/each_compute.inc.h:
 *
 *   C                          type: the compute type, float or double
 *   LANES                      int: the elements of a vector register; with 16, pixels may share one
 *   NAME(symbol)               puts the type's name in front of a symbol
 *   LOW, HIGH, INTRINSIC       direct_store.inc.h
 *
 * and from direct.isa.c:
 *
 *   GOPS_DIRECT_TILES(TILE)    TILE(vectors, rows, pixels, stride, per_vector) for each tile
 *   GOPS_SHARED_TILES(TILE)    the same for those whose pixels share vectors of 16 lanes
 *   GOPS_FMA                   optional, string: the instruction sum += a * b of floats, in the order
 *                              of operands b, a, sum of AT&T syntax
 *   GOPS_DIRECT_MAX_SUMS, GOPS_DIRECT_MAX_VECTORS, GOPS_DIRECT_REGISTERS
 *                              int: the most of any tile, and the vector registers that a compiler
 *                              uses
 */
#include "isa/vectors.inc.h"
#include "post_ops/epilogue.inc.h"
#include "methods/direct/direct_store.inc.h"

#define tile_range NAME(tile_range)
#define range_first NAME(range_first)
#define range_last NAME(range_last)
#define load_pixels NAME(load_pixels)
#define multiply_add NAME(multiply_add)
#define multiply_add_memory NAME(multiply_add_memory)
#define add_channels NAME(add_channels)
#define range_of NAME(range_of)
#define direct_tile NAME(direct_tile)
#define tile_list NAME(tile_list)
#define direct_kernels NAME(direct_kernels)

/* The pixels of a tile that a tap adds to: first to last - 1 of rows top to bottom - 1. */
typedef struct tile_range {
    int top, bottom, first, last;
} tile_range;

/* Where the range with a number (gops_direct_range) begins, and where it ends. Both are 0 for a
 * number that no range has. */
GOPS_INLINE int range_first(const int number, const int cut)
{
    return number <= cut ? number : 0;
}

GOPS_INLINE int range_last(const int number, const int size, const int cut)
{
    return number <= cut ? size : number <= 2 * cut ? size - (number - cut) : 0;
}

/* The data that the pixels of one vector read; the first pixel reads *at. Pixels before `first` and
 * from `last` on, which may be beyond them, are 0 and are not read. */
GOPS_INLINE vector load_pixels(const C *at, const gops_direct_size of, const int first,
                               const int last)
{
#if LANES == 16
    if (of.per_vector > 1) {
        return (vector)load_shared_pixels(at, of.stride, of.per_vector, first > 0 ? first : 0,
                                          last);
    }
#else
    (void)of, (void)first, (void)last;
#endif
    return broadcast(*at);
}

/* *sum += a * b. Left to themselves compilers choose another form of the instruction, and with all
 * registers in use move and spill sums: 4 vectors by 7 pixels took 1.1 of the time (Zen 5). */
GOPS_INLINE void multiply_add(vector *sum, const vector a, const vector b, const int vectors)
{
#if defined(GOPS_FMA) && LANES == LANES_OF_4
    if (vectors > 1) {
        __asm__(GOPS_FMA " %2, %1, %0" : "+v"(*sum) : "v"(a), "v"(b));
        return;
    }
#else
    (void)vectors;
#endif
    *sum += a * b;
}

/* *sum += a * *b, with b read by the multiplication itself. */
GOPS_INLINE void multiply_add_memory(vector *sum, const vector a, const vector *b)
{
#if defined(GOPS_FMA) && LANES == LANES_OF_4
    __asm__(GOPS_FMA " %2, %1, %0" : "+v"(*sum) : "v"(a), "m"(*b));
#else
    *sum += a * *b;
#endif
}

/* Adds `count` input channels of a tap to some of the sums. */
GOPS_INLINE void add_channels(const C *x, int64_t plane, int64_t row_step, const C *weights,
                              int64_t count, const gops_direct_size of, const tile_range range,
                              vector *sum)
{
    const int vectors = of.vectors, rows = of.rows, per_vector = of.per_vector;
    const int columns = of.pixels / per_vector;
    /* Weights that have no register are read by each multiplication. */
    const int held = vectors * rows * columns + vectors < GOPS_DIRECT_REGISTERS
                         ? vectors
                         : GOPS_DIRECT_REGISTERS - 1 - vectors * rows * columns;
    const int first = range.first / per_vector,
              column_count = (range.last + per_vector - 1) / per_vector - first;
    if (range.first >= range.last || range.top >= range.bottom) {
        __builtin_unreachable();
    }
    x += range.top * row_step + range.first * of.stride;
    do {
        vector weight[GOPS_DIRECT_MAX_VECTORS];
        GOPS_UNROLL
        for (int i = 0; i < held; i++) {
            weight[i] = *(const vector *)(weights + i * LANES);
        }
        const C *at = x;
        /* One loop, as gcc does not unroll a larger nest. */
        GOPS_UNROLL
        for (int n = 0; n < (range.bottom - range.top) * column_count; n++) {
            const int row = range.top + n / column_count, j = first + n % column_count;
            if (n > 0 && n % column_count == 0) {
                at += row_step;
                GOPS_OPAQUE(at); /* gcc would keep the address of each pixel in a register */
            }
            const vector pixel =
                load_pixels(at + (j * per_vector - range.first) * of.stride, of,
                            range.first - j * per_vector, range.last - j * per_vector);
            GOPS_UNROLL
            for (int i = 0; i < held; i++) {
                multiply_add(&sum[(i * rows + row) * columns + j], pixel, weight[i], vectors);
            }
            GOPS_UNROLL
            for (int i = held; i < vectors; i++) {
                GOPS_OPAQUE(weights);
                multiply_add_memory(&sum[(i * rows + row) * columns + j], pixel,
                                    (const vector *)(weights + i * LANES));
            }
        }
        GOPS_UNROLL
        for (int i = 0; i < held; i++) {
            GOPS_STAYS(weight[i]); /* else a sum may be moved to its register */
        }
        x += plane;
        weights += vectors * LANES;
    } while (--count > 0);
}

/* The range with a number, which says rows and pixels. */
GOPS_INLINE tile_range range_of(const gops_direct_size of, const int number)
{
    const int cut = (int)gops_direct_max_cut(of), numbers = 2 * cut + 1;
    const int across = number % numbers, down = number / numbers;
    return (tile_range){range_first(down, of.rows - 1), range_last(down, of.rows, of.rows - 1),
                        range_first(across, cut), range_last(across, of.pixels, cut)};
}

#define GOPS_RANGE(n)                                                                              \
    case n:                                                                                        \
        add_channels(x, plane, row_step, weights, count, of, range_of(of, n), sum);                \
        break
#define GOPS_RANGES(n)                                                                             \
    GOPS_RANGE(n);                                                                                 \
    GOPS_RANGE((n) + 1);                                                                           \
    GOPS_RANGE((n) + 2);                                                                           \
    GOPS_RANGE((n) + 3);                                                                           \
    GOPS_RANGE((n) + 4);                                                                           \
    GOPS_RANGE((n) + 5);                                                                           \
    GOPS_RANGE((n) + 6)

/* Without optimization, as in the sanitizers' builds, a copy of this function for each size gains
 * nothing, and took clang up to 10 minutes and 3 GB for an instruction set. */
#ifdef __OPTIMIZE__
#define GOPS_EACH_SIZE inline __attribute__((always_inline))
#else
#define GOPS_EACH_SIZE
#endif
static GOPS_EACH_SIZE void direct_tile(const gops_direct_work *work, const gops_direct_size of)
{
    vector sum[GOPS_DIRECT_MAX_SUMS];
    const int64_t ranges = 2 * gops_direct_max_cut(of) + 1;
    const int64_t plane = work->plane, row_step = work->row_step, count = work->channels_in;
    GOPS_UNROLL
    for (int i = 0; i < of.vectors * of.rows * of.pixels / of.per_vector; i++) {
        sum[i] = (vector){0};
    }
    const gops_direct_tap *const rows_end = work->rows + work->row_count;
    const gops_direct_tap *const taps_end = work->taps + work->tap_count;
    for (const gops_direct_tap *row = work->rows; row < rows_end; row++) {
        for (const gops_direct_tap *tap = work->taps; tap < taps_end; tap++) {
            const C *x = (const C *)work->data + (work->start + row->data + tap->data);
            const C *weights =
                (const C *)work->weights + (row->tap + tap->tap) * count * (of.vectors * LANES);
            gops_direct_prefetch_next(&work->prefetch[GOPS_DIRECT_PREFETCH_WEIGHTS], true);
            if (work->prefetches_all) {
                gops_direct_prefetch_next(&work->prefetch[GOPS_DIRECT_PREFETCH_ROW], false);
                gops_direct_prefetch_next(&work->prefetch[GOPS_DIRECT_PREFETCH_OUTPUTS], true);
            }
            switch (row->range * ranges + tap->range) { /* 4 rows of 7 have 49 */
                GOPS_RANGES(0);
                GOPS_RANGES(7);
                GOPS_RANGES(14);
                GOPS_RANGES(21);
                GOPS_RANGES(28);
                GOPS_RANGES(35);
                GOPS_RANGES(42);
            default:
                __builtin_unreachable();
            }
        }
    }
    finish_tile(work, of, sum);
}

#if LANES == 16
#define TILES(TILE) GOPS_DIRECT_TILES(TILE) GOPS_SHARED_TILES(TILE)
#else
#define TILES(TILE) GOPS_DIRECT_TILES(TILE)
#endif
#define TILE_NAME(vectors, rows, pixels, stride, per_vector)                                       \
    NAME(tile_##vectors##x##rows##x##pixels##_##stride##_##per_vector)
#define TILE(vectors, rows, pixels, stride, per_vector)                                            \
    static void TILE_NAME(vectors, rows, pixels, stride, per_vector)(const gops_direct_work *work) \
    {                                                                                              \
        direct_tile(work, (gops_direct_size){vectors, rows, pixels, stride, per_vector});          \
    }
TILES(TILE)
#undef TILE
#define TILE(vectors, rows, pixels, stride, per_vector)                                            \
    {{vectors, rows, pixels, stride, per_vector},                                                  \
     TILE_NAME(vectors, rows, pixels, stride, per_vector)},
static const gops_direct_tile tile_list[] = {TILES(TILE){{0, 0, 0, 0, 0}, NULL}};
#undef TILE
#undef TILE_NAME
static const gops_direct_kernels direct_kernels = {LANES, tile_list};
#undef TILES
#undef GOPS_EACH_SIZE
#undef GOPS_RANGES
#undef GOPS_RANGE
