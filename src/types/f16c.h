/* types/f16c.h: converts f16 and f8e5m2 by F16C's instructions, where the build has them. */
#ifndef GOPS_TYPES_F16C_H
#define GOPS_TYPES_F16C_H

#ifdef __F16C__
#include "types/widen.h"

#include <immintrin.h>
#include <stdint.h>

static inline __attribute__((always_inline)) void f16c_load(float *to, const uint16_t *from,
                                                            int length)
{
    if (length == 4) {
        _mm_storeu_ps(to, _mm_cvtph_ps(_mm_loadl_epi64((const void *)from)));
    }
#ifdef __AVX512F__
    if (length == 16) {
        _mm512_storeu_ps(to, _mm512_cvtph_ps(_mm256_loadu_si256((const void *)from)));
        return;
    }
#endif
    for (int i = 0; i + 8 <= length; i += 8) {
        __m128i codes = _mm_loadu_si128((const void *)(from + i));
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(codes));
    }
}

static inline __attribute__((always_inline)) void f16c_store(uint16_t *to, const float *from,
                                                             int length)
{
    if (length == 4) {
        __m128i codes = _mm_cvtps_ph(_mm_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT);
        _mm_storel_epi64((void *)to, codes);
    }
#ifdef __AVX512F__
    if (length == 16) {
        /* All lanes by a mask: without optimization gcc 12's plain form is a macro that warns. */
        _mm256_storeu_si256((void *)to, _mm512_maskz_cvtps_ph(0xffff, _mm512_loadu_ps(from),
                                                              _MM_FROUND_TO_NEAREST_INT));
        return;
    }
#endif
    for (int i = 0; i + 8 <= length; i += 8) {
        __m128i codes = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
        _mm_storeu_si128((void *)(to + i), codes);
    }
}

/* The codes are the upper halves of those of f16. */
static inline __attribute__((always_inline)) void f8e5m2_f16c_load(float *to, const uint8_t *from,
                                                                   int length)
{
#ifdef __AVX512F__
    if (length == 16) {
        __m256i codes = _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)from));
        _mm512_storeu_ps(to, _mm512_cvtph_ps(_mm256_slli_epi16(codes, 8)));
        return;
    }
#endif
    for (int i = 0; i < length; i += 8) {
        __m128i codes = gops_load_bytes(from + i, length == 4 ? 4 : 8);
        __m128i upper = _mm_unpacklo_epi8(_mm_setzero_si128(), codes);
        if (length == 4) {
            _mm_storeu_ps(to, _mm_cvtph_ps(upper));
        } else {
            _mm256_storeu_ps(to + i, _mm256_cvtph_ps(upper));
        }
    }
}
#endif

#endif
