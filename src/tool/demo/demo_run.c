/* demo_run.c: executes and times one operation of the demo. */
#include "demo/demo_run.h"

#include "common/clock.h"

#include <stdio.h>

/* The shortest of several repetitions leaves out the start of the threads and the first touch of
 * the memory. A picture that takes long is computed once. */
enum { REPETITIONS = 5 };
#define ENOUGH_MILLISECONDS 500.0

static gops_status execute_timed(const gops_plan *plan, const gops_arguments *arguments,
                                 double *milliseconds, gops_error *error)
{
    double begin = gops_clock_ms();

    for (int repetition = 0; repetition < REPETITIONS; repetition++) {
        double start = gops_clock_ms();
        gops_status status = gops_execute(plan, arguments, error);
        if (status != GOPS_OK) {
            return status;
        }
        double end = gops_clock_ms();
        if (repetition == 0 || end - start < *milliseconds) {
            *milliseconds = end - start;
        }
        if (end - begin > ENOUGH_MILLISECONDS) {
            break;
        }
    }
    return GOPS_OK;
}

gops_status gops_demo_run(const gops_plan *plan, const void *weights, gops_arguments *arguments,
                          gops_demo_step *step, gops_error *error)
{
    gops_plan_info info = {.size = sizeof info};
    gops_packed_filter *filter = NULL;

    gops_status status = gops_plan_get_info(plan, &info, error);
    if (status != GOPS_OK) {
        return status;
    }
    gops_dims_text(info.shape.output.dims, info.shape.output.rank, step->output);
    snprintf(step->algorithm, sizeof step->algorithm, "%s", info.algorithm);

    if (weights != NULL) {
        status = gops_filter_create(plan, weights, NULL, &filter, error);
        if (status != GOPS_OK) {
            return status;
        }
    }
    arguments->filter = filter;
    status = execute_timed(plan, arguments, &step->milliseconds, error);
    arguments->filter = NULL;
    gops_filter_destroy(filter);
    return status;
}
