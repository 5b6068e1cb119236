/* winograd.isa.c: winograd.inc.h for the floating point types. */
#include "methods/winograd/winograd.h"

#include "base/machine.h"
#include "isa/register.h"
#include "isa/vector.h"
#include "methods/winograd/winograd_sizes.h"

#include <stddef.h>
#include <string.h>

#define MULTIPLY_ADD(sum, data, weight) ((sum) += (data) * (weight))

#define EACH_COMPUTE "methods/winograd/winograd.inc.h"
#include "isa/each_compute.inc.h"

const gops_winograd_kernels *const GOPS_ISA_NAME(gops_winograd_table)[GOPS_COMPUTES] = {
    [GOPS_COMPUTE_F32] = &f32_winograd_kernels,
    [GOPS_COMPUTE_F64] = &f64_winograd_kernels,
    [GOPS_COMPUTE_U32] = &GOPS_ISA_NAME(gops_winograd_pairs),
};
