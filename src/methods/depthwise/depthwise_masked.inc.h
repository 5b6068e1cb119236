/* Wants C, BYTES of a vector, NAME(symbol), SOME (a mask), SOME_OF(lanes from, lanes to),
 * LOAD_SOME, STORE_SOME, and EVEN(a, b) and ODD(a, b), every second lane of two vectors. */
/*
 * depthwise_masked.inc.h: a depthwise convolution on the image itself.
 *
 * The tiles are those of depthwise_rows.inc.h: R rows of one vector of outputs, and each row of
 * data that is loaded serves all the taps above and below it. But there is no padded copy. Along y
 * a row of padding is a row that is not there: a bit of `inside` tells, and its taps are left out.
 * Along x a lane that lies in the padding is masked off as the row is loaded, which gives the 0
 * that a copy would hold, and touches no memory there. What that saves is most of the time where
 * images are small: reading and writing them is all that is left beside the multiplications.
 *
 * With stride 2 along x two neighbouring vectors of data hold the data of two neighbouring taps,
 * the even lanes and the odd ones.
 *
 * Outputs are summed up column of taps by column of taps, in whatever tile they are, so tiles may
 * overlap.
 */

typedef C NAME(vector) __attribute__((vector_size(BYTES)));

#include "post_ops/epilogue.inc.h"

enum { NAME(LANES) = BYTES / sizeof(C) };

/* The lanes of a vector of data whose first one is column x. */
static inline __attribute__((always_inline)) SOME NAME(within)(int64_t x, int64_t width)
{
    if (x >= 0 && x + NAME(LANES) <= width) {
        return SOME_OF(0, NAME(LANES));
    }
    return SOME_OF(gops_clamp(-x, 0, NAME(LANES)), gops_clamp(width - x, 0, NAME(LANES)));
}

/* R rows of outputs from row `first` on, dilation_y apart, and one vector of columns from `column`
 * on. KX is the kernel's width, or 0 for any. With EDGE, bit j of `inside` tells whether row j of
 * the data is there; else all are. */
static inline __attribute__((always_inline)) void
NAME(tile)(const gops_depthwise_image *a, int64_t first, int64_t column, uint32_t inside,
           const int R, const int KY, const int KX, const int STRIDE, const int EDGE)
{
    const int64_t kernel_x = KX != 0 ? KX : a->kernel_x, width = a->width,
                  pitch = a->dilation_y * width;
    const C *data = (const C *)a->data + (first * STRIDE - a->pad_y) * width;
    int64_t x = column * STRIDE - a->pad_x;
    NAME(vector) sum[GOPS_MASKED_ROWS];
    GOPS_UNROLL
    for (int r = 0; r < R; r++) {
        sum[r] = (NAME(vector)){0};
    }
    /* What the tile below this one, or the next channel, begins with: 20% on images of 56 x 56. */
    GOPS_UNROLL
    for (int r = 0; r < R * STRIDE; r++) {
        __builtin_prefetch(data + (a->pad_y + R * STRIDE + r) * width + column * STRIDE);
    }
    for (int64_t k = 0; k < kernel_x; k += STRIDE, x += STRIDE * a->dilation_x) {
        const C *weights = (const C *)a->weights + k, *row = data + x;
        const SOME some = NAME(within)(x, width);
        const SOME after = STRIDE == 2 ? NAME(within)(x + NAME(LANES), width) : some;
        const int two = STRIDE == 2 && k + 1 < kernel_x;
        NAME(vector) weight[7], second[7];
        GOPS_OPAQUE(inside);
        GOPS_UNROLL
        for (int i = 0; i < KY; i++) {
            weight[i] = weights[i * kernel_x] - (NAME(vector)){0};
            second[i] = two ? weights[i * kernel_x + 1] - (NAME(vector)){0} : weight[i];
        }
        GOPS_UNROLL
        for (int j = 0; j < (R - 1) * STRIDE + KY; j++, row += pitch) {
            if (EDGE && (inside >> j & 1) == 0) {
                continue;
            }
            NAME(vector) value = LOAD_SOME(row, some), odd = value;
            if (STRIDE == 2) {
                const NAME(vector) next = LOAD_SOME(row + NAME(LANES), after);
                odd = ODD(value, next);
                value = EVEN(value, next);
            }
            GOPS_IN_REGISTER(value);
            GOPS_UNROLL
            for (int r = 0; r < R; r++) {
                if (j - r * STRIDE >= 0 && j - r * STRIDE < KY) {
                    sum[r] += value * weight[j - r * STRIDE];
                }
            }
            GOPS_UNROLL
            for (int r = 0; r < R; r++) {
                if (two && j - r * STRIDE >= 0 && j - r * STRIDE < KY) {
                    sum[r] += odd * second[j - r * STRIDE];
                }
            }
        }
    }
    if (a->bounds != NULL) {
        const NAME(vector) add = *(const C *)a->bias - (NAME(vector)){0};
        const NAME(vector) low = ((const C *)a->bounds)[0] - (NAME(vector)){0};
        const NAME(vector) high = ((const C *)a->bounds)[1] - (NAME(vector)){0};
        GOPS_UNROLL
        for (int r = 0; r < R; r++) {
            sum[r] = NAME(trimmed)(sum[r], add, low, high);
        }
    }
    C *output = (C *)a->output + (first - a->first) * a->columns + column;
    const SOME some = SOME_OF(0, gops_min(a->columns - column, NAME(LANES)));
    GOPS_UNROLL
    for (int r = 0; r < R; r++, output += a->dilation_y * a->columns) {
        STORE_SOME(output, some, sum[r]);
    }
}

/* R rows of outputs of all columns. */
static inline __attribute__((always_inline)) void NAME(strip)(const gops_depthwise_image *a,
                                                              int64_t first, const int R,
                                                              const int KY, const int KX,
                                                              const int STRIDE)
{
    const int ROWS = (R - 1) * STRIDE + KY;
    const int64_t y = first * STRIDE - a->pad_y, apart = a->dilation_y, left = a->height - y;
    if (y >= 0 && left > (ROWS - 1) * apart) {
        for (int64_t column = 0; column < a->columns; column += NAME(LANES)) {
            NAME(tile)(a, first, column, 0, R, KY, KX, STRIDE, 0);
        }
        return;
    }
    const int64_t begin = gops_clamp(apart == 1 ? -y : gops_ceil_div(-y, apart), 0, ROWS);
    const int64_t end = gops_clamp(apart == 1 ? left : gops_ceil_div(left, apart), begin, ROWS);
    const uint32_t inside = gops_lanes(begin, end);
    for (int64_t column = 0; column < a->columns; column += NAME(LANES)) {
        NAME(tile)(a, first, column, inside, R, KY, KX, STRIDE, 1);
    }
}

/* Rows that share data are dilation_y apart, `rows` of them from `first` on; strips as high as
 * there are rows, the last one overlapping the one before it. */
static inline __attribute__((always_inline)) void NAME(way)(const gops_depthwise_image *a,
                                                            int64_t first, int64_t rows,
                                                            const int KY, const int KX,
                                                            const int STRIDE)
{
    int64_t row = 0;
    for (; STRIDE == 1 && rows - row >= 14; row += 14) {
        NAME(strip)(a, first + row * a->dilation_y, 14, KY, KX, STRIDE);
    }
    for (; rows >= 7 && row < rows; row += 7) {
        NAME(strip)(a, first + gops_min(row, rows - 7) * a->dilation_y, 7, KY, KX, STRIDE);
    }
    for (; row < rows; row++) {
        NAME(strip)(a, first + row * a->dilation_y, 1, KY, KX, STRIDE);
    }
}

#define GOPS_MASKED_KERNEL(name, KY, KX, STRIDE)                                                   \
    static void NAME(name)(const gops_depthwise_image *a)                                          \
    {                                                                                              \
        for (int64_t way = 0; way < gops_min(a->dilation_y, a->rows); way++) {                     \
            NAME(way)                                                                              \
            (a, a->first + way, gops_ceil_div(a->rows - way, a->dilation_y), KY, KX, STRIDE);      \
        }                                                                                          \
    }

GOPS_MASKED_KERNEL(of3, 3, 0, 1)
GOPS_MASKED_KERNEL(of3x3, 3, 3, 1)
GOPS_MASKED_KERNEL(of5, 5, 0, 1)
GOPS_MASKED_KERNEL(of5x5, 5, 5, 1)
GOPS_MASKED_KERNEL(of7, 7, 0, 1)
GOPS_MASKED_KERNEL(of7x7, 7, 7, 1)
GOPS_MASKED_KERNEL(of3x3_by2, 3, 3, 2)
GOPS_MASKED_KERNEL(of5x5_by2, 5, 5, 2)
GOPS_MASKED_KERNEL(of7x7_by2, 7, 7, 2)

static void NAME(run)(const gops_depthwise_image *a)
{
    /* By height of the kernel: of any width, square, and square with stride 2. */
    static void (*const kernels[8][3])(const gops_depthwise_image *) = {
        [3] = {NAME(of3), NAME(of3x3), NAME(of3x3_by2)},
        [5] = {NAME(of5), NAME(of5x5), NAME(of5x5_by2)},
        [7] = {NAME(of7), NAME(of7x7), NAME(of7x7_by2)},
    };
    kernels[a->kernel_y][a->stride == 2 ? 2 : a->kernel_x == a->kernel_y](a);
}

#undef GOPS_MASKED_KERNEL
#undef C
#undef BYTES
#undef NAME
#undef SOME
#undef SOME_OF
#undef LOAD_SOME
#undef STORE_SOME
#undef EVEN
#undef ODD
