/* verb_run.c: computes one operation on arrays in .npy files.
 *
 * The headers are read and the plan is made before any element is read or any large buffer is
 * allocated, and the filter is freed once it is packed. So the peak of memory is the data, the
 * packed filter, the output and the workspace. */
#include "common/whole_file.h"
#include "npy/moments.h"
#include "npy/npy.h"
#include "npy/quantization.h"
#include "npy/slopes.h"
#include "verbs/verbs.h"

#include <stdlib.h>
#include <string.h>

/* A tensor that a convolution takes besides: bias or residual. */
typedef struct run_extra {
    gops_npy_file file;
    void *elements;
} run_extra;

typedef struct run_state {
    const gops_tool_operation *operation;
    gops_settings settings;
    gops_npy_file files[GOPS_TOOL_MAX_INPUTS];
    gops_tensor tensors[GOPS_TOOL_MAX_INPUTS];
    void *elements[GOPS_TOOL_MAX_INPUTS];
    run_extra bias, residual;
    gops_plan *plan;
    gops_plan_info info;
    gops_tool_quantization quantization;
    void *slopes, *means, *variances;
    gops_packed_filter *filter;
    void *output;
} run_state;

/* The type that the command line says an input has; 0: its file's. */
static gops_type stated_type(const run_state *state, int index)
{
    const gops_settings *settings = &state->settings;
    const bool is_filter = index == 1 && state->operation->inputs == 2;
    return (gops_type)(is_filter && settings->filter_type != 0 ? settings->filter_type
                                                               : settings->type);
}

static bool open_inputs(run_state *state, gops_tool_error *error)
{
    for (int i = 0; i < state->operation->inputs; i++) {
        const char *path = gops_operation_file(state->operation, &state->settings, i);
        const gops_type type = stated_type(state, i);
        if (!gops_npy_open(path, &state->files[i], error) ||
            (type != 0 && !gops_npy_retype(&state->files[i], type, error))) {
            return false;
        }
        state->tensors[i] = state->files[i].tensor;
    }
    return true;
}

/* A residual of u8 or i8 has that type whatever the output of a quantized convolution is. */
static bool open_extras(run_state *state, gops_tool_error *error)
{
    gops_settings *settings = &state->settings;
    const gops_type output =
        settings->output_type != 0 ? (gops_type)settings->output_type : state->tensors[0].type;
    if (state->operation->inputs != 2) {
        return true;
    }
    if (settings->bias_file != NULL &&
        !gops_npy_open(settings->bias_file, &state->bias.file, error)) {
        return false;
    }
    if (settings->residual_file == NULL) {
        return true;
    }
    if (!gops_npy_open(settings->residual_file, &state->residual.file, error)) {
        return false;
    }
    const gops_type held = state->residual.file.header.tensor.type;
    if (gops_operation_is_quantized(settings, state->tensors) &&
        (held == GOPS_U8 || held == GOPS_I8)) {
        settings->residual_type = (int)held;
        return true;
    }
    return gops_npy_retype(&state->residual.file, output, error);
}

static bool check_extras(run_state *state, gops_tool_error *error)
{
    const gops_tensor *output = &state->info.shape.output;
    const gops_tensor *residual = &state->residual.file.tensor;
    if (state->bias.file.descriptor >= 0) {
        const gops_tensor *held = &state->bias.file.tensor;
        const gops_tensor bias =
            gops_operation_bias(&state->settings, state->tensors, &state->info);
        gops_tool_dims dims = {.rank = held->rank};
        memcpy(dims.dims, held->dims, sizeof dims.dims);
        if (!gops_operation_check_bias(&dims, &state->info, error)) {
            return gops_tool_prefix(error, "%s", state->bias.file.path);
        }
        if (!gops_npy_retype(&state->bias.file, bias.type, error)) {
            return false;
        }
    }
    return state->residual.file.descriptor < 0 ||
           gops_operation_check_residual(state->residual.file.path, residual, output, error);
}

static bool make_plan(run_state *state, gops_tool_error *error)
{
    const gops_tensor *output = &state->info.shape.output;
    if (!gops_operation_plan(state->operation, &state->settings, state->tensors, NULL, &state->plan,
                             &state->info, error)) {
        return false;
    }
    if (state->operation->inputs != 2) {
        return gops_moments_read(&state->settings, output, &state->means, &state->variances, error);
    }
    return check_extras(state, error) &&
           gops_quantization_read(&state->settings, state->tensors, output, &state->quantization,
                                  error) &&
           gops_slopes_read(&state->settings, output, &state->slopes, error);
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
    if (gops_filter_create(state->plan, state->elements[1], state->quantization.given,
                           &state->filter, &refusal) != GOPS_OK) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s", refusal.message);
    }
    free(state->elements[1]);
    state->elements[1] = NULL;
    return true;
}

static bool read_extra(run_extra *extra, gops_tool_error *error)
{
    return extra->file.descriptor < 0 || gops_npy_read(&extra->file, &extra->elements, error);
}

static bool read_inputs(run_state *state, gops_tool_error *error)
{
    if (state->operation->inputs == 2) {
        return pack_filter(state, error) && read_file(state, 0, error) &&
               read_extra(&state->bias, error) && read_extra(&state->residual, error);
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
        .bias = state->operation->inputs == 2 ? state->bias.elements : state->elements[2],
        .residual = state->residual.elements,
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
    run_extra *const extras[] = {&state->bias, &state->residual};
    for (int i = 0; i < GOPS_TOOL_MAX_INPUTS; i++) {
        gops_npy_close(&state->files[i]);
        free(state->elements[i]);
    }
    for (int i = 0; i < 2; i++) {
        gops_npy_close(&extras[i]->file);
        free(extras[i]->elements);
    }
    gops_quantization_release(&state->quantization);
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
    for (int i = 0; i < GOPS_TOOL_MAX_INPUTS; i++) {
        state.files[i].descriptor = -1;
    }
    state.bias.file.descriptor = -1;
    state.residual.file.descriptor = -1;
    const char *const path = command->settings.output_file;
    const bool done = open_inputs(&state, error) && open_extras(&state, error) &&
                      gops_whole_file_try(path, error) && make_plan(&state, error) &&
                      read_inputs(&state, error) && execute_run(&state, error) &&
                      write_output(&state, path, error);
    release_run(&state);
    return done;
}
