/*
 * depthwise_pairs.vnni.isa.c: the kernels of depthwise/pairs.
 *
 * A lane of 32 bits holds two neighbouring values of i16, and pmaddwd multiplies them by two taps
 * and adds. So a vector that is loaded where it lies has the pairs of every second output: with
 * stride 1 a second load, one value further, has those of the others, and interleaving both sums
 * brings the outputs in order. With stride 2 the outputs are in order as they are. No value moves
 * from lane to lane otherwise.
 */
#include "methods/depthwise/depthwise_pairs.h"

#include "isa/lanes.h"
#include "isa/register.h"
#include "isa/vector.h"

#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

enum {
    LANES = LANES_OF_4,
    MAX_SUMS = 4,
};

typedef uint32_t words
    __attribute__((vector_size(LANES * sizeof(uint32_t)), aligned(sizeof(int16_t)), may_alias));
typedef int32_t signed_words __attribute__((vector_size(LANES * sizeof(int32_t))));

/* The sums of products of the two halves of each lane. */
GOPS_INLINE words multiply_pairs(words data, words weights)
{
#if defined(__AVX512BW__)
    return (words)_mm512_madd_epi16((__m512i)data, (__m512i)weights);
#elif defined(__AVX2__) && GOPS_VECTOR_BYTES == 32
    return (words)_mm256_madd_epi16((__m256i)data, (__m256i)weights);
#elif defined(__SSE2__) && GOPS_VECTOR_BYTES == 16
    return (words)_mm_madd_epi16((__m128i)data, (__m128i)weights);
#else
    const signed_words low_data = (signed_words)(data << 16) >> 16;
    const signed_words low_weights = (signed_words)(weights << 16) >> 16;
    return (words)(low_data * low_weights +
                   ((signed_words)data >> 16) * ((signed_words)weights >> 16));
#endif
}

/* SUMS vectors of sums; sum v is of the data from v % 2 on with STEP 1, of vector v / 2. */
GOPS_INLINE void add_pairs(const gops_depthwise_pairs_call *call, int64_t first, words *sums,
                           const int SUMS, const int STEP)
{
    const int16_t *data = call->data + first * STEP;
    const int64_t *offsets = call->offsets;
    const int32_t *weights = call->weights;
    words sum[MAX_SUMS];
    GOPS_UNROLL
    for (int v = 0; v < SUMS; v++) {
        sum[v] = (words){0};
    }
    for (int64_t p = 0; p < call->pairs; p++) {
        const words weight = (uint32_t)weights[p] - (words){0};
        const int16_t *from = data + offsets[p];
        GOPS_UNROLL
        for (int v = 0; v < SUMS; v++) {
            const int64_t at = STEP == 1 ? v / 2 * 2 * LANES + v % 2 : v * 2 * LANES;
            const words pairs = *(const words *)(const void *)(from + at);
            sum[v] += multiply_pairs(pairs, weight);
        }
    }
    GOPS_UNROLL
    for (int v = 0; v < SUMS; v++) {
        sums[v] = sum[v];
    }
}

GOPS_INLINE void run_blocks(const gops_depthwise_pairs_call *call, const int STEP)
{
    for (int64_t i = 0; i < call->count; i += MAX_SUMS * LANES) {
        words sums[MAX_SUMS];
        words *to = (words *)(void *)(call->sums + i);
        add_pairs(call, i, sums, MAX_SUMS, STEP);
        GOPS_UNROLL
        for (int v = 0; v < MAX_SUMS; v += 2) {
            if (STEP == 1) {
                to[v] = __builtin_shufflevector(sums[v], sums[v + 1], GOPS_PASTE(LOW, LANES_OF_4));
                to[v + 1] =
                    __builtin_shufflevector(sums[v], sums[v + 1], GOPS_PASTE(HIGH, LANES_OF_4));
            } else {
                to[v] = sums[v];
                to[v + 1] = sums[v + 1];
            }
        }
    }
}

static void run(const gops_depthwise_pairs_call *call)
{
    if (call->step == 1) {
        run_blocks(call, 1);
    } else {
        run_blocks(call, 2);
    }
}

static void widen(int16_t *restrict to, const void *from, int64_t count, int32_t zero,
                  bool is_signed)
{
    const uint8_t *restrict bytes = from;
    const int8_t *restrict signed_bytes = from;
    const int16_t less = (int16_t)zero;
    if (is_signed) {
        for (int64_t i = 0; i < count; i++) {
            to[i] = (int16_t)(signed_bytes[i] - less);
        }
    } else {
        for (int64_t i = 0; i < count; i++) {
            to[i] = (int16_t)(bytes[i] - less);
        }
    }
}

const struct gops_depthwise_pairs GOPS_ISA_NAME(gops_depthwise_pairs) = {
    .lanes = LANES,
    .run = run,
    .widen = widen,
};
