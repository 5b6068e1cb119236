/* scatter.h: where col2im adds the elements of a column matrix; the transposed convolution. */
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
    /* The boxes that col2im works on: data pixels data0 to data1 - 1, output pixels output0 to
     * output1 - 1. Products whose output lies outside the output box are skipped. */
    int64_t data0, data1;
    int64_t output0, output1;
} gops_scatter_axis;

typedef struct gops_scatter {
    int32_t axes;
    gops_scatter_axis axis[GOPS_MAX_SPATIAL];
    int64_t taps;
} gops_scatter;

/* A block of the column matrix: its rows are (channel, tap) pairs of `channels` output channels,
 * its columns are the pixels column0 to column1 - 1 of the data box, counted row by row. Element
 * (r, c) is at columns[r * (column1 - column0) + c - column0]. */
typedef struct gops_scatter_block {
    int64_t channels;
    int64_t column0, column1;
} gops_scatter_block;

/* Adds the block to `output`, which holds the output box of each of the block's channels,
 * `output_ld` values apart. */
typedef void gops_col2im_fn(const gops_scatter *scatter, const gops_scatter_block *block,
                            const void *columns, void *output, int64_t output_ld);

#endif
