/* lanes_bytes.h: what the copies of rows of bytes have in common (lanes.h). */
#ifndef GOPS_IMPLICIT_LANES_BYTES_H
#define GOPS_IMPLICIT_LANES_BYTES_H

#include "isa/load_bytes.h"
#include "isa/register.h"

#include <stdint.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

/* Two bytes less the zero point, the first in the lower half. */
GOPS_INLINE uint32_t gops_pair_of(int32_t first, int32_t second, uint8_t zero)
{
    const int32_t low = first - zero, high = second - zero;
    return ((uint32_t)low & 0xffff) | (uint32_t)high << 16;
}

#ifdef __SSE2__

/* Stores 8 pairs, of neighbouring bytes less the zero point. */
GOPS_INLINE void gops_store_pairs(uint32_t *to, __m128i bytes, uint8_t zero)
{
#ifdef __AVX2__
    const __m256i wide = _mm256_cvtepu8_epi16(bytes);
    _mm256_storeu_si256((void *)to, _mm256_sub_epi16(wide, _mm256_set1_epi16(zero)));
#else
    const __m128i none = _mm_setzero_si128(), subtracted = _mm_set1_epi16(zero);
    _mm_storeu_si128((void *)to, _mm_sub_epi16(_mm_unpacklo_epi8(bytes, none), subtracted));
    _mm_storeu_si128((void *)(to + 4), _mm_sub_epi16(_mm_unpackhi_epi8(bytes, none), subtracted));
#endif
}

#endif

#endif
