/* isa_table.each.isa.c: the table of one instruction set. */
#include "isa/isa.h"
#include "isa/vector.h"

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

const gops_kernels GOPS_ISA_NAME(gops_kernels) = {
    .isa = TEXT(GOPS_ISA),
    .vector_bytes = GOPS_REGISTER_BYTES,
    .types = &GOPS_BASE_NAME(gops_type_rows),
    .post_ops = &GOPS_BASE_NAME(gops_post_ops_kernels),
    .gemm = &GOPS_BASE_NAME(gops_gemm_kernels),
    .implicit = &GOPS_BASE_NAME(gops_implicit_kernels),
    .lanes = &GOPS_VNNI_NAME(gops_lanes_kernels),
#if defined(GOPS_HAS_BF16) && __FLT_EVAL_METHOD__ == 0
    /* Elsewhere, on x87, floats have more bits than the emulation takes them to have. */
    .bf16 = &GOPS_ISA_NAME(gops_bf16_kernels),
#endif
    .direct = GOPS_BASE_NAME(gops_direct_table),
    .pointwise = GOPS_BASE_NAME(gops_pointwise_table),
    .winograd = GOPS_BASE_NAME(gops_winograd_table),
    .depthwise = &GOPS_BASE_NAME(gops_depthwise_forms),
    .depthwise_pairs = &GOPS_VNNI_NAME(gops_depthwise_pairs),
    .depthwise_permuted = &GOPS_VBMI_NAME(gops_depthwise_permuted),
    .norm = &GOPS_BASE_NAME(gops_norm_kernels),
};
