/* implicit_conv.h: what plan and execution of the implicit convolution share. */
#ifndef GOPS_IMPLICIT_CONV_H
#define GOPS_IMPLICIT_CONV_H

#include "methods/implicit/implicit_layout.h"

static inline const gops_implicit *gops_implicit_read(const gops_plan *plan)
{
    return (const gops_implicit *)(const void *)plan->parameters.bytes;
}

/* implicit_conv.c: what the frame sees of the axes. */
void gops_implicit_axes(const gops_conv_geometry *conv, gops_implicit_axis *axis);

/* implicit_run.c */
void gops_implicit_run(const gops_plan *plan, const gops_job *job, int64_t item, void *workspace);

#endif
