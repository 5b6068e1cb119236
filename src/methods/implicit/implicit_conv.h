/* implicit_conv.h: what the plan and the execution of an implicit convolution share. */
#ifndef GOPS_IMPLICIT_CONV_H
#define GOPS_IMPLICIT_CONV_H

#include "methods/implicit/implicit_layout.h"

static inline const gops_implicit *gops_implicit_read(const gops_plan *plan)
{
    return gops_read_parameters(plan);
}

/* implicit_run.c */
void gops_implicit_run(const gops_plan *plan, const gops_job *job, int64_t item, void *workspace);

#endif
