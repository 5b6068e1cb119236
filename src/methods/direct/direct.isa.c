/* direct.isa.c: direct.inc.h for the floating point types. */
#include "methods/direct/direct.h"

#include "isa/lanes.h"
#include "isa/register.h"
#include "isa/vector.h"

#include <stddef.h>
#include <string.h>

/* Vectors of channels, rows, spots, stride, outputs that share a vector: 28 sums, and 32 registers,
 * or 12 and 16. Spots are divisors of what images usually measure, of the sizes halved from 224. */
#if defined(__AVX512F__) || defined(__aarch64__)
#define GOPS_DIRECT_SIZES(STRIP, stride)                                                           \
    STRIP(4, 1, 7, stride, 1)                                                                      \
    STRIP(4, 1, 4, stride, 1)                                                                      \
    STRIP(3, 1, 8, stride, 1)                                                                      \
    STRIP(3, 1, 7, stride, 1)                                                                      \
    STRIP(3, 1, 4, stride, 1)                                                                      \
    STRIP(2, 2, 7, stride, 1)                                                                      \
    STRIP(2, 1, 14, stride, 1)                                                                     \
    STRIP(2, 1, 7, stride, 1)                                                                      \
    STRIP(2, 1, 4, stride, 1)                                                                      \
    STRIP(1, 4, 7, stride, 1)                                                                      \
    STRIP(1, 2, 14, stride, 1)                                                                     \
    STRIP(1, 1, 14, stride, 1)                                                                     \
    STRIP(1, 1, 7, stride, 1)                                                                      \
    STRIP(1, 1, 4, stride, 1)
enum { GOPS_DIRECT_SUMS = 28, GOPS_DIRECT_VECTORS = 4, GOPS_DIRECT_REGISTERS = 32 };
#else
#define GOPS_DIRECT_SIZES(STRIP, stride)                                                           \
    STRIP(3, 1, 4, stride, 1)                                                                      \
    STRIP(2, 1, 6, stride, 1)                                                                      \
    STRIP(2, 1, 4, stride, 1)                                                                      \
    STRIP(1, 1, 7, stride, 1)                                                                      \
    STRIP(1, 1, 4, stride, 1)
/* Of 16 registers gcc does not make use of the last one: it spilled 4 sums of 12, and AVX2 took
 * twice the time. */
enum { GOPS_DIRECT_SUMS = 12, GOPS_DIRECT_VECTORS = 3, GOPS_DIRECT_REGISTERS = 15 };
#endif
/* Where two or four neighbouring outputs share a vector of 16 lanes: 8 or 24 channels have no full
 * vectors else, 56 are 32 and 24. Of 8 channels four outputs, so that two vectors use what is
 * loaded; of 16 two, for the same reason, but with a stride of 2 the permutations cost more than
 * that. With 4 channels as many loads as multiplications are left, and vectors of pixels
 * (implicit_tile.h) took 0.85 of the time. */
#define GOPS_JOINED_SIZES(STRIP, stride)                                                           \
    STRIP(4, 1, 14, stride, 2)                                                                     \
    STRIP(3, 1, 14, stride, 2)                                                                     \
    STRIP(1, 4, 14, stride, 2)                                                                     \
    STRIP(2, 2, 28, stride, 4)
#define GOPS_JOINED_SIZES_OF_1(STRIP)                                                              \
    STRIP(2, 1, 56, 1, 4)                                                                          \
    STRIP(2, 1, 28, 1, 2)                                                                          \
    STRIP(2, 2, 14, 1, 2)

/* `near`: into the nearest cache, else into the second level. */
static inline void gops_direct_ask(gops_direct_ahead *ahead, const int near)
{
    const int64_t count = ahead->count < ahead->left ? ahead->count : ahead->left;
    const unsigned char *next = ahead->next;
    for (int64_t i = 0; i < count; i++, next += ahead->step) {
        if (near) {
            __builtin_prefetch(next, 0, 3);
        } else {
            __builtin_prefetch(next, 0, 2);
        }
    }
    ahead->next = next;
    ahead->left -= count;
}

#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

#ifdef __AVX512F__
/* Of the `joined` values at `at`, `stride` apart, those from `first` on and before `last`, and 0
 * for the others; all as often as a vector has lanes for them. Where `last` is beyond them so is
 * data; else nothing is read that is not wanted, as it may lie outside of the tensor. */
static inline __attribute__((always_inline)) __m512
f32_joined(const float *at, const int stride, const int joined, const int first, const int last)
{
    const int end = last < joined ? last : joined;
    const unsigned all = stride == 2 ? 0x55 : 0xff;
    const unsigned wanted = all & ((1u << (end * stride)) - (1u << (first * stride)));
    if (stride == 1 && first == 0 && end == joined) {
        if (joined == 2) {
            double pair;
            memcpy(&pair, at, sizeof pair);
            return _mm512_castpd_ps(_mm512_set1_pd(pair));
        }
        return _mm512_broadcast_f32x4(_mm_loadu_ps(at));
    }
    if (stride == 2 && joined == 4) {
        const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6, 0, 2, 4, 6, 0, 2, 4, 6);
        const __m256 some = _mm256_maskz_loadu_ps((__mmask8)wanted, at);
        return _mm512_permutexvar_ps(even, _mm512_castps256_ps512(some));
    }
    const __m128 some =
        first == 0 && last > joined ? _mm_loadu_ps(at) : _mm_maskz_loadu_ps((__mmask8)wanted, at);
    const __m512 spread = _mm512_broadcast_f32x4(some);
    return stride == 2   ? _mm512_permute_ps(spread, _MM_SHUFFLE(2, 0, 2, 0))
           : joined == 2 ? _mm512_permute_ps(spread, _MM_SHUFFLE(1, 0, 1, 0))
                         : spread;
}
#endif

#define C float
#define LANES (GOPS_VECTOR_BYTES / 4)
#define LOW LOW_OF_4_BYTES
#define HIGH HIGH_OF_4_BYTES
#define NAME(symbol) f32_##symbol
#if defined(__FMA__) && !defined(GOPS_MEMORY_SANITIZER) /* which does not see through it */
#define GOPS_ADDS "vfmadd231ps"
#endif
#ifdef __AVX512F__
#define GOPS_QUADS
#define GOPS_JOINED f32_joined
#define GOPS_DIRECT_KERNELS(STRIP)                                                                 \
    GOPS_DIRECT_SIZES(STRIP, 1)                                                                    \
    GOPS_DIRECT_SIZES(STRIP, 2)                                                                    \
    GOPS_JOINED_SIZES(STRIP, 1) GOPS_JOINED_SIZES(STRIP, 2) GOPS_JOINED_SIZES_OF_1(STRIP)
#define GOPS_MASKED_STORE(to, mask, value)                                                         \
    _mm512_mask_storeu_ps(to, (__mmask16)(mask), (__m512)(value))
#else
#define GOPS_DIRECT_KERNELS(STRIP) GOPS_DIRECT_SIZES(STRIP, 1) GOPS_DIRECT_SIZES(STRIP, 2)
#endif
#include "methods/direct/direct.inc.h"

#define GOPS_DIRECT_KERNELS(STRIP) GOPS_DIRECT_SIZES(STRIP, 1) GOPS_DIRECT_SIZES(STRIP, 2)
#define C double
#define LANES (GOPS_VECTOR_BYTES / 8)
#define LOW LOW_OF_8_BYTES
#define HIGH HIGH_OF_8_BYTES
#define NAME(symbol) f64_##symbol
#ifdef __AVX512F__
#define GOPS_MASKED_STORE(to, mask, value)                                                         \
    _mm512_mask_storeu_pd(to, (__mmask8)(mask), (__m512d)(value))
#endif
#include "methods/direct/direct.inc.h"

const gops_direct_kernels *const GOPS_ISA_NAME(gops_direct_table)[GOPS_COMPUTES] = {
    [GOPS_COMPUTE_F32] = &f32_strips,
    [GOPS_COMPUTE_F64] = &f64_strips,
};
