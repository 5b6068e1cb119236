/*
 * epilogue.h: the post-ops that a kernel applies to its sums while they are in registers:
 *
 *     value = min(max(sum + bias + residual, low), high)
 *
 * That is what engines fuse most: a bias with relu or relu6. It costs a kernel three instructions
 * for each vector that it stores, and no pass over the output. gops_store applies all other
 * post-ops. The formula and its order are those of post_ops.inc.h, so both give the same bits, but for
 * a sum of -0: here a missing bias is +0, there it is not added.
 */
#ifndef GOPS_POST_OPS_EPILOGUE_H
#define GOPS_POST_OPS_EPILOGUE_H

#include "plan/plan.h"

#include <stdbool.h>

/* The most channels of a tile. */
enum { GOPS_EPILOGUE_CHANNELS = 64 };

/* Values of the compute type, float or double. Kernels take them by a pointer of that type. */
typedef union gops_epilogue_values {
    float f32[GOPS_EPILOGUE_CHANNELS];
    double f64[GOPS_EPILOGUE_CHANNELS];
} gops_epilogue_values;

typedef struct gops_epilogue {
    bool applies;                /* the kernel applies the job's post-ops; if not, the members
                                    below are not set */
    gops_epilogue_values bounds; /* low, high */
    gops_job rest;               /* the job without its post-ops */
} gops_epilogue;

/* The residuals that a kernel can add. A kernel whose tiles overlap writes some outputs twice, so
 * it must not add a residual that aliases the output. */
typedef enum gops_epilogue_residual {
    GOPS_EPILOGUE_NO_RESIDUAL,
    GOPS_EPILOGUE_SEPARATE_RESIDUAL, /* one that does not alias the output */
    GOPS_EPILOGUE_ANY_RESIDUAL,
} gops_epilogue_residual;

/* Whether the activation is the same for all channels, and the last of the post-ops. */
static inline bool gops_epilogue_ends_alike(const gops_plan *plan)
{
    return plan->activation.kind != GOPS_ACTIVATION_PRELU && !plan->residual_after;
}

/* The epilogue of a job for a kernel that can add `residual`. It applies where the compute type is
 * floating point and all of the job's post-ops have the form above. */
gops_epilogue gops_epilogue_read(const gops_plan *plan, const gops_job *job,
                                 gops_epilogue_residual residual);

/* As gops_epilogue_read, for kernels that add any residual and keep the outputs of several channels
 * together, which gops_store cannot give their biases. It applies also where the activation is no
 * clamp, and then leaves only that to `rest`. Only where gops_epilogue_ends_alike. */
gops_epilogue gops_epilogue_read_sums(const gops_plan *plan, const gops_job *job);

/* As gops_epilogue_read, but it leaves only the activation to `rest` where it can: without a residual,
 * where gops_epilogue_ends_alike. */
gops_epilogue gops_epilogue_read_most(const gops_plan *plan, const gops_job *job,
                                      gops_epilogue_residual residual);

/* Writes `padded` values: the biases of channels channel, channel + step, ... (`count` of them),
 * then zeros. Without a bias, all are zeros. */
void gops_epilogue_bias(const gops_plan *plan, const gops_job *job, int64_t channel, int64_t step,
                        int64_t count, int64_t padded, gops_epilogue_values *bias);

/* The same for the rows of a matrix, in which each channel has `repeat` rows. Row 0 is the first
 * row of `channel`; the values are the biases of rows first to first + count - 1, and the last of
 * these again for all that follow, up to `padded`. */
void gops_epilogue_bias_rows(const gops_plan *plan, const gops_job *job, int64_t channel,
                             int64_t repeat, int64_t first, int64_t count, int64_t padded,
                             gops_epilogue_values *bias);

#endif
