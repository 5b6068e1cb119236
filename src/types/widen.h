/*
 * types/widen.h: converts integers of 8 and 16 bits to 32 bits, of 8 bits to 16, and the low bits of
 * 32 back, in blocks of 16, 8 or 4 (types/blocks.h).
 *
 * Processors have an instruction for each of these, but gcc 12 does not find it for a short loop:
 * it goes through several registers and the stack, or converts one element at a time.
 */
#ifndef GOPS_TYPES_WIDEN_H
#define GOPS_TYPES_WIDEN_H

#include "isa/load_bytes.h"

#include <stdint.h>

#ifdef __AVX2__

#include <immintrin.h>

#ifdef __AVX512F__
#define GOPS_WIDEN_16(to, from, convert, load)                                                     \
    if (length == 16) {                                                                            \
        _mm512_storeu_si512(to, _mm512_##convert(load((const void *)(from))));                     \
        return;                                                                                    \
    }
#else
#define GOPS_WIDEN_16(to, from, convert, load)
#endif

#define GOPS_WIDEN(name, T, convert, load)                                                         \
    static inline __attribute__((always_inline)) void name(int32_t *to, const T *from, int length) \
    {                                                                                              \
        if (length == 4) {                                                                         \
            __m128i codes = gops_load_bytes(from, 4 * sizeof(T));                                  \
            _mm_storeu_si128((void *)to, _mm_##convert(codes));                                    \
        }                                                                                          \
        GOPS_WIDEN_16(to, from, convert, load)                                                     \
        for (int i = 0; i + 8 <= length; i += 8) {                                                 \
            __m128i codes = gops_load_bytes(from + i, 8 * sizeof(T));                              \
            _mm256_storeu_si256((void *)(to + i), _mm256_##convert(codes));                        \
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

GOPS_WIDEN(gops_widen_i8, int8_t, cvtepi8_epi32, _mm_loadu_si128)
GOPS_WIDEN(gops_widen_u8, uint8_t, cvtepu8_epi32, _mm_loadu_si128)
GOPS_WIDEN(gops_widen_u16, uint16_t, cvtepu16_epi32, _mm256_loadu_si256)

/* To 16 bits. */
#ifdef __AVX2__
#define GOPS_WIDEN_BLOCKS(to, from, length, convert)                                               \
    if (length == 16) {                                                                            \
        _mm256_storeu_si256((void *)(to),                                                          \
                            _mm256_##convert(_mm_loadu_si128((const void *)(from))));              \
        return;                                                                                    \
    }                                                                                              \
    if (length == 8) {                                                                             \
        _mm_storeu_si128((void *)(to), _mm_##convert(gops_load_bytes(from, 8)));                   \
        return;                                                                                    \
    }
#else
#define GOPS_WIDEN_BLOCKS(to, from, length, convert)
#endif
#define GOPS_WIDEN_U16(name, T, convert)                                                           \
    static inline __attribute__((always_inline)) void name(uint16_t *to, const T *from,            \
                                                           int length)                             \
    {                                                                                              \
        GOPS_WIDEN_BLOCKS(to, from, length, convert)                                               \
        for (int i = 0; i < length; i++) {                                                         \
            to[i] = (uint16_t)from[i];                                                             \
        }                                                                                          \
    }

GOPS_WIDEN_U16(gops_widen_i8_u16, int8_t, cvtepi8_epi16)
GOPS_WIDEN_U16(gops_widen_u8_u16, uint8_t, cvtepu8_epi16)

#undef GOPS_WIDEN_U16
#undef GOPS_WIDEN_BLOCKS

#ifdef __AVX512F__
#define GOPS_NARROW_16(to, from, store, convert)                                                   \
    if (length == 16) {                                                                            \
        store((void *)to, _mm512_maskz_##convert(0xffff, _mm512_loadu_si512(from)));               \
        return;                                                                                    \
    }
#else
#define GOPS_NARROW_16(to, from, store, convert)
#endif

#ifdef __AVX2__

/* The low bits of 8 values, those of `mask`, as 16 bits each. */
static inline __attribute__((always_inline)) __m128i gops_narrow_8(const uint32_t *from,
                                                                   int32_t mask)
{
    const __m256i low =
        _mm256_and_si256(_mm256_loadu_si256((const void *)from), _mm256_set1_epi32(mask));
    return _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
}

#define GOPS_NARROW_BLOCKS(to, from, mask, store)                                                  \
    if (length >= 8) {                                                                             \
        for (int i = 0; i < length; i += 8) {                                                      \
            store((void *)(to + i), gops_narrow_8(from + i, mask));                                \
        }                                                                                          \
        return;                                                                                    \
    }
#define GOPS_STORE_BYTES(to, values) _mm_storel_epi64(to, _mm_packus_epi16(values, values))

#else
#define GOPS_NARROW_BLOCKS(to, from, mask, store)
#endif

#define GOPS_NARROW(name, T, mask, store_8, store_16, convert)                                     \
    static inline __attribute__((always_inline)) void name(T *to, const uint32_t *from,            \
                                                           int length)                             \
    {                                                                                              \
        GOPS_NARROW_16(to, from, store_16, convert)                                                \
        GOPS_NARROW_BLOCKS(to, from, mask, store_8)                                                \
        for (int i = 0; i < length; i++) {                                                         \
            to[i] = (T)from[i];                                                                    \
        }                                                                                          \
    }

GOPS_NARROW(gops_narrow_u8, uint8_t, UINT8_MAX, GOPS_STORE_BYTES, _mm_storeu_si128, cvtepi32_epi8)
GOPS_NARROW(gops_narrow_u16, uint16_t, UINT16_MAX, _mm_storeu_si128, _mm256_storeu_si256,
            cvtepi32_epi16)

#endif
