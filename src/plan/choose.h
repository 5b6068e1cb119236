/* plan/choose.h: which method runs a plan. */
#ifndef GOPS_PLAN_CHOOSE_H
#define GOPS_PLAN_CHOOSE_H

#include "plan/options.h"

/* Prepares the cheapest method that serves the shape, or the one that was asked for. The plan has
 * its geometry, types, kernels, machine and host. GOPS_UNSUPPORTED, GOPS_INVALID: none of them
 * does; the message is that of a refusal that the caller can mend, where there is one. */
gops_status gops_choose(gops_plan *plan, const gops_request *wanted, gops_error *error);

#endif
