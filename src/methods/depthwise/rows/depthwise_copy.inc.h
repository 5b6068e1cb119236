/*
 * depthwise_copy.inc.h: copies rows of data into the padded copy, and interleaves the rows of
 * outputs of sub-convolutions.
 *
 * With stride s along x, output x and tap k meet at data x * s + k. Deinterleaving a row into its s
 * residues makes the data of neighbouring outputs neighbours again. The constant stride of 2 lets
 * the compiler turn the loop into shuffles.
 *
 * Interleaving is the way back: output j is element j / ways of row j % ways. `ways` vectors, one
 * of each row, make as many vectors of outputs, as isa/transpose.inc.h derives.
 *
 * Parameters: C, LANES, NAME, LOW and HIGH of isa/each_compute.inc.h
 */
#include "isa/transpose.inc.h"

#define copy_row NAME(copy_row)
#define deinterleave_row NAME(deinterleave_row)
#define copy_residue NAME(copy_residue)
#define interleave_block NAME(interleave_block)
#define interleave_blocks NAME(interleave_blocks)

/* Copies a row in whole vectors, of which the last one overlaps the one before it; a shorter row in
 * two overlapping halves or quarters of a vector. Reads nothing beyond the row. */
GOPS_INLINE void copy_row(C *restrict to, const C *restrict from, int64_t count)
{
    int64_t i = 0;
    if (count >= LANES) {
        for (; i < count - LANES; i += LANES) {
            memcpy(to + i, from + i, LANES * sizeof(C));
        }
        memcpy(to + count - LANES, from + count - LANES, LANES * sizeof(C));
    } else if (count >= LANES / 2) {
        const int64_t second = count - LANES / 2;
        memcpy(to, from, LANES / 2 * sizeof(C));
        memcpy(to + second, from + second, LANES / 2 * sizeof(C));
    } else if (count >= LANES / 4) {
        const int64_t second = count - LANES / 4;
        memcpy(to, from, LANES / 4 * sizeof(C));
        memcpy(to + second, from + second, LANES / 4 * sizeof(C));
    } else {
        for (; i < count; i++) {
            to[i] = from[i];
        }
    }
}

/* With stride 2: the first element and every second one, and those between them. */
GOPS_INLINE void deinterleave_row(C *restrict to, C *restrict between, const C *restrict from,
                                  int64_t length)
{
    for (int64_t i = 0; i < length / 2; i++) {
        to[i] = from[i * 2];
        between[i] = from[i * 2 + 1];
    }
    if (length % 2 != 0) {
        to[length / 2] = from[length - 1];
    }
}

/* The elements of one residue; `begin` is at `from`. */
static inline void copy_residue(const gops_depthwise_copy *a, C *to, const C *from, int64_t residue)
{
    const int64_t first = gops_ceil_div(a->begin - residue, a->stride);
    to += residue * a->residue_pitch;
    for (int64_t i = first; i * a->stride + residue < a->end; i++) {
        to[i] = from[i * a->stride + residue - a->begin];
    }
}

static void NAME(copy)(const gops_depthwise_copy *a)
{
    const int64_t begin = a->begin, length = a->end - begin, pitch = a->to_pitch;
    const C *from = a->from;
    C *to = a->to;
    if (a->stride == 1) {
        for (int64_t r = 0; r < a->rows; r++) {
            copy_row(to + begin + r * pitch, from + r * a->from_pitch, length);
        }
    } else if (a->stride == 2 && a->residues == 2) {
        /* The first element may belong to either residue. */
        C *first = to + begin % 2 * a->residue_pitch + begin / 2;
        C *second = to + (begin + 1) % 2 * a->residue_pitch + (begin + 1) / 2;
        for (int64_t r = 0; r < a->rows; r++, first += pitch, second += pitch) {
            deinterleave_row(first, second, from + r * a->from_pitch, length);
        }
    } else {
        for (int64_t i = 0; i < a->rows * a->residues; i++) {
            const int64_t r = i / a->residues;
            copy_residue(a, to + r * pitch, from + r * a->from_pitch, i % a->residues);
        }
    }
}

/* Interleaves a vector of each row, from element `first` on. */
GOPS_INLINE void interleave_block(const gops_depthwise_interleave *a, int64_t first, const int WAYS)
{
    const C *from = (const C *)a->from + first;
    C *to = (C *)a->to + first * WAYS;
    const int64_t left = a->end - first * WAYS;
    vector rows[8];
    GOPS_UNROLL
    for (int w = 0; w < WAYS; w++) {
        rows[w] = *(const vector *)(const void *)(from + w * a->pitch);
    }
    NAME(rotate_address)(rows, WAYS);
    if (left >= WAYS * LANES) {
        GOPS_UNROLL
        for (int w = 0; w < WAYS; w++) {
            *(vector *)(void *)(to + w * LANES) = rows[w];
        }
    } else if (left > 0) {
        memcpy(to, rows, (size_t)left * sizeof(C));
    }
}

/* Interleaves whole vectors, of which the last ones overlap those before them. Returns false, and
 * does nothing, where a row is shorter than a vector. */
GOPS_INLINE bool interleave_blocks(const gops_depthwise_interleave *a, const int WAYS)
{
    for (int64_t i = 0; i < a->count && a->count >= LANES; i += LANES) {
        interleave_block(a, gops_min(i, a->count - LANES), WAYS);
    }
    return a->count >= LANES;
}

static void NAME(interleave)(const gops_depthwise_interleave *a)
{
    if ((a->ways == 2 && interleave_blocks(a, 2)) || (a->ways == 4 && interleave_blocks(a, 4)) ||
        (a->ways == 8 && interleave_blocks(a, 8))) {
        return;
    }
    C *to = a->to;
    for (int64_t w = 0; w < a->ways; w++) {
        const C *from = (const C *)a->from + w * a->pitch;
        for (int64_t i = 0; i * a->ways + w < a->end; i++) {
            to[i * a->ways + w] = from[i];
        }
    }
}
