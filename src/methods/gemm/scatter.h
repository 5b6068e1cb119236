/* scatter.h: the way back from matrix form for the transposed convolution, as col2im walks
 * it. */
#ifndef GOPS_GEMM_SCATTER_H
#define GOPS_GEMM_SCATTER_H

#include <groupops/tensor.h>

#include <stdint.h>

/* One axis: data pixel i and tap k meet at output i * stride + k * dilation - pad. */
typedef struct gops_scatter_axis {
    int64_t kernel;
    int64_t stride;
    int64_t dilation;
    int64_t pad;
    /* The boxes that are worked on: data pixels data0 to data1 - 1, output pixels output0 to
     * output1 - 1. What meets outside of the output box is skipped. */
    int64_t data0, data1;
    int64_t output0, output1;
} gops_scatter_axis;

typedef struct gops_scatter {
    int32_t axes;
    int32_t unused;
    gops_scatter_axis axis[GOPS_MAX_SPATIAL];
    int64_t taps;
} gops_scatter;

/* A part of the column matrix: rows are (channel, tap) pairs of `channels` output channels, columns
 * the pixels column0 to column1 - 1 of the data box, counted row by row. Element (r, c) is at
 * columns[r * ld + c - column0]. */
typedef struct gops_scatter_part {
    int64_t channels;
    int64_t column0, column1;
    int64_t ld;
} gops_scatter_part;

/* Adds the part onto `output`, which holds the output box of each of the channels, `output_ld`
 * values from one channel to the next. */
typedef void gops_col2im_fn(const gops_scatter *scatter, const gops_scatter_part *part,
                            const void *columns, void *output, int64_t output_ld);

#endif
