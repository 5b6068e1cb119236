/* bench_measure.c: times the execution of one layer. */
#include "bench/bench_measure.h"

#include "bench/bench_gemm.h"
#include "common/clock.h"
#include "common/flags.h"
#include "common/memory.h"
#include "common/random_fill.h"
#include "operands/slopes.h"
#include "operands/tool_quantization.h"

#include <math.h>
#include <stdlib.h>

enum {
    MIN_REPS = 10,
};
static const double min_seconds = 0.5;

/* The plan and the buffers of the layer that is measured. */
typedef struct bench_subject {
    const gops_bench_layer *layer;
    gops_plan *plan;
    gops_plan_info info;
    gops_tensor inputs[GOPS_TOOL_MAX_INPUTS];
    void *elements[GOPS_TOOL_MAX_INPUTS];
    void *bias;          /* of a convolution */
    size_t tensor_bytes; /* of all inputs and the output */
    gops_tool_quantization quantization;
    void *slopes;
    gops_packed_filter *filter;
    void *output;
    void *workspace;
    gops_arguments arguments;
    gops_gemm_trace trace;
    double *samples; /* milliseconds */
} bench_subject;

static bool refuse_message(gops_tool_error *error, const gops_error *refusal)
{
    return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s", refusal->message);
}

static bool allocate_buffer(void **memory, size_t bytes, const char *what, gops_tool_error *error)
{
    if (posix_memalign(memory, GOPS_WORKSPACE_ALIGNMENT, bytes != 0 ? bytes : 1) != 0) {
        *memory = NULL;
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "no memory for the %zu bytes of %s", bytes,
                                what);
    }
    return true;
}

static bool fill_inputs(bench_subject *subject, gops_tool_error *error)
{
    for (int i = 0; i < subject->layer->operation->inputs; i++) {
        size_t bytes = 0;
        gops_tensor_bytes(&subject->inputs[i], &bytes, NULL); /* as check_memory did */
        if (!allocate_buffer(&subject->elements[i], bytes,
                             subject->layer->operation->input_names[i], error)) {
            return false;
        }
        gops_random_fill(subject->inputs[i].type, subject->elements[i], bytes, (uint64_t)i);
        subject->tensor_bytes += bytes;
    }
    return true;
}

static bool add_tensor_bytes(const gops_tensor *tensor, double *sum, gops_tool_error *error)
{
    gops_error refusal;
    size_t bytes;
    if (gops_tensor_bytes(tensor, &bytes, &refusal) != GOPS_OK) {
        return refuse_message(error, &refusal);
    }
    *sum += (double)bytes;
    return true;
}

/* Systems promise more memory than they have and kill the process that uses it, so a layer that
 * needs more than the machine has is refused before anything is allocated. */
static bool check_memory(const bench_subject *subject, gops_tool_error *error)
{
    const double there = (double)gops_memory_bytes();
    double needed = (double)subject->info.workspace_bytes + (double)subject->info.filter_bytes;
    for (int i = 0; i < subject->layer->operation->inputs; i++) {
        if (!add_tensor_bytes(&subject->inputs[i], &needed, error)) {
            return false;
        }
    }
    if (!add_tensor_bytes(&subject->info.shape.output, &needed, error)) {
        return false;
    }
    return needed <= there ||
           gops_tool_refuse(error, GOPS_EXIT_FAILED,
                            "the layer takes %.0f bytes; this machine has %.0f bytes of memory",
                            needed, there);
}

/* A convolution's bias, if it is asked for, and its packed filter. */
static bool prepare_convolution(bench_subject *subject, gops_tool_error *error)
{
    const gops_settings *settings = &subject->layer->settings;
    const gops_tensor *output = &subject->info.shape.output;
    const gops_tensor bias = gops_operation_bias(settings, subject->inputs, output);
    gops_error refusal;
    size_t bytes;
    if (settings->bias.rank != 0) {
        if (!gops_operation_check_bias(&settings->bias, output, error)) {
            return false;
        }
        if (gops_tensor_bytes(&bias, &bytes, &refusal) != GOPS_OK) {
            return refuse_message(error, &refusal);
        }
        if (!allocate_buffer(&subject->bias, bytes, "bias", error)) {
            return false;
        }
        gops_random_fill(bias.type, subject->bias, bytes, 2);
        subject->tensor_bytes += bytes;
    }
    return gops_tool_quantization_read(settings, subject->inputs, output, &subject->quantization,
                                       error) &&
           gops_tool_slopes_read(settings, output, &subject->slopes, error) &&
           (gops_filter_create(subject->plan, subject->elements[1], subject->quantization.given,
                               &subject->filter, &refusal) == GOPS_OK ||
            refuse_message(error, &refusal));
}

static bool prepare_buffers(bench_subject *subject, gops_tool_error *error)
{
    size_t bytes = 0;
    if (!fill_inputs(subject, error)) {
        return false;
    }
    if (subject->layer->operation->inputs == 2 && !prepare_convolution(subject, error)) {
        return false;
    }
    gops_tensor_bytes(&subject->info.shape.output, &bytes, NULL); /* likewise */
    subject->tensor_bytes += bytes;
    return allocate_buffer(&subject->output, bytes, "output", error) &&
           allocate_buffer(&subject->workspace, subject->info.workspace_bytes, "workspace", error);
}

static bool execute_subject(const gops_plan *plan, const bench_subject *subject,
                            gops_tool_error *error)
{
    gops_error refusal;
    return gops_execute(plan, &subject->arguments, &refusal) == GOPS_OK ||
           refuse_message(error, &refusal);
}

static bool prepare_subject(bench_subject *subject, gops_tool_error *error)
{
    const gops_bench_layer *layer = subject->layer;
    gops_operation_tensors(layer->operation, &layer->settings, subject->inputs);
    if (!gops_operation_plan(layer->operation, &layer->settings, subject->inputs, NULL,
                             &subject->plan, &subject->info, error) ||
        !check_memory(subject, error) || !prepare_buffers(subject, error)) {
        return false;
    }
    subject->arguments = (gops_arguments){
        .size = sizeof subject->arguments,
        .data = subject->elements[0],
        .filter = subject->filter,
        .scale = subject->elements[1],
        .bias = layer->operation->inputs == 2 ? subject->bias : subject->elements[2],
        .output = subject->output,
        .slopes = subject->slopes,
        .workspace = subject->workspace,
        .workspace_bytes = subject->info.workspace_bytes,
    };
    void *samples;
    if (!allocate_buffer(&samples, GOPS_TOOL_MAX_REPS * sizeof(double), "samples", error)) {
        return false;
    }
    subject->samples = samples;
    return execute_subject(subject->plan, subject, error);
}

/* How the work items are divided among the threads differs between executions: a thread that starts
 * late gets few. Of this many executions the one that was divided most evenly is kept. */
enum { RECORDINGS = 20 };

static bool record_most_even(bench_subject *subject, const gops_plan *plan,
                             gops_gemm_trace *attempt, gops_tool_error *error)
{
    const int recordings = subject->info.threads > 1 ? RECORDINGS : 1;
    for (int i = 0; i < recordings; i++) {
        gops_gemm_trace_clear(attempt);
        if (!execute_subject(plan, subject, error)) {
            return false;
        }
        if (attempt->out_of_memory) {
            return gops_tool_refuse(error, GOPS_EXIT_FAILED, "no memory to record the GEMM calls");
        }
        if (i == 0 || gops_gemm_trace_longest(attempt) < gops_gemm_trace_longest(&subject->trace)) {
            gops_gemm_trace_swap(attempt, &subject->trace);
        }
    }
    gops_gemm_trace_replay(&subject->trace);
    return true;
}

/* Executes a second plan, which differs only in its GEMM table, on the same buffers: its recorded
 * calls are those of the first plan, with the same addresses. */
static bool record_gemm(bench_subject *subject, gops_tool_error *error)
{
    gops_gemm_trace attempt;
    const gops_gemm table = gops_gemm_trace_table(&attempt);
    const gops_host host = {.size = sizeof host, .gemm = &table};
    gops_settings settings = subject->layer->settings;
    gops_plan *plan;
    gops_plan_info info;
    settings.algorithm = subject->info.algorithm;
    /* A table has no name to estimate by, so the second plan could take more threads by itself. */
    settings.threads = subject->info.threads;
    if (!gops_operation_plan(subject->layer->operation, &settings, subject->inputs, &host, &plan,
                             &info, error)) {
        return false;
    }
    gops_gemm_trace_begin(&attempt);
    const bool done = record_most_even(subject, plan, &attempt, error);
    gops_gemm_trace_end(&attempt);
    gops_plan_destroy(plan);
    return done;
}

static int compare_samples(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool time_executions(bench_subject *subject, gops_bench_result *result,
                            gops_tool_error *error)
{
    const gops_settings *settings = &subject->layer->settings;
    const int64_t reps = settings->reps != 0 ? settings->reps : MIN_REPS;
    const double seconds = gops_flags_given(settings, "seconds") ? settings->seconds : min_seconds;
    const double begin = gops_clock_ms();
    double end = begin;
    result->gemm_ms_min = INFINITY;
    for (result->reps = 0;
         result->reps < reps || (end - begin < seconds * 1e3 && result->reps < GOPS_TOOL_MAX_REPS);
         result->reps++) {
        const double start = gops_clock_ms();
        if (!execute_subject(subject->plan, subject, error)) {
            return false;
        }
        end = gops_clock_ms();
        subject->samples[result->reps] = end - start;
        if (subject->trace.count != 0) {
            gops_gemm_trace_replay(&subject->trace);
            const double replayed = gops_clock_ms();
            result->gemm_ms_min = fmin(result->gemm_ms_min, replayed - end);
            end = replayed;
        }
    }
    qsort(subject->samples, (size_t)result->reps, sizeof *subject->samples, compare_samples);
    return true;
}

static void fill_result(const bench_subject *subject, gops_bench_result *result)
{
    const gops_settings *settings = &subject->layer->settings;
    const int64_t reps = result->reps;
    const double *samples = subject->samples;
    const bool quantized = gops_operation_is_quantized(settings, subject->inputs);
    for (int i = 0; i < GOPS_TOOL_MAX_INPUTS; i++) {
        result->inputs[i] = subject->inputs[i];
    }
    result->output_type = quantized ? (gops_type)settings->output_type : 0;
    result->algorithm = subject->info.algorithm;
    result->threads = subject->info.threads;
    result->workspace_bytes = subject->info.workspace_bytes;
    result->ms_min = samples[0];
    result->ms_median = (samples[(reps - 1) / 2] + samples[reps / 2]) / 2;
    result->gflops = (double)subject->info.flops / (result->ms_min * 1e6);
    result->gbytes_per_s = (double)subject->tensor_bytes / (result->ms_min * 1e6);
    result->times_f32 = 0;
    result->has_gemm = subject->trace.count != 0;
}

static void release_subject(bench_subject *subject)
{
    for (int i = 0; i < GOPS_TOOL_MAX_INPUTS; i++) {
        free(subject->elements[i]);
    }
    free(subject->bias);
    gops_tool_quantization_release(&subject->quantization);
    free(subject->slopes);
    free(subject->output);
    free(subject->workspace);
    free(subject->samples);
    gops_filter_destroy(subject->filter);
    gops_plan_destroy(subject->plan);
    gops_gemm_trace_end(&subject->trace);
}

bool gops_bench_measure(const gops_bench_layer *layer, gops_bench_result *result,
                        gops_tool_error *error)
{
    bench_subject subject = {.layer = layer};
    gops_gemm_trace_begin(&subject.trace);
    const bool done = prepare_subject(&subject, error) &&
                      (!layer->settings.bare_gemm || record_gemm(&subject, error)) &&
                      time_executions(&subject, result, error);
    if (done) {
        fill_result(&subject, result);
    }
    release_subject(&subject);
    return done;
}
