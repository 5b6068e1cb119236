/* plan/arguments.h: gops_arguments checked. */
#ifndef GOPS_PLAN_ARGUMENTS_H
#define GOPS_PLAN_ARGUMENTS_H

#include "plan/plan.h"

/* Checks plan and arguments, whatever their size, and fills in *job; nothing of it where the plan
 * has no items. job->shared is the workspace that was given. Errors are those of gops_execute. */
gops_status gops_read_arguments(const gops_plan *plan, const gops_arguments *given, gops_job *job,
                                gops_error *error);

#endif
