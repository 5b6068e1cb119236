/*
 * transpose_words.h: transposes as many vectors of 32-bit values as one has lanes, on their way from memory to
 * registers.
 *
 * Rotating addresses (isa/transpose.inc.h) takes shuffles of whole registers, which an Intel processor has one unit
 * for: 64 with AVX-512, with AVX2 8 of 24. Here loads bring the rows' parts of 128 bits together, to where they belong,
 * which takes no shuffle. Within 128 bits 32 and 16 shuffles are left.
 */
#ifndef GOPS_ISA_TRANSPOSE_WORDS_H
#define GOPS_ISA_TRANSPOSE_WORDS_H

#include "isa/register.h"
#include "isa/vector.h"

#include <stdint.h>

#if GOPS_REGISTER_BYTES == 64
/* What this file has. */
#define GOPS_TRANSPOSES_WORDS

/* Columns 4 * b to 4 * b + 3 of rows j, j + 4, j + 8 and j + 12. */
GOPS_INLINE __m512i gops_load_quarters(const uint32_t *from, int64_t ld)
{
    const __m512i first = _mm512_castsi128_si512(_mm_loadu_si128((const void *)from));
    const __m512i second =
        _mm512_mask_broadcast_i32x4(first, 0x00f0, _mm_loadu_si128((const void *)(from + 4 * ld)));
    const __m512i third =
        _mm512_mask_broadcast_i32x4(second, 0x0f00, _mm_loadu_si128((const void *)(from + 8 * ld)));
    return _mm512_mask_broadcast_i32x4(third, 0xf000,
                                       _mm_loadu_si128((const void *)(from + 12 * ld)));
}

/* Rows of `from` lie `ld` values apart; `to` are 16 vectors, its columns, with the alignment of values. */
GOPS_INLINE void gops_transpose_words(void *to, const void *from, int64_t ld)
{
    uint32_t *column = to;
    GOPS_UNROLL
    for (int b = 0; b < 4; b++, column += 64) {
        const uint32_t *at = (const uint32_t *)from + 4 * b;
        const __m512i row0 = gops_load_quarters(at, ld), row1 = gops_load_quarters(at + ld, ld);
        const __m512i row2 = gops_load_quarters(at + 2 * ld, ld);
        const __m512i row3 = gops_load_quarters(at + 3 * ld, ld);
        const __m512i low01 = _mm512_unpacklo_epi32(row0, row1);
        const __m512i low23 = _mm512_unpacklo_epi32(row2, row3);
        const __m512i high01 = _mm512_unpackhi_epi32(row0, row1);
        const __m512i high23 = _mm512_unpackhi_epi32(row2, row3);
        _mm512_storeu_si512(column, _mm512_unpacklo_epi64(low01, low23));
        _mm512_storeu_si512(column + 16, _mm512_unpackhi_epi64(low01, low23));
        _mm512_storeu_si512(column + 32, _mm512_unpacklo_epi64(high01, high23));
        _mm512_storeu_si512(column + 48, _mm512_unpackhi_epi64(high01, high23));
    }
}
#elif GOPS_REGISTER_BYTES == 32 && GOPS_VECTOR_BYTES == 32
#define GOPS_TRANSPOSES_WORDS

/* Columns 4 * b to 4 * b + 3 of rows j and j + 4. */
GOPS_INLINE __m256 gops_load_halves(const float *from, int64_t ld)
{
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(from)),
                                _mm_loadu_ps(from + 4 * ld), 1);
}

GOPS_INLINE __m256 gops_low_pairs(__m256 a, __m256 b)
{
    return _mm256_castpd_ps(_mm256_unpacklo_pd(_mm256_castps_pd(a), _mm256_castps_pd(b)));
}

GOPS_INLINE __m256 gops_high_pairs(__m256 a, __m256 b)
{
    return _mm256_castpd_ps(_mm256_unpackhi_pd(_mm256_castps_pd(a), _mm256_castps_pd(b)));
}

GOPS_INLINE void gops_transpose_words(void *to, const void *from, int64_t ld)
{
    float *column = to;
    GOPS_UNROLL
    for (int b = 0; b < 2; b++, column += 32) {
        const float *at = (const float *)from + 4 * b;
        const __m256 row0 = gops_load_halves(at, ld), row1 = gops_load_halves(at + ld, ld);
        const __m256 row2 = gops_load_halves(at + 2 * ld, ld);
        const __m256 row3 = gops_load_halves(at + 3 * ld, ld);
        const __m256 low01 = _mm256_unpacklo_ps(row0, row1), low23 = _mm256_unpacklo_ps(row2, row3);
        const __m256 high01 = _mm256_unpackhi_ps(row0, row1),
                     high23 = _mm256_unpackhi_ps(row2, row3);
        _mm256_storeu_ps(column, gops_low_pairs(low01, low23));
        _mm256_storeu_ps(column + 8, gops_high_pairs(low01, low23));
        _mm256_storeu_ps(column + 16, gops_low_pairs(high01, high23));
        _mm256_storeu_ps(column + 24, gops_high_pairs(high01, high23));
    }
}
#endif

#endif
