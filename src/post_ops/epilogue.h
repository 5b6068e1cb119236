/*
 * epilogue.h: bias and bounds, which kernels apply to their sums while these are in registers:
 *
 *     value = min(max(sum + bias + residual, low), high)
 *
 * What engines fuse most, bias with relu or relu6, is of that form; it costs a kernel three
 * instructions for each vector that it stores, and no pass over the output. All else that is fused
 * goes through gops_store. The formula and its order are those of post_ops.inc.h, so that the
 * bits are the same either way.
 */
#ifndef GOPS_POST_OPS_EPILOGUE_H
#define GOPS_POST_OPS_EPILOGUE_H

#include "plan/plan.h"

/* The most channels of a tile. */
enum { GOPS_EPILOGUE_CHANNELS = 64 };

/* In the compute type, float or double, as are the kernels' pointers to them. */
typedef union gops_epilogue_values {
    float f32[GOPS_EPILOGUE_CHANNELS];
    double f64[GOPS_EPILOGUE_CHANNELS];
} gops_epilogue_values;

typedef struct gops_epilogue {
    int applies;                 /* else the rest has no meaning */
    gops_epilogue_values bounds; /* low, high */
    gops_job rest;               /* the job without what the kernel does */
} gops_epilogue;

/* Whether a kernel adds a residual too, where it writes plain outputs in their places: if it may
 * write one again, not a residual that is the output itself. */
typedef enum gops_epilogue_adds {
    GOPS_EPILOGUE_ADDS_NOTHING,
    GOPS_EPILOGUE_ADDS_ELSEWHERE,
    GOPS_EPILOGUE_ADDS_ANYWHERE,
} gops_epilogue_adds;

/* Whether all that is fused is of the form, for floating point types; and if so, the rest. */
gops_epilogue gops_epilogue_read(const gops_plan *plan, const gops_job *job,
                                 gops_epilogue_adds adds);

/* The biases of `count` channels, `step` apart from `channel` on, and zeros for those of `padded`
 * beyond them. Without a bias: zeros. */
void gops_epilogue_bias(const gops_plan *plan, const gops_job *job, int64_t channel, int64_t step,
                        int64_t count, int64_t padded, gops_epilogue_values *bias);

/* The same for rows of which `repeat` belong to each channel: the biases of rows first to
 * first + count - 1, row 0 being the first of `channel`. */
void gops_epilogue_bias_rows(const gops_plan *plan, const gops_job *job, int64_t channel,
                             int64_t repeat, int64_t first, int64_t count, int64_t padded,
                             gops_epilogue_values *bias);

#endif
