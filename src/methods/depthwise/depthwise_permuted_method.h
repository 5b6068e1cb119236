/* depthwise_permuted_method.h: the parameters of depthwise/permuted. */
#ifndef GOPS_DEPTHWISE_PERMUTED_METHOD_H
#define GOPS_DEPTHWISE_PERMUTED_METHOD_H

#include "methods/depthwise/depthwise_method.h"
#include "methods/depthwise/depthwise_permuted.h"

enum {
    /* Of an item: more filters save no more time. */
    GOPS_PERMUTED_FILTERS = 64,
};

typedef struct gops_permuted_plan {
    gops_permuted_shape shape;
    int64_t row_block, row_blocks; /* rows of outputs of an item; blocks of an image */
    int64_t filters;               /* output channels of the whole batch */
    int64_t filter_block;          /* filters of an item */
    int64_t sum_filters;           /* filters whose sums the workspace holds */
} gops_permuted_plan;

/* depthwise_permuted_run.c */
int64_t gops_depthwise_permuted_filter_bytes(const gops_conv_geometry *conv);
void gops_depthwise_permuted_pack(const gops_plan *plan, const void *weights,
                                  const int32_t *zero_points, void *packed);
void gops_depthwise_permuted_run(const gops_plan *plan, const gops_job *job, int64_t item,
                                 void *workspace);

#endif
