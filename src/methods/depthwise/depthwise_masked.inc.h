/*
 * depthwise_masked.inc.h: a depthwise convolution of the image where it lies.
 *
 * The register tiles are those of depthwise_rows.inc.h, MR rows of one vector of outputs, and a
 * loaded row of data serves all taps above and below it. But there is no padded copy. Along y, a
 * bit of `inside` tells whether a row of data exists; the taps of a row of padding are left out.
 * Along x, a mask leaves out the lanes in the padding when a row is loaded: they become 0, as in a
 * padded copy, and no memory is touched there. In small images that saves most of the time, because
 * reading and writing them is all that is left beside the multiplications.
 *
 * With stride 2 along x, the even lanes of two neighbouring vectors of data belong to one tap and
 * the odd ones to the next tap.
 *
 * Every output sums its taps column by column, whatever tile it falls into, so that tiles may
 * overlap.
 *
 * Parameters: C, LANES, NAME, EVEN, ODD and INTRINSIC of isa/each_compute.inc.h
 */
#include "isa/vectors.inc.h"
#include "post_ops/epilogue.inc.h"

#define tile NAME(tile)
#define tile_row NAME(tile_row)
#define tile_rows NAME(tile_rows)
#define lanes_within NAME(lanes_within)
#define load_masked NAME(load_masked)

/* clang takes a product out of its branch, and then fuses it with no sum: some tiles would round twice. */
#ifdef __clang__
#define STAYS_IN_BRANCH(x) GOPS_IN_REGISTER(x)
#else
#define STAYS_IN_BRANCH(x) (void)0
#endif

/* The lanes inside the image, of a vector of data whose first lane is column x. */
GOPS_INLINE unsigned lanes_within(int64_t x, int64_t width)
{
    if (x >= 0 && x + LANES <= width) {
        return NAME(lane_mask)(0, LANES);
    }
    return NAME(lane_mask)(-x, width - x);
}

/* A register tile: MR rows of outputs, dilation_y apart, from row `first` on, and one vector of
 * columns from `column` on. KY and KX are the kernel's height and width, KX 0 for any. With EDGE,
 * bit j of `inside` tells whether row j of the tile's data is inside the image; else all are. */
GOPS_INLINE void tile(const gops_depthwise_image *a, int64_t first, int64_t column, uint32_t inside,
                      const int MR, const int KY, const int KX, const int STRIDE, const int EDGE)
{
    const int64_t kernel_x = KX != 0 ? KX : a->kernel_x, width = a->width,
                  pitch = a->dilation_y * width;
    const C *data = (const C *)a->data + (first * STRIDE - a->pad_y) * width;
    int64_t x = column * STRIDE - a->pad_x;
    vector sum[14];
    GOPS_UNROLL
    for (int r = 0; r < MR; r++) {
        sum[r] = (vector){0};
    }
    /* The first rows of data of the tile below, or of the next channel. */
    GOPS_UNROLL
    for (int r = 0; r < MR * STRIDE; r++) {
        __builtin_prefetch(data + (a->pad_y + MR * STRIDE + r) * width + column * STRIDE);
    }
    for (int64_t k = 0; k < kernel_x; k += STRIDE, x += STRIDE * a->dilation_x) {
        const C *weights = (const C *)a->weights + k, *row = data + x;
        const unsigned mask = lanes_within(x, width);
        const unsigned next_mask = STRIDE == 2 ? lanes_within(x + LANES, width) : mask;
        const bool pair = STRIDE == 2 && k + 1 < kernel_x;
        vector weight[7], second[7];
        GOPS_OPAQUE(inside);
        GOPS_UNROLL
        for (int i = 0; i < KY; i++) {
            weight[i] = broadcast(weights[i * kernel_x]);
            second[i] = pair ? broadcast(weights[i * kernel_x + 1]) : weight[i];
        }
        GOPS_UNROLL
        for (int j = 0; j < (MR - 1) * STRIDE + KY; j++, row += pitch) {
            if (EDGE && (inside >> j & 1) == 0) {
                continue;
            }
            vector value = load_masked(row, mask), odd = value;
            if (STRIDE == 2) {
                const vector next = load_masked(row + LANES, next_mask);
                odd = __builtin_shufflevector(value, next, ODD);
                value = __builtin_shufflevector(value, next, EVEN);
            }
            GOPS_IN_REGISTER(value);
            GOPS_UNROLL
            for (int r = 0; r < MR; r++) {
                if (j - r * STRIDE >= 0 && j - r * STRIDE < KY) {
                    sum[r] += value * weight[j - r * STRIDE];
                }
            }
            GOPS_UNROLL
            for (int r = 0; r < MR; r++) {
                if (pair && j - r * STRIDE >= 0 && j - r * STRIDE < KY) {
                    STAYS_IN_BRANCH(odd);
                    sum[r] += odd * second[j - r * STRIDE];
                }
            }
        }
    }
    if (a->bounds != NULL) {
        NAME(epilogue_all)(sum, MR, a->bounds, broadcast(*(const C *)a->bias));
    }
    C *output = (C *)a->output + (first - a->first_row) * a->columns + column;
    const unsigned mask = NAME(lane_mask)(0, a->columns - column);
    GOPS_UNROLL
    for (int r = 0; r < MR; r++, output += a->dilation_y * a->columns) {
        NAME(store_masked)(output, mask, sum[r]);
    }
}

/* Computes MR rows of outputs, dilation_y apart, of all columns. */
GOPS_INLINE void tile_row(const gops_depthwise_image *a, int64_t first, const int MR, const int KY,
                          const int KX, const int STRIDE)
{
    const int DATA_ROWS = (MR - 1) * STRIDE + KY;
    const int64_t y = first * STRIDE - a->pad_y, dilation = a->dilation_y, left = a->height - y;
    if (y >= 0 && left > (DATA_ROWS - 1) * dilation) {
        for (int64_t column = 0; column < a->columns; column += LANES) {
            tile(a, first, column, 0, MR, KY, KX, STRIDE, 0);
        }
        return;
    }
    const int64_t begin =
        gops_clamp(dilation == 1 ? -y : gops_ceil_div(-y, dilation), 0, DATA_ROWS);
    const int64_t end =
        gops_clamp(dilation == 1 ? left : gops_ceil_div(left, dilation), begin, DATA_ROWS);
    const uint32_t inside = (1u << end) - (1u << begin);
    for (int64_t column = 0; column < a->columns; column += LANES) {
        tile(a, first, column, inside, MR, KY, KX, STRIDE, 1);
    }
}

/* Computes `rows` rows of outputs, dilation_y apart so that they share data, from row `first` on.
 * MR is 14 while as many rows are left, then 7, with tiles that may overlap, else 1. */
GOPS_INLINE void tile_rows(const gops_depthwise_image *a, int64_t first, int64_t rows, const int KY,
                           const int KX, const int STRIDE)
{
    int64_t row = 0;
    for (; STRIDE == 1 && rows - row >= 14; row += 14) {
        tile_row(a, first + row * a->dilation_y, 14, KY, KX, STRIDE);
    }
    for (; rows >= 7 && row < rows; row += 7) {
        tile_row(a, first + gops_min(row, rows - 7) * a->dilation_y, 7, KY, KX, STRIDE);
    }
    for (; row < rows; row++) {
        tile_row(a, first + row * a->dilation_y, 1, KY, KX, STRIDE);
    }
}

#define GOPS_MASKED_KERNEL(name, KY, KX, STRIDE)                                                   \
    static void NAME(name)(const gops_depthwise_image *a)                                          \
    {                                                                                              \
        for (int64_t residue = 0; residue < gops_min(a->dilation_y, a->rows); residue++) {         \
            tile_rows(a, a->first_row + residue, gops_ceil_div(a->rows - residue, a->dilation_y),  \
                      KY, KX, STRIDE);                                                             \
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

static void NAME(masked)(const gops_depthwise_image *a)
{
    /* By the kernel's height: any width, square, and square with stride 2. */
    static void (*const kernels[8][3])(const gops_depthwise_image *) = {
        [3] = {NAME(of3), NAME(of3x3), NAME(of3x3_by2)},
        [5] = {NAME(of5), NAME(of5x5), NAME(of5x5_by2)},
        [7] = {NAME(of7), NAME(of7x7), NAME(of7x7_by2)},
    };
    GOPS_EACH_FILTER(one, a, C)
    {
        kernels[a->kernel_y][a->stride == 2 ? 2 : a->kernel_x == a->kernel_y](&one);
    }
}
