/* ort_rates.c: what was measured of the runtime's provider, for each kind of processors. */
#include "engines/onnxruntime/worth/ort_rates.h"

#include "engines/onnxruntime/call/ort_plans.h"

#include <string.h>

/* Processors by their vectors and their vendor. */
typedef enum processor { WIDE, WIDE_INTEL, AVX2, AVX2_INTEL, NARROW, PROCESSORS } processor;

/* Means over networks of torchvision, with one thread or two, whichever is less. WIDE: 14 networks on an
 * AMD EPYC with Zen 4; what groups and depthwise layers gain on one with Zen 5. WIDE_INTEL: 13 networks on an Intel
 * Xeon (Granite Rapids' class); its gates gain 0.1 node by node, but with that efficientnet_v2_s took 1.02 to 1.05 of
 * its time. AVX2_INTEL and NARROW: 9 there, with one thread, by hiding AVX-512, or all beyond SSE2, from CPUID. AVX2:
 * 19 networks on an AMD EPYC with Zen 3, one thread. In 256 bits the runtime reaches 95% of the multipliers' peak,
 * ours 80 to 90%. */
static const gops_ort_rates measured[PROCESSORS] = {
    [WIDE] =
        {
            .flops_a_ns = 110,
            .gains = {[GOPS_ORT_FIRST] = -0.05,
                      [GOPS_ORT_THIN] = -0.14,
                      [GOPS_ORT_FEW] = -0.1,
                      [GOPS_ORT_STRIDED] = -0.02,
                      [GOPS_ORT_ROWS_28] = 0.01,
                      [GOPS_ORT_ROWS_13] = 0.02,
                      [GOPS_ORT_ROWS_0] = 0.03},
            .winograd = {[GOPS_ORT_THIN] = 0.4,
                         [GOPS_ORT_ROWS_56] = 0.5,
                         [GOPS_ORT_ROWS_28] = 0.5,
                         [GOPS_ORT_ROWS_13] = 0.5,
                         [GOPS_ORT_ROWS_0] = 0.35},
            .transposed_ns = 0.0016,
            .depthwise_ns = 0.08,
            .large_depthwise_ns = 0.08,
            .odd_depthwise_ns = 0.08,
            .exp_ns = 0.02,
            .maximum_ns = 0.5,
            .lowered_ns = 0.0375,
            .blocks_ns = {0.0048},
            .gate_ns = -0.25,
            .norm_ns = 0.8,
            .step_ns = 1000,
            .call_ns = 1000,
            .block = 16,
        },
    [WIDE_INTEL] =
        {
            .flops_a_ns = 190,
            .gains = {[GOPS_ORT_FIRST] = -0.08,
                      [GOPS_ORT_THIN] = -0.18,
                      [GOPS_ORT_FEW] = -0.04,
                      [GOPS_ORT_DEEP] = -0.1,
                      [GOPS_ORT_POINT_56] = -0.15,
                      [GOPS_ORT_POINT_28] = -0.05,
                      [GOPS_ORT_POINT_13] = -0.04,
                      [GOPS_ORT_POINT_0] = 0.02,
                      [GOPS_ORT_STRIDED] = 0.04,
                      [GOPS_ORT_ROWS_56] = -0.12,
                      [GOPS_ORT_ROWS_28] = -0.06,
                      [GOPS_ORT_ROWS_13] = 0.02,
                      [GOPS_ORT_ROWS_0] = 0.19},
            .winograd = {[GOPS_ORT_ROWS_56] = 0.36,
                         [GOPS_ORT_ROWS_28] = 0.33,
                         [GOPS_ORT_ROWS_13] = 0.08,
                         [GOPS_ORT_ROWS_0] = -0.1},
            .transposed_ns = 0.0016,
            .depthwise_ns = 0.08,
            .large_depthwise_ns = 0.08,
            .odd_depthwise_ns = 0.08,
            .exp_ns = 0.03,
            .matrix_ns = 0.0014,
            .maximum_ns = 0.2,
            .lowered_ns = 0.0375,
            .gate_ns = -0.11,
            .norm_ns = 0.8,
            .step_ns = 500,
            .call_ns = 10000,
            .block = 16,
            .part = 0.5,
        },
    [AVX2] =
        {
            .flops_a_ns = 93,
            .gains = {[GOPS_ORT_FIRST] = -0.12,
                      [GOPS_ORT_THIN] = -0.2,
                      [GOPS_ORT_FEW] = -0.25,
                      [GOPS_ORT_DEEP] = -0.14,
                      [GOPS_ORT_POINT_56] = -0.14,
                      [GOPS_ORT_POINT_28] = -0.14,
                      [GOPS_ORT_POINT_13] = -0.14,
                      [GOPS_ORT_POINT_0] = -0.14,
                      [GOPS_ORT_STRIDED] = -0.2,
                      [GOPS_ORT_ROWS_56] = -0.15,
                      [GOPS_ORT_ROWS_28] = -0.13,
                      [GOPS_ORT_ROWS_13] = -0.1,
                      [GOPS_ORT_ROWS_0] = 0.06},
            .winograd =
                {[GOPS_ORT_ROWS_56] = 0.55, [GOPS_ORT_ROWS_28] = 0.5, [GOPS_ORT_ROWS_13] = 0.33},
            .depthwise_ns = -0.35,
            .large_depthwise_ns = 0.4,
            .odd_depthwise_ns = 1.7,
            .matrix_ns = -0.0006,
            .lowered_ns = 0.031,
            .blocks_ns = {0.0028, 0.0012, -0.001},
            .gate_ns = 0.09,
            .norm_ns = 0.5,
            .average_ns = -0.57,
            .exp_ns = 0.3,
            .hard_ns = 0.13,
            .maximum_ns = 0.45,
            .step_ns = 300,
            .call_ns = 5000,
            .block = 8,
            .part = 1,
        },
    [AVX2_INTEL] =
        {
            .flops_a_ns = 115,
            .gains = {[GOPS_ORT_FIRST] = -0.1,
                      [GOPS_ORT_THIN] = -0.27,
                      [GOPS_ORT_FEW] = -0.02,
                      [GOPS_ORT_DEEP] = -0.19,
                      [GOPS_ORT_POINT_56] = -0.19,
                      [GOPS_ORT_POINT_28] = -0.19,
                      [GOPS_ORT_POINT_13] = -0.19,
                      [GOPS_ORT_POINT_0] = -0.19,
                      [GOPS_ORT_STRIDED] = -0.24,
                      [GOPS_ORT_ROWS_56] = -0.27,
                      [GOPS_ORT_ROWS_28] = -0.19,
                      [GOPS_ORT_ROWS_13] = -0.17},
            .winograd =
                {[GOPS_ORT_ROWS_56] = 0.55, [GOPS_ORT_ROWS_28] = 0.5, [GOPS_ORT_ROWS_13] = 0.33},
            .depthwise_ns = -0.05,
            .large_depthwise_ns = -0.05,
            .odd_depthwise_ns = -0.05,
            .matrix_ns = -0.0005,
            .exp_ns = 0.15,
            .hard_ns = 0.1,
            .maximum_ns = 0.2,
            .lowered_ns = 0.0375,
            .gate_ns = -0.25,
            .norm_ns = 0.8,
            .step_ns = 1000,
            .call_ns = 1000,
            .block = 8,
        },
    [NARROW] =
        {
            .flops_a_ns = 40,
            .gains = {[GOPS_ORT_FIRST] = -0.13,
                      [GOPS_ORT_THIN] = -0.22,
                      [GOPS_ORT_FEW] = -0.22,
                      [GOPS_ORT_DEEP] = -0.13,
                      [GOPS_ORT_POINT_56] = -0.13,
                      [GOPS_ORT_POINT_28] = -0.13,
                      [GOPS_ORT_POINT_13] = -0.13,
                      [GOPS_ORT_POINT_0] = -0.13,
                      [GOPS_ORT_STRIDED] = -0.14,
                      [GOPS_ORT_ROWS_56] = -0.18,
                      [GOPS_ORT_ROWS_28] = -0.22,
                      [GOPS_ORT_ROWS_13] = -0.13},
            .depthwise_ns = 0.1,
            .large_depthwise_ns = 0.1,
            .odd_depthwise_ns = 0.1,
            .matrix_ns = -0.003,
            .exp_ns = 0.15,
            .maximum_ns = 0.2,
            .lowered_ns = 0.0375,
            .gate_ns = -0.25,
            .norm_ns = 0.8,
            .step_ns = 1000,
            .call_ns = 1000,
            .block = 8,
        },
};

const gops_ort_rates *gops_ort_rates_here(void)
{
#if defined(__x86_64__)
    const char *isa = gops_isa();
    if (isa != NULL && (strncmp(isa, "avx512", 6) == 0 || strncmp(isa, "amx", 3) == 0)) {
        return &measured[__builtin_cpu_is("intel") ? WIDE_INTEL : WIDE];
    }
    if (isa != NULL && strncmp(isa, "avx2", 4) == 0) {
        return &measured[__builtin_cpu_is("intel") ? AVX2_INTEL : AVX2];
    }
    return &measured[NARROW];
#else
    return &measured[WIDE];
#endif
}

/* Networks of u8 on an AMD EPYC with Zen 3, one thread; `grouped_ns` from layers alone. */
static const gops_ort_8_bit_rates pairs = {
    .dense_ns = {[GOPS_ORT_DEEP] = -0.0036,
                 [GOPS_ORT_POINT_56] = -0.0036,
                 [GOPS_ORT_POINT_28] = -0.0036,
                 [GOPS_ORT_POINT_13] = -0.0036,
                 [GOPS_ORT_POINT_0] = -0.0036,
                 [GOPS_ORT_STRIDED] = -0.0047,
                 [GOPS_ORT_THIN] = 0.0003,
                 [GOPS_ORT_ROWS_56] = 0.0005,
                 [GOPS_ORT_ROWS_28] = 0.0011,
                 [GOPS_ORT_ROWS_13] = 0.0011,
                 [GOPS_ORT_ROWS_0] = 0.0002},
    .strided_ns = -0.0025,
    .grouped_ns = {0.06, 0.035, 0.009, -0.002},
    .transposed_ns = 0.0065,
    .depthwise_ns = 0.19,
    .reorder_ns = 0.3,
};

const gops_ort_8_bit_rates *gops_ort_8_bit_rates_here(void)
{
#if defined(__x86_64__)
    const char *isa = gops_isa();
    if (isa != NULL && (strcmp(isa, "avx2") == 0 || strcmp(isa, "avx512") == 0)) {
        return &pairs;
    }
#endif
    return NULL;
}
