/* isa_table.isa.c: the table of one instruction set. */
#include "isa/isa.h"
#include "isa/vector.h"

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

const gops_kernels GOPS_ISA_NAME(gops_kernels) = {
    .isa = TEXT(GOPS_ISA),
    .vector_bytes = GOPS_VECTOR_BYTES,
    .type_row = GOPS_ISA_NAME(gops_type_rows),
    .col2im = GOPS_ISA_NAME(gops_col2im_table),
    .tiles = GOPS_ISA_NAME(gops_tile_table),
    .strips = GOPS_ISA_NAME(gops_direct_table),
    .pointwise = GOPS_ISA_NAME(gops_pointwise_table),
    .integer_gemm = GOPS_ISA_NAME(gops_integer_gemm_table),
    .wrap = GOPS_ISA_NAME(gops_wrap_table),
    .direct = GOPS_ISA_NAME(gops_depthwise_table),
    .masked = GOPS_ISA_NAME(gops_depthwise_masked_table),
    .lanes = GOPS_ISA_NAME(gops_depthwise_shuffle_table),
};
