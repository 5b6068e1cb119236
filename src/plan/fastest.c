/*
 * plan/fastest.c: measures plans for one problem against each other.
 *
 * All plans work on the same buffers, in turns, so that a slow moment of the machine affects all of
 * them. The time of a plan is its quickest execution. A plan that takes several times as long as
 * another after the warm-up is not measured again.
 */
#define _POSIX_C_SOURCE 199309L /* clock_gettime */

#include "plan/make.h"

#include "base/checked.h"
#include "base/clock.h"
#include "base/error.h"

#include <math.h>
#include <string.h>

enum {
    ROUNDS = 5,
    TURN_NS = 200000,  /* a turn takes at least this: dozens of executions of a small layer */
    HOPELESS_RATIO = 3 /* more than a slow moment of the machine explains */
};

/* The byte that fills the buffers: a small normal number in every floating point type. Memory that
 * was never written would be one page of zeros, which stays in the cache. */
enum { FILLING = 0x3c };

/* Bytes of the buffers, which lie one after the other in one allocation. */
typedef struct buffer_sizes {
    int64_t data, weights, output, workspace;
} buffer_sizes;

static int64_t bytes_of(int64_t elements, const gops_type_row *type)
{
    return gops_round_up(elements * type->bytes, GOPS_WORKSPACE_ALIGNMENT);
}

static buffer_sizes sizes_for(const gops_trial *trials, int count)
{
    const gops_plan *plan = &trials[0].plan;
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t weights = plan->operation == GOPS_OPERATION_NORM
                                ? plan->norm.groups * plan->norm.channels /* scale, and bias */
                                : conv->groups * conv->channels_out * conv->k;
    buffer_sizes sizes = {.data = bytes_of(gops_batch(plan) * plan->image_data, plan->type),
                          .weights = bytes_of(weights, plan->filter_type),
                          .output =
                              bytes_of(gops_batch(plan) * plan->image_outputs, plan->output_type)};
    for (int i = 0; i < count; i++) {
        const size_t needed = gops_workspace_bytes(&trials[i].plan);
        sizes.workspace = gops_max(sizes.workspace, (int64_t)needed);
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
                            .slopes = weights,
                            .output = weights + sizes->weights,
                            .workspace = weights + sizes->weights + sizes->output,
                            .workspace_bytes = (size_t)sizes->workspace};
}

static gops_status trial_execute(gops_trial *trial, gops_arguments *arguments, gops_error *error)
{
    arguments->filter = trial->filter;
    const int64_t start = gops_now_ns();
    const gops_status status = gops_execute(&trial->plan, arguments, error);
    trial->ns = fmin(trial->ns, (double)(gops_now_ns() - start));
    return status;
}

/* Executes the plan for the time of a turn. */
static gops_status take_turn(gops_trial *trial, gops_arguments *arguments, gops_error *error)
{
    const int64_t start = gops_now_ns();
    gops_status status;
    do {
        status = trial_execute(trial, arguments, error);
    } while (status == GOPS_OK && gops_now_ns() - start < TURN_NS);
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
            GOPS_TRY(round == 0 ? trial_execute(&trials[i], arguments, error)
                                : take_turn(&trials[i], arguments, error));
        }
    }
    return GOPS_OK;
}

static gops_status trials_pack(gops_trial *trials, int count, const void *weights,
                               gops_error *error)
{
    for (int i = 0; i < count; i++) {
        if (trials[i].plan.method->pack != NULL) {
            GOPS_TRY(gops_filter_create(&trials[i].plan, weights, NULL, &trials[i].filter, error));
        }
    }
    return GOPS_OK;
}

gops_status gops_measure_trials(gops_trial *trials, int count, gops_error *error)
{
    const gops_host *host = &trials[0].plan.host;
    const buffer_sizes sizes = sizes_for(trials, count);
    const int64_t tensors = sizes.data + sizes.weights + sizes.output;
    const int64_t needed = gops_add_saturate(tensors, sizes.workspace);
    /* A system may allocate more memory than there is and end the process that uses it. */
    const int64_t memory_bytes = gops_min(gops_machine_memory(), PTRDIFF_MAX);
    if (needed > memory_bytes) {
        return gops_fail(error, GOPS_OUT_OF_MEMORY,
                         "measuring takes %lld bytes; this machine has %lld bytes of memory",
                         (long long)needed, (long long)memory_bytes);
    }
    const size_t bytes = (size_t)needed;
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
