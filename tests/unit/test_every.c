#include "test_every.h"

#include <stdlib.h>

static int64_t every_algorithm(gops_problem *problem, gops_test_each *each, void *context,
                               int *stopped)
{
    const char *const wanted = problem->algorithm;
    int64_t plans = 0;
    for (int i = 0; !*stopped && gops_algorithm_name(i) != NULL; i++) {
        gops_plan *plan;
        problem->algorithm = gops_algorithm_name(i);
        if (gops_problem_plan(problem, &plan, NULL) == GOPS_OK) {
            plans++;
            *stopped = !each(context, plan);
        }
        gops_plan_destroy(plan);
    }
    problem->algorithm = wanted;
    return plans;
}

int64_t gops_test_every_plan(gops_problem *problem, gops_test_each *each, void *context)
{
    int64_t plans = 0;
    int runs, stopped = 0;
    if (getenv("GROUPOPS_ISA") != NULL)
        return every_algorithm(problem, each, context, &stopped);
    for (int i = 0; !stopped && gops_isa_name(i, &runs) != NULL; i++) {
        if (runs) {
            setenv("GROUPOPS_ISA", gops_isa_name(i, NULL), 1);
            plans += every_algorithm(problem, each, context, &stopped);
        }
    }
    unsetenv("GROUPOPS_ISA");
    return plans;
}
