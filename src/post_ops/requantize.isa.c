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

GOPS_INLINE int32_t number_of(uint8_t code, bool is_signed)
{
    return is_signed ? (int32_t)(int8_t)code : (int32_t)code;
}

/* A block of `length`, at most BLOCK; `to` may be one of the others. Each step is a loop of its own,
 * for which gcc takes whole vectors. */
GOPS_INLINE void add_block(uint8_t *to, const uint8_t *first, const uint8_t *second,
                           const int length, const bool is_signed, const gops_requantize_sum *by)
{
    int32_t a[BLOCK], b[BLOCK];
    float real[BLOCK];
    uint8_t codes[BLOCK];
    for (int i = 0; i < length; i++) {
        a[i] = number_of(first[i], is_signed);
    }
    for (int i = 0; i < length; i++) {
        b[i] = number_of(second[i], is_signed);
    }
    for (int i = 0; i < length; i++) {
        const float inner = __builtin_fmaf((float)b[i], by->ratio[1], by->constant);
        real[i] = bounded(__builtin_fmaf((float)a[i], by->ratio[0], inner), by->low, by->high);
    }
    for (int i = 0; i < length; i++) {
        codes[i] = code_of(real[i], 0);
    }
    memcpy(to, codes, (size_t)length);
}

/* The last block ends with the last element, and is computed before what it overlaps is stored:
 * `to` may be the residual. */
GOPS_INLINE void add_blocks(uint8_t *to, const uint8_t *first, const uint8_t *second, int64_t count,
                            const int length, const bool is_signed, const gops_requantize_sum *by)
{
    uint8_t last[BLOCK];
    const int64_t end = count - length;
    add_block(last, first + end, second + end, length, is_signed, by);
    for (int64_t i = 0; i < end; i += length) {
        add_block(to + i, first + i, second + i, length, is_signed, by);
    }
    memcpy(to + end, last, (size_t)length);
}

GOPS_INLINE void add_codes(uint8_t *to, const uint8_t *codes, const uint8_t *residual,
                           int64_t count, const bool is_signed, const gops_requantize_sum *by)
{
    const uint8_t *first = by->residual_first ? residual : codes;
    const uint8_t *second = by->residual_first ? codes : residual;
    if (count >= BLOCK) {
        add_blocks(to, first, second, count, BLOCK, is_signed, by);
    } else if (count >= BLOCK / 2) {
        add_blocks(to, first, second, count, BLOCK / 2, is_signed, by);
    } else if (count >= BLOCK / 4) {
        add_blocks(to, first, second, count, BLOCK / 4, is_signed, by);
    } else {
        for (int64_t i = 0; i < count; i++) {
            add_block(to + i, first + i, second + i, 1, is_signed, by);
        }
    }
}

static void add(void *to, const void *codes, const void *residual, int64_t count,
                const gops_requantize_sum *by)
{
    const gops_requantize_sum constant = *by;
    if (by->is_signed) {
        add_codes(to, codes, residual, count, true, &constant);
    } else {
        add_codes(to, codes, residual, count, false, &constant);
    }
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
