/* Wants what depthwise_shuffle_conv.inc.h does, which comes before it and leaves its macros, and
 * WOVEN_LOW and WOVEN_HIGH, the indices that interleave the halves of two vectors. */
/*
 * depthwise_shuffle_deconv.inc.h: a transposed depthwise convolution with stride 2 along both axes.
 *
 * Data i and tap k meet at output o = 2 i + k - pad. Along x write o = 2 t + rho, and the pad as
 * 2 h + odd: tap k has its outputs at rho = (k + odd) % 2, and output t of those finds its data at
 * t + h - floor((k - odd) / 2). So a vector of neighbouring t is two of sums, for the two rho, of
 * data that are loaded with a mask, zeros beyond their ends, once for every two taps; and the two
 * interleaved are neighbouring outputs.
 *
 * Along y the data's rows pass, as in depthwise_shuffle_conv.inc.h: row i adds to the K rows of
 * outputs from 2 i - pad on; two of them are then complete, and the others wait for row i + 1.
 */

/* Rows of outputs that are under way, each two vectors. */
typedef struct NAME(rows) {
    NAME(vector) sum[4][2];
} NAME(rows);

/* What of a row of data and of one of outputs a strip of columns sees. */
typedef struct NAME(strip) {
    int64_t from[3]; /* in the row of data: for the tap's floor((k - odd) / 2) of -1, 0, 1 */
    SOME some[3];
    SOME low, high; /* of the two vectors of outputs */
} NAME(strip);

/* The lanes of a vector whose first one is column x that are columns 0 to width - 1. */
static inline SOME NAME(columns)(int64_t x, int64_t width)
{
    return (SOME)(FIRST(width - x) & ~FIRST(-x));
}

static inline NAME(strip) NAME(strip_at)(const gops_depthwise_image *a, int64_t column)
{
    NAME(strip)
    strip = {
        .low = NAME(columns)(column, a->columns),
        .high = NAME(columns)(column + NAME(LANES), a->columns),
    };
    for (int i = 0; i < 3; i++) {
        const int64_t from = column / 2 + a->pad_x / 2 - (i - 1);
        strip.some[i] = NAME(columns)(from, a->width);
        /* Where nothing is loaded, not beyond the data either. */
        strip.from[i] = strip.some[i] != 0 ? from : 0;
    }
    return strip;
}

static inline __attribute__((always_inline)) void
NAME(spread_row)(const C *row, const NAME(strip) * strip, const NAME(vector) * weight,
                 NAME(rows) * rows, const int K, const int ODD)
{
    GOPS_UNROLL
    for (int kx = 0; kx < K; kx++) {
        const int back = (kx - ODD + 2) / 2, rho = (kx + ODD) % 2;
        const NAME(vector) x = LOAD_SOME(row + strip->from[back], strip->some[back]);
        GOPS_UNROLL
        for (int ky = 0; ky < K; ky++) {
            rows->sum[ky][rho] += x * weight[ky * K + kx];
        }
    }
}

/* The rows of outputs of one filter, in a strip of two vectors of columns from `column` on. */
static inline __attribute__((always_inline)) void
NAME(spread)(const gops_depthwise_image *a, int64_t column, const int K, const int ODD)
{
    const NAME(strip) strip = NAME(strip_at)(a, column);
    /* Output o is 2 * i + ky from here on, and the asked ones those from `begin` to end - 1. */
    const int64_t begin = a->first + a->pad_y, end = begin + a->rows;
    int64_t i = gops_max(0, begin / 2 - 1);
    const C *row = (const C *)a->data + i * a->width;
    C *output = (C *)a->output + (2 * i - begin) * a->columns + column;
    NAME(vector) weight[16];
    NAME(rows) rows = {.sum = {{{0}}}};
    GOPS_UNROLL
    for (int k = 0; k < K * K; k++) {
        weight[k] = ((const C *)a->weights)[k] - (NAME(vector)){0};
    }
    for (; 2 * i < end; i++, row += a->width, output += 2 * a->columns) {
        if (i < a->height) {
            NAME(spread_row)(row, &strip, weight, &rows, K, ODD);
        }
        GOPS_UNROLL
        for (int r = 0; r < 2; r++) {
            NAME(vector) *sum = rows.sum[r];
            if (2 * i + r >= begin && 2 * i + r < end) {
                NAME(finish)(a, sum, 2);
                STORE_SOME(output + r * a->columns, strip.low,
                           __builtin_shufflevector(sum[0], sum[1], WOVEN_LOW));
                STORE_SOME(output + r * a->columns + NAME(LANES), strip.high,
                           __builtin_shufflevector(sum[0], sum[1], WOVEN_HIGH));
            }
        }
        GOPS_UNROLL
        for (int r = 0; r < 8; r++) {
            rows.sum[r / 2][r % 2] = r / 2 + 2 < K ? rows.sum[r / 2 + 2][r % 2] : (NAME(vector)){0};
        }
    }
}

#define GOPS_SPREAD_KERNEL(name, K, ODD)                                                           \
    static void NAME(name)(const gops_depthwise_image *a)                                          \
    {                                                                                              \
        gops_depthwise_image one = *a;                                                             \
        for (int64_t i = 0; i < a->filters; i++) {                                                 \
            for (int64_t column = 0; column < a->columns; column += 2 * NAME(LANES)) {             \
                NAME(spread)(&one, column, K, ODD);                                                \
            }                                                                                      \
            gops_depthwise_image_next(&one, (int64_t)sizeof(C));                                   \
        }                                                                                          \
    }

GOPS_SPREAD_KERNEL(spread2, 2, 0)
GOPS_SPREAD_KERNEL(spread3, 3, 0)
GOPS_SPREAD_KERNEL(spread4, 4, 0)
GOPS_SPREAD_KERNEL(spread2_odd, 2, 1)
GOPS_SPREAD_KERNEL(spread3_odd, 3, 1)
GOPS_SPREAD_KERNEL(spread4_odd, 4, 1)

static void NAME(spread_all)(const gops_depthwise_image *a)
{
    static gops_depthwise_image_fn *const kernels[2][3] = {
        {NAME(spread2), NAME(spread3), NAME(spread4)},
        {NAME(spread2_odd), NAME(spread3_odd), NAME(spread4_odd)},
    };
    kernels[a->pad_x % 2][a->kernel_x - 2](a);
}

#undef GOPS_SPREAD_KERNEL
#undef C
#undef BYTES
#undef NAME
#undef SOME
#undef FIRST
#undef LOAD_ALL
#undef LOAD_SOME
#undef STORE_ALL
#undef STORE_SOME
#undef MOVE
#undef WOVEN_LOW
#undef WOVEN_HIGH
