/* overhead.c: what a layer costs besides its arithmetic: making the plan, packing the filter, and
 * executing layers with next to nothing to compute. */
#include "common/clock.h"
#include "suites.h"

#include "common/blas_threads.h"

#include <groupops/plan.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    REPS = 200,
    /* Executions between two looks at the clock, which takes about 30 ns itself. */
    BURST = 20,
    MAX_MS = 50, /* that one layer is executed for; a large one is not what this is about */
};

typedef struct costs {
    const char *algorithm;
    double plan_us; /* the least of REPS, as all of them */
    double filter_us;
    double execute_us;
} costs;

static double least_us(double least, double start, int count)
{
    return fmin(least, (gops_clock_ms() - start) * 1e3 / count);
}

static bool time_plan(const gops_peer_problem *problem, costs *found, gops_tool_error *error)
{
    found->plan_us = INFINITY;
    for (int i = 0; i < REPS; i++) {
        gops_plan *plan;
        gops_plan_info info;
        const double start = gops_clock_ms();
        if (!gops_operation_plan(problem->operation, &problem->settings, problem->inputs, NULL,
                                 &plan, &info, error)) {
            return false;
        }
        found->plan_us = least_us(found->plan_us, start, 1);
        found->algorithm = info.algorithm;
        gops_plan_destroy(plan);
    }
    return true;
}

static bool time_execution(const gops_plan *plan, const gops_arguments *arguments, costs *found)
{
    found->execute_us = INFINITY;
    const double begin = gops_clock_ms();
    for (int i = 0; i < REPS && gops_clock_ms() - begin < MAX_MS; i++) {
        const double start = gops_clock_ms();
        for (int burst = 0; burst < BURST; burst++) {
            if (gops_execute(plan, arguments, NULL) != GOPS_OK) {
                return false;
            }
        }
        found->execute_us = least_us(found->execute_us, start, BURST);
    }
    return true;
}

static bool time_filter(const gops_peer_problem *problem, const gops_plan *plan,
                        gops_packed_filter **filter, costs *found)
{
    found->filter_us = NAN;
    if (problem->operation->inputs != 2) {
        return true;
    }
    found->filter_us = INFINITY;
    for (int i = 0; i < REPS; i++) {
        gops_filter_destroy(*filter);
        const double start = gops_clock_ms();
        if (gops_filter_create(plan, problem->values[1], NULL, filter, NULL) != GOPS_OK) {
            return false;
        }
        found->filter_us = least_us(found->filter_us, start, 1);
    }
    return true;
}

static bool time_all(const gops_peer_problem *problem, costs *found, gops_tool_error *error)
{
    gops_plan *plan;
    gops_plan_info info;
    gops_packed_filter *filter = NULL;
    if (!time_plan(problem, found, error) ||
        !gops_operation_plan(problem->operation, &problem->settings, problem->inputs, NULL, &plan,
                             &info, error)) {
        return false;
    }
    float *output = gops_peer_floats(problem->output_elements);
    float *workspace = gops_peer_floats(info.workspace_bytes / sizeof(float) + 1);
    bool done = output != NULL && workspace != NULL && time_filter(problem, plan, &filter, found);
    const gops_arguments arguments = {.size = sizeof arguments,
                                      .data = problem->values[0],
                                      .filter = filter,
                                      .scale = problem->values[1],
                                      .bias = problem->values[2],
                                      .output = output,
                                      .workspace = workspace,
                                      .workspace_bytes = info.workspace_bytes};
    done = done && time_execution(plan, &arguments, found);
    free(output);
    free(workspace);
    gops_filter_destroy(filter);
    gops_plan_destroy(plan);
    return done || gops_tool_refuse(error, GOPS_EXIT_FAILED, "it could not be executed");
}

static void print_row(const char *name, const costs *found)
{
    char filter[16] = "-"; /* a normalization has none */
    if (!isnan(found->filter_us)) {
        snprintf(filter, sizeof filter, "%.2f", found->filter_us);
    }
    printf("%-34s %-9s %9.2f %9s %12.3f\n", name, found->algorithm, found->plan_us, filter,
           found->execute_us);
}

static bool time_layer(const gops_peer_problem *problem, void *context, gops_tool_error *error)
{
    costs found = {"", NAN, NAN, NAN};
    (void)context;
    const bool done = time_all(problem, &found, error);
    if (done) {
        print_row(problem->name, &found);
    }
    return done;
}

int main(int count, char **words)
{
    if (count < 2) {
        fputs("usage: overhead SUITE.txt...\n", stderr);
        return GOPS_EXIT_USAGE;
    }
    gops_blas_one_thread();
    printf("%-34s %-9s %9s %9s %12s\n", "layer", "algorithm", "plan us", "filter us", "execute us");
    return gops_peer_time_suites(count, words, time_layer, NULL);
}
