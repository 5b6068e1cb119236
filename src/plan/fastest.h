/* plan/fastest.h: measures plans for one problem against each other. */
#ifndef GOPS_PLAN_FASTEST_H
#define GOPS_PLAN_FASTEST_H

#include "plan/plan.h"

typedef struct gops_trial {
    gops_plan plan; /* complete, its layout too */
    gops_packed_filter *filter;
    double ns; /* the least that one execution took */
} gops_trial;

/* Executes the plans, at least one and all for one problem, in turn on the same buffers, and fills
 * in what they took. Memory and threads are those of the plans' host. GOPS_OUT_OF_MEMORY,
 * GOPS_HOST_FAILED. */
gops_status gops_measure_trials(gops_trial *trials, int count, gops_error *error);

#endif
