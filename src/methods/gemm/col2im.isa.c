/* col2im.isa.c: col2im.inc.h for each compute type. */
#include "methods/gemm/gemm_kernels.h"

#include "base/checked.h"

#define C float
#define NAME(symbol) f32_##symbol
#include "methods/gemm/col2im.inc.h"

#define C double
#define NAME(symbol) f64_##symbol
#include "methods/gemm/col2im.inc.h"

#define C uint32_t
#define NAME(symbol) u32_##symbol
#include "methods/gemm/col2im.inc.h"

#define C uint64_t
#define NAME(symbol) u64_##symbol
#include "methods/gemm/col2im.inc.h"

gops_col2im_fn *const GOPS_ISA_NAME(gops_col2im_table)[GOPS_COMPUTES] = {
    [GOPS_COMPUTE_F32] = f32_col2im,
    [GOPS_COMPUTE_F64] = f64_col2im,
    [GOPS_COMPUTE_U32] = u32_col2im,
    [GOPS_COMPUTE_U64] = u64_col2im,
};
