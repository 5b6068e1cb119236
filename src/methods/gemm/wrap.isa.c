/*
 * wrap.isa.c: sums of integers that may outgrow what a float holds exactly.
 *
 * A GEMM over at most exact_k products has a sum that is an exact integer in f32 (below 2^24) or
 * f64 (below 2^53). Such partial sums are converted to unsigned integers of the same size and added
 * modulo 2^32 or 2^64, negative ones in two's complement.
 */
#include "methods/gemm/gemm_kernels.h"

#include <string.h>

static void wrap_f32(void *values, int64_t count, void *sums)
{
    unsigned char *from = values;
    uint32_t *to = sums;
    for (int64_t i = 0; i < count; i++) {
        float exact;
        memcpy(&exact, from + i * 4, sizeof exact);
        uint32_t wrapped = (uint32_t)(int32_t)exact;
        if (to != NULL) {
            to[i] += wrapped;
        } else {
            memcpy(from + i * 4, &wrapped, sizeof wrapped);
        }
    }
}

static void wrap_f64(void *values, int64_t count, void *sums)
{
    unsigned char *from = values;
    uint64_t *to = sums;
    for (int64_t i = 0; i < count; i++) {
        double exact;
        memcpy(&exact, from + i * 8, sizeof exact);
        uint64_t wrapped = (uint64_t)(int64_t)exact;
        if (to != NULL) {
            to[i] += wrapped;
        } else {
            memcpy(from + i * 8, &wrapped, sizeof wrapped);
        }
    }
}

gops_wrap_fn *const GOPS_ISA_NAME(gops_wrap_table)[GOPS_COMPUTES] = {
    [GOPS_COMPUTE_F32] = wrap_f32,
    [GOPS_COMPUTE_F64] = wrap_f64,
};
