/* algorithms/method_table.c: every method. A new one is a row here and a file of its own. */
#include "algorithms/methods.h"

#include <stddef.h>

const gops_method *const gops_methods[] = {
    &gops_gemm_conv,
    &gops_gemm_deconv,
    &gops_implicit_conv,
    &gops_strip_conv,
    &gops_phase_deconv,
    &gops_direct_bundle_conv,
    &gops_direct_bundle_deconv,
    &gops_direct_masked_conv,
    &gops_direct_conv,
    &gops_direct_deconv,
    &gops_twopass_norm,
    NULL,
};
