/* post_ops.h: the last step of every convolution: what is fused, the rounding, the output. */
#ifndef GOPS_POST_OPS_H
#define GOPS_POST_OPS_H

#include "plan/plan.h"

/* Finishes `count` outputs of one channel that lie together, from output element `first` on,
 * counted over the whole tensor; `channel` is group * C_OUT + output channel. `values` are in the
 * compute type (that of wrapped sums where the plan is wrapped), may be changed, and may be the
 * output itself where the types are plain. */
void gops_store(const gops_plan *plan, const gops_job *job, int64_t channel, int64_t first,
                int64_t count, void *values);

#endif
