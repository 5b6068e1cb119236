/* activate.h: the activations that are more than a comparison, on floats and doubles. */
#ifndef GOPS_POST_OPS_ACTIVATE_H
#define GOPS_POST_OPS_ACTIVATE_H

#include "isa/isa.h"

#include <groupops/plan.h>

/* `rows` rows of `count` values, floats or doubles, from one place to another, which may be the same;
 * from one row to the next there are `from_ld` and `to_ld` values. */
typedef struct gops_activate_rows {
    const void *from;
    void *to;
    int64_t from_ld, to_ld, rows, count;
} gops_activate_rows;

/* The kind is one that activate.inc.h has; the bits are the same on every instruction set. */
typedef void gops_activate_fn(const gops_activate_rows *rows, const gops_activation *activation);

struct gops_activate_kernels {
    gops_activate_fn *f32, *f64;
};

#ifdef GOPS_ISA
extern const struct gops_activate_kernels GOPS_ISA_NAME(gops_activate_kernels);
#endif

#endif
