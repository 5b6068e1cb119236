/*
 * depthwise_shuffle.isa.c: depthwise convolutions that load each row of data once.
 *
 * A vector that is loaded one element further on lies across two lines of the cache nearly always,
 * and costs two loads. So here a row is loaded where it begins, once, and its neighbours to the
 * left and right are made by moving lanes: one instruction, beside the multiplications. Where the
 * data end, zeros move in, which are the padding. depthwise_shuffle_conv.inc.h does that for images
 * of any size, and depthwise_shuffle_deconv.inc.h moves lanes for the transposed form.
 *
 * Small images leave most of a vector empty then, so two rows go into one. What a multiplication
 * has of it are two rows of outputs:
 *
 * - Pairs, stride 1: as many columns come out as went in, at most 8. Rows y and y + 1 of the data
 *   follow each other in memory and are loaded as one vector; it serves tap (ky, kx) of the
 * outputs' rows y - ky + pad and the one after, after all its lanes have moved by kx - pad_x and
 * those that came from the row beside have become zeros. Every y has its vector, even or odd: 9 of
 *   them for 8 rows, which stay in registers, as do the sums. Columns of taps come one after the
 *   other, the weights of one in registers, 7 at most.
 * - Apart, stride 2: outputs' rows t and t + 1 want rows y and y + 2 of the data, a register each,
 *   up to 16 of up to 16 columns. One instruction picks every second lane of both.
 */
#include "methods/depthwise/depthwise.h"

#include "base/checked.h"
#include "isa/lanes.h"
#include "isa/register.h"
#include "isa/vector.h"

#include <stddef.h>

#if defined(__AVX512F__)

#include <immintrin.h>

/* The first `count` lanes, of 16. */
static inline __mmask16 first_of_16(int64_t count)
{
    return (__mmask16)((1u << gops_clamp(count, 0, 16)) - 1);
}

static inline __mmask8 first_of_8(int64_t count)
{
    return (__mmask8)((1u << gops_clamp(count, 0, 8)) - 1);
}

#define C float
#define BYTES 64
#define NAME(symbol) f32_##symbol
#define SOME __mmask16
#define FIRST first_of_16
#define LOAD_ALL(from) (f32_vector) _mm512_loadu_ps(from)
#define LOAD_SOME(from, some) (f32_vector) _mm512_maskz_loadu_ps(some, from)
#define STORE_ALL(to, value) _mm512_storeu_ps(to, (__m512)(value))
#define STORE_SOME(to, some, value) _mm512_mask_storeu_ps(to, some, (__m512)(value))
#define MOVE(low, high, by) (f32_vector) _mm512_alignr_epi32((__m512i)(high), (__m512i)(low), by)
#define WOVEN_LOW LOW_OF_4_BYTES
#define WOVEN_HIGH HIGH_OF_4_BYTES
#include "methods/depthwise/depthwise_shuffle_conv.inc.h"

#include "methods/depthwise/depthwise_shuffle_deconv.inc.h"

#define C double
#define BYTES 64
#define NAME(symbol) f64_##symbol
#define SOME __mmask8
#define FIRST first_of_8
#define LOAD_ALL(from) (f64_vector) _mm512_loadu_pd(from)
#define LOAD_SOME(from, some) (f64_vector) _mm512_maskz_loadu_pd(some, from)
#define STORE_ALL(to, value) _mm512_storeu_pd(to, (__m512d)(value))
#define STORE_SOME(to, some, value) _mm512_mask_storeu_pd(to, some, (__m512d)(value))
#define MOVE(low, high, by) (f64_vector) _mm512_alignr_epi64((__m512i)(high), (__m512i)(low), by)
#define WOVEN_LOW LOW_OF_8_BYTES
#define WOVEN_HIGH HIGH_OF_8_BYTES
#include "methods/depthwise/depthwise_shuffle_conv.inc.h"

#include "methods/depthwise/depthwise_shuffle_deconv.inc.h"

#define LOAD_SOME(from, some) (f32_vector) _mm512_maskz_loadu_ps(some, from)
#define STORE_SOME(to, some, value) _mm512_mask_storeu_ps(to, some, (__m512)(value))
#define PICK(some, lane, x) (f32_vector) _mm512_maskz_permutexvar_ps(some, lane, (__m512)(x))
#define PICK_OF_2(some, lane, x, y)                                                                \
    (f32_vector) _mm512_maskz_permutex2var_ps(some, (__m512)(x), lane, (__m512)(y))

enum {
    /* Vectors of two rows of outputs each, and the rows. */
    SUMS = 4,
    ROWS = 2 * SUMS,
    MAX_TAPS = 7,
    /* Lanes, and rows of the data of `apart`. */
    LANES = 16,
};

/* Which lanes of one or two registers of data those of two rows of outputs want for tap kx: the
 * second row's data begin `next` lanes after the first one's. */
typedef struct picked {
    __m512i lane;
    __mmask16 within; /* all others are padding, or no outputs */
} picked;

static picked pick(const gops_depthwise_image *a, int64_t kx, int64_t next)
{
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i columns = _mm512_set1_epi32((int)a->columns);
    const __mmask16 second = _mm512_cmpge_epi32_mask(lane, columns);
    const __m512i x = _mm512_mask_sub_epi32(lane, second, lane, columns);
    const __m512i data = _mm512_add_epi32(_mm512_mullo_epi32(x, _mm512_set1_epi32((int)a->stride)),
                                          _mm512_set1_epi32((int)(kx - a->pad_x)));
    /* As unsigned numbers those before the data are beyond it too. */
    const __mmask16 within = _mm512_cmplt_epu32_mask(data, _mm512_set1_epi32((int)a->width)) &
                             first_of_16(2 * a->columns);
    return (picked){_mm512_mask_add_epi32(data, second, data, _mm512_set1_epi32((int)next)),
                    within};
}

static inline __attribute__((always_inline)) void store_sums(const gops_depthwise_image *a,
                                                             f32_vector sum[SUMS])
{
    float *output = a->output;
    f32_finish(a, sum, SUMS);
    GOPS_UNROLL
    for (int t = 0; t < SUMS; t++, output += 2 * a->columns) {
        STORE_SOME(output, first_of_16(gops_min(2, a->rows - 2 * t) * a->columns), sum[t]);
    }
}

/* The weights of a column of taps. */
static inline __attribute__((always_inline)) void load_weights(const float *weights, const int K,
                                                               f32_vector weight[MAX_TAPS])
{
    GOPS_UNROLL
    for (int ky = 0; ky < K; ky++) {
        weight[ky] = weights[ky * K] - (f32_vector){0};
        GOPS_IN_REGISTER(weight[ky]);
    }
}

static inline __attribute__((always_inline)) void pairs(const gops_depthwise_image *a, const int K)
{
    const int PAD = K / 2;
    const int64_t width = a->width;
    gops_depthwise_image one = *a;
    picked picks[MAX_TAPS];
    /* Rows y and y + 1 of the data are row[y + 1]. */
    __mmask16 inside[ROWS + 1];
    for (int kx = 0; kx < K; kx++) {
        picks[kx] = pick(a, kx, width);
    }
    for (int y = -1; y < ROWS; y++) {
        inside[y + 1] = first_of_16(gops_min(2, a->height - y) * width);
    }
    inside[0] &= (__mmask16)~first_of_16(width);
    for (int64_t i = 0; i < a->filters;
         i++, gops_depthwise_image_next(&one, (int64_t)sizeof(float))) {
        f32_vector sum[SUMS] = {{0}}, row[ROWS + 1];
        GOPS_UNROLL
        for (int y = -1; y < ROWS; y++) {
            row[y + 1] = LOAD_SOME((const float *)one.data + y * width, inside[y + 1]);
            GOPS_IN_REGISTER(row[y + 1]);
        }
        GOPS_UNROLL
        for (int kx = 0; kx < K; kx++) {
            f32_vector weight[MAX_TAPS];
            load_weights((const float *)one.weights + kx, K, weight);
            GOPS_UNROLL
            for (int y = -1; y < ROWS; y++) {
                const f32_vector moved =
                    kx == PAD ? row[y + 1] : PICK(picks[kx].within, picks[kx].lane, row[y + 1]);
                GOPS_UNROLL
                for (int t = 0; t < SUMS; t++) {
                    if (y - 2 * t + PAD >= 0 && y - 2 * t + PAD < K) {
                        sum[t] += moved * weight[y - 2 * t + PAD];
                    }
                }
            }
        }
        store_sums(&one, sum);
    }
}

static inline __attribute__((always_inline)) void apart(const gops_depthwise_image *a, const int K,
                                                        const int PAD)
{
    const int64_t width = a->width;
    const __mmask16 whole = first_of_16(width);
    gops_depthwise_image one = *a;
    picked picks[MAX_TAPS];
    for (int kx = 0; kx < K; kx++) {
        picks[kx] = pick(a, kx, LANES);
    }
    for (int64_t i = 0; i < a->filters;
         i++, gops_depthwise_image_next(&one, (int64_t)sizeof(float))) {
        f32_vector sum[SUMS] = {{0}}, row[LANES];
        const f32_vector none = {0};
        GOPS_UNROLL
        for (int y = 0; y < LANES; y++) {
            row[y] = LOAD_SOME((const float *)one.data + y * width, y < a->height ? whole : 0);
            GOPS_IN_REGISTER(row[y]);
        }
        GOPS_UNROLL
        for (int kx = 0; kx < K; kx++) {
            f32_vector weight[MAX_TAPS];
            load_weights((const float *)one.weights + kx, K, weight);
            GOPS_UNROLL
            for (int j = 0; j < SUMS * K; j++) {
                const int t = j / K, ky = j % K, y = 4 * t + ky - PAD;
                if (y >= -2 && y < LANES) {
                    sum[t] += weight[ky] * PICK_OF_2(picks[kx].within, picks[kx].lane,
                                                     y >= 0 ? row[y] : none,
                                                     y + 2 < LANES ? row[y + 2] : none);
                }
            }
        }
        store_sums(&one, sum);
    }
}

/* By taps along an axis: (K - 3) / 2. */
#define KERNEL_OF(name, ...)                                                                       \
    static void name(const gops_depthwise_image *a)                                                \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
    }

KERNEL_OF(pairs3, pairs(a, 3))
KERNEL_OF(pairs5, pairs(a, 5))
KERNEL_OF(pairs7, pairs(a, 7))
KERNEL_OF(apart3, apart(a, 3, 1))
KERNEL_OF(apart5, apart(a, 5, 2))
KERNEL_OF(apart7, apart(a, 7, 3))
KERNEL_OF(apart3_up, apart(a, 3, 0))
KERNEL_OF(apart5_up, apart(a, 5, 1))
KERNEL_OF(apart7_up, apart(a, 7, 2))

static void all_pairs(const gops_depthwise_image *a)
{
    static gops_depthwise_image_fn *const kernels[] = {pairs3, pairs5, pairs7};
    kernels[(a->kernel_y - 3) / 2](a);
}

static void all_apart(const gops_depthwise_image *a)
{
    /* By how far the pad above is from half the kernel. */
    static gops_depthwise_image_fn *const kernels[][2] = {
        {apart3, apart3_up}, {apart5, apart5_up}, {apart7, apart7_up}};
    kernels[(a->kernel_y - 3) / 2][a->kernel_y / 2 - a->pad_y](a);
}

#define F32_LANES                                                                                  \
    {                                                                                              \
        .stream = f32_stream, .pairs = all_pairs, .apart = all_apart, .spread = f32_spread_all     \
    }
#define F64_LANES                                                                                  \
    {                                                                                              \
        .stream = f64_stream, .spread = f64_spread_all                                             \
    }

#else

#define F32_LANES                                                                                  \
    {                                                                                              \
        .stream = NULL                                                                             \
    }
#define F64_LANES F32_LANES

#endif

const gops_depthwise_shuffle_kernels GOPS_ISA_NAME(gops_depthwise_shuffle_table)[GOPS_COMPUTES] = {
    [GOPS_COMPUTE_F32] = F32_LANES,
    [GOPS_COMPUTE_F64] = F64_LANES,
};
