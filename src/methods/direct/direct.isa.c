/* direct.isa.c: direct.inc.h for the floating point types. */
#include "methods/direct/direct.h"

#include "isa/register.h"
#include "isa/vector.h"

#include <stddef.h>
#include <string.h>

/* TILE(vectors, rows, pixels, stride, per_vector): gops_direct_size. Tiles have up to 28 sums in 32
 * registers, or 12 in 16. Their pixels divide the usual widths of images, 224 halved again and
 * again; or they leave registers for all weights, so that no multiplication loads them again. */
#if defined(__AVX512F__) || defined(__aarch64__)
#define GOPS_DIRECT_SIZES(TILE, stride)                                                            \
    TILE(4, 1, 7, stride, 1)                                                                       \
    TILE(4, 1, 6, stride, 1)                                                                       \
    TILE(4, 1, 4, stride, 1)                                                                       \
    TILE(3, 1, 9, stride, 1)                                                                       \
    TILE(3, 1, 8, stride, 1)                                                                       \
    TILE(3, 1, 7, stride, 1)                                                                       \
    TILE(3, 1, 4, stride, 1)                                                                       \
    TILE(2, 2, 7, stride, 1)                                                                       \
    TILE(2, 2, 4, stride, 1)                                                                       \
    TILE(2, 1, 14, stride, 1)                                                                      \
    TILE(2, 1, 7, stride, 1)                                                                       \
    TILE(2, 1, 4, stride, 1)                                                                       \
    TILE(1, 4, 7, stride, 1)                                                                       \
    TILE(1, 2, 14, stride, 1)                                                                      \
    TILE(1, 1, 14, stride, 1)                                                                      \
    TILE(1, 1, 7, stride, 1)                                                                       \
    TILE(1, 1, 4, stride, 1)
enum { GOPS_DIRECT_MAX_SUMS = 28, GOPS_DIRECT_MAX_VECTORS = 4, GOPS_DIRECT_REGISTERS = 32 };
#else
#define GOPS_DIRECT_SIZES(TILE, stride)                                                            \
    TILE(3, 1, 4, stride, 1)                                                                       \
    TILE(2, 1, 6, stride, 1)                                                                       \
    TILE(2, 1, 4, stride, 1)                                                                       \
    TILE(1, 1, 7, stride, 1)                                                                       \
    TILE(1, 1, 4, stride, 1)
/* gcc leaves one of the 16 registers unused: counting on it, AVX2 spilled sums and took twice as
 * long (Zen 5). */
enum { GOPS_DIRECT_MAX_SUMS = 12, GOPS_DIRECT_MAX_VECTORS = 3, GOPS_DIRECT_REGISTERS = 15 };
#endif
/* Tiles in which two or four neighbouring pixels share a vector of 16 lanes, because 8 or 24
 * channels would not fill one; 56 channels are 32 and 24. With 8 channels four pixels share it, so
 * that two vectors use what is loaded. With 16 channels two do, for the same reason, but not with a
 * stride of 2, whose permutations cost more than that. With 4 channels there would be as many loads
 * as multiplications; vectors of pixels (implicit_tile.h) take 0.85 of the time (Zen 5). */
#define GOPS_SHARED_SIZES(TILE, stride)                                                            \
    TILE(4, 1, 14, stride, 2)                                                                      \
    TILE(3, 1, 14, stride, 2)                                                                      \
    TILE(1, 4, 14, stride, 2)                                                                      \
    TILE(2, 2, 28, stride, 4)
#define GOPS_SHARED_TILES(TILE)                                                                    \
    GOPS_SHARED_SIZES(TILE, 1)                                                                     \
    GOPS_SHARED_SIZES(TILE, 2)                                                                     \
    TILE(2, 1, 56, 1, 4)                                                                           \
    TILE(2, 1, 28, 1, 2)                                                                           \
    TILE(2, 2, 14, 1, 2)

/* Prefetches the next addresses, into the first level cache or, if not `near`, into the second. */
static inline void gops_direct_prefetch_next(gops_direct_prefetch *prefetch, const bool near)
{
    const int64_t count = prefetch->count < prefetch->left ? prefetch->count : prefetch->left;
    const unsigned char *next = prefetch->next;
    for (int64_t i = 0; i < count; i++, next += prefetch->step) {
        if (near) {
            __builtin_prefetch(next, 0, 3);
        } else {
            __builtin_prefetch(next, 0, 2);
        }
    }
    prefetch->next = next;
    prefetch->left -= count;
}

#ifdef __AVX512F__
/* Loads the per_vector pixels at `at`, `stride` apart, and repeats them to fill a vector. Pixels
 * before `first` and from `last` on are 0. Their values are not read, as they may lie outside the
 * tensor; but if `last` is beyond per_vector, more values follow. */
GOPS_INLINE __m512 load_shared_pixels(const float *at, const int stride, const int per_vector,
                                      const int first, const int last)
{
    const int end = last < per_vector ? last : per_vector;
    const unsigned all = stride == 2 ? 0x55 : 0xff;
    const unsigned wanted = all & ((1u << (end * stride)) - (1u << (first * stride)));
    if (stride == 1 && first == 0 && end == per_vector) {
        if (per_vector == 2) {
            double pair;
            memcpy(&pair, at, sizeof pair);
            return _mm512_castpd_ps(_mm512_set1_pd(pair));
        }
        return _mm512_broadcast_f32x4(_mm_loadu_ps(at));
    }
    if (stride == 2 && per_vector == 4) {
        const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6, 0, 2, 4, 6, 0, 2, 4, 6);
        const __m256 some = _mm256_maskz_loadu_ps((__mmask8)wanted, at);
        return _mm512_permutexvar_ps(even, _mm512_castps256_ps512(some));
    }
    const __m128 some = first == 0 && last > per_vector ? _mm_loadu_ps(at)
                                                        : _mm_maskz_loadu_ps((__mmask8)wanted, at);
    const __m512 repeated = _mm512_broadcast_f32x4(some);
    return stride == 2       ? _mm512_permute_ps(repeated, _MM_SHUFFLE(2, 0, 2, 0))
           : per_vector == 2 ? _mm512_permute_ps(repeated, _MM_SHUFFLE(1, 0, 1, 0))
                             : repeated;
}
#endif

#if defined(__FMA__) && !defined(GOPS_MEMORY_SANITIZER) /* which cannot follow assembly */
#define GOPS_FMA "vfmadd231ps"
#endif
#define GOPS_DIRECT_TILES(TILE) GOPS_DIRECT_SIZES(TILE, 1) GOPS_DIRECT_SIZES(TILE, 2)
#define EACH_COMPUTE "methods/direct/direct.inc.h"
#include "isa/each_compute.inc.h"

const gops_direct_kernels *const GOPS_ISA_NAME(gops_direct_table)[GOPS_COMPUTES] = {
    [GOPS_COMPUTE_F32] = &f32_direct_kernels,
    [GOPS_COMPUTE_F64] = &f64_direct_kernels,
};
