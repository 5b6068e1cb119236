/* mpi_verb_bench.c: times one operation over the ranks, each one's time split into computing, waiting
 * and copying. */
#include "mpi_extras.h"

#include "common/clock.h"
#include "common/random_fill.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct bench_state {
    gops_mpi_distribution *distribution;
    gops_mpi_plan *plan;
    gops_mpi_plan_info info;
    gops_mpi_filter *filter;
    gops_mpi_extras extras;
    void *data, *weights, *scale, *bias, *output, *workspace;
    gops_arguments arguments;
} bench_state;

static bool fill(const gops_tensor *tensor, uint64_t seed, void **memory, gops_tool_error *error)
{
    gops_error refusal;
    size_t bytes;
    if (gops_tensor_bytes(tensor, &bytes, &refusal) != GOPS_OK) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s", refusal.message);
    }
    if (posix_memalign(memory, GOPS_WORKSPACE_ALIGNMENT, bytes + 1) != 0) {
        *memory = NULL;
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "no memory for %zu bytes", bytes);
    }
    gops_random_fill(tensor->type, *memory, bytes, seed);
    return true;
}

/* A convolution's bias, if it is asked for, scales and slopes. */
static bool allocate_extras(const gops_command *command, const gops_tensor *inputs,
                            bench_state *state, gops_tool_error *error)
{
    const gops_settings *settings = &command->settings;
    const gops_tensor *output = &state->info.shape.output;
    if (settings->bias.rank != 0) {
        gops_tensor bias = gops_operation_bias(settings, inputs, output);
        if (!gops_operation_check_bias(&settings->bias, output, error)) {
            return false;
        }
        bias.dims[0] = state->info.groups * gops_mpi_group_channels(&state->info);
        if (!fill(&bias, 2, &state->bias, error)) {
            return false;
        }
        state->arguments.bias = state->bias;
    }
    if (!gops_mpi_extras_read(settings, inputs, &state->info, &state->extras, error)) {
        return false;
    }
    state->arguments.slopes = gops_mpi_extras_slopes(&state->extras, &state->info);
    return true;
}

/* Random values in the rank's parts. */
static bool allocate(const gops_mpi_world *world, const gops_command *command,
                     const gops_tensor *inputs, bench_state *state, gops_tool_error *error)
{
    const bool convolves = command->operation->inputs == 2;
    const uint64_t seed = (uint64_t)world->rank + 1;
    gops_tensor filter = inputs[1];
    const gops_tensor channels = {inputs[0].type, 1, {state->info.data.shape.dims[1]}};
    const gops_tensor workspace = {GOPS_U8, 1, {(int64_t)state->info.workspace_bytes}};
    filter.dims[0] = state->info.groups;
    if (!fill(&state->info.data.shape, seed, &state->data, error) ||
        !fill(&state->info.output.shape, seed, &state->output, error) ||
        !fill(&workspace, seed, &state->workspace, error)) {
        return false;
    }
    state->arguments = (gops_arguments)GOPS_ARGUMENTS_INIT;
    state->arguments.data = state->data;
    state->arguments.output = state->output;
    state->arguments.workspace = state->workspace;
    state->arguments.workspace_bytes = state->info.workspace_bytes;
    if (convolves) {
        return fill(&filter, 1, &state->weights, error) &&
               allocate_extras(command, inputs, state, error);
    }
    if (!fill(&channels, 2, &state->scale, error) || !fill(&channels, 3, &state->bias, error)) {
        return false;
    }
    state->arguments.scale = state->scale;
    state->arguments.bias = state->bias;
    return true;
}

/* The fastest of the executions that half a second has, at least ten; all ranks do equally many. */
static bool measure(bench_state *state, gops_mpi_line *line, gops_tool_error *error)
{
    enum { MIN_REPS = 10 };
    static const double MIN_MS = 500;
    gops_error refusal;
    double spent = 0;
    int more = 1;
    for (int i = 0; more; i++) {
        gops_mpi_times times = {0};
        MPI_Barrier(MPI_COMM_WORLD);
        const double start = gops_clock_ms();
        if (gops_mpi_execute(state->plan, state->filter, &state->arguments, &times, &refusal) !=
            GOPS_OK) {
            return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s", refusal.message);
        }
        const double all = gops_clock_ms() - start;
        spent += all;
        if (i == 0 || all < line->all) {
            line->all = all;
            line->computing = times.computing * 1000;
            line->waiting = times.waiting * 1000;
            line->copying = times.copying * 1000;
        }
        more = i + 1 < MIN_REPS || spent < MIN_MS;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    line->sent = (double)state->info.sent_bytes;
    line->received = (double)state->info.received_bytes;
    line->messages = state->info.messages;
    return true;
}

static bool bench_all(const gops_mpi_world *world, const gops_command *command, bench_state *state,
                      gops_tool_error *error)
{
    gops_tensor inputs[GOPS_TOOL_MAX_INPUTS];
    gops_error refusal;
    gops_mpi_line line = {0};
    gops_operation_tensors(command->operation, &command->settings, inputs);
    bool done = gops_mpi_distribute(world, inputs[0].rank, &state->distribution, error) &&
                gops_mpi_plan_operation(command, &command->settings, inputs, state->distribution,
                                        &state->plan, &state->info, error) &&
                gops_mpi_all(world, allocate(world, command, inputs, state, error), error);
    if (done && command->operation->inputs == 2) {
        done = gops_mpi_filter_create(
                   state->plan, state->weights,
                   gops_mpi_extras_quantization(&state->extras, &state->info, inputs[1].type),
                   &state->filter, &refusal) == GOPS_OK ||
               gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s", refusal.message);
    }
    if (!done || !measure(state, &line, error)) {
        return false;
    }
    if (world->rank == 0 && !command->settings.json) {
        printf("%s by %s\n", command->operation->name, state->info.algorithm);
    }
    return gops_mpi_print_lines(world, &line, command->settings.json, error);
}

bool gops_mpi_verb_bench(const gops_mpi_world *world, const gops_command *command,
                         gops_tool_error *error)
{
    bench_state state = {0};
    const bool done = bench_all(world, command, &state, error);
    void *const memory[] = {state.data, state.weights, state.scale,
                            state.bias, state.output,  state.workspace};
    for (int i = 0; i < 6; i++) {
        free(memory[i]);
    }
    gops_mpi_extras_release(&state.extras);
    gops_mpi_filter_destroy(state.filter);
    gops_mpi_plan_destroy(state.plan);
    gops_mpi_distribution_destroy(state.distribution);
    return done;
}
