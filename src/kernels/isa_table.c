/* kernels/isa_table.c: the table of one instruction set. */
#include "kernels/kernels.h"

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

const gops_kernels GOPS_ISA_NAME(gops_kernels) = {
    .isa = TEXT(GOPS_ISA),
    .type_row = GOPS_ISA_NAME(gops_type_rows),
    .col2im = GOPS_ISA_NAME(gops_col2im_table),
    .integer_gemm = GOPS_ISA_NAME(gops_integer_gemm_table),
    .wrap = GOPS_ISA_NAME(gops_wrap_table),
};
