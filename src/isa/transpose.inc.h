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
 *   C             type: its elements
 *   LANES         int: its elements
 *   LOW, HIGH     indices for __builtin_shufflevector that interleave the lower halves and the
 *                 upper halves of two vectors
 */
#include "isa/register.h"
#include "isa/transpose_words.h"

#if defined(__AVX2__) && !defined(__AVX512F__) && (LANES == 4 || LANES == 8)
/* A vector of AVX2 is two halves; instructions that move nothing from one to the other interleave
 * them at once, while LOW and HIGH take two each. So a transposition first brings together what
 * belongs in a half: 24 instructions for 8 vectors, where rotating takes 48. */
GOPS_INLINE void NAME(transpose_halves)(NAME(vector) * rows)
{
    NAME(vector) next[LANES];
    GOPS_UNROLL
    for (int i = 0; i < LANES / 2; i++) {
        next[i] =
            __builtin_shufflevector(rows[i], rows[i + LANES / 2], GOPS_PASTE(LOW_HALVES, LANES));
        next[i + LANES / 2] =
            __builtin_shufflevector(rows[i], rows[i + LANES / 2], GOPS_PASTE(HIGH_HALVES, LANES));
    }
    GOPS_UNROLL
    for (int bits = 1; bits < LANES / 2; bits *= 2) {
        GOPS_UNROLL
        for (int i = 0; i < LANES; i++) {
            const int of = i / (LANES / 2) * (LANES / 2) + i % (LANES / 2) / 2;
            rows[i] = i % 2 == 0 ? __builtin_shufflevector(next[of], next[of + LANES / 4],
                                                           GOPS_PASTE(LOW_OF_HALVES, LANES))
                                 : __builtin_shufflevector(next[of], next[of + LANES / 4],
                                                           GOPS_PASTE(HIGH_OF_HALVES, LANES));
        }
        GOPS_UNROLL
        for (int i = 0; i < LANES; i++) {
            next[i] = rows[i];
        }
    }
}
#define GOPS_TRANSPOSES_HALVES
#endif

/* Rotates the addresses in `count` vectors by log2(count) bits; `count` is a power of 2, at most
 * 32. */
GOPS_INLINE void NAME(rotate_address)(NAME(vector) * rows, const int count)
{
#ifdef GOPS_TRANSPOSES_HALVES
    if (count == LANES) {
        NAME(transpose_halves)(rows);
        return;
    }
#endif
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

/* Interleaves two vectors: the first becomes the lower half of both, the second the upper half. */
GOPS_INLINE void NAME(interleave_vectors)(NAME(vector) * first, NAME(vector) * second)
{
#ifdef GOPS_TRANSPOSES_HALVES
    const NAME(vector) low =
        __builtin_shufflevector(*first, *second, GOPS_PASTE(LOW_OF_HALVES, LANES));
    const NAME(vector) high =
        __builtin_shufflevector(*first, *second, GOPS_PASTE(HIGH_OF_HALVES, LANES));
    *first = __builtin_shufflevector(low, high, GOPS_PASTE(LOW_HALVES, LANES));
    *second = __builtin_shufflevector(low, high, GOPS_PASTE(HIGH_HALVES, LANES));
#else
    const NAME(vector) low = __builtin_shufflevector(*first, *second, LOW);
    *second = __builtin_shufflevector(*first, *second, HIGH);
    *first = low;
#endif
}
#undef GOPS_TRANSPOSES_HALVES

/* Loads LANES rows, which lie `ld` apart, and transposes them. */
GOPS_INLINE void NAME(load_rotated)(void *to, const void *from, int64_t ld)
{
    NAME(vector) *rows = to;
    GOPS_UNROLL
    for (int i = 0; i < LANES; i++) {
        rows[i] = *(const NAME(vector) *)(const void *)((const C *)from + i * ld);
    }
    NAME(rotate_address)(rows, LANES);
}

GOPS_INLINE void NAME(load_transposed)(NAME(vector) * rows, const C *from, int64_t ld)
{
#ifdef GOPS_TRANSPOSES_WORDS
    _Generic(*from, float
             : gops_transpose_words, uint32_t
             : gops_transpose_words, default
             : NAME(load_rotated))(rows, from, ld);
#else
    NAME(load_rotated)(rows, from, ld);
#endif
}
