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
 * Images with stride 2 go by depthwise_rolling.inc.h.
 *
 * Every output sums its taps column by column, whatever tile it falls into, so that tiles may
 * overlap.
 *
 * Parameters: C, LANES, NAME and INTRINSIC of isa/each_compute.inc.h
 */
#include "isa/vectors.inc.h"
#include "post_ops/epilogue.inc.h"

#define tile NAME(tile)
#define tile_row NAME(tile_row)
#define tile_rows NAME(tile_rows)
#define lanes_within NAME(lanes_within)
#define load_masked NAME(load_masked)

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
                      const int MR, const int KY, const int KX, const int EDGE)
{
    const int64_t kernel_x = KX != 0 ? KX : a->kernel_x, width = a->width,
                  pitch = a->dilation_y * width;
    const C *data = (const C *)a->data + (first - a->pad_y) * width;
    int64_t x = column - a->pad_x;
    vector sum[14];
    GOPS_UNROLL
    for (int r = 0; r < MR; r++) {
        sum[r] = (vector){0};
    }
    /* The first rows of data of the tile below, or of the next channel. */
    GOPS_UNROLL
    for (int r = 0; r < MR; r++) {
        __builtin_prefetch(data + (a->pad_y + MR + r) * width + column);
    }
    for (int64_t k = 0; k < kernel_x; k++, x += a->dilation_x) {
        const C *weights = (const C *)a->weights + k, *row = data + x;
        const unsigned mask = lanes_within(x, width);
        vector weight[7];
        GOPS_OPAQUE(inside);
        GOPS_UNROLL
        for (int i = 0; i < KY; i++) {
            weight[i] = broadcast(weights[i * kernel_x]);
        }
        GOPS_UNROLL
        for (int j = 0; j < MR - 1 + KY; j++, row += pitch) {
            if (EDGE && (inside >> j & 1) == 0) {
                continue;
            }
            vector value = load_masked(row, mask);
            GOPS_IN_REGISTER(value);
            GOPS_UNROLL
            for (int r = 0; r < MR; r++) {
                if (j - r >= 0 && j - r < KY) {
                    sum[r] += value * weight[j - r];
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
                          const int KX)
{
    const int DATA_ROWS = MR - 1 + KY;
    const int64_t y = first - a->pad_y, dilation = a->dilation_y, left = a->height - y;
    if (y >= 0 && left > (DATA_ROWS - 1) * dilation) {
        for (int64_t column = 0; column < a->columns; column += LANES) {
            tile(a, first, column, 0, MR, KY, KX, 0);
        }
        return;
    }
    const int64_t begin =
        gops_clamp(dilation == 1 ? -y : gops_ceil_div(-y, dilation), 0, DATA_ROWS);
    const int64_t end =
        gops_clamp(dilation == 1 ? left : gops_ceil_div(left, dilation), begin, DATA_ROWS);
    const uint32_t inside = (1u << end) - (1u << begin);
    for (int64_t column = 0; column < a->columns; column += LANES) {
        tile(a, first, column, inside, MR, KY, KX, 1);
    }
}

/* Computes `rows` rows of outputs, dilation_y apart so that they share data, from row `first` on.
 * MR is 14 while as many rows are left, then 7, with tiles that may overlap, else 1. */
GOPS_INLINE void tile_rows(const gops_depthwise_image *a, int64_t first, int64_t rows, const int KY,
                           const int KX)
{
    int64_t row = 0;
    for (; rows - row >= 14; row += 14) {
        tile_row(a, first + row * a->dilation_y, 14, KY, KX);
    }
    for (; rows >= 7 && row < rows; row += 7) {
        tile_row(a, first + gops_min(row, rows - 7) * a->dilation_y, 7, KY, KX);
    }
    for (; row < rows; row++) {
        tile_row(a, first + row * a->dilation_y, 1, KY, KX);
    }
}

#define GOPS_MASKED_KERNEL(name, KY, KX)                                                           \
    static void NAME(name)(const gops_depthwise_image *a)                                          \
    {                                                                                              \
        for (int64_t residue = 0; residue < gops_min(a->dilation_y, a->rows); residue++) {         \
            tile_rows(a, a->first_row + residue, gops_ceil_div(a->rows - residue, a->dilation_y),  \
                      KY, KX);                                                                     \
        }                                                                                          \
    }

GOPS_MASKED_KERNEL(of3, 3, 0)
GOPS_MASKED_KERNEL(of3x3, 3, 3)
GOPS_MASKED_KERNEL(of5, 5, 0)
GOPS_MASKED_KERNEL(of5x5, 5, 5)
GOPS_MASKED_KERNEL(of7, 7, 0)
GOPS_MASKED_KERNEL(of7x7, 7, 7)

static void NAME(masked)(const gops_depthwise_image *a)
{
    /* By the kernel's height: any width, and square. */
    static gops_depthwise_image_fn *const kernels[8][2] = {
        [3] = {NAME(of3), NAME(of3x3)},
        [5] = {NAME(of5), NAME(of5x5)},
        [7] = {NAME(of7), NAME(of7x7)},
    };
    if (a->stride == 2) {
        NAME(rolling_by2)[a->kernel_y](a);
        return;
    }
    GOPS_EACH_FILTER(one, a, C)
    {
        kernels[a->kernel_y][a->kernel_x == a->kernel_y](&one);
    }
}
