/* winograd.isa.c: winograd.inc.h for the floating point types. */
#include "methods/winograd/winograd.h"

#include "base/machine.h"
#include "isa/register.h"
#include "isa/vector.h"
#include "methods/winograd/winograd_sizes.h"

#include <stddef.h>
#include <string.h>

#define MULTIPLY_ADD(sum, data, weight) ((sum) += (data) * (weight))

#if defined(__AVX__) && !defined(__AVX512F__) && !defined(GOPS_MEMORY_SANITIZER)
typedef int32_t f32_lane_number;
typedef int64_t f64_lane_number;
typedef f32_lane_number f32_lane_numbers __attribute__((vector_size(32)));
typedef f64_lane_number f64_lane_numbers __attribute__((vector_size(32)));
static const f32_lane_numbers f32_all_lanes = {0, 1, 2, 3, 4, 5, 6, 7};
static const f64_lane_numbers f64_all_lanes = {0, 1, 2, 3};

static inline __m256 f32_load_lanes(const float *from, f32_lane_numbers mask)
{
    return _mm256_maskload_ps(from, (__m256i)mask);
}

static inline __m256d f64_load_lanes(const double *from, f64_lane_numbers mask)
{
    return _mm256_maskload_pd(from, (__m256i)mask);
}
#endif

#define EACH_COMPUTE "methods/winograd/winograd.inc.h"
#include "isa/each_compute.inc.h"

const gops_winograd_kernels *const GOPS_ISA_NAME(gops_winograd_table)[GOPS_COMPUTES] = {
    [GOPS_COMPUTE_F32] = &f32_winograd_kernels,
    [GOPS_COMPUTE_F64] = &f64_winograd_kernels,
    [GOPS_COMPUTE_U32] = &GOPS_ISA_NAME(gops_winograd_pairs),
};
