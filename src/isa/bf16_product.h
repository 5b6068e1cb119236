/*
 * bf16_product.h: what the processor's instructions for bf16 compute, one product at a time, in
 * plain C.
 *
 * They multiply and add with one rounding, to nearest even whatever MXCSR says, read denormal
 * numbers as zero and make denormal results zero, both with their sign (Intel's manual on VDPBF16PS
 * and TDPBF16PS). The products themselves are exact, 8 bits times 8 bits. This has the same bits on
 * all processors, where the calling thread rounds to nearest and does not flush.
 */
#ifndef GOPS_ISA_BF16_PRODUCT_H
#define GOPS_ISA_BF16_PRODUCT_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

static inline float gops_bf16_flush(float x)
{
    return fabsf(x) < FLT_MIN ? copysignf(0, x) : x;
}

/* The float whose upper 16 bits are these. */
static inline float gops_bf16_widen(uint32_t bits)
{
    const uint32_t wide = bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return gops_bf16_flush(value);
}

/* sum + a * b, of which a and b are the lower 16 bits. */
static inline float gops_bf16_multiply_add(float sum, uint32_t a, uint32_t b)
{
    return gops_bf16_flush(fmaf(gops_bf16_widen(a), gops_bf16_widen(b), gops_bf16_flush(sum)));
}

/* A lane of VDPBF16PS: adds the product of the upper halves, then that of the lower ones. */
static inline float gops_bf16_add_pair(float sum, uint32_t a, uint32_t b)
{
    return gops_bf16_multiply_add(gops_bf16_multiply_add(sum, a >> 16, b >> 16), a, b);
}

#endif
