/* That the provider computes on the session's threads and in the runtime's memory, and survives
 * their failing: by counts taken between it and the runtime. */
#include "ort_counting.h"
#include "ort_graphs.h"
#include "ort_layer.h"

#include "harness.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static gops_ort_counts *counts(void)
{
    void *library = dlopen(GROUPOPS_ORT_COUNTING, RTLD_NOW | RTLD_NOLOAD);
    return library != NULL ? dlsym(library, GOPS_ORT_COUNTS) : NULL;
}

/* Of this process. */
static int threads(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    while (folder != NULL && readdir(folder) != NULL) {
        count++;
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return count;
}

/* Large enough to be worth two threads, and in need of a workspace: its input is padded. */
static const gops_ort_layer large = {
    .type = "Conv",
    .opset = 21,
    .element = GOPS_F32,
    .axes = 2,
    .batch = 3,
    .groups = 4,
    .channels_in = 7,
    .channels_out = 5,
    .data = {41, 43},
    .kernel = {3, 5},
    .pads_begin = {true, {1, 2}},
    .pads_end = {true, {1, 2}},
};

static ort_status *run(const gops_ort_opened *made)
{
    ort_value *output = NULL;
    ort_status *status = gops_ort_layer_run(&made->layer, made->layer.element, &made->values,
                                            made->session, &output);
    gops_ort_load()->release_value(output);
    return status;
}

static void counted(void)
{
    enum { RUNS = 10 };
    gops_ort_opened made;
    gops_ort_load();
    gops_ort_counts *seen = counts();
    if (!gops_test_check(seen != NULL, "the counting library is not loaded") ||
        !gops_ort_layer_open(&large, 2, &made) || !gops_ort_works(run(&made), "the first run")) {
        return;
    }
    const int threads_before = threads();
    const long long loops = seen->parallel_fors, tasks = seen->tasks;
    const long long taken = seen->allocations, given_back = seen->releases;
    for (int i = 0; i < RUNS; i++) {
        gops_ort_works(run(&made), "a run");
    }
    gops_test_check(seen->parallel_fors - loops == RUNS, "%lld parallel loops in %d runs",
                    seen->parallel_fors - loops, RUNS);
    gops_test_check(seen->tasks - tasks >= 2 * RUNS, "%lld tasks in %d runs", seen->tasks - tasks,
                    RUNS);
    gops_test_check(seen->allocations - taken == RUNS, "%lld allocations in %d runs",
                    seen->allocations - taken, RUNS);
    gops_test_check(seen->releases - given_back == RUNS, "%lld given back in %d runs",
                    seen->releases - given_back, RUNS);
    gops_test_check(seen->scratch_allocators == 1, "the session's arena was asked for %lld times",
                    (long long)seen->scratch_allocators);
    gops_test_check(threads() == threads_before, "%d threads have become %d", threads_before,
                    threads());
    gops_ort_layer_close(&made);
    printf("(%d runs: %lld parallel loops of %lld tasks, %lld allocations) ", RUNS,
           seen->parallel_fors - loops, seen->tasks - tasks, seen->allocations - taken);
    gops_test_check(seen->allocations == seen->releases, "%lld allocations, %lld given back",
                    (long long)seen->allocations, (long long)seen->releases);
}

/* Each allocation and each parallel loop fails in turn, while the model is loaded and in a run. */
static void failing(void)
{
    gops_ort_layer layers[] = {large, large};
    layers[1].fed_weights = true;
    gops_ort_load();
    gops_ort_counts *seen = counts();
    for (size_t i = 0; seen != NULL && i < 2; i++) {
        const long long before = seen->allocations;
        for (long long fail = 1; fail <= 5; fail++) {
            gops_ort_opened made;
            seen->fail_allocation = seen->allocations + fail;
            if (gops_ort_layer_open(&layers[i], 2, &made)) {
                const long long at = seen->fail_allocation;
                const bool ahead = seen->allocations < at;
                ort_status *status = run(&made);
                if (ahead && seen->allocations >= at) {
                    gops_ort_is_refused(status, "no memory", "a run without memory");
                } else {
                    gops_ort_works(status, "a run");
                }
                seen->fail_allocation = 0;
                gops_ort_works(run(&made), "a run after one that failed");
            }
            gops_ort_layer_close(&made);
        }
        gops_test_check(seen->allocations > before, "nothing was allocated");
        gops_ort_opened made;
        seen->fail_allocation = 0;
        if (gops_ort_layer_open(&layers[i], 2, &made)) {
            seen->fail_parallel_for = seen->parallel_fors + 1;
            gops_ort_is_refused(run(&made), "parallel_for", "a run without threads");
            gops_ort_works(run(&made), "a run after one that failed");
        }
        gops_ort_layer_close(&made);
    }
}

/* A region of layers that are worth two threads, in the sessions of gops_ort_graph_check. */
static void run_region(const char *what)
{
    const int64_t dims[] = {1, 13, 61, 59};
    gops_ort_graph_builder graph;
    gops_ort_graph_start(&graph, 1, 13, dims, 4);
    gops_ort_graph_conv(&graph, "a", "x", 13, 17, 3, 1);
    gops_ort_graph_node(&graph, "Relu", "b", (const char *[]){"a", NULL});
    gops_ort_graph_conv(&graph, "c", "b", 17, 11, 1, 1);
    gops_ort_graph_node(&graph, "Add", "d", (const char *[]){"c", "c", NULL});
    gops_ort_graph_conv(&graph, "y", "d", 11, 7, 3, 1);
    gops_ort_graph_output(&graph, "y");
    gops_ort_graph_check(&graph, what, 5, 1);
}

/* Threads are asked for once in a run, however many steps there are, unless they may not spin; a
 * region does without them if it has to. */
static void region(void)
{
    enum { LEVELS = 4, THREAD_COUNTS = 2, RUNS = 2, ALL = LEVELS * THREAD_COUNTS * RUNS };
    gops_ort_load();
    gops_ort_counts *seen = counts();
    const bool alone = gops_ort_cores() == 1;
    if (!gops_test_check(seen != NULL, "the counting library is not loaded")) {
        return;
    }
    for (int spins = 0; spins < 2; spins++) {
        const long long before = seen->parallel_fors;
        gops_ort_set_spinning(spins != 0);
        run_region(spins ? "a team" : "no team");
        const long long loops = seen->parallel_fors - before;
        gops_test_check(alone || (spins ? loops == ALL : loops > ALL),
                        "%lld parallel loops in %d runs", loops, ALL);
    }
    seen->fail_parallel_for = seen->parallel_fors + 1;
    run_region("no threads");
    seen->fail_parallel_for = 0;
}

/* The weights of a region, if there are many, are one allocation, from which its plans and filters are taken. */
static void store(void)
{
    const int64_t channels[] = {24, 1048};
    long long taken[2] = {0, 0};
    gops_ort_load();
    gops_ort_counts *seen = counts();
    for (int i = 0; seen != NULL && i < 2; i++) {
        const int64_t dims[] = {1, channels[i], 3, 5};
        const long long before = seen->allocations, given_back = seen->releases;
        gops_ort_graph_builder graph;
        gops_ort_graph_start(&graph, 1, 13, dims, 4);
        gops_ort_graph_conv(&graph, "a", "x", channels[i], channels[i], 1, 1);
        gops_ort_graph_node(&graph, "Relu", "b", (const char *[]){"a", NULL});
        gops_ort_graph_conv(&graph, "y", "b", channels[i], 3, 3, 1);
        gops_ort_graph_output(&graph, "y");
        gops_ort_graph_check(&graph, "weights", 3, 1);
        taken[i] = seen->allocations - before;
        gops_test_check(taken[i] == seen->releases - given_back,
                        "%lld allocations, %lld given back", taken[i], seen->releases - given_back);
    }
    gops_test_check(0 < taken[1] && taken[1] < taken[0],
                    "%lld allocations with few weights, %lld with many", taken[0], taken[1]);
    printf("(%lld allocations with few weights, %lld with many) ", taken[0], taken[1]);
}

/* Runs what is refused for want of inputs, then of outputs. */
static void run_without(gops_ort_counts *seen, ort_session *session, const gops_ort_tensor *input)
{
    ort_value *output = NULL;
    seen->lose_inputs = true;
    gops_ort_is_refused(gops_ort_run(session, input, 1, &output), "input 0 is missing", "no input");
    seen->lose_inputs = false;
    seen->lose_outputs = true;
    gops_ort_is_refused(gops_ort_run(session, input, 1, &output), "the runtime gave no output",
                        "no output");
    seen->lose_outputs = false;
    gops_ort_load()->release_value(output);
}

static void missing(void)
{
    static float zeros[3 * 28 * 41 * 43];
    static const int64_t dims[] = {1, 2, 9, 7}, kernel[] = {2, 3};
    const gops_ort_session_settings settings = {GROUPOPS_ORT_PROVIDER, ORT_OPTIMIZE_ALL, 2, true};
    gops_onnx_builder builder;
    gops_onnx_buffer model;
    gops_ort_opened made;
    ort_session *session = NULL;
    gops_ort_load();
    gops_ort_counts *seen = counts();
    if (seen == NULL) {
        return;
    }
    if (gops_ort_layer_open(&large, 2, &made)) {
        run_without(seen, made.session,
                    &(gops_ort_tensor){"x", ORT_FLOAT, 4, (const int64_t[]){3, 28, 41, 43}, zeros});
    }
    gops_ort_layer_close(&made);
    gops_onnx_build(&builder, 17);
    gops_onnx_build_input(&builder, "x", GOPS_ONNX_UINT8, 4, dims);
    gops_onnx_build_node(&builder, "MaxPool", "y", (const char *[]){"x"}, 1);
    gops_onnx_build_ints(&builder, "kernel_shape", kernel, 2);
    gops_onnx_build_output(&builder, "y", GOPS_ONNX_UINT8, -1, NULL);
    gops_onnx_build_end(&builder, &model);
    if (gops_ort_works(gops_ort_open(&model, &settings, &session), "a pool") &&
        gops_test_check(gops_ort_claimed(session, false) == 1, "the pool is not claimed")) {
        run_without(seen, session, &(gops_ort_tensor){"x", ORT_UINT8, 4, dims, zeros});
    }
    gops_ort_load()->release_session(session);
    free(model.bytes);
}

int main(void)
{
    const gops_test_case cases[] = {{"counted", counted}, {"failing", failing}, {"region", region},
                                    {"store", store},     {"missing", missing}, {NULL, NULL}};
    gops_ort_use(GROUPOPS_ORT_COUNTING);
    const int status = gops_test_main("ONNX Runtime, hooks", cases);
    gops_ort_unload();
    return status;
}
