/* plan/plan_create.h: the end of making a plan, for whatever begins it. */
#ifndef GOPS_PLAN_PLAN_CREATE_H
#define GOPS_PLAN_PLAN_CREATE_H

#include "plan/options.h"

/* Chooses, and makes the plan. `draft` has its operation, geometry, shape, kernels, host, GEMM
 * table, activation, origin, saturate and wanted_variant; `data` is the data's type. */
gops_status gops_plan_finish(gops_plan *draft, gops_type data, const gops_request *wanted,
                             gops_plan **plan, gops_error *error);

#endif
