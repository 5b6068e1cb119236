/*
 * implicit_transpose.inc.h: moves sums from the order of the tiles to that of the output.
 *
 * transpose: the channels form leaves a vector of channels for each pixel, and the output wants a
 * run of pixels for each channel. Blocks of LANES x LANES are transposed in registers
 * (isa/transpose.inc.h).
 *
 * interleave: neighbouring outputs of a transposed convolution come from different
 * sub-convolutions, each of which leaves a run of pixels.
 *
 * Parameters: C, LANES, LOW, HIGH and NAME of isa/each_compute.inc.h
 */
#include "isa/transpose.inc.h"

#define rotate_address NAME(rotate_address)
#define load_transposed NAME(load_transposed)
#define store_part NAME(store_part)
#define transpose_all NAME(transpose_all)
#define transpose_part NAME(transpose_part)
#define transpose NAME(transpose)
#define interleave_row NAME(interleave_row)
#define interleave NAME(interleave)

/* LANES pixels of as many channels. */
GOPS_INLINE void transpose_all(C *to, int64_t to_ld, const C *from, int64_t from_ld)
{
    vector rows[LANES];
    load_transposed(rows, from, from_ld);
    GOPS_UNROLL
    for (int j = 0; j < LANES; j++) {
        *(vector *)(to + j * to_ld) = rows[j];
    }
}

/* Stores the first `width` of a vector: a call of memcpy would cost more. */
GOPS_INLINE void store_part(C *to, const vector *from, int64_t width)
{
    enum { HALF = LANES / 2, QUARTER = LANES / 4 > 0 ? LANES / 4 : 1 };
    const C *values = (const C *)from;
    if (width == LANES) {
        *(vector *)to = *from;
    } else if (width >= HALF) {
        memcpy(to, values, HALF * sizeof(C));
        memcpy(to + width - HALF, values + width - HALF, HALF * sizeof(C));
    } else if (width >= QUARTER) {
        memcpy(to, values, QUARTER * sizeof(C));
        memcpy(to + width - QUARTER, values + width - QUARTER, QUARTER * sizeof(C));
    } else {
        for (int64_t i = 0; i < width; i++) {
            to[i] = values[i];
        }
    }
}

/* `width` pixels of `height` channels, of either LANES at most. What is counted by variables lies in
 * memory, which is not to be where it was transposed. */
static void transpose_part(C *to, int64_t to_ld, const C *from, int64_t from_ld, int64_t width,
                           int64_t height)
{
    vector rows[LANES], stored[LANES];
    GOPS_UNROLL
    for (int j = 0; j < LANES; j++) {
        rows[j] = *(const vector *)(from + (j < width ? j : 0) * from_ld);
    }
    rotate_address(rows, LANES);
    GOPS_UNROLL
    for (int j = 0; j < LANES; j++) {
        stored[j] = rows[j];
    }
    for (int64_t j = 0; j < height; j++) {
        store_part(to + j * to_ld, &stored[j], width);
    }
}

static void transpose(void *to, int64_t to_ld, const void *from, int64_t from_ld, int64_t channels,
                      int64_t pixels)
{
    for (int64_t c = 0; c < channels; c += LANES) {
        const int64_t height = gops_min(channels - c, LANES);
        for (int64_t i = 0; i < pixels; i += LANES) {
            /* The last block ends with the last pixel. */
            const int64_t width = gops_min(pixels, LANES), p = gops_min(i, pixels - width);
            const C *block = (const C *)from + p * from_ld + c;
            C *out = (C *)to + c * to_ld + p;
            if (width == LANES && height == LANES) {
                transpose_all(out, to_ld, block, from_ld);
            } else {
                transpose_part(out, to_ld, block, from_ld, width, height);
            }
        }
    }
}

GOPS_INLINE void interleave_row(C *restrict to, const C *restrict from, int64_t step, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        to[i * step] = from != NULL ? from[i] : 0;
    }
}

static void interleave(void *to, const void *const *from, int64_t rows, int64_t count)
{
    if (rows == 2 && from[0] != NULL && from[1] != NULL) { /* compilers make shuffles of this */
        const C *restrict even = from[0], *restrict odd = from[1];
        C *restrict pairs = to;
        for (int64_t i = 0; i < count; i++) {
            pairs[2 * i] = even[i];
            pairs[2 * i + 1] = odd[i];
        }
        return;
    }
    for (int64_t j = 0; j < rows; j++) {
        if (rows == 1) {
            interleave_row(to, from[0], 1, count);
        } else {
            interleave_row((C *)to + j, from[j], rows, count);
        }
    }
}
