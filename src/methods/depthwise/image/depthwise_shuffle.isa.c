/*
 * depthwise_shuffle.isa.c: the kernels of depthwise/shuffle, which load each row of data once.
 *
 * An unaligned load of a whole vector nearly always crosses a cache line, which costs as much as
 * two loads. So a row is loaded once, where it begins, and the vectors for the taps to the left and
 * right are made of it by a shuffle: one instruction beside the multiplications. Zeros come in
 * where the data ends, which are the padding. depthwise_shuffle_conv.inc.h does that for images of
 * any size, depthwise_shuffle_deconv.inc.h for transposed convolutions.
 *
 * In small images that leaves most of a vector empty. The kernels here put two rows of outputs into
 * each vector of sums, and use each row of data for them with one shuffle:
 *
 * - Stride 1, at most 8 columns, as many of outputs as of data. Rows y and y + 1 of the data follow
 *   each other in memory and are one load. For tap (ky, kx) they serve the outputs' rows
 *   y - ky + pad and the next, after a shuffle by kx - pad_x columns that zeroes the lanes which
 *   would come from the other row. There is a vector for every y, even or odd: 9 of them for 8
 *   rows. They stay in registers, as do the sums. Weights are loaded for one column of taps at a
 *   time, at most 7.
 * - Stride 2, at most 16 x 16. The outputs' rows t and t + 1 need rows y and y + 2 of the data,
 *   which are a register each. One shuffle of both takes every second lane of each.
 */
#include "methods/depthwise/depthwise.h"

#include "base/checked.h"
#include "isa/lanes.h"
#include "isa/register.h"
#include "isa/vector.h"

#include <stddef.h>

#if defined(__AVX512F__)

#define EACH_COMPUTE "methods/depthwise/image/depthwise_shuffle_conv.inc.h"
#include "isa/each_compute.inc.h"
#undef EACH_COMPUTE
#define EACH_COMPUTE "methods/depthwise/image/depthwise_shuffle_deconv.inc.h"
#include "isa/each_compute.inc.h"

enum {
    /* Vectors of sums, of two rows of outputs each. */
    SUMS = 4,
    ROWS = 2 * SUMS,
    MAX_TAPS = 7, /* along an axis */
    LANES = 16,
    STRIDE2_ROWS = 16, /* rows of data with stride 2 */
};

/* The shuffle of one or two registers of data for two rows of outputs. */
typedef struct shuffle {
    __m512i lane;     /* of the data, for each lane of outputs */
    __mmask16 within; /* the other lanes are padding, or no outputs */
} shuffle;

GOPS_INLINE f32_vector permute(shuffle by, f32_vector x)
{
    return (f32_vector)_mm512_maskz_permutexvar_ps(by.within, by.lane, (__m512)x);
}

GOPS_INLINE f32_vector permute_two(shuffle by, f32_vector x, f32_vector y)
{
    return (f32_vector)_mm512_maskz_permutex2var_ps(by.within, (__m512)x, by.lane, (__m512)y);
}

/* The shuffle for tap kx; the data of the second row of outputs begins `next` lanes after that of
 * the first. */
static shuffle shuffle_for_tap(const gops_depthwise_image *a, int64_t kx, int64_t next)
{
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i columns = _mm512_set1_epi32((int)a->columns);
    const __mmask16 second = _mm512_cmpge_epi32_mask(lane, columns);
    const __m512i x = _mm512_mask_sub_epi32(lane, second, lane, columns);
    const __m512i data = _mm512_add_epi32(_mm512_mullo_epi32(x, _mm512_set1_epi32((int)a->stride)),
                                          _mm512_set1_epi32((int)(kx - a->pad_x)));
    /* As unsigned numbers, negative columns are beyond the data too. */
    const __mmask16 within = _mm512_cmplt_epu32_mask(data, _mm512_set1_epi32((int)a->width)) &
                             (__mmask16)f32_lane_mask(0, 2 * a->columns);
    return (shuffle){_mm512_mask_add_epi32(data, second, data, _mm512_set1_epi32((int)next)),
                     within};
}

GOPS_INLINE void store_sums(const gops_depthwise_image *a, f32_vector sum[SUMS])
{
    float *output = a->output;
    f32_finish(a, sum, SUMS);
    GOPS_UNROLL
    for (int t = 0; t < SUMS; t++, output += 2 * a->columns) {
        f32_store_masked(output, f32_lane_mask(0, gops_min(2, a->rows - 2 * t) * a->columns),
                         sum[t]);
    }
}

/* Loads the weights of a column of taps, each into all lanes. */
GOPS_INLINE void load_weights(const float *weights, const int K, f32_vector weight[MAX_TAPS])
{
    GOPS_UNROLL
    for (int ky = 0; ky < K; ky++) {
        weight[ky] = f32_broadcast(weights[ky * K]);
        GOPS_IN_REGISTER(weight[ky]);
    }
}

GOPS_INLINE void stride1(const gops_depthwise_image *a, const int K)
{
    const int PAD = K / 2;
    const int64_t width = a->width;
    shuffle shuffles[MAX_TAPS];
    /* row[y + 1] holds rows y and y + 1 of the data. */
    __mmask16 inside[ROWS + 1];
    for (int kx = 0; kx < K; kx++) {
        shuffles[kx] = shuffle_for_tap(a, kx, width);
    }
    for (int y = -1; y < ROWS; y++) {
        inside[y + 1] =
            (__mmask16)f32_lane_mask(y < 0 ? width : 0, gops_min(2, a->height - y) * width);
    }
    GOPS_EACH_FILTER(one, a, float)
    {
        f32_vector sum[SUMS] = {{0}}, row[ROWS + 1];
        GOPS_UNROLL
        for (int y = -1; y < ROWS; y++) {
            row[y + 1] = f32_load_masked((const float *)one.data + y * width, inside[y + 1]);
            GOPS_IN_REGISTER(row[y + 1]);
        }
        GOPS_UNROLL
        for (int kx = 0; kx < K; kx++) {
            f32_vector weight[MAX_TAPS];
            load_weights((const float *)one.weights + kx, K, weight);
            GOPS_UNROLL
            for (int y = -1; y < ROWS; y++) {
                const f32_vector moved = kx == PAD ? row[y + 1] : permute(shuffles[kx], row[y + 1]);
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

GOPS_INLINE void stride2(const gops_depthwise_image *a, const int K, const int PAD)
{
    const int64_t width = a->width;
    const __mmask16 whole = (__mmask16)f32_lane_mask(0, width);
    shuffle shuffles[MAX_TAPS];
    for (int kx = 0; kx < K; kx++) {
        shuffles[kx] = shuffle_for_tap(a, kx, LANES);
    }
    GOPS_EACH_FILTER(one, a, float)
    {
        f32_vector sum[SUMS] = {{0}}, row[STRIDE2_ROWS];
        const f32_vector none = {0};
        GOPS_UNROLL
        for (int y = 0; y < STRIDE2_ROWS; y++) {
            row[y] =
                f32_load_masked((const float *)one.data + y * width, y < a->height ? whole : 0);
            GOPS_IN_REGISTER(row[y]);
        }
        GOPS_UNROLL
        for (int kx = 0; kx < K; kx++) {
            f32_vector weight[MAX_TAPS];
            load_weights((const float *)one.weights + kx, K, weight);
            GOPS_UNROLL
            for (int j = 0; j < SUMS * K; j++) {
                const int t = j / K, ky = j % K, y = 4 * t + ky - PAD;
                if (y >= -2 && y < STRIDE2_ROWS) {
                    sum[t] += weight[ky] * permute_two(shuffles[kx], y >= 0 ? row[y] : none,
                                                       y + 2 < STRIDE2_ROWS ? row[y + 2] : none);
                }
            }
        }
        store_sums(&one, sum);
    }
}

#define KERNEL_OF(name, ...)                                                                       \
    static void name(const gops_depthwise_image *a)                                                \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
    }

KERNEL_OF(stride1_3, stride1(a, 3))
KERNEL_OF(stride1_5, stride1(a, 5))
KERNEL_OF(stride1_7, stride1(a, 7))
KERNEL_OF(stride2_3, stride2(a, 3, 1))
KERNEL_OF(stride2_5, stride2(a, 5, 2))
KERNEL_OF(stride2_7, stride2(a, 7, 3))
KERNEL_OF(stride2_3_low_pad, stride2(a, 3, 0))
KERNEL_OF(stride2_5_low_pad, stride2(a, 5, 1))
KERNEL_OF(stride2_7_low_pad, stride2(a, 7, 2))

static void f32_small_stride1(const gops_depthwise_image *a)
{
    static gops_depthwise_image_fn *const kernels[] = {stride1_3, stride1_5, stride1_7};
    kernels[(a->kernel_y - 3) / 2](a);
}

static void f32_small_stride2(const gops_depthwise_image *a)
{
    /* By kernel, then by how much less than half of it pad_y is. */
    static gops_depthwise_image_fn *const kernels[][2] = {{stride2_3, stride2_3_low_pad},
                                                          {stride2_5, stride2_5_low_pad},
                                                          {stride2_7, stride2_7_low_pad}};
    kernels[(a->kernel_y - 3) / 2][a->kernel_y / 2 - a->pad_y](a);
}

#endif

const gops_depthwise_shuffle_kernels GOPS_ISA_NAME(gops_depthwise_shuffle_table)[GOPS_COMPUTES] = {
#if defined(__AVX512F__)
    [GOPS_COMPUTE_F32] = {f32_rolling, f32_small_stride1, f32_small_stride2, f32_transposed},
    [GOPS_COMPUTE_F64] = {.rolling = f64_rolling, .transposed = f64_transposed},
#else
    [GOPS_COMPUTE_F32] = {.rolling = NULL},
#endif
};
