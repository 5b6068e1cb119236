/* requantize.isa.c: the loops of requantize.h. They are written for the compiler to vectorise. */
#include "post_ops/requantize.h"

#include "isa/order_words.h"
#include "isa/register.h"

#include <string.h>

#ifdef __AVX2__
#include <immintrin.h>
#endif

/* The values that one step of a loop takes: an AVX-512 vector. */
enum { BLOCK = 16 };

/* Of NaN, which an activation may make of infinities, it is low. */
GOPS_INLINE float bounded(float x, float low, float high)
{
    const float raised = x > low ? x : low;
    return raised < high ? raised : high;
}

/* As `clamp` of epilogue.inc.h: x where it is NaN, or a zero beside a bound that is one. */
GOPS_INLINE float clamp(float x, float low, float high)
{
    const float raised = x < low ? low : x;
    return raised > high ? high : raised;
}

GOPS_INLINE float real_of(uint32_t sum, const gops_requantize *by)
{
    return (float)(int32_t)(sum + by->bias) * by->scale;
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
        const float r = bounded(real_of(sums[i], by), by->low, by->high);
        codes[i] = gops_requantize_code(r, by->zero);
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
        values[i] = clamp(real_of(sums[i], by), by->low, by->high);
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
        codes[i] = gops_requantize_code(bounded(values[i] / divisor, by->low, by->high), by->zero);
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

#if defined(__AVX2__)
#if defined(__AVX512F__)
#define WIDE_OF(operation) _mm512_##operation
#define WIDE_LOAD(from) _mm_loadu_si128((const void *)(from))
typedef __m512 wide_real;
typedef __m512i wide_number;
enum { VECTOR = 16 };
#else
#define WIDE_OF(operation) _mm256_##operation
#define WIDE_LOAD(from) _mm_loadl_epi64((const void *)(from))
typedef __m256 wide_real;
typedef __m256i wide_number;
enum { VECTOR = 8 };
#endif
enum { VECTORS = 4, WIDE = VECTOR * VECTORS };

GOPS_INLINE wide_real wide_of(const uint8_t *codes, const bool is_signed)
{
    const __m128i bytes = WIDE_LOAD(codes);
    return WIDE_OF(cvtepi32_ps)(is_signed ? WIDE_OF(cvtepi8_epi32)(bytes)
                                          : WIDE_OF(cvtepu8_epi32)(bytes));
}

/* A block of as many as four vectors are narrowed to: WIDE. */
GOPS_INLINE void add_wide(uint8_t *to, const uint8_t *first, const uint8_t *second,
                          const bool is_signed, const gops_requantize_sum *by)
{
    const wide_real ratio[] = {WIDE_OF(set1_ps)(by->ratio[0]), WIDE_OF(set1_ps)(by->ratio[1])};
    const wide_real constant = WIDE_OF(set1_ps)(by->constant);
    const wide_real low = WIDE_OF(set1_ps)(by->low), high = WIDE_OF(set1_ps)(by->high);
    wide_number number[VECTORS];
    GOPS_UNROLL
    for (int v = 0; v < VECTORS; v++) {
        const wide_real a = wide_of(first + v * VECTOR, is_signed);
        const wide_real b = wide_of(second + v * VECTOR, is_signed);
        const wide_real inner = WIDE_OF(fmadd_ps)(b, ratio[1], constant);
        const wide_real real = WIDE_OF(fmadd_ps)(a, ratio[0], inner);
        number[v] = WIDE_OF(cvtps_epi32)(WIDE_OF(min_ps)(WIDE_OF(max_ps)(real, low), high));
    }
    const wide_number front = WIDE_OF(packs_epi32)(number[0], number[1]);
    const wide_number back = WIDE_OF(packs_epi32)(number[2], number[3]);
    const wide_number bytes = gops_order_words(is_signed ? WIDE_OF(packs_epi16)(front, back)
                                                         : WIDE_OF(packus_epi16)(front, back));
    memcpy(to, &bytes, sizeof bytes);
}
#else
enum { WIDE = BLOCK };
#endif

#ifdef __AVX512F__
/* The same of fewer, `count`: nothing else is read or written. */
GOPS_INLINE void add_part(uint8_t *to, const uint8_t *first, const uint8_t *second, int64_t count,
                          const bool is_signed, const gops_requantize_sum *by)
{
    const __mmask64 mask = ~(__mmask64)0 >> (WIDE - count);
    uint8_t a[WIDE], b[WIDE], sum[WIDE];
    _mm512_storeu_si512((void *)a, _mm512_maskz_loadu_epi8(mask, first));
    _mm512_storeu_si512((void *)b, _mm512_maskz_loadu_epi8(mask, second));
    add_wide(sum, a, b, is_signed, by);
    _mm512_mask_storeu_epi8(to, mask, _mm512_loadu_si512((const void *)sum));
}

GOPS_INLINE void add_codes(uint8_t *to, const uint8_t *first, const uint8_t *second, int64_t count,
                           const bool is_signed, const gops_requantize_sum *by)
{
    int64_t i = 0;
    for (; i + WIDE <= count; i += WIDE) {
        add_wide(to + i, first + i, second + i, is_signed, by);
    }
    if (i < count) {
        add_part(to + i, first + i, second + i, count - i, is_signed, by);
    }
}
#else
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
        codes[i] = gops_requantize_code(real[i], 0);
    }
    memcpy(to, codes, (size_t)length);
}

GOPS_INLINE void add_any(uint8_t *to, const uint8_t *first, const uint8_t *second, const int length,
                         const bool is_signed, const gops_requantize_sum *by)
{
#ifdef WIDE_OF
    if (length == WIDE) {
        add_wide(to, first, second, is_signed, by);
        return;
    }
#endif
    add_block(to, first, second, length, is_signed, by);
}

/* The last block ends with the last element, and is computed before what it overlaps is stored:
 * `to` may be the residual. */
GOPS_INLINE void add_blocks(uint8_t *to, const uint8_t *first, const uint8_t *second, int64_t count,
                            const int length, const bool is_signed, const gops_requantize_sum *by)
{
    uint8_t last[WIDE];
    const int64_t end = count - length;
    add_any(last, first + end, second + end, length, is_signed, by);
    for (int64_t i = 0; i < end; i += length) {
        add_any(to + i, first + i, second + i, length, is_signed, by);
    }
    memcpy(to + end, last, (size_t)length);
}

GOPS_INLINE void add_codes(uint8_t *to, const uint8_t *first, const uint8_t *second, int64_t count,
                           const bool is_signed, const gops_requantize_sum *by)
{
    if (count >= WIDE) {
        add_blocks(to, first, second, count, WIDE, is_signed, by);
    } else if (count >= BLOCK) {
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
#endif

GOPS_INLINE void add_rows(const gops_requantize_rows *rows, const bool is_signed,
                          const gops_requantize_sum *by)
{
    const gops_requantize_sum constant = *by;
    for (int64_t i = 0; i < rows->rows; i++) {
        const uint8_t *codes = (const uint8_t *)rows->codes + i * rows->codes_ld;
        const uint8_t *residual = (const uint8_t *)rows->residual + i * rows->ld;
        add_codes((uint8_t *)rows->to + i * rows->ld, by->residual_first ? residual : codes,
                  by->residual_first ? codes : residual, rows->count, is_signed, &constant);
    }
}

static void add(const gops_requantize_rows *rows, const gops_requantize_sum *by)
{
    if (by->is_signed) {
        add_rows(rows, true, by);
    } else {
        add_rows(rows, false, by);
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
