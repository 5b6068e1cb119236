/* activate.h: the activations that are more than a comparison, on floats and doubles. */
#ifndef GOPS_POST_OPS_ACTIVATE_H
#define GOPS_POST_OPS_ACTIVATE_H

#include "isa/isa.h"

#include <groupops/plan.h>

struct gops_activate_kernels {
    /* Replace `count` values, which are floats or doubles. The kind is from LEAKY_RELU to
     * HARD_SIGMOID. The bits are the same on every instruction set: activate.inc.h. */
    void (*f32)(float *values, int64_t count, const gops_activation *activation);
    void (*f64)(double *values, int64_t count, const gops_activation *activation);
};

#ifdef GOPS_ISA
extern const struct gops_activate_kernels GOPS_ISA_NAME(gops_activate_kernels);
#endif

#endif
