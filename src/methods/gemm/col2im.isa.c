/* col2im.isa.c: col2im.inc.h for each compute type. */
#include "methods/gemm/gemm_kernels.h"

#include "base/checked.h"

#define EACH_COMPUTE "methods/gemm/col2im.inc.h"
#define EACH_INTEGER
#include "isa/each_compute.inc.h"

gops_col2im_fn *const GOPS_ISA_NAME(gops_col2im_table)[GOPS_COMPUTES] = {
    [GOPS_COMPUTE_F32] = f32_col2im, [GOPS_COMPUTE_F64] = f64_col2im,
    [GOPS_COMPUTE_U16] = u16_col2im, [GOPS_COMPUTE_U32] = u32_col2im,
    [GOPS_COMPUTE_U64] = u64_col2im,
};
