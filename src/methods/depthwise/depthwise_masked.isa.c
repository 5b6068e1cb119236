/* depthwise_masked.isa.c: the kernels of depthwise/masked, for instruction sets with masked
 * loads. */
#include "methods/depthwise/depthwise.h"

#include "base/checked.h"
#include "isa/lanes.h"
#include "isa/register.h"
#include "isa/vector.h"

#include <stddef.h>

#if defined(__AVX512F__)

#define EACH_COMPUTE "methods/depthwise/depthwise_masked.inc.h"
#define C float
#define LANES 16
#define NAME(symbol) f32_##symbol
#define REGISTER __m512
#define MASK __mmask16
#define INTRINSIC(operation) _mm512_##operation##_ps
#include "isa/one_compute.inc.h"

#endif

gops_depthwise_image_fn *const GOPS_ISA_NAME(gops_depthwise_masked_table)[GOPS_COMPUTES] = {
#if defined(__AVX512F__)
    [GOPS_COMPUTE_F32] = f32_masked,
#else
    [GOPS_COMPUTE_F32] = NULL,
#endif
};
