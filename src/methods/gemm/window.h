/* window.h: the sliding window of a convolution, as im2col walks it. */
#ifndef GOPS_GEMM_WINDOW_H
#define GOPS_GEMM_WINDOW_H

#include "geometry/geometry.h"

#include <stdint.h>

typedef struct gops_window {
    gops_axis axis[3]; /* gops_zyx_axis */
    int64_t data_plane;
    int64_t taps;
} gops_window;

/* A block of the column matrix of one image and group. Its rows are the (channel, tap) pairs row0
 * to row1 - 1, its columns the output pixels column0 to column1 - 1. Element (r, c) of the matrix
 * goes to columns[(r - row0) * (column1 - column0) + c - column0]. */
typedef struct gops_columns {
    int64_t row0, row1;
    int64_t column0, column1;
    uint32_t zero; /* an 8-bit type's zero point, subtracted from each value; padding stays 0 */
} gops_columns;

#endif
