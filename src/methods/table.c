/* table.c: every method. A new one is a row in the first table and a folder. */
#include "methods/methods.h"

#include <stddef.h>

const gops_method *const gops_methods[] = {
    &gops_gemm_conv,
    &gops_gemm_deconv,
    &gops_implicit_conv,
    &gops_implicit_blocked_conv,
    &gops_direct_conv,
    &gops_pointwise_conv,
    &gops_pointwise_channels_conv,
    &gops_winograd_f2_conv,
    &gops_winograd_f4_conv,
    &gops_winograd_f3_deconv,
    &gops_subconv_deconv,
    &gops_depthwise_blocked_conv,
    &gops_depthwise_blocked_deconv,
    &gops_depthwise_shuffle_conv,
    &gops_depthwise_masked_conv,
    &gops_depthwise_permuted_conv,
    &gops_depthwise_pairs_conv,
    &gops_depthwise_rows_conv,
    &gops_depthwise_shuffle_deconv,
    &gops_depthwise_rows_deconv,
    &gops_depthwise_permuted_deconv,
    &gops_depthwise_pairs_deconv,
    &gops_norm,
    NULL,
};

const gops_method *const gops_nonfinite_methods[GOPS_OPERATION_NORM] = {
    [GOPS_OPERATION_CONV] = &gops_nonfinite_conv,
    [GOPS_OPERATION_DECONV] = &gops_nonfinite_deconv,
};

/*
 * Each method estimates its time from the shape, with constants that were fitted with AVX-512.
 * These factors correct the estimates for the other instruction sets. They minimize the time that
 * choosing by the estimate loses on the layers of the suites; `tests/bench/run crossovers`, with
 * GROUPOPS_ISA, measures it, and tests/bench/README.md has the figures.
 *
 * Portable code on x86-64 has no fused multiply-add, which doubles the time of our kernels but not
 * that of a BLAS, which picks its own instruction set. Portable code on other processors was not
 * measured and takes the estimates as they are.
 */
typedef struct scale {
    const gops_method *method;
    double portable, avx2, avx512; /* 1 for a method that is not here */
} scale;

static const scale estimate_scales[] = {
    {&gops_implicit_blocked_conv, 1.6, 0.92, 1.0}, {&gops_implicit_conv, 1.6, 1.04, 1.0},
    {&gops_direct_conv, 1.22, 0.95, 0.9},          {&gops_depthwise_blocked_conv, 1.0, 0.9, 1.0},
    {&gops_depthwise_rows_conv, 1.3, 1.1, 1.3},    {&gops_depthwise_rows_deconv, 1.0, 0.9, 1.0},
    {&gops_pointwise_conv, 1.4, 1.01, 0.93},       {&gops_pointwise_channels_conv, 1.4, 1.1, 1.0},
    {&gops_subconv_deconv, 1.0, 0.95, 0.9},        {&gops_winograd_f2_conv, 1.4, 1.0, 1.0},
    {&gops_winograd_f4_conv, 1.4, 1.0, 1.0},       {&gops_winograd_f3_deconv, 1.4, 1.0, 1.0},
};

enum { AVX512_BYTES = 64, AVX2_BYTES = 32 };

double gops_estimate_scale(const gops_method *method, int64_t vector_bytes)
{
#ifdef __x86_64__
    for (size_t i = 0; i < sizeof estimate_scales / sizeof estimate_scales[0]; i++) {
        if (estimate_scales[i].method == method) {
            return vector_bytes >= AVX512_BYTES ? estimate_scales[i].avx512
                   : vector_bytes >= AVX2_BYTES ? estimate_scales[i].avx2
                                                : estimate_scales[i].portable;
        }
    }
#else
    (void)estimate_scales;
    (void)method;
    (void)vector_bytes;
#endif
    return 1;
}
