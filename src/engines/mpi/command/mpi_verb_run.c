/* mpi_verb_run.c: one operation on arrays in .npy files, of which each rank reads and writes a part.
 */
#include "mpi_extras.h"
#include "mpi_npy.h"

#include "operands/run_files.h"

#include <stdlib.h>

typedef struct run_state {
    const gops_mpi_world *world;
    const gops_command *command;
    gops_settings settings;
    bool convolves;
    gops_run_files files;
    gops_mpi_distribution *distribution;
    gops_mpi_plan *plan;
    gops_mpi_plan_info info;
    gops_mpi_extras extras;
    void *elements[GOPS_TOOL_MAX_INPUTS], *bias, *residual, *output;
    gops_mpi_filter *filter;
} run_state;

static bool check_and_read_extras(run_state *state, gops_tool_error *error)
{
    return gops_run_files_check(&state->settings, &state->files, &state->info.shape.output,
                                error) &&
           gops_mpi_extras_read(&state->settings, state->files.tensors, &state->info,
                                &state->extras, error);
}

/* The rank's groups on the first axis of a tensor with `each` indices of a group. */
static gops_mpi_part groups_of(const run_state *state, const gops_tensor *tensor, int64_t each)
{
    gops_mpi_part part = {.shape = *tensor};
    part.shape.dims[0] = state->info.groups * each;
    part.offset[0] = state->info.first_group * each;
    return part;
}

static bool read_parts(run_state *state, gops_tool_error *error)
{
    const int64_t channels = gops_mpi_group_channels(&state->info);
    gops_run_files *files = &state->files;
    if (!gops_mpi_npy_read(&files->inputs[0], &state->info.data, &state->elements[0], error)) {
        return false;
    }
    for (int i = 1; i < state->command->operation->inputs; i++) {
        const gops_mpi_part part =
            groups_of(state, &files->tensors[i], state->convolves ? 1 : channels);
        if (!gops_mpi_npy_read(&files->inputs[i], &part, &state->elements[i], error)) {
            return false;
        }
    }
    if (files->bias.descriptor >= 0 && !gops_npy_read(&files->bias, &state->bias, error)) {
        return false;
    }
    if (files->residual.descriptor < 0) {
        return true;
    }
    gops_mpi_part part = state->info.output;
    part.shape.type = files->residual.tensor.type;
    return gops_mpi_npy_read(&files->residual, &part, &state->residual, error);
}

static bool allocate_output(run_state *state, gops_tool_error *error)
{
    gops_error refusal;
    size_t bytes;
    if (gops_tensor_bytes(&state->info.output.shape, &bytes, &refusal) != GOPS_OK) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s", refusal.message);
    }
    state->output = malloc(bytes + 1);
    return state->output != NULL ||
           gops_tool_refuse(error, GOPS_EXIT_FAILED, "no memory for %zu bytes of the output",
                            bytes);
}

/* As scales and slopes, all of it is read, whatever axes and order its file has. */
static const void *bias_of_channels(const run_state *state)
{
    const int64_t first = state->info.first_group * gops_mpi_group_channels(&state->info);
    return state->bias == NULL ? NULL
                               : (const char *)state->bias +
                                     (size_t)first * gops_type_bytes(state->files.bias.tensor.type);
}

static bool execute(run_state *state, gops_tool_error *error)
{
    gops_error refusal;
    gops_status status = GOPS_OK;
    gops_arguments arguments = GOPS_ARGUMENTS_INIT;
    arguments.data = state->elements[0];
    arguments.output = state->output;
    arguments.residual = state->residual;
    arguments.scale = state->convolves ? NULL : state->elements[1];
    arguments.bias = state->convolves ? bias_of_channels(state) : state->elements[2];
    arguments.slopes = gops_mpi_extras_slopes(&state->extras, &state->info);
    if (state->convolves) {
        status = gops_mpi_filter_create(state->plan, state->elements[1],
                                        gops_mpi_extras_quantization(&state->extras, &state->info,
                                                                     state->files.tensors[1].type),
                                        &state->filter, &refusal);
        free(state->elements[1]);
        state->elements[1] = NULL;
    }
    if (status == GOPS_OK) {
        status = gops_mpi_execute(state->plan, state->filter, &arguments, NULL, &refusal);
    }
    return status == GOPS_OK || gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s", refusal.message);
}

/* Along spatial axes, images and groups each element of the output lies on one rank. */
static bool write_output(run_state *state, gops_tool_error *error)
{
    const gops_tensor *output = &state->info.shape.output;
    return gops_mpi_npy_write(state->world, state->settings.output_file, output,
                              gops_run_files_stored(&state->files, output), &state->info.output,
                              state->output, error);
}

static bool run_all(run_state *state, gops_tool_error *error)
{
    const gops_mpi_world *world = state->world;
    const gops_tensor *inputs = state->files.tensors;
    const bool opened =
        gops_run_files_open(state->command->operation, &state->settings, &state->files, error);
    if (!gops_mpi_all(world, opened, error) ||
        !gops_mpi_distribute(world, inputs[0].rank, &state->distribution, error) ||
        !gops_mpi_plan_operation(state->command, &state->settings, inputs, state->distribution,
                                 &state->plan, &state->info, error) ||
        !gops_mpi_all(world, !state->convolves || check_and_read_extras(state, error), error)) {
        return false;
    }
    const bool written = world->rank != 0 || gops_mpi_npy_try(state->settings.output_file, error);
    if (!gops_mpi_all(world, written, error)) {
        return false;
    }
    gops_mpi_progress(world, "reading");
    if (!gops_mpi_all(world, read_parts(state, error) && allocate_output(state, error), error)) {
        return false;
    }
    gops_mpi_progress(world, "all parts are read; computing by %s on %d ranks",
                      state->info.algorithm, world->ranks);
    if (!gops_mpi_all(world, execute(state, error), error)) {
        return false;
    }
    gops_mpi_progress(world, "computed; writing %s", state->settings.output_file);
    return write_output(state, error);
}

bool gops_mpi_verb_run(const gops_mpi_world *world, const gops_command *command,
                       gops_tool_error *error)
{
    run_state state = {.world = world,
                       .command = command,
                       .settings = command->settings,
                       .convolves = command->operation->inputs == 2};
    const bool done = run_all(&state, error);
    gops_run_files_close(&state.files);
    for (int i = 0; i < GOPS_TOOL_MAX_INPUTS; i++) {
        free(state.elements[i]);
    }
    free(state.bias);
    free(state.residual);
    free(state.output);
    gops_mpi_extras_release(&state.extras);
    gops_mpi_filter_destroy(state.filter);
    gops_mpi_plan_destroy(state.plan);
    gops_mpi_distribution_destroy(state.distribution);
    return done;
}
