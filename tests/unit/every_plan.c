/* every_plan.c: goes through the instruction sets and algorithms that serve a problem. */
#include "every_plan.h"

#include <stdlib.h>
#include <string.h>

#include "harness.h"

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
    bool runs;
    int stopped = 0;
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

typedef struct results {
    gops_problem *problem;
    gops_problem_buffers buffers;
    gops_reference_result expected;
    const char *words;
    int64_t with_words;
} results;

int gops_test_one_result(gops_problem *problem, const gops_plan *plan,
                         gops_problem_buffers *buffers, gops_reference_result *expected)
{
    gops_problem_text text;
    gops_error error = {GOPS_OK, ""};
    gops_plan_info info = {.size = sizeof info};
    gops_plan_get_info(plan, &info, NULL);
    const gops_status status = gops_problem_execute(problem, plan, buffers, NULL, 0, &error);
    return gops_test_check(status == GOPS_OK, "%s: %s", gops_problem_describe(problem, &text),
                           error.message) &&
           gops_test_check(gops_problem_compare(problem, expected, buffers->output.memory),
                           "%s, %s", gops_isa(), info.why);
}

static int check_one(void *context, const gops_plan *plan)
{
    results *r = context;
    gops_plan_info info = {.size = sizeof info};
    gops_plan_get_info(plan, &info, NULL);
    r->with_words += strstr(info.why, r->words) != NULL;
    return gops_test_one_result(r->problem, plan, &r->buffers, &r->expected);
}

int64_t gops_test_every_result(gops_problem *problem, gops_test_random *random, const char *words)
{
    results r = {.problem = problem, .words = words};
    gops_reference_geometry g;
    gops_tensor output;
    if (!gops_problem_reference_shape(problem, &g, &output))
        return -1;
    r.buffers = gops_problem_buffers_create(problem, &output, random);
    gops_problem_reference(problem, &r.buffers, &r.expected);
    gops_test_every_plan(problem, check_one, &r);
    gops_reference_result_destroy(&r.expected);
    gops_problem_buffers_destroy(&r.buffers);
    return r.with_words;
}
