/* verb_run.c: computes one operation on arrays in .npy files.
 *
 * The headers are read and the plan is made before any element is read or any large buffer is
 * allocated, and the filter is freed once it is packed. So the peak of memory is the data, the
 * packed filter, the output and the workspace. */
#include "npy/npy.h"
#include "verbs/verbs.h"

#include <stdlib.h>

typedef struct run_state {
    const gops_tool_operation *operation;
    gops_npy_file files[GOPS_TOOL_MAX_INPUTS];
    void *elements[GOPS_TOOL_MAX_INPUTS];
    gops_plan *plan;
    gops_plan_info info;
    gops_packed_filter *filter;
    void *output;
} run_state;

static bool open_files(run_state *state, const gops_settings *settings, gops_tool_error *error)
{
    for (int i = 0; i < state->operation->inputs; i++) {
        const char *path = gops_operation_file(state->operation, settings, i);
        if (!gops_npy_open(path, &state->files[i], error)) {
            return false;
        }
        if (settings->type != 0 &&
            !gops_npy_retype(&state->files[i], (gops_type)settings->type, error)) {
            return false;
        }
    }
    return true;
}

static bool make_plan(run_state *state, const gops_settings *settings, gops_tool_error *error)
{
    gops_tensor tensors[GOPS_TOOL_MAX_INPUTS];
    for (int i = 0; i < state->operation->inputs; i++) {
        tensors[i] = state->files[i].tensor;
    }
    return gops_operation_plan(state->operation, settings, tensors, NULL, &state->plan,
                               &state->info, error);
}

static bool read_file(run_state *state, int index, gops_tool_error *error)
{
    const bool done = gops_npy_read(&state->files[index], &state->elements[index], error);
    gops_npy_close(&state->files[index]);
    return done;
}

static bool pack_filter(run_state *state, gops_tool_error *error)
{
    gops_error refusal;
    if (!read_file(state, 1, error)) {
        return false;
    }
    if (gops_filter_create(state->plan, state->elements[1], NULL, &state->filter, &refusal) !=
        GOPS_OK) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s", refusal.message);
    }
    free(state->elements[1]);
    state->elements[1] = NULL;
    return true;
}

static bool read_inputs(run_state *state, gops_tool_error *error)
{
    if (state->operation->inputs == 2) {
        return pack_filter(state, error) && read_file(state, 0, error);
    }
    return read_file(state, 0, error) && read_file(state, 1, error) && read_file(state, 2, error);
}

static bool execute_run(run_state *state, gops_tool_error *error)
{
    gops_error refusal;
    size_t bytes;
    if (gops_tensor_bytes(&state->info.shape.output, &bytes, &refusal) != GOPS_OK) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s", refusal.message);
    }
    state->output = malloc(bytes != 0 ? bytes : 1);
    if (state->output == NULL) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "no memory for the output's %zu bytes",
                                bytes);
    }
    const gops_arguments arguments = {
        .size = sizeof arguments,
        .data = state->elements[0],
        .filter = state->filter,
        .scale = state->elements[1],
        .bias = state->elements[2],
        .output = state->output,
    };
    if (gops_execute(state->plan, &arguments, &refusal) != GOPS_OK) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s", refusal.message);
    }
    return true;
}

/* If the elements of `data` came as u2 (half floats), those of the output are written so too. */
static bool write_output(run_state *state, const char *path, gops_tool_error *error)
{
    const gops_tensor *output = &state->info.shape.output;
    const gops_npy_file *data = &state->files[0];
    const gops_type stored = output->type == data->tensor.type ? data->header.tensor.type
                                                               : gops_npy_stored_type(output->type);
    return gops_npy_write(path, output, stored, state->output, error);
}

static void release_run(run_state *state)
{
    for (int i = 0; i < GOPS_TOOL_MAX_INPUTS; i++) {
        gops_npy_close(&state->files[i]);
        free(state->elements[i]);
    }
    gops_filter_destroy(state->filter);
    gops_plan_destroy(state->plan);
    free(state->output);
}

bool gops_verb_run(const gops_command *command, gops_tool_error *error)
{
    run_state state = {.operation = command->operation};
    for (int i = 0; i < GOPS_TOOL_MAX_INPUTS; i++) {
        state.files[i].descriptor = -1;
    }
    const bool done = open_files(&state, &command->settings, error) &&
                      make_plan(&state, &command->settings, error) && read_inputs(&state, error) &&
                      execute_run(&state, error) &&
                      write_output(&state, command->settings.output_file, error);
    release_run(&state);
    return done;
}
