/*
 * plan/fastest.c: measures plans for one problem against each other.
 *
 * All plans work on the same buffers, in turns, so that a slow moment of the machine affects all of
 * them. The time of a plan is its quickest execution. A plan that takes several times as long as
 * another after the warm-up is not measured again.
 */
#define _POSIX_C_SOURCE 199309L /* clock_gettime */

#include "plan/fastest.h"

#include "base/checked.h"
#include "base/error.h"

#include <math.h>
#include <string.h>
#include <time.h>

enum {
    ROUNDS = 5,
    TURN_NS = 200000,  /* a turn takes at least this: dozens of executions of a small layer */
    HOPELESS_RATIO = 3 /* more than a slow moment of the machine explains */
};

/* The byte that fills the buffers: a small normal number in every floating point type. Memory that
 * was never written would be one page of zeros, which stays in the cache. */
enum { FILLING = 0x3c };

static double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* Bytes of the buffers, which lie one after the other in one allocation. */
typedef struct buffer_sizes {
    size_t data, weights, output, workspace;
} buffer_sizes;

static size_t rounded(size_t bytes)
{
    return (bytes + GOPS_WORKSPACE_ALIGNMENT - 1) / GOPS_WORKSPACE_ALIGNMENT *
           GOPS_WORKSPACE_ALIGNMENT;
}

static buffer_sizes sizes_for(const gops_trial *trials, int count)
{
    const gops_plan *plan = &trials[0].plan;
    const gops_conv_geometry *conv = &plan->conv;
    const gops_norm_geometry *norm = &plan->norm;
    buffer_sizes sizes = {0, 0, 0, 0};
    size_t pixels = (size_t)(conv->batch * conv->groups * conv->data_pixels);
    sizes.data = pixels * (size_t)conv->channels_in;
    pixels = (size_t)(conv->batch * conv->groups * conv->output_pixels);
    sizes.output = pixels * (size_t)conv->channels_out;
    sizes.weights = (size_t)(conv->groups * conv->channels_out * conv->k);
    if (plan->operation == GOPS_OPERATION_NORM) {
        sizes.weights = (size_t)(norm->groups * norm->channels); /* scale, and bias */
        sizes.data = sizes.output = (size_t)(norm->batch * norm->pixels) * sizes.weights;
    }
    sizes.data = rounded(sizes.data * gops_type_bytes(plan->type->type));
    sizes.weights = rounded(sizes.weights * gops_type_bytes(plan->filter_type->type));
    sizes.output = rounded(sizes.output * gops_type_bytes(plan->output_type->type));
    for (int i = 0; i < count; i++) {
        const size_t needed = gops_workspace_bytes(&trials[i].plan);
        sizes.workspace = needed > sizes.workspace ? needed : sizes.workspace;
    }
    return sizes;
}

static gops_arguments arguments_in(unsigned char *memory, const buffer_sizes *sizes)
{
    unsigned char *weights = memory + sizes->data;
    return (gops_arguments){.size = sizeof(gops_arguments),
                            .data = memory,
                            .scale = weights,
                            .bias = weights,
                            .output = weights + sizes->weights,
                            .workspace = weights + sizes->weights + sizes->output,
                            .workspace_bytes = sizes->workspace};
}

static gops_status trial_execute(gops_trial *trial, gops_arguments *arguments, gops_error *error)
{
    arguments->filter = trial->filter;
    const double start = now_ns();
    const gops_status status = gops_execute(&trial->plan, arguments, error);
    trial->ns = fmin(trial->ns, now_ns() - start);
    return status;
}

/* Executes the plan for the time of a turn. */
static gops_status take_turn(gops_trial *trial, gops_arguments *arguments, gops_error *error)
{
    const double start = now_ns();
    gops_status status;
    do {
        status = trial_execute(trial, arguments, error);
    } while (status == GOPS_OK && now_ns() - start < TURN_NS);
    return status;
}

static gops_status measure(gops_trial *trials, int count, gops_arguments *arguments,
                           gops_error *error)
{
    for (int round = 0; round <= ROUNDS; round++) { /* the first one warms up */
        double least = INFINITY;
        for (int i = 0; i < count && round > 1; i++) {
            least = fmin(least, trials[i].ns);
        }
        for (int i = 0; i < count; i++) {
            if (round <= 1) {
                trials[i].ns = INFINITY;
            } else if (trials[i].ns > HOPELESS_RATIO * least) {
                continue;
            }
            const gops_status status = round == 0 ? trial_execute(&trials[i], arguments, error)
                                                  : take_turn(&trials[i], arguments, error);
            if (status != GOPS_OK) {
                return status;
            }
        }
    }
    return GOPS_OK;
}

static gops_status trials_pack(gops_trial *trials, int count, const void *weights,
                               gops_error *error)
{
    gops_status status = GOPS_OK;
    for (int i = 0; i < count && status == GOPS_OK; i++) {
        if (trials[i].plan.method->pack != NULL) {
            status = gops_filter_create(&trials[i].plan, weights, &trials[i].filter, error);
        }
    }
    return status;
}

gops_status gops_measure_trials(gops_trial *trials, int count, gops_error *error)
{
    const gops_host *host = &trials[0].plan.host;
    const buffer_sizes sizes = sizes_for(trials, count);
    const size_t parts[] = {sizes.data, sizes.weights, sizes.output, sizes.workspace};
    size_t bytes = 0;
    for (int i = 0; i < 4; i++) {
        if (__builtin_add_overflow(bytes, parts[i], &bytes)) {
            return gops_fail(error, GOPS_OUT_OF_MEMORY, "tensors and workspace outgrow a size_t");
        }
    }
    /* A system may allocate more memory than there is and end the process that uses it. */
    const int64_t memory_bytes = gops_machine_memory();
    if (bytes > (uint64_t)memory_bytes) {
        return gops_fail(error, GOPS_OUT_OF_MEMORY,
                         "measuring takes %zu bytes; this machine has %lld bytes of memory", bytes,
                         (long long)memory_bytes);
    }
    unsigned char *memory = host->allocate(host->context, bytes, GOPS_WORKSPACE_ALIGNMENT);
    if (memory == NULL) {
        return gops_fail(error, GOPS_OUT_OF_MEMORY, "no memory for the %zu bytes to measure on",
                         bytes);
    }
    memset(memory, FILLING, bytes);
    gops_arguments arguments = arguments_in(memory, &sizes);
    gops_status status = trials_pack(trials, count, arguments.scale, error);
    if (trials[0].plan.operation != GOPS_OPERATION_NORM) {
        arguments.scale = arguments.bias = NULL; /* a convolution's bias is optional */
    }
    if (status == GOPS_OK) {
        status = measure(trials, count, &arguments, error);
    }
    for (int i = 0; i < count; i++) {
        gops_filter_destroy(trials[i].filter);
        trials[i].filter = NULL;
    }
    host->release(host->context, memory);
    return status;
}
