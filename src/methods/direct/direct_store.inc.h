/*
 * direct_store.inc.h: the end of a tile: its sums are kept; or the epilogue is applied, and they
 * are transposed and stored.
 *
 * A tile leaves a vector of channels for each pixel, and a tensor wants a run of pixels for each
 * channel: vectors are transposed in registers, as isa/transpose.inc.h does.
 *
 * Parameters: C, LANES, NAME, LOW, HIGH and INTRINSIC of isa/each_compute.inc.h
 */
#include "isa/transpose.inc.h"

#define epilogue NAME(epilogue)
#define repeat_channels NAME(repeat_channels)
#define rotate_address NAME(rotate_address)
#define transpose_quads NAME(transpose_quads)
#define store_lanes NAME(store_lanes)
#define transpose_columns NAME(transpose_columns)
#define store_run NAME(store_run)
#define store_output NAME(store_output)
#define finish_tile NAME(finish_tile)

/* The first LANES / per_vector lanes, each per_vector times. */
GOPS_INLINE vector repeat_channels(const vector lanes, const int per_vector)
{
#if LANES == 16
    if (per_vector == 4) {
        return __builtin_shufflevector(lanes, lanes, FOUR_TIMES_4);
    }
    if (per_vector == 2) {
        return __builtin_shufflevector(lanes, lanes, TWICE_8);
    }
    return lanes;
#else
    (void)per_vector;
    return lanes;
#endif
}

#if LANES == 16
/* Transposes 16 / per_vector vectors of 16 lanes by instructions that have no indices to load:
 * first inside quads of lanes, then quads. Pixels that share a vector stay side by side. With its
 * stores a transposition of 16 vectors takes 0.7 of the time of rotate_address (Zen 5). */
GOPS_INLINE void transpose_quads(vector *rows, const int per_vector)
{
    vector next[LANES];
    const int count = 16 / per_vector, quads = 4 / per_vector;
    if (per_vector == 1) {
        GOPS_UNROLL
        for (int i = 0; i < 16; i += 2) {
            next[i] = __builtin_shufflevector(rows[i], rows[i + 1], LOW_OF_QUADS);
            next[i + 1] = __builtin_shufflevector(rows[i], rows[i + 1], HIGH_OF_QUADS);
        }
        /* Vectors whose pairs of lanes belong together come to lie beside each other. */
        GOPS_UNROLL
        for (int i = 0; i < 16; i += 4) {
            rows[i] = next[i];
            rows[i + 1] = next[i + 2];
            rows[i + 2] = next[i + 1];
            rows[i + 3] = next[i + 3];
        }
    }
    if (per_vector < 4) {
        GOPS_UNROLL
        for (int i = 0; i < count; i += 2) {
            next[i] = __builtin_shufflevector(rows[i], rows[i + 1], LOW_PAIRS_OF_QUADS);
            next[i + 1] = __builtin_shufflevector(rows[i], rows[i + 1], HIGH_PAIRS_OF_QUADS);
        }
        GOPS_UNROLL
        for (int i = 0; i < count; i++) {
            rows[i] = next[i];
        }
    }
    GOPS_UNROLL
    for (int i = 0; i < quads; i++) {
        const vector a = rows[i], b = rows[quads + i];
        const vector c = rows[2 * quads + i], d = rows[3 * quads + i];
        const vector even[] = {__builtin_shufflevector(a, b, EVEN_QUADS),
                               __builtin_shufflevector(c, d, EVEN_QUADS)};
        const vector odd[] = {__builtin_shufflevector(a, b, ODD_QUADS),
                              __builtin_shufflevector(c, d, ODD_QUADS)};
        next[i] = __builtin_shufflevector(even[0], even[1], EVEN_QUADS);
        next[quads + i] = __builtin_shufflevector(odd[0], odd[1], EVEN_QUADS);
        next[2 * quads + i] = __builtin_shufflevector(even[0], even[1], ODD_QUADS);
        next[3 * quads + i] = __builtin_shufflevector(odd[0], odd[1], ODD_QUADS);
    }
    GOPS_UNROLL
    for (int i = 0; i < count; i++) {
        rows[i] = next[i];
    }
}
#endif

/* Transposes `columns` vectors: LANES / per_vector of them, or fewer of single pixels. */
GOPS_INLINE void transpose_columns(vector *rows, const int columns, const int per_vector)
{
#if LANES == 16
    if (columns * per_vector == LANES) {
        transpose_quads(rows, per_vector);
        return;
    }
#else
    (void)per_vector;
#endif
    rotate_address(rows, columns);
}

/* Stores lanes from to from + count - 1; count is at most p. */
GOPS_INLINE void store_lanes(C *to, const vector *value, const int from, const int p, int64_t count)
{
#ifdef INTRINSIC
    (void)p;
    NAME(store_masked)(to - from, ((1u << count) - 1) << from, *value);
#else
    const C *lanes = (const C *)value + from;
    if (count == p) {
        memcpy(to, lanes, (size_t)p * sizeof(C));
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        to[i] = lanes[i];
    }
#endif
}

/* Transposes the sums of `size` columns of pixels and stores the first `pixels` pixels to the
 * output from `at` on. As many columns at a time as there are channels in a vector, or fewer if
 * `size` is less; then each vector has runs of pixels of several channels. */
GOPS_INLINE void store_run(const gops_direct_work *work, const gops_direct_size of, const int size,
                           int64_t at, int64_t pixels, const vector *sum)
{
    const int per_vector = of.per_vector, ld = of.rows * of.pixels / per_vector;
    const int channels = LANES / per_vector;
    const int needed = size > 8 ? 16 : size > 4 ? 8 : size > 2 ? 4 : 2;
    const int columns = per_vector == 1 && needed < channels ? needed : channels;
    const int blocks = (size + columns - 1) / columns;
    const int run = columns * per_vector, runs = LANES / run;
    GOPS_UNROLL
    for (int block = 0; block < of.vectors * blocks; block++) {
        const int i = block / blocks, j = block % blocks * columns;
        const int64_t left = pixels - j * per_vector, count = left < run ? left : run;
        if (count > 0) {
            vector rows[LANES];
            GOPS_UNROLL
            for (int k = 0; k < columns; k++) {
                rows[k] = j + k < size ? sum[i * ld + j + k] : (vector){0};
            }
            transpose_columns(rows, columns, per_vector);
            GOPS_UNROLL
            for (int c = 0; c < channels; c++) {
                const int channel = i * channels + c;
                if (channel < work->channels) {
                    store_lanes((C *)work->output + channel * work->output_ld + at + j * per_vector,
                                &rows[c / runs], c % runs * run, run, count);
                }
            }
        }
    }
}

/* Stores the sums to the output. Rows of which one ends where the next begins, as in an image that
 * is as wide as the tile, are stored as one. */
GOPS_INLINE void store_output(const gops_direct_work *work, const gops_direct_size of,
                              const vector *sum)
{
    const int columns = of.pixels / of.per_vector;
    if (of.rows == 1 || (work->output_row == of.pixels && work->output_pixels == of.pixels)) {
        store_run(work, of, of.rows * columns, 0,
                  of.rows == 1 ? work->output_pixels : work->output_rows * of.pixels, sum);
        return;
    }
    GOPS_UNROLL
    for (int row = 0; row < of.rows; row++) {
        if (row < work->output_rows) {
            store_run(work, of, columns, row * work->output_row, work->output_pixels,
                      sum + row * columns);
        }
    }
}

GOPS_INLINE void finish_tile(const gops_direct_work *work, const gops_direct_size of, vector *sum)
{
    const int vectors = of.vectors, size = of.rows * of.pixels / of.per_vector;
    vector *const kept = (vector *)work->sums;
    if (work->accumulate) {
        GOPS_UNROLL
        for (int i = 0; i < vectors * size; i++) {
            sum[i] += kept[i];
        }
    }
    if (work->output == NULL) {
        GOPS_UNROLL
        for (int i = 0; i < vectors * size; i++) {
            kept[i] = sum[i];
        }
        return;
    }
    if (work->bounds != NULL) {
        const C *bounds = work->bounds, *bias = work->bias;
        const vector low = broadcast(bounds[0]), high = broadcast(bounds[1]);
        GOPS_UNROLL
        for (int i = 0; i < vectors; i++) {
            const vector add = repeat_channels(
                *(const vector *)(bias + i * (LANES / of.per_vector)), of.per_vector);
            GOPS_UNROLL
            for (int j = 0; j < size; j++) {
                sum[i * size + j] = epilogue(sum[i * size + j], add, low, high);
            }
        }
    }
    store_output(work, of, sum);
}
