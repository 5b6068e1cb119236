/* post_ops_kernels.h: the post-ops of each element type, for one instruction set. */
#ifndef GOPS_POST_OPS_KERNELS_H
#define GOPS_POST_OPS_KERNELS_H

#include <groupops/plan.h>

#include "types/types.h"

/* By row: applies bias, residual and activation to `count` values of one channel. Floating point
 * values are of the compute type, integers of the element type. `bias` is one element or NULL,
 * `residual` is `count` elements or NULL. post_ops.inc.h */
struct gops_post_ops_kernels {
    void (*apply[GOPS_ROWS])(void *values, const void *bias, const void *residual, int64_t count,
                             const gops_activation *activation);
};

#endif
