/* table.c: every method. A new one is a row in the first table and a file of its
 * own. */
#include "methods/methods.h"

#include <stddef.h>

const gops_method *const gops_methods[] = {
    &gops_gemm_conv,          &gops_gemm_deconv,          &gops_implicit_conv,
    &gops_strip_conv,         &gops_pointwise_conv,       &gops_phase_deconv,
    &gops_direct_bundle_conv, &gops_direct_bundle_deconv, &gops_direct_lanes_conv,
    &gops_direct_masked_conv, &gops_direct_conv,          &gops_direct_lanes_deconv,
    &gops_direct_deconv,      &gops_twopass_norm,         NULL,
};

/*
 * How estimates compare with measured times. Each method estimates from the shape, by constants
 * that were fitted with AVX-512 where it is written; what is left over for other instruction sets
 * is here. `tests/bench/run crossovers` (with GROUPOPS_ISA) shows both; these factors make the
 * least of the time that choosing by the estimate lost on 292 layers of the suites on a Zen 5,
 * 2026:
 *
 *     geometric mean (worst)   without         with
 *     AVX-512                  1.010 (1.4)     1.006 (1.2)
 *     AVX2                     1.029 (1.7)     1.017 (1.4)
 *     portable                 1.081 (4.2)     1.018 (4.2)
 *
 * Portable code on x86-64 has no fused multiplication and addition, which doubles what `implicit`
 * computes, and not what a BLAS does, which has an instruction set of its own. Other processors'
 * portable code was not measured, and takes the estimates as they are.
 */
typedef struct scale {
    const gops_method *method;
    double portable, avx2, avx512; /* 1 for a method that is not here */
} scale;

static const scale scales[] = {
    {&gops_implicit_conv, 1.6, 1.0, 1.0},      {&gops_strip_conv, 1.4, 0.98, 0.9},
    {&gops_direct_bundle_conv, 1.0, 0.9, 1.0}, {&gops_direct_conv, 1.3, 1.1, 1.3},
    {&gops_direct_deconv, 1.0, 0.95, 1.0},     {&gops_pointwise_conv, 1.4, 1.02, 0.93},
};

enum { AVX512_BYTES = 64, AVX2_BYTES = 32 };

double gops_method_scale(const gops_method *method, int64_t vector_bytes)
{
#ifdef __x86_64__
    for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++) {
        if (scales[i].method == method) {
            return vector_bytes >= AVX512_BYTES ? scales[i].avx512
                   : vector_bytes >= AVX2_BYTES ? scales[i].avx2
                                                : scales[i].portable;
        }
    }
#else
    (void)scales;
    (void)method;
    (void)vector_bytes;
#endif
    return 1;
}
