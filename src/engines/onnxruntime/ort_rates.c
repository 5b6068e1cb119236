/* ort_rates.c: what was measured of the runtime's provider, for each kind of processors. */
#include "ort_rates.h"

#include "ort_plans.h"

#include <string.h>

/* Processors by their vectors, those of 512 bits by their vendor. Other vendors' with AVX2 alone have the
 * same two multipliers of 256 bits as Intel's. */
typedef enum processor { WIDE, WIDE_INTEL, AVX2, NARROW, PROCESSORS } processor;

/* Means over networks of torchvision, with one thread or two, whichever is less. WIDE: 14 networks on an
 * AMD EPYC with Zen 4; `depthwise_ns`, and that groups of a block gain, on one with Zen 5. The others: 9
 * networks on an Intel Xeon (Granite Rapids' class). It was also held to AVX2 and to SSE2, by hiding the
 * rest from CPUID, with one thread: it reaches 97% of the multipliers' peak in 256 bits, ours 84%. */
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
            .exp_ns = 0.02,
            .maximum_ns = 0.5,
            .block = 16,
            .has_slow_block = true,
        },
    [WIDE_INTEL] =
        {
            .flops_a_ns = 190,
            .gains = {[GOPS_ORT_FIRST] = -0.05,
                      [GOPS_ORT_THIN] = -0.14,
                      [GOPS_ORT_FEW] = -0.04,
                      [GOPS_ORT_POINT] = -0.08,
                      [GOPS_ORT_STRIDED] = 0.1,
                      [GOPS_ORT_ROWS_56] = -0.13,
                      [GOPS_ORT_ROWS_28] = -0.07,
                      [GOPS_ORT_ROWS_13] = 0.02,
                      [GOPS_ORT_ROWS_0] = 0.2},
            .winograd = {[GOPS_ORT_ROWS_56] = 0.36,
                         [GOPS_ORT_ROWS_28] = 0.33,
                         [GOPS_ORT_ROWS_13] = 0.08,
                         [GOPS_ORT_ROWS_0] = -0.1},
            .transposed_ns = 0.0016,
            .depthwise_ns = 0.08,
            .exp_ns = 0.03,
            .matrix_ns = 0.0014,
            .hard_ns = 0.12,
            .maximum_ns = 0.2,
            .block = 16,
        },
    [AVX2] =
        {
            .flops_a_ns = 115,
            .gains = {[GOPS_ORT_FIRST] = -0.1,
                      [GOPS_ORT_THIN] = -0.27,
                      [GOPS_ORT_FEW] = -0.02,
                      [GOPS_ORT_POINT] = -0.19,
                      [GOPS_ORT_STRIDED] = -0.24,
                      [GOPS_ORT_ROWS_56] = -0.27,
                      [GOPS_ORT_ROWS_28] = -0.19,
                      [GOPS_ORT_ROWS_13] = -0.17},
            .winograd =
                {[GOPS_ORT_ROWS_56] = 0.55, [GOPS_ORT_ROWS_28] = 0.5, [GOPS_ORT_ROWS_13] = 0.33},
            .depthwise_ns = -0.05,
            .matrix_ns = -0.0005,
            .exp_ns = 0.15,
            .hard_ns = 0.1,
            .maximum_ns = 0.2,
            .block = 8,
        },
    [NARROW] =
        {
            .flops_a_ns = 40,
            .gains = {[GOPS_ORT_FIRST] = -0.13,
                      [GOPS_ORT_THIN] = -0.22,
                      [GOPS_ORT_FEW] = -0.22,
                      [GOPS_ORT_POINT] = -0.13,
                      [GOPS_ORT_STRIDED] = -0.14,
                      [GOPS_ORT_ROWS_56] = -0.18,
                      [GOPS_ORT_ROWS_28] = -0.22,
                      [GOPS_ORT_ROWS_13] = -0.13},
            .depthwise_ns = 0.1,
            .matrix_ns = -0.003,
            .exp_ns = 0.15,
            .maximum_ns = 0.2,
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
    return &measured[isa != NULL && strncmp(isa, "avx2", 4) == 0 ? AVX2 : NARROW];
#else
    return &measured[WIDE];
#endif
}
