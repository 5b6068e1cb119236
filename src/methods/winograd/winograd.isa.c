/* winograd.isa.c: winograd.inc.h for the floating point types. */
#include "methods/winograd/winograd.h"

#include "base/machine.h"
#include "isa/first_lanes.h"
#include "isa/register.h"
#include "isa/vector.h"
#include "methods/winograd/winograd_sizes.h"

#include <stddef.h>
#include <string.h>

#define MULTIPLY_ADD(sum, data, weight) ((sum) += (data) * (weight))

#if defined(__AVX2__) && !defined(__AVX512F__) && !defined(GOPS_MEMORY_SANITIZER)
GOPS_INLINE __m256 f32_load_between(const float *from, int begin, int end)
{
    return _mm256_maskload_ps(
        from, _mm256_andnot_si256(gops_first_lanes_32(begin), gops_first_lanes_32(end)));
}

GOPS_INLINE __m256d f64_load_between(const double *from, int begin, int end)
{
    return _mm256_maskload_pd(
        from, _mm256_andnot_si256(gops_first_lanes_64(begin), gops_first_lanes_64(end)));
}
#endif

#define EACH_COMPUTE "methods/winograd/winograd.inc.h"
#include "isa/each_compute.inc.h"

const gops_winograd_kernels *const GOPS_ISA_NAME(gops_winograd_table)[GOPS_COMPUTES] = {
    [GOPS_COMPUTE_F32] = &f32_winograd_kernels,
    [GOPS_COMPUTE_F64] = &f64_winograd_kernels,
    [GOPS_COMPUTE_U32] = &GOPS_ISA_NAME(gops_winograd_pairs),
};
