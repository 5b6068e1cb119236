/* ours.c: this library, as its plans choose and by each algorithm. */
#include "contestant.h"

#include <groupops/plan.h>

#include <stdlib.h>
#include <string.h>

typedef struct ours {
    gops_plan *plan;
    gops_packed_filter *filter;
    void *output;
    void *workspace;
    gops_arguments arguments;
} ours;

static void destroy(void *state)
{
    ours *self = state;
    gops_filter_destroy(self->filter);
    gops_plan_destroy(self->plan);
    free(self->output);
    free(self->workspace);
    free(self);
}

/* output_type 0: f32; else the quantized layer with that output. */
static bool make(ours *self, const gops_peer_problem *problem, const char *algorithm,
                 gops_type output_type, gops_peer_note *note)
{
    const bool quantized = output_type != 0;
    const gops_quantization quantization = gops_peer_codes_quantization(problem);
    const void *weights = quantized ? (const void *)problem->codes.filter : problem->values[1];
    gops_settings settings = problem->settings;
    gops_tensor inputs[GOPS_TOOL_MAX_INPUTS];
    gops_plan_info info;
    gops_tool_error error;
    gops_error refusal;
    memcpy(inputs, problem->inputs, sizeof inputs);
    if (quantized) {
        gops_peer_codes_settings(problem, output_type, &settings, inputs);
    }
    settings.algorithm = algorithm;
    if (!gops_operation_plan(problem->operation, &settings, inputs, NULL, &self->plan, &info,
                             &error)) {
        return gops_peer_refuse(note, "%s", error.message);
    }
    gops_peer_describe(note, "%s", info.algorithm);
    if (problem->operation->bit != GOPS_OF_NORM &&
        gops_filter_create(self->plan, weights, quantized ? &quantization : NULL, &self->filter,
                           &refusal) != GOPS_OK) {
        return gops_peer_refuse(note, "%s", refusal.message);
    }
    self->output = gops_peer_floats(problem->output_elements);
    self->workspace = gops_peer_floats(info.workspace_bytes / sizeof(float) + 1);
    if (self->output == NULL || self->workspace == NULL) {
        return gops_peer_refuse(note, "no memory");
    }
    self->arguments = (gops_arguments){
        .size = sizeof self->arguments,
        .data = quantized ? (const void *)problem->codes.data : problem->values[0],
        .filter = self->filter,
        .scale = problem->values[1],
        .bias = problem->values[2],
        .output = self->output,
        .workspace = self->workspace,
        .workspace_bytes = info.workspace_bytes,
    };
    return true;
}

static void *prepare(const gops_peer_problem *problem, const char *algorithm, gops_type output_type,
                     gops_peer_note *note)
{
    ours *self = calloc(1, sizeof *self);
    if (self == NULL) {
        gops_peer_refuse(note, "no memory");
        return NULL;
    }
    if (!make(self, problem, algorithm, output_type, note)) {
        destroy(self);
        return NULL;
    }
    return self;
}

/* The layer's own types. */
static gops_type output_type_of(const gops_peer_problem *problem)
{
    return problem->codes.data != NULL ? GOPS_U8 : 0;
}

static void *prepare_auto(const gops_peer_problem *problem, gops_peer_note *note)
{
    return prepare(problem, NULL, output_type_of(problem), note);
}

static void *prepare_i32(const gops_peer_problem *problem, gops_peer_note *note)
{
    return prepare(problem, NULL, GOPS_I32, note);
}

static void *prepare_f32(const gops_peer_problem *problem, gops_peer_note *note)
{
    return prepare(problem, NULL, 0, note);
}

/* A forced algorithm. */
static void *prepare_forced(const gops_peer_problem *problem, const char *algorithm,
                            gops_peer_note *note)
{
    if (problem->operation->bit == GOPS_OF_NORM) {
        gops_peer_refuse(note, "a normalization has one algorithm");
        return NULL;
    }
    return prepare(problem, algorithm, output_type_of(problem), note);
}

static void *prepare_gemm(const gops_peer_problem *problem, gops_peer_note *note)
{
    return prepare_forced(problem, "gemm", note);
}

static void *prepare_implicit(const gops_peer_problem *problem, gops_peer_note *note)
{
    return prepare_forced(problem, "implicit", note);
}

static void *prepare_direct(const gops_peer_problem *problem, gops_peer_note *note)
{
    return prepare_forced(problem, "direct", note);
}

static void *prepare_pointwise(const gops_peer_problem *problem, gops_peer_note *note)
{
    return prepare_forced(problem, "pointwise", note);
}

static void *prepare_depthwise(const gops_peer_problem *problem, gops_peer_note *note)
{
    return prepare_forced(problem, "depthwise", note);
}

static void *prepare_subconv(const gops_peer_problem *problem, gops_peer_note *note)
{
    return prepare_forced(problem, "subconv", note);
}

static bool run(void *state, int reps, double *ms, gops_peer_note *note)
{
    const ours *self = state;
    gops_error refusal;
    for (int i = 0; i < reps; i++) {
        const double start = gops_clock_ms();
        if (gops_execute(self->plan, &self->arguments, &refusal) != GOPS_OK) {
            return gops_peer_refuse(note, "%s", refusal.message);
        }
        ms[i] = gops_clock_ms() - start;
    }
    return true;
}

static const void *output(void *state, int *depth)
{
    const ours *self = state;
    *depth = 1;
    return self->output;
}

const gops_contestant gops_contestant_auto = {"groupops", prepare_auto, run, output, destroy};
const gops_contestant gops_contestant_gemm = {"groupops-gemm", prepare_gemm, run, output, destroy};
const gops_contestant gops_contestant_implicit = {"groupops-implicit", prepare_implicit, run,
                                                  output, destroy};
const gops_contestant gops_contestant_direct = {"groupops-direct", prepare_direct, run, output,
                                                destroy};
const gops_contestant gops_contestant_pointwise = {"groupops-pointwise", prepare_pointwise, run,
                                                   output, destroy};
const gops_contestant gops_contestant_depthwise = {"groupops-depthwise", prepare_depthwise, run,
                                                   output, destroy};
const gops_contestant gops_contestant_subconv = {"groupops-subconv", prepare_subconv, run, output,
                                                 destroy};
const gops_contestant gops_contestant_i32 = {"groupops-i32", prepare_i32, run, NULL, destroy};
const gops_contestant gops_contestant_f32 = {"groupops-f32", prepare_f32, run, NULL, destroy};
