/* order_words.h: orders what instructions that pack or interleave within 128 bits leave apart. */
#ifndef GOPS_ISA_ORDER_WORDS_H
#define GOPS_ISA_ORDER_WORDS_H

#include "isa/register.h"
#include "isa/vector.h"

/* Words of 32 bits: the first ones of all 128 bits, then the second ones, and so on. */
#if GOPS_REGISTER_BYTES == 64
GOPS_INLINE __m512i gops_order_words(__m512i x)
{
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_epi32(order, x);
}
#elif defined(__AVX2__)
GOPS_INLINE __m256i gops_order_words(__m256i x)
{
    return _mm256_permutevar8x32_epi32(x, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}
#endif

#endif
