/* requantize.isa.c: the loops of requantize.h. They are written for the compiler to vectorise. */
#include "post_ops/requantize.h"

#include "isa/register.h"

#include <string.h>

/* The values that one step of a loop takes: an AVX-512 vector. */
enum { BLOCK = 16 };

/* Of NaN, which an activation may make of infinities, it is low. */
GOPS_INLINE float bounded(float x, float low, float high)
{
    const float raised = x > low ? x : low;
    return raised < high ? raised : high;
}

GOPS_INLINE float real_of(uint32_t sum, const gops_requantize *by)
{
    return bounded((float)(int32_t)(sum + by->bias) * by->scale, by->low, by->high);
}

/* The lower 8 bits of what r is rounded to, plus the zero point. */
GOPS_INLINE uint8_t code_of(float r, int32_t zero)
{
    const float rounded = r + GOPS_ROUNDING;
    int32_t bits;
    memcpy(&bits, &rounded, sizeof bits);
    return (uint8_t)(bits - GOPS_ROUNDING_BITS + zero);
}

/* Calls step(i, length) for blocks of a constant length, then for what is left. */
#define IN_BLOCKS(count, step)                                                                     \
    int64_t i = 0;                                                                                 \
    for (; i + BLOCK <= (count); i += BLOCK) {                                                     \
        step(i, BLOCK)                                                                             \
    }                                                                                              \
    if (i < (count)) {                                                                             \
        step(i, (int)((count)-i))                                                                  \
    }

/* The copies let output and input be the same memory. */
GOPS_INLINE void codes_of_sums(uint8_t *to, const uint32_t *from, int length,
                               const gops_requantize *by)
{
    uint32_t sums[BLOCK] = {0};
    uint8_t codes[BLOCK];
    memcpy(sums, from, (size_t)length * sizeof *sums);
    for (int i = 0; i < BLOCK; i++) {
        codes[i] = code_of(real_of(sums[i], by), by->zero);
    }
    memcpy(to, codes, (size_t)length);
}

static void to_8_bit(void *to, const uint32_t *sums, int64_t count, const gops_requantize *by)
{
    const gops_requantize constant = *by;
#define STEP(i, length) codes_of_sums((uint8_t *)to + (i), sums + (i), length, &constant);
    IN_BLOCKS(count, STEP)
#undef STEP
}

GOPS_INLINE void floats_of_sums(float *to, const uint32_t *from, int length,
                                const gops_requantize *by)
{
    uint32_t sums[BLOCK] = {0};
    float values[BLOCK];
    memcpy(sums, from, (size_t)length * sizeof *sums);
    for (int i = 0; i < BLOCK; i++) {
        values[i] = real_of(sums[i], by);
    }
    memcpy(to, values, (size_t)length * sizeof *values);
}

static void to_float(float *to, const uint32_t *sums, int64_t count, const gops_requantize *by)
{
    const gops_requantize constant = *by;
#define STEP(i, length) floats_of_sums(to + (i), sums + (i), length, &constant);
    IN_BLOCKS(count, STEP)
#undef STEP
}

GOPS_INLINE void codes_of_floats(uint8_t *to, const float *from, int length, float divisor,
                                 const gops_requantize *by)
{
    float values[BLOCK] = {0};
    uint8_t codes[BLOCK];
    memcpy(values, from, (size_t)length * sizeof *values);
    for (int i = 0; i < BLOCK; i++) {
        codes[i] = code_of(bounded(values[i] / divisor, by->low, by->high), by->zero);
    }
    memcpy(to, codes, (size_t)length);
}

static void round_8_bit(void *to, const float *values, int64_t count, float divisor,
                        const gops_requantize *by)
{
    const gops_requantize constant = *by;
#define STEP(i, length)                                                                            \
    codes_of_floats((uint8_t *)to + (i), values + (i), length, divisor, &constant);
    IN_BLOCKS(count, STEP)
#undef STEP
}

GOPS_INLINE float code_value(uint8_t code, bool is_signed)
{
    return is_signed ? (float)(int8_t)code : (float)code;
}

GOPS_INLINE void add_codes(uint8_t *to, const uint8_t *residual, int length, bool is_signed,
                           const gops_requantize_sum *by)
{
    uint8_t codes[BLOCK] = {0}, added[BLOCK] = {0};
    memcpy(codes, to, (size_t)length);
    memcpy(added, residual, (size_t)length);
    for (int i = 0; i < BLOCK; i++) {
        const float sum = code_value(codes[i], is_signed);
        const float other = code_value(added[i], is_signed);
        const float first = by->residual_first ? other : sum;
        const float second = by->residual_first ? sum : other;
        const float inner = __builtin_fmaf(second, by->ratio[1], by->constant);
        const float r = __builtin_fmaf(first, by->ratio[0], inner);
        codes[i] = code_of(bounded(r, by->low, by->high), 0);
    }
    memcpy(to, codes, (size_t)length);
}

static void add(void *codes, const void *residual, int64_t count, const gops_requantize_sum *by)
{
    const gops_requantize_sum constant = *by;
#define STEP(i, length)                                                                            \
    add_codes((uint8_t *)codes + (i), (const uint8_t *)residual + (i), length, is_signed,          \
              &constant);
    if (by->is_signed) {
        const bool is_signed = true;
        IN_BLOCKS(count, STEP)
    } else {
        const bool is_signed = false;
        IN_BLOCKS(count, STEP)
    }
#undef STEP
}

static void scale(float *values, int64_t count, float by)
{
    for (int64_t i = 0; i < count; i++) {
        values[i] *= by;
    }
}

const struct gops_requantize_kernels GOPS_ISA_NAME(gops_requantize_kernels) = {
    .to_8_bit = to_8_bit,
    .to_float = to_float,
    .round = round_8_bit,
    .add = add,
    .scale = scale,
};
