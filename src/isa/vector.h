/* vector.h: the width of a vector register of the instruction set, and helpers for vectors. */
#ifndef GOPS_ISA_VECTOR_H
#define GOPS_ISA_VECTOR_H

#if defined(__AVX512F__)
#define GOPS_REGISTER_BYTES 64
#elif defined(__AVX2__)
#define GOPS_REGISTER_BYTES 32
#else
#define GOPS_REGISTER_BYTES 16
#endif

/* Of the vectors that kernels are written in. A set that is emulated has those of the processors whose
 * instructions it emulates; the compiler makes them of what registers there are. */
#ifdef GOPS_EMULATED_ISA
#define GOPS_VECTOR_BYTES 64
#else
#define GOPS_VECTOR_BYTES GOPS_REGISTER_BYTES
#endif

/* MemorySanitizer does not see AVX2's masked stores, and takes minima, maxima and conversions by
 * instructions for uses of all lanes, also of those whose results are dropped. Builds for it use
 * code that it follows lane by lane. */
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#define GOPS_MEMORY_SANITIZER
#endif
#endif

/* For vectors: a in the lanes where the mask, the result of a comparison, is set, and b in the
 * others. C has no ?: for vectors; compilers make a masked move of this. */
#define GOPS_SELECT(mask, a, b)                                                                    \
    ((__typeof__(a))(((__typeof__(mask))(a) & (mask)) | ((__typeof__(mask))(b) & ~(mask))))

/* Stores a vector of floats, aligned, past the caches; and the fence that must follow such stores
 * before other threads may read them. */
#if defined(__AVX512F__)
#define GOPS_STORE_NONTEMPORAL(to, x) _mm512_stream_ps(to, (__m512)(x))
#elif defined(__AVX2__)
#define GOPS_STORE_NONTEMPORAL(to, x) _mm256_stream_ps(to, (__m256)(x))
#else
#define GOPS_STORE_NONTEMPORAL(to, x) memcpy(to, &(x), sizeof(x))
#endif
#if defined(__AVX2__)
#define GOPS_NONTEMPORAL_FENCE() _mm_sfence()
#else
#define GOPS_NONTEMPORAL_FENCE() (void)0
#endif

/* Associations for _Generic: the instructions for x < low ? low : x and x > high ? high : x. They
 * are called with x as the second argument, which is what they return for NaN and for two zeros. */
#if defined(__AVX2__)
#include <immintrin.h>
#endif
#if defined(__AVX512F__) && !defined(GOPS_MEMORY_SANITIZER)
#define GOPS_RAISES                                                                                \
    __m512:                                                                                        \
    _mm512_max_ps, __m512d : _mm512_max_pd,
#define GOPS_LOWERS                                                                                \
    __m512:                                                                                        \
    _mm512_min_ps, __m512d : _mm512_min_pd,
#elif defined(__AVX2__) && !defined(GOPS_MEMORY_SANITIZER)
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
