/* post_ops_kernels.h: what is applied to outputs, for each element type. */
#ifndef GOPS_POST_OPS_KERNELS_H
#define GOPS_POST_OPS_KERNELS_H

#include <groupops/plan.h>

#include "types/types.h"

/* For each instruction set, by row: fuses into `count` values, floating point ones in C, integers
 * in T; bias is one value of T or NULL, residual `count` of them or NULL. post_ops.inc.h */
struct gops_post_ops_kernels {
    void (*fuse[GOPS_ROWS])(void *values, const void *bias, const void *residual, int64_t count,
                            const gops_activation *activation);
};

#endif
