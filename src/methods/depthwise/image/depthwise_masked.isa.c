/* depthwise_masked.isa.c: the kernels of depthwise/masked, for instruction sets with masked
 * loads: AVX-512, whose registers hold the sums of 14 rows with stride 1, and AVX2. */
#include "methods/depthwise/depthwise.h"

#include "base/checked.h"
#include "isa/first_lanes.h"
#include "isa/register.h"
#include "isa/vector.h"

#include <stddef.h>

#if defined(__AVX512F__)

/* Loads for each tap with stride 1, shuffles with stride 2. */
GOPS_INLINE void f32_rolling_store_first(float *to, int64_t count, __m512 value)
{
    _mm512_mask_storeu_ps(to, (__mmask16)((1u << gops_min(count, 16)) - 1), value);
}

#define IN_ORDER 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
#define TAPS "methods/depthwise/image/depthwise_rolling_permute.inc.h"
#define MARGINS 0
#define SERVES_STRIDE_1 0
#define EACH_COMPUTE "methods/depthwise/image/depthwise_rolling.inc.h"
#define C float
#define LANES 16
#define NAME(symbol) f32_rolling_##symbol
#define REGISTER __m512
#define MASK __mmask16
#define INTRINSIC(operation) _mm512_##operation##_ps
#include "isa/one_compute.inc.h"
#undef EACH_COMPUTE

#define EACH_COMPUTE "methods/depthwise/image/depthwise_masked.inc.h"
#define C float
#define LANES 16
#define NAME(symbol) f32_##symbol
#define REGISTER __m512
#define MASK __mmask16
#define INTRINSIC(operation) _mm512_##operation##_ps
#include "isa/one_compute.inc.h"

#elif defined(__AVX2__)

#include <immintrin.h>

typedef __m256i f32_lane_set;

GOPS_INLINE __m256i f32_lanes_between(int64_t begin, int64_t end)
{
    const __m256i before = gops_first_lanes_32((int)gops_clamp(begin, 0, 8));
    const __m256i until = gops_first_lanes_32((int)gops_clamp(end, 0, 8));
    return _mm256_andnot_si256(before, until);
}

GOPS_INLINE __m256 f32_load_lanes(const float *from, __m256i set)
{
    return _mm256_maskload_ps(from, set);
}

/* Without a masked store, which takes some processors twelve cycles: of 4 to 7 lanes the first 4
 * and the last 4. */
GOPS_INLINE void f32_store_first(float *to, int64_t count, __m256 value)
{
    if (count >= 8) {
        _mm256_storeu_ps(to, value);
    } else if (count >= 4) {
        const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        const __m256i last = _mm256_add_epi32(lane, _mm256_set1_epi32((int)count - 4));
        _mm_storeu_ps(to, _mm256_castps256_ps128(value));
        _mm_storeu_ps(to + count - 4,
                      _mm256_castps256_ps128(_mm256_permutevar8x32_ps(value, last)));
    } else {
        for (int64_t i = 0; i < count; i++) {
            to[i] = value[i];
        }
    }
}

/* One instruction brings them together in each half of a vector. */
#define EVEN_LANES 0, 2, 8, 10, 4, 6, 12, 14
#define ODD_LANES 1, 3, 9, 11, 5, 7, 13, 15
#define IN_ORDER 0, 1, 4, 5, 2, 3, 6, 7

#define TAPS "methods/depthwise/image/depthwise_rolling_load.inc.h"
#define MARGINS 1
#define SERVES_STRIDE_1 1
#define EACH_COMPUTE "methods/depthwise/image/depthwise_rolling.inc.h"
#define C float
#define LANES 8
#define NAME(symbol) f32_##symbol
#include "isa/one_compute.inc.h"

#endif

gops_depthwise_image_fn *const GOPS_ISA_NAME(gops_depthwise_masked_table)[GOPS_COMPUTES] = {
#if defined(__AVX2__)
    [GOPS_COMPUTE_F32] = f32_masked,
#else
    [GOPS_COMPUTE_F32] = NULL,
#endif
};
