/*
 * types/widen.h: integers of 8 and 16 bits to 32 and, cut off, from 32, in blocks of 16, 8 or 4
 * (types/blocks.h).
 *
 * There is an instruction for each of these, and gcc 12 does not find it in a short loop: it goes
 * through several registers and the stack, or converts one element after the other.
 */
#ifndef GOPS_TYPES_WIDEN_H
#define GOPS_TYPES_WIDEN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __AVX2__

#include <immintrin.h>

/* `length` elements of `bytes` bytes each; what follows them in the register is 0. */
static inline __attribute__((always_inline)) __m128i gops_widen_load(const void *from, size_t bytes)
{
    int32_t four;
    if (bytes == 16) {
        return _mm_loadu_si128(from);
    }
    if (bytes == 8) {
        return _mm_loadl_epi64(from);
    }
    memcpy(&four, from, sizeof four);
    return _mm_cvtsi32_si128(four);
}

static inline __attribute__((always_inline)) __m128i gops_load_128(const void *from)
{
    return _mm_loadu_si128(from);
}

static inline __attribute__((always_inline)) __m256i gops_load_256(const void *from)
{
    return _mm256_loadu_si256(from);
}

#ifdef __AVX512F__
#define GOPS_WIDEN_16(to, from, convert, load) _mm512_storeu_si512(to, _mm512_##convert(load(from)))
#else
#define GOPS_WIDEN_16(to, from, convert, load)                                                     \
    _mm256_storeu_si256((void *)(to),                                                              \
                        _mm256_##convert(gops_widen_load(from, 8 * sizeof *(from))));              \
    _mm256_storeu_si256((void *)((to) + 8),                                                        \
                        _mm256_##convert(gops_widen_load((from) + 8, 8 * sizeof *(from))))
#endif

#define GOPS_WIDEN(name, T, convert, load)                                                         \
    static inline __attribute__((always_inline)) void name(int32_t *to, const T *from, int length) \
    {                                                                                              \
        if (length == 4) {                                                                         \
            __m128i codes = gops_widen_load(from, 4 * sizeof(T));                                  \
            _mm_storeu_si128((void *)to, _mm_##convert(codes));                                    \
        }                                                                                          \
        if (length == 8) {                                                                         \
            __m128i codes = gops_widen_load(from, 8 * sizeof(T));                                  \
            _mm256_storeu_si256((void *)to, _mm256_##convert(codes));                              \
        }                                                                                          \
        if (length == 16) {                                                                        \
            GOPS_WIDEN_16(to, from, convert, load);                                                \
        }                                                                                          \
    }

#else

#define GOPS_WIDEN(name, T, convert, load)                                                         \
    static inline __attribute__((always_inline)) void name(int32_t *to, const T *from, int length) \
    {                                                                                              \
        for (int i = 0; i < length; i++) {                                                         \
            to[i] = from[i];                                                                       \
        }                                                                                          \
    }

#endif

GOPS_WIDEN(gops_widen_i8, int8_t, cvtepi8_epi32, gops_load_128)
GOPS_WIDEN(gops_widen_u8, uint8_t, cvtepu8_epi32, gops_load_128)
GOPS_WIDEN(gops_widen_i16, int16_t, cvtepi16_epi32, gops_load_256)
GOPS_WIDEN(gops_widen_u16, uint16_t, cvtepu16_epi32, gops_load_256)

#undef GOPS_WIDEN

#ifdef __AVX512F__
#define GOPS_NARROW(name, T, store, convert)                                                       \
    static inline __attribute__((always_inline)) void name(T *to, const uint32_t *from,            \
                                                           int length)                             \
    {                                                                                              \
        if (length == 16) {                                                                        \
            store((void *)to, _mm512_maskz_##convert(0xffff, _mm512_loadu_si512(from)));           \
            return;                                                                                \
        }                                                                                          \
        for (int i = 0; i < length; i++) {                                                         \
            to[i] = (T)from[i];                                                                    \
        }                                                                                          \
    }
#else
#define GOPS_NARROW(name, T, store, convert)                                                       \
    static inline __attribute__((always_inline)) void name(T *to, const uint32_t *from,            \
                                                           int length)                             \
    {                                                                                              \
        for (int i = 0; i < length; i++) {                                                         \
            to[i] = (T)from[i];                                                                    \
        }                                                                                          \
    }
#endif

GOPS_NARROW(gops_narrow_u8, uint8_t, _mm_storeu_si128, cvtepi32_epi8)
GOPS_NARROW(gops_narrow_u16, uint16_t, _mm256_storeu_si256, cvtepi32_epi16)

#undef GOPS_NARROW

#endif
