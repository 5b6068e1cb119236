/* gemm_kernels.isa.c: the table of gemm's kernels. */
#include "methods/gemm/gemm_kernels.h"

const struct gops_gemm_kernels GOPS_ISA_NAME(gops_gemm_kernels) = {
    .im2col = GOPS_ISA_NAME(gops_im2col_table),
    .col2im = GOPS_ISA_NAME(gops_col2im_table),
    .integer = GOPS_ISA_NAME(gops_integer_gemm_table),
};
