/*
 * requantize.h: makes outputs of the sums of a quantized plan (groupops/quantization.h).
 *
 * Sums are those of (data - zero point) * (weight - zero point), modulo 2^32, without the bias.
 * Where an output is real or 8-bit, without a residual, its activation no more than bounds and the plan's filter not
 * of those that divide,
 *
 *     r = clamp((float)(int32_t)(sum + bias) * scale, low, high)
 *
 * is all that is to be done, for 8 bits with rounding and a zero point after it. A kernel may do so
 * while the sums are in registers. The rounding adds and subtracts 1.5 * 2^23, whose neighbours are
 * 1 apart: that rounds to nearest even, in vectors of any instruction set, and leaves the integer
 * in the lower bits. An 8-bit r is between -255 and 255.
 */
#ifndef GOPS_POST_OPS_REQUANTIZE_H
#define GOPS_POST_OPS_REQUANTIZE_H

#include "plan/plan.h"

#include <stdbool.h>
#include <string.h>

/* 1.5 * 2^23, and its bits. */
#define GOPS_ROUNDING 12582912.0f
#define GOPS_ROUNDING_BITS 0x4b400000

/* The lower 8 bits of what r is rounded to, plus the zero point. */
static inline uint8_t gops_requantize_code(float r, int32_t zero)
{
    const float rounded = r + GOPS_ROUNDING;
    int32_t bits;
    memcpy(&bits, &rounded, sizeof bits);
    return (uint8_t)(bits - GOPS_ROUNDING_BITS + zero);
}

/* What a channel's sums become. */
typedef struct gops_requantize {
    uint32_t bias;
    float scale;
    float low, high;
    int32_t zero; /* of 8-bit outputs: added to what was rounded */
} gops_requantize;

/* How two 8-bit codes are added, as ONNX Runtime does:
 *
 *     rint(clamp(fma(first, ratio[0], fma(second, ratio[1], constant)), low, high))
 *
 * The zero points are in the constant. */
typedef struct gops_requantize_sum {
    float ratio[2];
    float constant;
    float low, high;
    bool residual_first, is_signed;
} gops_requantize_sum;

/* Whether a job's outputs are its sums, with the bias. */
bool gops_requantize_is_none(const gops_plan *plan, const gops_job *job);

/* Whether a job's outputs are made of its sums by gops_requantize alone. */
bool gops_requantize_applies(const gops_plan *plan, const gops_job *job);

/* Whether it makes codes of them, to which those of the residual are added. */
bool gops_requantize_adds(const gops_job *job);

/* What to do for one channel, group * C_OUT + output channel. */
gops_requantize gops_requantize_read(const gops_plan *plan, const gops_job *job, int64_t channel);

/* How the residual's codes are added. */
gops_requantize_sum gops_requantize_read_sum(const gops_plan *plan, const gops_job *job);

/* Stores `count` outputs of a channel, of any type but i32. `residual` and `output` are those of
 * the first; `sums` are changed. */
void gops_requantize_run(const gops_plan *plan, const gops_job *job, int64_t channel,
                         const void *residual, void *output, void *sums, int64_t count);

/* Rows of `count` 8-bit codes that lie codes_ld apart, the residual that is added to them, and what
 * becomes of them. Both lie ld apart, and may be the same. */
typedef struct gops_requantize_rows {
    void *to;
    const void *residual, *codes;
    int64_t ld, codes_ld;
    int64_t rows, count;
} gops_requantize_rows;

/* Of `count` values each. */
struct gops_requantize_kernels {
    /* Sums to 8-bit outputs; both types have the same lower 8 bits. */
    void (*to_8_bit)(void *to, const uint32_t *sums, int64_t count, const gops_requantize *by);
    /* Sums to floats, which may take their place. */
    void (*to_float)(float *to, const uint32_t *sums, int64_t count, const gops_requantize *by);
    /* The rest of what to_8_bit does after an activation: divides by `divisor`, clamps, rounds. */
    void (*round)(void *to, const float *values, int64_t count, float divisor,
                  const gops_requantize *by);
    /* Adds residuals to 8-bit codes, which what they become must not overlap. */
    void (*add)(const gops_requantize_rows *rows, const gops_requantize_sum *by);
    /* values *= scale. */
    void (*scale)(float *values, int64_t count, float scale);
};

#ifdef GOPS_ISA
extern const struct gops_requantize_kernels GOPS_ISA_NAME(gops_requantize_kernels);
#endif

#endif
