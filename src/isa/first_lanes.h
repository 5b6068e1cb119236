/* first_lanes.h: AVX2's masks of the first `count` lanes of a vector; none where it is 0 or less, all where it is the
 * lanes or more. */
#ifndef GOPS_ISA_FIRST_LANES_H
#define GOPS_ISA_FIRST_LANES_H

#include "isa/register.h"

#if defined(__AVX2__)
#include <immintrin.h>

GOPS_INLINE __m256i gops_first_lanes_32(int count)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

GOPS_INLINE __m256i gops_first_lanes_64(int count)
{
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
}
#endif

#endif
