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
#define interleave_vectors NAME(interleave_vectors)
#define store_part NAME(store_part)
#define transpose_all NAME(transpose_all)
#define transpose_part NAME(transpose_part)
#define transpose NAME(transpose)
#define interleave_residue NAME(interleave_residue)
#define interleave_pairs NAME(interleave_pairs)
#define interleave_two NAME(interleave_two)
#define interleave_rows NAME(interleave_rows)
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

GOPS_INLINE void interleave_residue(C *restrict to, int64_t stride, const C *restrict from,
                                    int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        to[i * stride] = from != NULL ? from[i] : 0;
    }
}

/* `count` outputs in turn of `even`, first, and of `odd`; the last vectors end with the last pair. */
GOPS_INLINE void interleave_pairs(C *restrict to, const C *restrict even, const C *restrict odd,
                                  int64_t count)
{
    const int64_t pairs = count / 2;
    for (int64_t i = 0; pairs >= LANES && i < pairs; i += LANES) {
        const int64_t at = gops_min(i, pairs - LANES);
        vector first = *(const vector *)(even + at), second = *(const vector *)(odd + at);
        interleave_vectors(&first, &second);
        *(vector *)(to + 2 * at) = first;
        *(vector *)(to + 2 * at + LANES) = second;
    }
    for (int64_t i = 0; i < pairs && pairs < LANES; i++) {
        to[2 * i] = even[i];
        to[2 * i + 1] = odd[i];
    }
    if (count % 2 != 0) {
        to[count - 1] = even[pairs];
    }
}

/* A stride of 2, where both residues have outputs. */
static void interleave_two(const gops_interleave *of)
{
    const int64_t first = of->begin % 2, skip = of->begin / 2;
    const gops_residue_rows even_rows = of->residues[first], odd_rows = of->residues[1 - first];
    const C *even = (const C *)even_rows.from + skip;
    const C *odd = (const C *)odd_rows.from + skip + first;
    C *to = of->to;
    for (int64_t left = of->channels; left > 0; left--) {
        interleave_pairs(to, even, odd, of->count);
        to += of->to_ld;
        even += even_rows.ld;
        odd += odd_rows.ld;
    }
}

/* Any stride, residue by residue. */
GOPS_INLINE void interleave_rows(const gops_interleave *of, int64_t stride)
{
    const int64_t skip = of->begin / stride, first = of->begin % stride;
    const int64_t all = of->count / stride, rest = of->count % stride;
    for (int64_t c = 0; c < of->channels; c++) {
        for (int64_t i = 0; i < gops_min(stride, of->count); i++) {
            const bool wraps = first + i >= stride;
            const gops_residue_rows *row = &of->residues[wraps ? first + i - stride : first + i];
            const int64_t at = c * row->ld + skip + (wraps ? 1 : 0);
            interleave_residue((C *)of->to + c * of->to_ld + i, stride,
                               row->from != NULL ? (const C *)row->from + at : NULL,
                               i < rest ? all + 1 : all);
        }
    }
}

static void interleave(const gops_interleave *of)
{
    if (of->stride == 1) { /* which compilers turn into vectors */
        interleave_rows(of, 1);
    } else if (of->stride == 2 && of->residues[0].from != NULL && of->residues[1].from != NULL) {
        interleave_two(of);
    } else {
        interleave_rows(of, of->stride);
    }
}
