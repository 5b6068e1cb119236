/*
 * wrap.isa.c: sums of integers that go on beyond what a float holds exactly.
 *
 * Partial sums that are exact integers in f32 (below 2^24) or f64 (below 2^53) become unsigned
 * integers of the same size where they lie, negative ones modulo 2^bits, and are added modulo
 * 2^bits.
 */
#include "methods/gemm/gemm_kernels.h"

#include <string.h>

static void wrap_f32(void *values, int64_t count, void *sums)
{
    unsigned char *at = values;
    uint32_t *to = sums;
    for (int64_t i = 0; i < count; i++) {
        float exact;
        memcpy(&exact, at + i * 4, sizeof exact);
        uint32_t wrapped = (uint32_t)(int32_t)exact;
        if (to != NULL) {
            to[i] += wrapped;
        } else {
            memcpy(at + i * 4, &wrapped, sizeof wrapped);
        }
    }
}

static void wrap_f64(void *values, int64_t count, void *sums)
{
    unsigned char *at = values;
    uint64_t *to = sums;
    for (int64_t i = 0; i < count; i++) {
        double exact;
        memcpy(&exact, at + i * 8, sizeof exact);
        uint64_t wrapped = (uint64_t)(int64_t)exact;
        if (to != NULL) {
            to[i] += wrapped;
        } else {
            memcpy(at + i * 8, &wrapped, sizeof wrapped);
        }
    }
}

gops_wrap_fn *const GOPS_ISA_NAME(gops_wrap_table)[GOPS_COMPUTES] = {
    [GOPS_COMPUTE_F32] = wrap_f32,
    [GOPS_COMPUTE_F64] = wrap_f64,
};
