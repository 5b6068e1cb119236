/* plan/choose.h: which method runs a plan. */
#ifndef GOPS_PLAN_CHOOSE_H
#define GOPS_PLAN_CHOOSE_H

#include "plan/options.h"

/* Prepares the method that serves the shape and is estimated to cost least, or the one that was
 * asked for, saved, or measured to be the fastest, and fills in the plan's layout. The plan has its
 * geometry, types, kernels, machine and host. GOPS_UNSUPPORTED, GOPS_INVALID: none of them serves;
 * the message is that of a refusal that the caller can mend, where there is one. Measuring,
 * besides: GOPS_OUT_OF_MEMORY, GOPS_HOST_FAILED. */
gops_status gops_choose(gops_plan *plan, const gops_request *wanted, gops_error *error);

#endif
