/* plan/arguments.h: gops_arguments checked. */
#ifndef GOPS_PLAN_ARGUMENTS_H
#define GOPS_PLAN_ARGUMENTS_H

#include "plan/plan.h"

/* Checks plan and arguments, copies those, whatever their size, to *arguments, and fills in all of
 * *job but `shared`; nothing of it where the plan has no items. Errors are those of gops_execute. */
gops_status gops_read_arguments(const gops_plan *plan, const gops_arguments *given,
                                gops_arguments *arguments, gops_job *job, gops_error *error);

#endif
