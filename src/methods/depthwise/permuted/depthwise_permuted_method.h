/* depthwise_permuted_method.h: the parameters of depthwise/permuted. */
#ifndef GOPS_DEPTHWISE_PERMUTED_METHOD_H
#define GOPS_DEPTHWISE_PERMUTED_METHOD_H

#include "methods/depthwise/depthwise_method.h"
#include "methods/depthwise/permuted/depthwise_permuted.h"

/* The sizes of packed filters, in 32-bit words. */
typedef struct gops_permuted_layout {
    int64_t columns;          /* taps of a row of the kernel */
    int64_t row, rows, whole; /* quads of a row of taps, of all rows, of all taps in one row */
    int64_t filter, filters;  /* of one filter; how many there are */
    int64_t words;            /* of all of it */
    /* Of a transposed convolution, in place of row, rows and whole: gops_permuted_shape. */
    int64_t stride_y, stride_x, terms;
    bool pairs_of_rows;
} gops_permuted_layout;

typedef struct gops_permuted_plan {
    gops_permuted_shape shape;
    gops_permuted_layout layout;
    bool transposed;               /* with a stride above 1 */
    bool flipped;                  /* with stride 1: a convolution with the taps in reverse order */
    int64_t row_block, row_blocks; /* rows of outputs of an item; blocks of an image */
    int64_t filters;               /* output channels of the whole batch */
    int64_t filter_block;          /* filters of an item */
    int64_t sum_filters;           /* filters whose sums the workspace holds */
} gops_permuted_plan;

/* The i8 number `part` of those that make up a weight less its zero point. */
static inline int8_t gops_permuted_part(int64_t weight, int part)
{
    for (; part > 0; part--) {
        weight -= gops_clamp(weight, INT8_MIN, INT8_MAX);
    }
    return (int8_t)gops_clamp(weight, INT8_MIN, INT8_MAX);
}

/* What a shape takes from the axes. */
static inline gops_permuted_shape gops_permuted_shape_of(const gops_depthwise_axis axis[3])
{
    const gops_depthwise_axis *y = &axis[1], *x = &axis[2];
    return (gops_permuted_shape){
        .height = y->data,
        .width = x->data,
        .rows = y->output,
        .columns = x->output,
        .kernel_y = y->kernel,
        .kernel_x = x->kernel,
        .pad_y = y->pad,
        .pad_x = x->pad,
        .stride_y = y->stride,
        .stride_x = x->stride,
        .dilation_y = y->dilation,
        .dilation_x = x->dilation,
    };
}

/* depthwise_permuted_transposed.c: whether the kernels serve the axes of a transposed convolution;
 * fills in the shape. */
bool gops_depthwise_permuted_transposed_shape(const gops_depthwise_axis axis[3],
                                              const struct gops_depthwise_permuted *kernels,
                                              gops_permuted_shape *shape);
gops_permuted_layout gops_depthwise_permuted_transposed_layout(const gops_conv_geometry *conv);
void gops_depthwise_permuted_transposed_pack(const gops_plan *plan, const void *weights,
                                             const int32_t *zero_points, void *packed);

/* depthwise_permuted_run.c */
gops_permuted_layout gops_depthwise_permuted_layout(const gops_conv_geometry *conv);
void gops_depthwise_permuted_pack(const gops_plan *plan, const void *weights,
                                  const int32_t *zero_points, void *packed);
void gops_depthwise_permuted_run(const gops_plan *plan, const gops_job *job, int64_t item,
                                 void *workspace);

#endif
