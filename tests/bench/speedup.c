/* speedup.c: every layer with one thread and with more, in turns on the same buffers, as CSV. */
#include "common/clock.h"
#include "common/operation.h"

#include "common/blas_threads.h"
#include "common/random_fill.h"
#include "bench/suite.h"

#include <groupops/plan.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    ROUNDS = 7,
    TURN_MS = 4,
    MAX_TURNS = 200,
};
/* OpenMP's threads spin for about a millisecond before they sleep. */
static const struct timespec pause_time = {0, 2000000};

/* A layer with one number of threads. */
typedef struct runner {
    gops_plan *plan;
    gops_plan_info info;
    gops_packed_filter *filter;
    gops_arguments arguments;
    double ms; /* the least */
} runner;

static void *take(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 64) / 64 * 64);
    if (memory == NULL) {
        fputs("no memory\n", stderr);
        exit(EXIT_FAILURE);
    }
    return memory;
}

static bool prepare(runner *made, const gops_bench_layer *layer, const gops_tensor *inputs,
                    void *const *values, int32_t threads, gops_tool_error *error)
{
    const bool filtered = layer->operation->inputs == 2;
    gops_settings settings = layer->settings;
    gops_error refusal;
    settings.threads = threads;
    if (!gops_operation_plan(layer->operation, &settings, inputs, NULL, &made->plan, &made->info,
                             error)) {
        return false;
    }
    if (filtered &&
        gops_filter_create(made->plan, values[1], NULL, &made->filter, &refusal) != GOPS_OK) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s", refusal.message);
    }
    made->arguments = (gops_arguments){.size = sizeof made->arguments,
                                       .data = values[0],
                                       .filter = made->filter,
                                       .scale = filtered ? NULL : values[1],
                                       .bias = values[2], /* NULL with a filter */
                                       .workspace = take(made->info.workspace_bytes),
                                       .workspace_bytes = made->info.workspace_bytes};
    made->ms = INFINITY;
    return true;
}

static bool take_turn(runner *turn, gops_tool_error *error)
{
    const double begin = gops_clock_ms();
    double end = begin;
    nanosleep(&pause_time, NULL);
    for (int i = 0; i < MAX_TURNS && (i < 2 || end - begin < TURN_MS); i++) {
        gops_error refusal;
        const double start = gops_clock_ms();
        if (gops_execute(turn->plan, &turn->arguments, &refusal) != GOPS_OK) {
            return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s", refusal.message);
        }
        end = gops_clock_ms();
        turn->ms = fmin(turn->ms, end - start);
    }
    return true;
}

static void release(runner *done)
{
    gops_filter_destroy(done->filter);
    gops_plan_destroy(done->plan);
    free(done->arguments.workspace);
}

static bool compare(const gops_bench_layer *layer, int32_t threads, gops_tool_error *error)
{
    gops_tensor inputs[GOPS_TOOL_MAX_INPUTS];
    void *values[GOPS_TOOL_MAX_INPUTS] = {NULL, NULL, NULL};
    runner one = {.plan = NULL}, many = {.plan = NULL};
    size_t bytes;
    gops_operation_tensors(layer->operation, &layer->settings, inputs);
    for (int i = 0; i < layer->operation->inputs; i++) {
        gops_tensor_bytes(&inputs[i], &bytes, NULL);
        values[i] = take(bytes);
        gops_random_fill(inputs[i].type, values[i], bytes, (uint64_t)i);
    }
    bool done = prepare(&one, layer, inputs, values, 1, error) &&
                prepare(&many, layer, inputs, values, threads, error);
    if (done) {
        gops_tensor_bytes(&one.info.shape.output, &bytes, NULL);
        one.arguments.output = many.arguments.output = take(bytes);
        memset(one.arguments.output, 0, bytes);
        for (int round = 0; round < ROUNDS && done; round++) {
            done = take_turn(&one, error) && take_turn(&many, error);
        }
        printf("%s,%s,%d,%d,%.6f,%.6f\n", layer->name, one.info.algorithm, (int)threads,
               (int)many.info.threads, one.ms, many.ms);
        fflush(stdout);
        free(one.arguments.output);
    }
    release(&one);
    release(&many);
    for (int i = 0; i < GOPS_TOOL_MAX_INPUTS; i++) {
        free(values[i]);
    }
    return done;
}

int main(int count, char **words)
{
    gops_tool_error error;
    const int threads = count > 2 ? atoi(words[1]) : 0;
    if (threads < 2) {
        fputs("usage: speedup THREADS SUITE.txt...\n", stderr);
        return GOPS_EXIT_USAGE;
    }
    gops_blas_one_thread();
    puts("layer,algorithm,threads,threads_used,ms_one,ms_many");
    for (int word = 2; word < count; word++) {
        gops_suite suite;
        bool done = gops_suite_read(words[word], &suite, &error);
        for (size_t i = 0; done && i < suite.count; i++) {
            done = compare(&suite.layers[i], threads, &error);
        }
        gops_suite_release(&suite);
        if (!done) {
            gops_tool_print_error("speedup", &error);
            return error.exit_code;
        }
    }
    return GOPS_EXIT_DONE;
}
