/* ir_inputs.c: what the layers of a run share: messages, sources, shapes. */
#include "ir/ir_run.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool gops_ir_refuse(const gops_ir_run *run, int index, gops_tool_error *error, const char *format,
                    ...)
{
    char message[GOPS_TOOL_MESSAGE_BYTES - sizeof(gops_ir_text)];
    gops_ir_text name;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s: %s",
                            gops_ir_call_layer(&run->model->layer[index], &name), message);
}

int gops_ir_source(const gops_ir_run *run, int index, int input)
{
    return run->model->layer[index].input[input].source;
}

const gops_tensor *gops_ir_input(const gops_ir_run *run, int index, int input)
{
    return &run->step[gops_ir_source(run, index, input)].output;
}

bool gops_ir_same_shape(const gops_tensor *one, const gops_tensor *other)
{
    return one->rank == other->rank &&
           memcmp(one->dims, other->dims, (size_t)one->rank * sizeof one->dims[0]) == 0;
}

gops_ir_part gops_ir_whole(const gops_tensor *tensor)
{
    return (gops_ir_part){.shape = *tensor};
}

bool gops_ir_all(const gops_ir_run *run, bool done, gops_tool_error *error)
{
    return run->ranks != NULL ? run->ranks->all(run, done, error) : done;
}

bool gops_ir_count(const gops_tensor *tensor, int64_t *count)
{
    gops_tool_error unread;
    size_t bytes;
    if (!gops_ir_bytes(tensor, &bytes, &unread)) {
        return false;
    }
    *count = (int64_t)(bytes / gops_type_bytes(tensor->type));
    return true;
}
