/*
 * depthwise_interleave.inc.h: interleaves the sub-convolutions of a row of outputs.
 *
 * Output j is element j / ways of row j % ways. `ways` vectors, one of each row, make `ways`
 * vectors of outputs. Write an element's address as (w, lane). Interleaving vectors w and
 * w + ways / 2 for all w rotates that address by one bit; after log2(ways) such steps w is the
 * lowest bits of the address.
 *
 * Parameters:
 *   C             the compute type
 *   NAME(symbol)  the name of a function or type of this instance
 *   LOW, HIGH     indices for __builtin_shufflevector that interleave the lower halves and the upper
 *                 halves of two vectors
 * and NAME(vector), NAME(unaligned) and NAME(LANES) of depthwise_rows.inc.h.
 */

#include "isa/transpose.inc.h"

#define vector NAME(vector)
#define unaligned NAME(unaligned)
#define LANES NAME(LANES)
#define rotate_address NAME(rotate_address)
#define interleave_block NAME(interleave_block)
#define interleave_blocks NAME(interleave_blocks)

/* Interleaves a vector of each row, from element `first` on. */
static inline __attribute__((always_inline)) void
interleave_block(const gops_depthwise_interleave *a, int64_t first, const int WAYS)
{
    const C *from = (const C *)a->from + first;
    C *to = (C *)a->to + first * WAYS;
    const int64_t left = a->end - first * WAYS;
    vector rows[8];
    GOPS_UNROLL
    for (int w = 0; w < WAYS; w++) {
        rows[w] = *(const unaligned *)(const void *)(from + w * a->pitch);
    }
    rotate_address(rows, WAYS);
    if (left >= WAYS * LANES) {
        GOPS_UNROLL
        for (int w = 0; w < WAYS; w++) {
            *(unaligned *)(void *)(to + w * LANES) = rows[w];
        }
    } else if (left > 0) {
        memcpy(to, rows, (size_t)left * sizeof(C));
    }
}

/* Interleaves whole vectors, of which the last ones overlap those before them. Returns false, and
 * does nothing, where a row is shorter than a vector. */
static inline __attribute__((always_inline)) bool
interleave_blocks(const gops_depthwise_interleave *a, const int WAYS)
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

#undef vector
#undef unaligned
#undef LANES
#undef rotate_address
#undef interleave_block
#undef interleave_blocks
