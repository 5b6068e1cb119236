/* vector.h: how wide a vector register of the instruction set is that is compiled for. */
#ifndef GOPS_ISA_VECTOR_H
#define GOPS_ISA_VECTOR_H

#if defined(__AVX512F__)
#define GOPS_VECTOR_BYTES 64
#elif defined(__AVX__)
#define GOPS_VECTOR_BYTES 32
#else
#define GOPS_VECTOR_BYTES 16
#endif

/* MemorySanitizer takes AVX2's masked stores for none, and minima, maxima and conversions by
 * instructions for uses of all their lanes, those too whose results are dropped. Built for it,
 * these are written as what it follows lane by lane. */
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#define GOPS_MEMORY_SANITIZER
#endif
#endif

/* Vectors: a where the mask, the result of a comparison, holds, and b elsewhere. (C has no ?: of
 * vectors; compilers make a masked move of this.) */
#define GOPS_SELECT(mask, a, b)                                                                    \
    ((__typeof__(a))(((__typeof__(mask))(a) & (mask)) | ((__typeof__(mask))(b) & ~(mask))))

/* Stores a vector of floats, aligned, past the caches; and the fence that must follow such stores
 * before other threads may read them. */
#if GOPS_VECTOR_BYTES == 64
#define GOPS_STORE_NONTEMPORAL(to, x) _mm512_stream_ps(to, (__m512)(x))
#elif GOPS_VECTOR_BYTES == 32
#define GOPS_STORE_NONTEMPORAL(to, x) _mm256_stream_ps(to, (__m256)(x))
#else
#define GOPS_STORE_NONTEMPORAL(to, x) memcpy(to, &(x), sizeof(x))
#endif
#if GOPS_VECTOR_BYTES > 16
#define GOPS_NONTEMPORAL_FENCE() _mm_sfence()
#else
#define GOPS_NONTEMPORAL_FENCE() (void)0
#endif

/* For _Generic: the instructions for x < low ? low : x and x > high ? high : x, called with x as
 * their second argument, which is what they answer for NaN and for two zeros. */
#if defined(__AVX__)
#include <immintrin.h>
#endif
#if defined(__AVX512F__) && !defined(GOPS_MEMORY_SANITIZER)
#define GOPS_RAISES                                                                                \
    __m512:                                                                                        \
    _mm512_max_ps, __m512d : _mm512_max_pd, __m256 : _mm256_max_ps,
#define GOPS_LOWERS                                                                                \
    __m512:                                                                                        \
    _mm512_min_ps, __m512d : _mm512_min_pd, __m256 : _mm256_min_ps,
#elif defined(__AVX__) && !defined(GOPS_MEMORY_SANITIZER)
#define GOPS_RAISES                                                                                \
    __m256:                                                                                        \
    _mm256_max_ps, __m256d : _mm256_max_pd,
#define GOPS_LOWERS                                                                                \
    __m256:                                                                                        \
    _mm256_min_ps, __m256d : _mm256_min_pd,
#else
#define GOPS_RAISES
#define GOPS_LOWERS
#endif

#endif
