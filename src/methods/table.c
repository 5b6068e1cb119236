/*
 * table.c: every method. A new one is a row here and a folder.
 *
 * Each method estimates its time from the shape, with constants that were fitted with AVX-512. The factors
 * correct the estimates for the other instruction sets. They minimize the time that choosing by the estimate
 * loses on the layers of the suites; `tests/bench/run crossovers`, with GROUPOPS_ISA, measures it, and
 * tests/bench/README.md has the figures.
 *
 * Portable code on x86-64 has no fused multiply-add, which doubles the time of our kernels but not that of a
 * BLAS, which picks its own instruction set. Portable code on other processors was not measured and takes the
 * estimates as they are.
 */
#include "plan/plan.h"

#include <stddef.h>

/* A gops_method, and what its estimates are multiplied by in portable code, with AVX2 and with AVX-512. Of two
 * that cost the same the earlier one is chosen. */
/* clang-format off */
#define METHODS(METHOD)                                                                            \
    METHOD(gops_gemm_conv, 1, 1, 1)                                                                \
    METHOD(gops_gemm_deconv, 1, 1, 1)                                                              \
    METHOD(gops_implicit_conv, 1.6, 1.04, 1)                                                       \
    METHOD(gops_implicit_blocked_conv, 1.6, 0.92, 1)                                               \
    METHOD(gops_direct_conv, 1.22, 0.95, 0.9)                                                      \
    METHOD(gops_pointwise_conv, 1.4, 1.01, 0.93)                                                   \
    METHOD(gops_pointwise_channels_conv, 1.4, 1.1, 1)                                              \
    METHOD(gops_winograd_f2_conv, 1.4, 1, 1)                                                       \
    METHOD(gops_winograd_f4_conv, 1.4, 1, 1)                                                       \
    METHOD(gops_winograd_f3_deconv, 1.4, 1, 1)                                                     \
    METHOD(gops_subconv_deconv, 1, 0.95, 0.9)                                                      \
    METHOD(gops_depthwise_blocked_conv, 1, 0.9, 1)                                                 \
    METHOD(gops_depthwise_blocked_deconv, 1, 1, 1)                                                 \
    METHOD(gops_depthwise_shuffle_conv, 1, 1, 1)                                                   \
    METHOD(gops_depthwise_masked_conv, 1, 1, 1)                                                    \
    METHOD(gops_depthwise_permuted_conv, 1, 1, 1)                                                  \
    METHOD(gops_depthwise_pairs_conv, 1, 1, 1)                                                     \
    METHOD(gops_depthwise_rows_conv, 1.3, 1.1, 1.3)                                                \
    METHOD(gops_depthwise_shuffle_deconv, 1, 1, 1)                                                 \
    METHOD(gops_depthwise_rows_deconv, 1, 0.9, 1)                                                  \
    METHOD(gops_depthwise_permuted_deconv, 1, 1, 1)                                                \
    METHOD(gops_depthwise_pairs_deconv, 1, 1, 1)                                                   \
    METHOD(gops_norm, 1, 1, 1)
/* clang-format on */

#define DECLARATION(method, portable, avx2, avx512) extern const gops_method method;
METHODS(DECLARATION)

#define ADDRESS(method, portable, avx2, avx512) &method,
const gops_method *const gops_methods[] = {METHODS(ADDRESS) NULL};

double gops_estimate_scale(const gops_method *method, int64_t vector_bytes)
{
#ifdef __x86_64__
    enum { PORTABLE, AVX2, AVX512, SCALES, AVX2_BYTES = 32, AVX512_BYTES = 64 };
#define SCALES_OF(method, portable, avx2, avx512) {portable, avx2, avx512},
    static const double scales[][SCALES] = {METHODS(SCALES_OF)};
    const int set = vector_bytes >= AVX512_BYTES ? AVX512
                    : vector_bytes >= AVX2_BYTES ? AVX2
                                                 : PORTABLE;
    for (size_t i = 0; gops_methods[i] != NULL; i++) {
        if (gops_methods[i] == method) {
            return scales[i][set];
        }
    }
#else
    (void)method;
    (void)vector_bytes;
#endif
    return 1;
}
