/* ort_rates.c: what was measured of the runtime's provider, for each kind of processors. */
#include "engines/onnxruntime/worth/ort_rates.h"

#include <groupops/plan.h>

#include <string.h>

/* Processors by their vectors and their vendor. */
typedef enum processor { WIDE, WIDE_INTEL, AVX2, AVX2_INTEL, NARROW, PROCESSORS } processor;

/* Means over networks of torchvision, with one thread or two, whichever is less. WIDE: 14 networks on an
 * AMD EPYC with Zen 4; what groups, depthwise layers, maxima and rows of 56 pixels and more gain on one with
 * Zen 5, where vgg11 taken whole has 0.98 with two threads; with `part` 0.3 to 0.5, or 0.015 less for such rows,
 * efficientnet_v2_s would be taken in part and gain 1.01 in place of 1.07. WIDE_INTEL: 10 networks on an Intel
 * Xeon (Granite Rapids' class); rows of 13 pixels gain 0.06 layer by layer, but with that squeezenet1_1 would be taken
 * in part and takes 1.02 to 1.03 of its time. AVX2_INTEL and NARROW: 9 there, with one thread, by hiding AVX-512, or
 * all beyond SSE2, from CPUID. AVX2: 20 networks on an AMD EPYC with Zen 3, less 0.02 for dense layers, as whole runs
 * take that much longer than the least times of their steps; the runtime's do not. clip_ns: MobileNet v2, which the
 * runtime computes in 8.9 ms, and with Relu in 8.1. exp_ns: since activations round each a b + c once, a Zen 5 takes
 * 0.04 to 0.1 less with AVX-512, of which WIDE counts 0.04, 0.07 to 0.2 less with AVX2, of which AVX2 counts 0.07, and
 * 6 to 15 more without an instruction for it, as NARROW; Intel's are of before. */
/* clang-format off */
#define RATES(RATE)                                                                                \
    /*                                  WIDE  WIDE_INTEL      AVX2  AVX2_INTEL  NARROW */          \
    RATE(flops_a_ns,                     110,        190,       94,        115,      40)           \
    RATE(gains[GOPS_ORT_FIRST],        -0.05,      -0.08,    -0.02,       -0.1,   -0.13)           \
    RATE(gains[GOPS_ORT_THIN],         -0.14,      -0.18,    -0.08,      -0.27,   -0.22)           \
    RATE(gains[GOPS_ORT_FEW],           -0.1,      -0.04,    -0.08,      -0.02,   -0.22)           \
    RATE(gains[GOPS_ORT_STRIDED],      -0.02,        0.1,     0.02,      -0.24,   -0.14)           \
    RATE(gains[GOPS_ORT_DEEP],             0,      -0.02,    -0.09,      -0.19,   -0.13)           \
    RATE(gains[GOPS_ORT_POINT_56],         0,      -0.06,    -0.03,      -0.19,   -0.13)           \
    RATE(gains[GOPS_ORT_POINT_28],         0,          0,    -0.02,      -0.19,   -0.13)           \
    RATE(gains[GOPS_ORT_POINT_13],         0,      -0.04,    -0.03,      -0.19,   -0.13)           \
    RATE(gains[GOPS_ORT_POINT_0],          0,       0.08,    -0.07,      -0.19,   -0.13)           \
    RATE(gains[GOPS_ORT_ROWS_56],      -0.01,      -0.12,    -0.05,      -0.27,   -0.18)           \
    RATE(gains[GOPS_ORT_ROWS_28],       0.01,      -0.03,    -0.03,      -0.19,   -0.22)           \
    RATE(gains[GOPS_ORT_ROWS_13],       0.02,       0.02,    -0.03,      -0.17,   -0.13)           \
    RATE(gains[GOPS_ORT_ROWS_0],        0.03,       0.19,     0.08,          0,       0)           \
    RATE(winograd[GOPS_ORT_THIN],        0.4,          0,        0,          0,       0)           \
    RATE(winograd[GOPS_ORT_ROWS_56],     0.5,       0.36,     0.55,       0.55,       0)           \
    RATE(winograd[GOPS_ORT_ROWS_28],     0.5,       0.33,      0.5,        0.5,       0)           \
    RATE(winograd[GOPS_ORT_ROWS_13],     0.5,       0.08,     0.33,       0.33,       0)           \
    RATE(winograd[GOPS_ORT_ROWS_0],     0.35,       -0.1,        0,          0,       0)           \
    RATE(transposed_ns,               0.0016,     0.0016,        0,          0,       0)           \
    RATE(depthwise_ns,                  0.08,       0.08,     0.03,      -0.05,     0.1)           \
    RATE(large_depthwise_ns,            0.08,       0.08,      0.9,      -0.05,     0.1)           \
    RATE(odd_depthwise_ns,              0.08,       0.08,      1.7,      -0.05,     0.1)           \
    RATE(matrix_ns,                        0,     0.0014,  -0.0004,    -0.0005,  -0.003)           \
    RATE(lowered_ns,                  0.0375,     0.0375,    0.031,     0.0375,  0.0375)           \
    RATE(blocks_ns[0],                0.0048,          0,   0.0039,          0,       0)           \
    RATE(blocks_ns[1],                     0,          0,   0.0012,          0,       0)           \
    RATE(blocks_ns[2],                     0,          0,   -0.001,          0,       0)           \
    RATE(gate_ns,                      -0.25,       0.05,      0.1,      -0.25,   -0.25)           \
    RATE(norm_ns,                        0.8,        0.8,      0.5,        0.8,     0.8)           \
    RATE(average_ns,                       0,          0,     -0.1,          0,       0)           \
    RATE(exp_ns,                       -0.02,       0.03,     0.03,       0.15,       8)           \
    RATE(hard_ns,                          0,          0,     0.13,        0.1,       0)           \
    RATE(clip_ns,                          0,          0,      0.1,          0,       0)           \
    RATE(maximum_ns,                    0.16,        0.2,     0.25,        0.2,     0.2)           \
    RATE(step_ns,                       1000,        500,      300,       1000,    1000)           \
    RATE(call_ns,                       1000,      10000,     5000,       1000,    1000)           \
    RATE(block,                           16,         16,        8,          8,       8)           \
    RATE(part,                           0.2,        0.5,      0.5,          0,       0)
/* clang-format on */

#define AS_WIDE(rate, wide, wide_intel, avx2, avx2_intel, narrow) .rate = wide,
#define AS_WIDE_INTEL(rate, wide, wide_intel, avx2, avx2_intel, narrow) .rate = wide_intel,
#define AS_AVX2(rate, wide, wide_intel, avx2, avx2_intel, narrow) .rate = avx2,
#define AS_AVX2_INTEL(rate, wide, wide_intel, avx2, avx2_intel, narrow) .rate = avx2_intel,
#define AS_NARROW(rate, wide, wide_intel, avx2, avx2_intel, narrow) .rate = narrow,

static const gops_ort_rates measured[PROCESSORS] = {
    [WIDE] = {RATES(AS_WIDE)},     [WIDE_INTEL] = {RATES(AS_WIDE_INTEL)},
    [AVX2] = {RATES(AS_AVX2)},     [AVX2_INTEL] = {RATES(AS_AVX2_INTEL)},
    [NARROW] = {RATES(AS_NARROW)},
};

/* One thread each. */
const gops_ort_common_rates gops_ort_rates_everywhere = {
    .reorder_ns = 0.2,      /* AMD EPYC, Zen 5 */
    .concat_ns = 0.2,       /* Intel Xeon: DenseNet's 0.25, SqueezeNet's 0.18 */
    .affine_ns = 0.06,      /* Intel Xeon: DenseNet's */
    .channel_norm_ns = 1.5, /* AMD EPYC, Zen 5: five passes and a Transpose */
    .layer_norm_ns = 0.5,   /* Intel Xeon: 0.74 and its Transpose 0.22, ours 0.45 */
    .matrix_pass_ns = 0.3,  /* AMD EPYC, Zen 5: up to two passes */
    .interpolate_ns = 0.1,  /* AMD EPYC, Zen 5 */
    /* AMD EPYC, Zen 5: 128 channels to 96x96 1.53 ms in place of 0.41 */
    .interpolate_plainly_ns = 1,
    .gemm_ns = 0.006, /* AMD EPYC, Zen 5: six times as long */
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

/* Layers of u8 on an AMD EPYC with Zen 3, one thread, the runtime's in chains; THIN and transposed ones of networks. */
static const gops_ort_8_bit_rates pairs = {
    .dense_ns = {[GOPS_ORT_FEW] = 0.002,
                 [GOPS_ORT_DEEP] = -0.0014,
                 [GOPS_ORT_POINT_56] = -0.0005,
                 [GOPS_ORT_POINT_28] = -0.0009,
                 [GOPS_ORT_POINT_13] = -0.0008,
                 [GOPS_ORT_POINT_0] = -0.0007,
                 [GOPS_ORT_STRIDED] = -0.0043,
                 [GOPS_ORT_THIN] = 0.0003,
                 [GOPS_ORT_ROWS_56] = 0.0016,
                 [GOPS_ORT_ROWS_28] = 0.0016,
                 [GOPS_ORT_ROWS_13] = 0.0016,
                 [GOPS_ORT_ROWS_0] = 0.0011},
    .strided_ns = -0.0018,
    .grouped_ns = {0.06, 0.035, 0.009, 0.001},
    .transposed_ns = 0.0065,
    .depthwise_ns = 0.25,
    .reorder_ns = 0.3,
};

const gops_ort_8_bit_rates *gops_ort_8_bit_rates_here(void)
{
#if defined(__x86_64__)
    const char *isa = gops_isa();
    const bool has = isa != NULL && (strcmp(isa, "avx2") == 0 || strcmp(isa, "avx512") == 0);
#else
    const bool has = false;
#endif
    return has ? &pairs : NULL;
}
