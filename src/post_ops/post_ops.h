/* post_ops.h: the last step of every convolution: post-ops, rounding, output. */
#ifndef GOPS_POST_OPS_H
#define GOPS_POST_OPS_H

#include "plan/plan.h"
#include "post_ops/activate.h"
#include "post_ops/epilogue.h"

/* Writes `count` consecutive outputs of one channel: applies the post-ops to `values`, rounds once,
 * and stores. `first` is the first output element, counted over the whole tensor; `channel` is
 * group * C_OUT + output channel. `values` are of the compute type; a quantized plan's are the sums
 * of requantize.h. They may be changed, and may be the output itself where the type is its own
 * compute type. */
void gops_store(const gops_plan *plan, const gops_job *job, int64_t channel, int64_t first,
                int64_t count, void *values);

/* Applies bias, residual and activation to `count` values of a channel, as
 * gops_post_ops_kernels.apply takes them. */
void gops_apply_post_ops(const gops_plan *plan, const gops_job *job, const gops_type_row *type,
                         int64_t channel, void *values, const void *bias, const void *residual,
                         int64_t count);

/* Applies the activation that an epilogue left to `rest`: gops_epilogue_read_most. */
void gops_activate(const gops_plan *plan, const gops_activate_rows *rows);

/* Rows of `count` values, one for each of several channels. */
typedef struct gops_store_values {
    void *values;
    int64_t ld; /* from one row to the next, in values */
    int64_t rows, count;
} gops_store_values;

/* As gops_store, for channels `channel` on, `first` being the first output element of the first of them. */
void gops_store_channels(const gops_plan *plan, const gops_job *job, int64_t channel, int64_t first,
                         const gops_store_values *from);

/* The same. If the epilogue applies, which is that of gops_epilogue_read_most, the kernel has done so, and `job` is its
 * rest. Where that leaves an activation alone, one call stores all rows: a call for each would cost as much as the
 * activation. */
void gops_store_rows(const gops_plan *plan, const gops_job *job, const gops_epilogue *epilogue,
                     int64_t channel, int64_t first, const gops_store_values *from);

struct gops_post_ops_kernels {
    /* By row: applies bias, residual and activation to `count` values of one channel. Floating
     * point values are of the compute type, integers of the element type. `bias` is one element or
     * NULL, `residual` is `count` elements or NULL. post_ops.inc.h */
    void (*apply[GOPS_ROWS])(void *values, const void *bias, const void *residual, int64_t count,
                             const gops_activation *activation);
    const struct gops_activate_kernels *activate;
    const struct gops_requantize_kernels *requantize; /* requantize.h */
};

#endif
