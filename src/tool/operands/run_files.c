/* run_files.c: the .npy files that `run` computes from. */
#include "operands/run_files.h"

#include <string.h>

/* The type that the settings say an input has; 0: its file's. */
static gops_type stated_type(const gops_tool_operation *operation, const gops_settings *settings,
                             int index)
{
    const bool is_filter = index == 1 && operation->inputs == 2;
    return (gops_type)(is_filter && settings->filter_type != 0 ? settings->filter_type
                                                               : settings->type);
}

static bool open_inputs(const gops_tool_operation *operation, const gops_settings *settings,
                        gops_run_files *files, gops_tool_error *error)
{
    for (int i = 0; i < operation->inputs; i++) {
        const char *path = gops_operation_file(operation, settings, i);
        const gops_type type = stated_type(operation, settings, i);
        if (!gops_npy_open(path, &files->inputs[i], error) ||
            (type != 0 && !gops_npy_retype(&files->inputs[i], type, error))) {
            return false;
        }
        files->tensors[i] = files->inputs[i].tensor;
    }
    return true;
}

/* A residual of u8 or i8 has that type whatever the output of a quantized convolution is. */
static bool open_residual(gops_settings *settings, gops_run_files *files, gops_tool_error *error)
{
    const gops_type output =
        settings->output_type != 0 ? (gops_type)settings->output_type : files->tensors[0].type;
    if (!gops_npy_open(settings->residual_file, &files->residual, error)) {
        return false;
    }
    const gops_type held = files->residual.header.tensor.type;
    if (gops_operation_is_quantized(settings, files->tensors) &&
        (held == GOPS_U8 || held == GOPS_I8)) {
        settings->residual_type = (int)held;
        return true;
    }
    return gops_npy_retype(&files->residual, output, error);
}

bool gops_run_files_open(const gops_tool_operation *operation, gops_settings *settings,
                         gops_run_files *files, gops_tool_error *error)
{
    for (int i = 0; i < GOPS_TOOL_MAX_INPUTS; i++) {
        files->inputs[i].descriptor = -1;
    }
    files->bias.descriptor = -1;
    files->residual.descriptor = -1;
    if (!open_inputs(operation, settings, files, error)) {
        return false;
    }
    return operation->inputs != 2 ||
           ((settings->bias_file == NULL ||
             gops_npy_open(settings->bias_file, &files->bias, error)) &&
            (settings->residual_file == NULL || open_residual(settings, files, error)));
}

void gops_run_files_close(gops_run_files *files)
{
    for (int i = 0; i < GOPS_TOOL_MAX_INPUTS; i++) {
        gops_npy_close(&files->inputs[i]);
    }
    gops_npy_close(&files->bias);
    gops_npy_close(&files->residual);
}

static bool check_bias(const gops_settings *settings, gops_run_files *files,
                       const gops_tensor *output, gops_tool_error *error)
{
    const gops_tensor *held = &files->bias.tensor;
    gops_tool_dims dims = {.rank = held->rank};
    memcpy(dims.dims, held->dims, sizeof dims.dims);
    if (!gops_operation_check_bias(&dims, output, error)) {
        return gops_tool_prefix(error, "%s", files->bias.path);
    }
    return gops_npy_retype(&files->bias, gops_operation_bias(settings, files->tensors, output).type,
                           error);
}

bool gops_run_files_check(const gops_settings *settings, gops_run_files *files,
                          const gops_tensor *output, gops_tool_error *error)
{
    const gops_npy_file *residual = &files->residual;
    return (files->bias.descriptor < 0 || check_bias(settings, files, output, error)) &&
           (residual->descriptor < 0 ||
            gops_operation_check_residual(residual->path, &residual->tensor, output, error));
}

gops_type gops_run_files_stored(const gops_run_files *files, const gops_tensor *output)
{
    const gops_npy_file *data = &files->inputs[0];
    return output->type == data->tensor.type ? data->header.tensor.type
                                             : gops_npy_stored_type(output->type);
}
