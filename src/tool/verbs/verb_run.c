/* verb_run.c: computes one operation on arrays in .npy files.
 *
 * The headers are read and the plan is made before any element is read or any large buffer is
 * allocated, and the filter is freed once it is packed. So the peak of memory is the data, the
 * packed filter, the output and the workspace. */
#include "common/whole_file.h"
#include "operands/moments.h"
#include "operands/run_files.h"
#include "operands/slopes.h"
#include "operands/tool_quantization.h"
#include "verbs/verbs.h"

#include <stdlib.h>

typedef struct run_state {
    const gops_tool_operation *operation;
    gops_settings settings;
    gops_run_files files;
    void *elements[GOPS_TOOL_MAX_INPUTS], *bias, *residual;
    gops_plan *plan;
    gops_plan_info info;
    gops_tool_quantization quantization;
    void *slopes, *means, *variances;
    gops_packed_filter *filter;
    void *output;
} run_state;

static bool make_plan(run_state *state, gops_tool_error *error)
{
    const gops_tensor *output = &state->info.shape.output;
    const gops_tensor *inputs = state->files.tensors;
    if (!gops_operation_plan(state->operation, &state->settings, inputs, NULL, &state->plan,
                             &state->info, error)) {
        return false;
    }
    if (state->operation->inputs != 2) {
        return gops_tool_moments_read(&state->settings, output, &state->means, &state->variances,
                                      error);
    }
    return gops_run_files_check(&state->settings, &state->files, output, error) &&
           gops_tool_quantization_read(&state->settings, inputs, output, &state->quantization,
                                       error) &&
           gops_tool_slopes_read(&state->settings, output, &state->slopes, error);
}

static bool read_file(gops_npy_file *file, void **elements, gops_tool_error *error)
{
    const bool done = file->descriptor < 0 || gops_npy_read(file, elements, error);
    gops_npy_close(file);
    return done;
}

static bool pack_filter(run_state *state, gops_tool_error *error)
{
    gops_error refusal;
    if (!read_file(&state->files.inputs[1], &state->elements[1], error)) {
        return false;
    }
    if (gops_filter_create(state->plan, state->elements[1], state->quantization.given,
                           &state->filter, &refusal) != GOPS_OK) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s", refusal.message);
    }
    free(state->elements[1]);
    state->elements[1] = NULL;
    return true;
}

/* The filter is packed, and its file's elements freed, before any other is read. */
static bool read_inputs(run_state *state, gops_tool_error *error)
{
    gops_run_files *files = &state->files;
    if (state->operation->inputs == 2 && !pack_filter(state, error)) {
        return false;
    }
    for (int i = 0; i < GOPS_TOOL_MAX_INPUTS; i++) {
        if (!read_file(&files->inputs[i], &state->elements[i], error)) {
            return false;
        }
    }
    return read_file(&files->bias, &state->bias, error) &&
           read_file(&files->residual, &state->residual, error);
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
        .bias = state->operation->inputs == 2 ? state->bias : state->elements[2],
        .residual = state->residual,
        .output = state->output,
        .slopes = state->slopes,
        .mean = state->means,
        .variance = state->variances,
    };
    if (gops_execute(state->plan, &arguments, &refusal) != GOPS_OK) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s", refusal.message);
    }
    return true;
}

static bool write_output(run_state *state, const char *path, gops_tool_error *error)
{
    const gops_tensor *output = &state->info.shape.output;
    return gops_npy_write(path, output, gops_run_files_stored(&state->files, output), state->output,
                          error);
}

static void release_run(run_state *state)
{
    gops_run_files_close(&state->files);
    for (int i = 0; i < GOPS_TOOL_MAX_INPUTS; i++) {
        free(state->elements[i]);
    }
    free(state->bias);
    free(state->residual);
    gops_tool_quantization_release(&state->quantization);
    free(state->slopes);
    free(state->means);
    free(state->variances);
    gops_filter_destroy(state->filter);
    gops_plan_destroy(state->plan);
    free(state->output);
}

bool gops_verb_run(const gops_command *command, gops_tool_error *error)
{
    run_state state = {.operation = command->operation, .settings = command->settings};
    const char *const path = command->settings.output_file;
    const bool done = gops_run_files_open(state.operation, &state.settings, &state.files, error) &&
                      gops_whole_file_try(path, error) && make_plan(&state, error) &&
                      read_inputs(&state, error) && execute_run(&state, error) &&
                      write_output(&state, path, error);
    release_run(&state);
    return done;
}
