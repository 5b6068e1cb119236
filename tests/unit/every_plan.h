/* every_plan.h: one problem planned for every algorithm and instruction set. */
#ifndef GROUPOPS_TEST_EVERY_PLAN_H
#define GROUPOPS_TEST_EVERY_PLAN_H

#include "problem.h"

/* What to do with each plan. Returns 0 to go no further. */
typedef int gops_test_each(void *context, const gops_plan *plan);

/* Plans the problem for every instruction set that runs here (all of the others where GROUPOPS_ISA
 * is set: that one) and every algorithm that takes it, and hands each plan to `each`. Returns how
 * many there were. */
int64_t gops_test_every_plan(gops_problem *problem, gops_test_each *each, void *context);

/* Executes the plan and compares what it gives with what is expected. Returns 0 where it failed,
 * and says by which instruction set and why the plan is as it is. */
int gops_test_one_result(gops_problem *problem, const gops_plan *plan,
                         gops_problem_buffers *buffers, gops_reference_result *expected);

/* Executes all of these on random values and compares each with the reference. Returns how many
 * explain themselves with `words` (gops_plan_info.why); -1, and does nothing, where the problem is
 * not legal. */
int64_t gops_test_every_result(gops_problem *problem, gops_test_random *random, const char *words);

#endif
