/*
 * isa/transpose.inc.h: transposes and interleaves vectors in registers.
 *
 * Write an element's address as (vector, lane). Interleaving vectors i and i + count / 2 for all i
 * rotates that address by one bit, and log2(count) such steps bring the number of the vector to the
 * lowest bits: `count` rows are interleaved. With as many vectors as lanes the two halves of the
 * address have changed places: they are transposed.
 *
 * Parameters:
 *   NAME(symbol)  puts the type's name in front of a symbol
 *   NAME(vector)  type: a vector
 *   LOW, HIGH     indices for __builtin_shufflevector that interleave the lower halves and the
 *                 upper halves of two vectors
 */
#include "isa/register.h"

/* Rotates the addresses in `count` vectors by log2(count) bits; `count` is a power of 2, at most
 * 32. */
GOPS_INLINE void NAME(rotate_address)(NAME(vector) * rows, const int count)
{
    NAME(vector) next[32];
    GOPS_UNROLL
    for (int bits = 1; bits < count; bits *= 2) {
        GOPS_UNROLL
        for (int i = 0; i < count / 2; i++) {
            next[2 * i] = __builtin_shufflevector(rows[i], rows[i + count / 2], LOW);
            next[2 * i + 1] = __builtin_shufflevector(rows[i], rows[i + count / 2], HIGH);
        }
        GOPS_UNROLL
        for (int i = 0; i < count; i++) {
            rows[i] = next[i];
        }
    }
}
