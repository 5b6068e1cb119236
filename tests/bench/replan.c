/* replan.c: what a new shape costs an engine: a plan for each of a thousand other batches and sizes
 * from one plan, whose filter they share. */
#include "common/clock.h"
#include "suites.h"

#include <groupops/plan.h>

#include <stdio.h>
#include <stdlib.h>

enum { SHAPES = 1000, MAX_BATCH = 8, MAX_ADDED = 13 };

static int in_order(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Shape `i` of the thousand: all batches, and sizes from the layer's own up. */
static gops_tensor other_shape(const gops_tensor *data, int i)
{
    gops_tensor other = *data;
    other.dims[0] = 1 + i % MAX_BATCH;
    for (int a = 2; a < other.rank; a++) {
        other.dims[a] += i / MAX_BATCH % MAX_ADDED + a * (i / MAX_BATCH / MAX_ADDED);
    }
    return other;
}

static bool time_layer(const gops_peer_problem *problem, void *context, gops_tool_error *error)
{
    (void)context;
    double us[SHAPES];
    gops_plan *plan;
    gops_plan_info info;
    int refused = 0;
    if (!gops_operation_plan(problem->operation, &problem->settings, problem->inputs, NULL, &plan,
                             &info, error)) {
        return false;
    }
    for (int i = 0; i < SHAPES; i++) {
        gops_plan *made;
        const gops_tensor data = other_shape(&problem->inputs[0], i);
        const double start = gops_clock_ms();
        refused += gops_plan_reshape(plan, &data, NULL, &made, NULL) != GOPS_OK;
        us[i] = (gops_clock_ms() - start) * 1e3;
        gops_plan_destroy(made);
    }
    qsort(us, SHAPES, sizeof us[0], in_order);
    printf("%-34s %-17s %9.2f %9.2f %9d\n", problem->name, info.algorithm, us[SHAPES / 2],
           us[SHAPES * 99 / 100], refused);
    gops_plan_destroy(plan);
    return true;
}

int main(int count, char **words)
{
    if (count < 2) {
        fputs("usage: replan SUITE.txt...\n", stderr);
        return GOPS_EXIT_USAGE;
    }
    printf("%-34s %-17s %9s %9s %9s\n", "layer, 1000 shapes", "algorithm", "median us", "99th us",
           "refused");
    return gops_peer_time_suites(count, words, time_layer, NULL);
}
