/* mpi_verb_run.c: one operation on arrays in .npy files, of which each rank reads and writes a part.
 */
#include "mpi_extras.h"
#include "mpi_npy.h"

#include "common/flags.h"
#include "common/whole_file.h"

#include <stdlib.h>
#include <string.h>

typedef struct run_state {
    const gops_mpi_world *world;
    const gops_command *command;
    gops_settings settings;
    bool convolves;
    gops_npy_file files[GOPS_TOOL_MAX_INPUTS], bias, residual;
    gops_tensor inputs[GOPS_TOOL_MAX_INPUTS];
    gops_mpi_distribution *distribution;
    gops_mpi_plan *plan;
    gops_mpi_plan_info info;
    gops_mpi_extras extras;
    void *elements[GOPS_TOOL_MAX_INPUTS], *bias_elements, *residual_elements, *output;
    gops_mpi_filter *filter;
} run_state;

static bool open_files(run_state *state, gops_tool_error *error)
{
    gops_settings *settings = &state->settings;
    for (int i = 0; i < state->command->operation->inputs; i++) {
        const char *path = gops_operation_file(state->command->operation, settings, i);
        const int type = i == 1 && state->convolves && settings->filter_type != 0
                             ? settings->filter_type
                             : settings->type;
        if (!gops_npy_open(path, &state->files[i], error) ||
            (type != 0 && !gops_npy_retype(&state->files[i], (gops_type)type, error))) {
            return false;
        }
        state->inputs[i] = state->files[i].tensor;
    }
    if (!state->convolves) {
        return true;
    }
    if (settings->bias_file != NULL && !gops_npy_open(settings->bias_file, &state->bias, error)) {
        return false;
    }
    if (settings->residual_file == NULL) {
        return true;
    }
    if (!gops_npy_open(settings->residual_file, &state->residual, error)) {
        return false;
    }
    const gops_type held = state->residual.header.tensor.type;
    if (gops_operation_is_quantized(settings, state->inputs) &&
        (held == GOPS_U8 || held == GOPS_I8)) {
        settings->residual_type = (int)held;
        return true;
    }
    return gops_npy_retype(&state->residual,
                           settings->output_type != 0 ? (gops_type)settings->output_type
                                                      : state->inputs[0].type,
                           error);
}

/* Bias and residual must fit the output. */
static bool check_extras(run_state *state, gops_tool_error *error)
{
    const gops_tensor *output = &state->info.shape.output;
    gops_plan_info info = GOPS_PLAN_INFO_INIT;
    info.shape = state->info.shape;
    if (state->bias.descriptor >= 0) {
        const gops_tensor wanted = gops_operation_bias(&state->settings, state->inputs, &info);
        gops_tool_dims dims = {.rank = state->bias.tensor.rank};
        memcpy(dims.dims, state->bias.tensor.dims, sizeof dims.dims);
        if (!gops_operation_check_bias(&dims, &info, error)) {
            return gops_tool_prefix(error, "%s", state->bias.path);
        }
        if (!gops_npy_retype(&state->bias, wanted.type, error)) {
            return false;
        }
    }
    if (state->residual.descriptor >= 0 &&
        !gops_operation_check_residual(state->residual.path, &state->residual.tensor, output,
                                       error)) {
        return false;
    }
    return gops_mpi_extras_read(&state->settings, state->inputs, &state->info, &state->extras,
                                error);
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
    if (!gops_mpi_npy_read(&state->files[0], &state->info.data, &state->elements[0], error)) {
        return false;
    }
    for (int i = 1; i < state->command->operation->inputs; i++) {
        const gops_mpi_part part =
            groups_of(state, &state->inputs[i], state->convolves ? 1 : channels);
        if (!gops_mpi_npy_read(&state->files[i], &part, &state->elements[i], error)) {
            return false;
        }
    }
    if (state->bias.descriptor >= 0 && !gops_npy_read(&state->bias, &state->bias_elements, error)) {
        return false;
    }
    if (state->residual.descriptor < 0) {
        return true;
    }
    gops_mpi_part part = state->info.output;
    part.shape.type = state->residual.tensor.type;
    return gops_mpi_npy_read(&state->residual, &part, &state->residual_elements, error);
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
    return state->bias_elements == NULL
               ? NULL
               : (const char *)state->bias_elements +
                     (size_t)first * gops_type_bytes(state->bias.tensor.type);
}

static bool execute(run_state *state, gops_tool_error *error)
{
    gops_error refusal;
    gops_status status = GOPS_OK;
    gops_arguments arguments = GOPS_ARGUMENTS_INIT;
    arguments.data = state->elements[0];
    arguments.output = state->output;
    arguments.residual = state->residual_elements;
    arguments.scale = state->convolves ? NULL : state->elements[1];
    arguments.bias = state->convolves ? bias_of_channels(state) : state->elements[2];
    arguments.slopes = gops_mpi_extras_slopes(&state->extras, &state->info);
    if (state->convolves) {
        status = gops_mpi_filter_create(
            state->plan, state->elements[1],
            gops_mpi_extras_quantization(&state->extras, &state->info, state->inputs[1].type),
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
    const gops_npy_file *data = &state->files[0];
    const gops_type stored = output->type == data->tensor.type ? data->header.tensor.type
                                                               : gops_npy_stored_type(output->type);
    return gops_mpi_npy_write(state->world, state->settings.output_file, output, stored,
                              &state->info.output, state->output, error);
}

static bool run_all(run_state *state, gops_tool_error *error)
{
    const gops_mpi_world *world = state->world;
    if (!gops_mpi_all(world, open_files(state, error), error) ||
        !gops_mpi_distribute(world, state->inputs[0].rank, &state->distribution, error) ||
        !gops_mpi_plan_operation(state->command, &state->settings, state->inputs,
                                 state->distribution, &state->plan, &state->info, error) ||
        !gops_mpi_all(world, !state->convolves || check_extras(state, error), error)) {
        return false;
    }
    const bool written =
        world->rank != 0 || gops_whole_file_try(state->settings.output_file, error);
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
    gops_npy_file *const files[] = {&state.files[0], &state.files[1], &state.files[2], &state.bias,
                                    &state.residual};
    for (int i = 0; i < 5; i++) {
        files[i]->descriptor = -1;
    }
    const bool done = run_all(&state, error);
    for (int i = 0; i < 5; i++) {
        gops_npy_close(files[i]);
    }
    for (int i = 0; i < GOPS_TOOL_MAX_INPUTS; i++) {
        free(state.elements[i]);
    }
    free(state.bias_elements);
    free(state.residual_elements);
    free(state.output);
    gops_mpi_extras_release(&state.extras);
    gops_mpi_filter_destroy(state.filter);
    gops_mpi_plan_destroy(state.plan);
    gops_mpi_distribution_destroy(state.distribution);
    return done;
}
