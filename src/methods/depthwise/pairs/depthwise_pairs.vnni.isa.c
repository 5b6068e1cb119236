/*
 * depthwise_pairs.vnni.isa.c: the kernels of depthwise/pairs.
 *
 * A lane of 32 bits holds two neighbouring values of i16, and pmaddwd multiplies them by two taps
 * and adds (vpdpwssd also adds to the sums). A vector has the pairs of every second output. With
 * stride 1 the outputs between them take the same pairs, by weights one tap further: of three
 * taps, (a, b) and (c, 0) for even outputs, (0, a) and (b, c) for odd ones. Of an even number of taps
 * they take pairs that begin one value later, by the same weights, which are then fewer. Even and odd
 * ones come in order when their sums are stored. With stride 2 all outputs are even.
 */
#include "methods/depthwise/pairs/depthwise_pairs.h"

#include "isa/lanes.h"
#include "isa/order_words.h"
#include "isa/register.h"
#include "isa/vector.h"
#include "post_ops/requantize.h"

#include <stdbool.h>
#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

enum {
    LANES = LANES_OF_4,
    /* Vectors of sums: of a block, and those that become codes together. */
    SUMS = 8,
    GROUP = 4,
};

typedef uint32_t words
    __attribute__((vector_size(LANES * sizeof(uint32_t)), aligned(sizeof(int16_t)), may_alias));
typedef int32_t signed_words __attribute__((vector_size(LANES * sizeof(int32_t))));

/* Adds the products of the two halves of each lane. */
GOPS_INLINE words add_pairs(words sum, words data, words weights)
{
#if defined(__AVX512VNNI__) && GOPS_VECTOR_BYTES == 64
    return (words)_mm512_dpwssd_epi32((__m512i)sum, (__m512i)data, (__m512i)weights);
#elif defined(__AVXVNNI__) && GOPS_VECTOR_BYTES == 32
    return (words)_mm256_dpwssd_avx_epi32((__m256i)sum, (__m256i)data, (__m256i)weights);
#elif defined(__AVX512BW__)
    return sum + (words)_mm512_madd_epi16((__m512i)data, (__m512i)weights);
#elif defined(__AVX2__) && GOPS_VECTOR_BYTES == 32
    return sum + (words)_mm256_madd_epi16((__m256i)data, (__m256i)weights);
#elif defined(__SSE2__) && GOPS_VECTOR_BYTES == 16
    return sum + (words)_mm_madd_epi16((__m128i)data, (__m128i)weights);
#else
    const signed_words low_data = (signed_words)(data << 16) >> 16;
    const signed_words low_weights = (signed_words)(weights << 16) >> 16;
    return sum + (words)(low_data * low_weights +
                         ((signed_words)data >> 16) * ((signed_words)weights >> 16));
#endif
}

#include "methods/depthwise/pairs/depthwise_pairs_codes.inc.h"

/* What is of one plane. */
typedef struct pairs_plane {
    const int16_t *data;
    const int32_t *weights;
    uint32_t *sums;
    uint8_t *codes; /* or NULL */
    uint32_t start;
    rounding by;
} pairs_plane;

/* COUNT vectors of sums: with STEP 1, even and odd outputs of each vector of data. */
GOPS_INLINE void add_taps(const gops_depthwise_pairs_call *call, const pairs_plane *of,
                          int64_t first, words *sums, const int COUNT, const int STEP,
                          const bool APART)
{
    const int16_t *data = of->data + first * STEP;
    const int64_t *offsets = call->offsets;
    const int32_t *weights = of->weights;
    words sum[SUMS];
    GOPS_UNROLL
    for (int v = 0; v < COUNT; v++) {
        sum[v] = of->start - (words){0};
    }
    for (int64_t p = 0; p < call->pairs; p++, weights += 2) {
        const int16_t *from = data + offsets[p];
        words even = (uint32_t)weights[0] - (words){0};
        words odd = (uint32_t)weights[APART ? 0 : 1] - (words){0};
        GOPS_IN_REGISTER(even);
        GOPS_IN_REGISTER(odd);
        GOPS_UNROLL
        for (int v = 0; v < COUNT; v += STEP == 1 ? 2 : 1) {
            const int64_t at = STEP == 1 ? v * LANES : v * 2 * LANES;
            words pairs = *(const words *)(const void *)(from + at);
            if (STEP == 1) {
                GOPS_IN_REGISTER(pairs);
            }
            sum[v] = add_pairs(sum[v], pairs, even);
            if (APART) {
                pairs = *(const words *)(const void *)(from + at + 1);
            }
            if (STEP == 1) {
                sum[v + 1] = add_pairs(sum[v + 1], pairs, odd);
            }
        }
    }
    GOPS_UNROLL
    for (int v = 0; v < COUNT; v++) {
        sums[v] = sum[v];
    }
}

GOPS_INLINE void store_sums(uint32_t *to, const words *sums, const int COUNT, const int STEP)
{
    GOPS_UNROLL
    for (int v = 0; v < COUNT; v += 2) {
        words *at = (words *)(void *)(to + v * LANES);
        if (STEP == 1) {
            at[0] = __builtin_shufflevector(sums[v], sums[v + 1], GOPS_PASTE(LOW, LANES_OF_4));
            at[1] = __builtin_shufflevector(sums[v], sums[v + 1], GOPS_PASTE(HIGH, LANES_OF_4));
        } else {
            at[0] = sums[v];
            at[1] = sums[v + 1];
        }
    }
}

GOPS_INLINE void run_block(const gops_depthwise_pairs_call *call, const pairs_plane *of,
                           int64_t first, const int COUNT, const int STEP, const bool APART)
{
    words sums[SUMS];
    add_taps(call, of, first, sums, COUNT, STEP, APART);
    if (of->codes == NULL) {
        store_sums(of->sums + first, sums, COUNT, STEP);
        return;
    }
    GOPS_UNROLL
    for (int v = 0; v < COUNT; v += GROUP) {
        store_codes(of->codes + first + v * LANES, sums + v, &of->by, STEP);
    }
}

GOPS_INLINE void run_blocks(const gops_depthwise_pairs_call *call, const pairs_plane *of,
                            const int STEP, const bool APART)
{
    int64_t i = 0;
    for (; i + GROUP * LANES < call->count; i += SUMS * LANES) {
        run_block(call, of, i, SUMS, STEP, APART);
    }
    if (i < call->count) {
        run_block(call, of, i, GROUP, STEP, APART);
    }
}

GOPS_INLINE void run_planes(const gops_depthwise_pairs_call *call, const int STEP, const bool APART)
{
    for (int64_t i = 0; i < call->planes; i++) {
        const int64_t channel = i * call->channels_apart;
        const pairs_plane of = {
            .data = call->data + i * call->data_apart,
            .weights = call->weights + i * call->weights_apart,
            .sums = call->sums + i * call->outputs_apart,
            .codes = call->codes != NULL ? call->codes + i * call->outputs_apart : NULL,
            .start = call->start != NULL ? call->start[channel] : 0,
            .by = rounding_of(call, call->codes != NULL ? call->scale[channel] : 0),
        };
        run_blocks(call, &of, STEP, APART);
    }
}

static void run(const gops_depthwise_pairs_call *call)
{
    if (call->odd_by_itself) {
        run_planes(call, 1, true);
    } else if (call->step == 1) {
        run_planes(call, 1, false);
    } else {
        run_planes(call, 2, false);
    }
}

#include "methods/depthwise/pairs/depthwise_pairs_rows.inc.h"

const struct gops_depthwise_pairs GOPS_ISA_NAME(gops_depthwise_pairs) = {
    .lanes = LANES,
    .run = run,
    .widen = widen,
    .copy = copy,
    .interleave = interleave,
};
