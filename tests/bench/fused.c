/* fused.c: what bias and relu cost when they are fused into the store: the same layer with and
 * without them, in turns. */
#include "common/clock.h"
#include "suites.h"

#include "common/blas_threads.h"

#include <groupops/plan.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    ROUNDS = 30,
    MIN_US = 300, /* of one measurement; small layers run several times in it */
};

/* A way to run the layer. */
typedef struct way {
    gops_plan *plan;
    gops_packed_filter *filter;
    gops_arguments arguments;
    double least_us;
} way;

static bool make_way(const gops_peer_problem *problem, const gops_activation *activation,
                     const float *bias, float *output, way *made, gops_tool_error *error)
{
    const gops_options options = {
        .size = sizeof options, .threads = problem->threads, .activation = *activation};
    gops_plan_info info = {.size = sizeof info};
    gops_error refusal;
    *made = (way){.least_us = INFINITY};
    if (problem->operation->create(&problem->settings, problem->inputs, &options, &made->plan,
                                   &refusal) != GOPS_OK) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s", refusal.message);
    }
    gops_plan_get_info(made->plan, &info, NULL);
    if (problem->operation->inputs == 2 &&
        gops_filter_create(made->plan, problem->values[1], NULL, &made->filter, NULL) != GOPS_OK) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "no filter");
    }
    made->arguments = (gops_arguments){.size = sizeof made->arguments,
                                       .data = problem->values[0],
                                       .filter = made->filter,
                                       .bias = bias,
                                       .output = output,
                                       .workspace = gops_peer_floats(info.workspace_bytes / 4 + 1),
                                       .workspace_bytes = info.workspace_bytes};
    return true;
}

static void time_way(way *w, int times)
{
    const double start = gops_clock_ms();
    for (int i = 0; i < times; i++) {
        gops_execute(w->plan, &w->arguments, NULL);
    }
    w->least_us = fmin(w->least_us, (gops_clock_ms() - start) * 1e3 / times);
}

static void end_way(way *w)
{
    free(w->arguments.workspace);
    gops_filter_destroy(w->filter);
    gops_plan_destroy(w->plan);
}

/* Of the ratios of all layers. */
typedef struct means {
    double log_sum;
    int layers;
} means;

/* A normalization has no filter, and is left out. */
static bool time_layer(const gops_peer_problem *problem, void *context, gops_tool_error *error)
{
    means *of = context;
    if (problem->operation->inputs != 2) {
        return true;
    }
    const gops_activation none = {GOPS_ACTIVATION_NONE, 0, 0}, relu = {GOPS_ACTIVATION_RELU, 0, 0};
    const size_t channels = (size_t)problem->output.dims[1];
    float *bias = gops_peer_floats(channels), *output = gops_peer_floats(problem->output_elements);
    way plain, fused;
    for (size_t i = 0; i < channels; i++) {
        bias[i] = (float)i / (float)channels;
    }
    const bool made = make_way(problem, &none, NULL, output, &plain, error) &&
                      make_way(problem, &relu, bias, output, &fused, error);
    if (made) {
        time_way(&plain, 1);
        const int times = 1 + (int)(MIN_US / plain.least_us);
        for (int round = 0; round < ROUNDS; round++) {
            time_way(&plain, times);
            time_way(&fused, times);
        }
        printf("%-34s %10.1f %10.1f %8.3f\n", problem->name, plain.least_us, fused.least_us,
               fused.least_us / plain.least_us);
        of->log_sum += log(fused.least_us / plain.least_us);
        of->layers++;
        end_way(&plain);
        end_way(&fused);
    }
    free(bias);
    free(output);
    return made;
}

int main(int count, char **words)
{
    means of = {0, 0};
    if (count < 2) {
        fputs("usage: fused SUITE.txt...\n", stderr);
        return GOPS_EXIT_USAGE;
    }
    gops_blas_one_thread();
    printf("%-34s %10s %10s %8s\n", "layer", "plain us", "fused us", "ratio");
    const int status = gops_peer_time_suites(count, words, time_layer, &of);
    if (status == GOPS_EXIT_DONE) {
        printf("geometric mean of %d layers: %.3f\n", of.layers,
               exp(of.log_sum / fmax(1, of.layers)));
    }
    return status;
}
