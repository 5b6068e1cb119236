/* depthwise_masked.isa.c: the kernels of depthwise/masked, for instruction sets with masked
 * loads. */
#include "methods/depthwise/depthwise.h"

#include "base/checked.h"
#include "isa/register.h"
#include "isa/vector.h"

#include <stddef.h>

#if defined(__AVX512F__)

#include <immintrin.h>

enum { MAX_MR = 14 };

/* Bits begin to end - 1. */
static inline uint32_t lane_bits(int64_t begin, int64_t end)
{
    return (uint32_t)(((uint64_t)1 << end) - 1) & ~(uint32_t)(((uint64_t)1 << begin) - 1);
}

#define C float
#define BYTES 64
#define NAME(symbol) f32_##symbol
#define MASK __mmask16
#define MASK_OF(begin, end) (__mmask16) lane_bits(begin, end)
#define LOAD_MASKED(from, mask) (f32_vector) _mm512_maskz_loadu_ps(mask, from)
#define STORE_MASKED(to, mask, value) _mm512_mask_storeu_ps(to, mask, (__m512)(value))
#define EVEN(a, b)                                                                                 \
    __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#define ODD(a, b)                                                                                  \
    __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)
#include "methods/depthwise/depthwise_masked.inc.h"

/* Vectors half as wide, for images of at most so many columns. */
#define C float
#define BYTES 32
#define NAME(symbol) f32_half_##symbol
#define MASK __mmask8
#define MASK_OF(begin, end) (__mmask8) lane_bits(begin, end)
#define LOAD_MASKED(from, mask) (f32_half_vector) _mm256_maskz_loadu_ps(mask, from)
#define STORE_MASKED(to, mask, value) _mm256_mask_storeu_ps(to, mask, (__m256)(value))
#define EVEN(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14)
#define ODD(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15)
#include "methods/depthwise/depthwise_masked.inc.h"

static void f32_masked(const gops_depthwise_image *a)
{
    gops_depthwise_image one = *a;
    for (int64_t i = 0; i < a->filters; i++) {
        if (a->columns <= f32_half_LANES) {
            f32_half_image(&one);
        } else {
            f32_image(&one);
        }
        gops_depthwise_image_next(&one, (int64_t)sizeof(float));
    }
}

#define F32_MASKED f32_masked

#else

#define F32_MASKED NULL

#endif

gops_depthwise_image_fn *const GOPS_ISA_NAME(gops_depthwise_masked_table)[GOPS_COMPUTES] = {
    [GOPS_COMPUTE_F32] = F32_MASKED,
};
