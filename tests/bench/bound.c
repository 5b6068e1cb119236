/* bound.c: what a layer cannot be faster than: the matrix products of the reference path by
 * themselves, and a copy of its data. */
#include "contestant.h"

#include "bench/bench_gemm.h"

#include <groupops/plan.h>

#include <stdlib.h>
#include <string.h>

typedef struct gemm_calls {
    gops_gemm_trace trace;
    gops_plan *plan;
    gops_packed_filter *filter;
    float *output;
    void *workspace; /* the recorded calls work in here */
} gemm_calls;

static void gemm_destroy(void *state)
{
    gemm_calls *self = state;
    gops_filter_destroy(self->filter);
    gops_plan_destroy(self->plan);
    gops_gemm_trace_end(&self->trace);
    free(self->output);
    free(self->workspace);
    free(self);
}

static bool record(gemm_calls *self, const gops_peer_problem *problem, gops_peer_note *note)
{
    const gops_gemm table = gops_gemm_trace_table(&self->trace);
    const gops_host host = {.size = sizeof host, .gemm = &table};
    gops_settings settings = problem->settings;
    gops_plan_info info;
    gops_tool_error error;
    gops_error refusal;
    settings.algorithm = "gemm";
    if (!gops_operation_plan(problem->operation, &settings, problem->inputs, &host, &self->plan,
                             &info, &error)) {
        return gops_peer_refuse(note, "%s", error.message);
    }
    if (gops_filter_create(self->plan, problem->values[1], NULL, &self->filter, &refusal) !=
        GOPS_OK) {
        return gops_peer_refuse(note, "%s", refusal.message);
    }
    self->output = gops_peer_floats(problem->output_elements);
    self->workspace = gops_peer_floats(info.workspace_bytes / sizeof(float) + 1);
    if (self->output == NULL || self->workspace == NULL) {
        return gops_peer_refuse(note, "no memory");
    }
    const gops_arguments arguments = {.size = sizeof arguments,
                                      .data = problem->values[0],
                                      .filter = self->filter,
                                      .output = self->output,
                                      .workspace = self->workspace,
                                      .workspace_bytes = info.workspace_bytes};
    if (gops_execute(self->plan, &arguments, &refusal) != GOPS_OK) {
        return gops_peer_refuse(note, "%s", refusal.message);
    }
    if (self->trace.out_of_memory || self->trace.count == 0) {
        return gops_peer_refuse(note, "no GEMM calls were recorded");
    }
    gops_peer_describe(note, "%zu calls; the first is %dx%dx%d", self->trace.count,
                       self->trace.calls[0].m, self->trace.calls[0].n, self->trace.calls[0].k);
    return true;
}

static void *gemm_prepare(const gops_peer_problem *problem, gops_peer_note *note)
{
    if (problem->operation->bit == GOPS_OF_NORM) {
        gops_peer_refuse(note, "a normalization has no matrix products");
        return NULL;
    }
    gemm_calls *self = calloc(1, sizeof *self);
    if (self == NULL) {
        gops_peer_refuse(note, "no memory");
        return NULL;
    }
    gops_gemm_trace_begin(&self->trace);
    if (!record(self, problem, note)) {
        gemm_destroy(self);
        return NULL;
    }
    return self;
}

static bool gemm_run(void *state, int reps, double *ms, gops_peer_note *note)
{
    const gemm_calls *self = state;
    (void)note;
    for (int i = 0; i < reps; i++) {
        const double start = gops_clock_ms();
        gops_gemm_trace_replay(&self->trace);
        ms[i] = gops_clock_ms() - start;
    }
    return true;
}

const gops_contestant gops_contestant_gemm_calls = {"gemm-calls", gemm_prepare, gemm_run, NULL,
                                                    gemm_destroy};

typedef struct copy {
    const char *from;
    char *to;
    size_t bytes;
    int threads;
} copy;

static void copy_destroy(void *state)
{
    copy *self = state;
    free(self->to);
    free(self);
}

static void *copy_prepare(const gops_peer_problem *problem, gops_peer_note *note)
{
    if (problem->data_elements != problem->output_elements) {
        gops_peer_refuse(note, "the output is not of the size of the data");
        return NULL;
    }
    copy *self = calloc(1, sizeof *self);
    if (self == NULL || (self->to = (char *)gops_peer_floats(problem->data_elements)) == NULL) {
        free(self);
        gops_peer_refuse(note, "no memory");
        return NULL;
    }
    self->from = (const char *)problem->values[0];
    self->bytes = problem->data_elements * sizeof(float);
    self->threads = problem->threads;
    gops_peer_describe(note, "memcpy");
    return self;
}

static void copy_once(const copy *self)
{
    const size_t part = self->bytes / (size_t)self->threads;
    if (self->threads == 1) {
        memcpy(self->to, self->from, self->bytes);
        return;
    }
#pragma omp parallel for num_threads(self->threads)
    for (int i = 0; i < self->threads; i++) {
        const size_t begin = part * (size_t)i;
        const size_t end = i + 1 == self->threads ? self->bytes : begin + part;
        memcpy(self->to + begin, self->from + begin, end - begin);
    }
}

static bool copy_run(void *state, int reps, double *ms, gops_peer_note *note)
{
    const copy *self = state;
    (void)note;
    for (int i = 0; i < reps; i++) {
        const double start = gops_clock_ms();
        copy_once(self);
        ms[i] = gops_clock_ms() - start;
    }
    return true;
}

const gops_contestant gops_contestant_copy = {"copy", copy_prepare, copy_run, NULL, copy_destroy};
