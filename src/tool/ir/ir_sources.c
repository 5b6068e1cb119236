/* ir_sources.c: Parameter, Const and Result, and numbers that a layer reads from a Const. */
#include "common/memory.h"
#include "common/regular_file.h"
#include "ir/ir_run.h"
#include "npy/element.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Reads the attributes element_type and shape. */
static bool read_tensor(const gops_ir_run *run, int index, gops_tensor *tensor,
                        gops_tool_error *error)
{
    const gops_ir_layer *layer = &run->model->layer[index];
    const char *type = gops_ir_attribute_value(layer, "element_type");
    const char *shape = gops_ir_attribute_value(layer, "shape");
    tensor->type = type != NULL ? gops_ir_type(type) : 0;
    if (tensor->type == 0) {
        return gops_ir_refuse(run, index, error, "element_type \"%.40s\" is not offered",
                              type != NULL ? type : "");
    }
    tensor->rank =
        (int32_t)gops_ir_integers(shape != NULL ? shape : "", GOPS_MAX_RANK, tensor->dims);
    bool fine = tensor->rank >= 0;
    for (int32_t axis = 0; axis < tensor->rank; axis++) {
        fine = fine && tensor->dims[axis] >= 0;
    }
    return fine || gops_ir_refuse(run, index, error,
                                  "shape \"%.80s\" is not up to %d numbers from 0 on (dynamic "
                                  "shapes are not run)",
                                  shape, GOPS_MAX_RANK);
}

static bool open_given(gops_ir_run *run, int index, gops_ir_given *given, const char *path,
                       gops_tool_error *error)
{
    gops_ir_step *step = &run->step[index];
    gops_ir_text stated;
    gops_ir_text found;
    if (step->algorithm != NULL) {
        return gops_ir_refuse(run, index, error, "it is given two inputs");
    }
    given->used = true;
    step->algorithm = "file";
    if (!gops_npy_open(path, &step->file, error) ||
        !gops_npy_retype(&step->file, step->output.type, error)) {
        return false;
    }
    const gops_tensor *tensor = &step->file.tensor;
    const bool is_number = tensor->rank == 1 && tensor->dims[0] == 1;
    return gops_ir_same_shape(tensor, &step->output) || (step->output.rank == 0 && is_number) ||
           gops_ir_refuse(run, index, error, "%s holds %s; %s is needed", path,
                          gops_ir_call_tensor(tensor, &found),
                          gops_ir_call_tensor(&step->output, &stated));
}

bool gops_ir_prepare_parameter(gops_ir_run *run, int index, gops_tool_error *error)
{
    const gops_ir_layer *layer = &run->model->layer[index];
    gops_ir_step *step = &run->step[index];
    if (run->model->lone) {
        step->output = layer->output[0].tensor;
    } else if (!read_tensor(run, index, &step->output, error)) {
        return false;
    }
    for (int i = 0; i < run->model->given_count; i++) {
        gops_ir_given *given = &run->model->given[i];
        const char *path = gops_ir_given_file(given, layer->name);
        if (path != NULL && !open_given(run, index, given, path, error)) {
            return false;
        }
    }
    if (step->algorithm == NULL) {
        step->algorithm = "random";
    }
    return true;
}

bool gops_ir_prepare_const(gops_ir_run *run, int index, gops_tool_error *error)
{
    const gops_ir_layer *layer = &run->model->layer[index];
    gops_ir_step *step = &run->step[index];
    const char *offset_text = gops_ir_attribute_value(layer, "offset");
    const char *size_text = gops_ir_attribute_value(layer, "size");
    int64_t size;
    size_t bytes;
    gops_tool_error reason;
    if (offset_text == NULL || size_text == NULL ||
        gops_ir_integers(offset_text, 1, &step->offset) != 1 || step->offset < 0 ||
        gops_ir_integers(size_text, 1, &size) != 1 || size < 0) {
        return gops_ir_refuse(run, index, error, "offset and size are not numbers from 0 on");
    }
    if (!read_tensor(run, index, &step->output, error)) {
        return false;
    }
    if (!gops_ir_bytes(&step->output, &bytes, &reason)) {
        return gops_ir_refuse(run, index, error, "%s", reason.message);
    }
    if ((uint64_t)size < bytes) { /* OpenVINO ignores bytes beyond those */
        return gops_ir_refuse(run, index, error,
                              "size is %" PRId64 "; its shape and element_type ask for %zu", size,
                              bytes);
    }
    if (run->bin < 0 && !gops_regular_file_open(run->bin_path, &run->bin, &run->bin_bytes, error)) {
        return false;
    }
    if (step->offset > run->bin_bytes || size > run->bin_bytes - step->offset) {
        return gops_ir_refuse(run, index, error,
                              "it is %" PRId64 " bytes from %" PRId64 " on; %s has %" PRId64, size,
                              step->offset, run->bin_path, run->bin_bytes);
    }
    step->constant = true;
    step->algorithm = "-";
    return true;
}

bool gops_ir_read_const(const gops_ir_run *run, int index, void *elements, gops_tool_error *error)
{
    const gops_ir_step *step = &run->step[index];
    if (!gops_regular_file_read(run->bin, elements, step->bytes, step->offset, error)) {
        return gops_tool_prefix(error, "%s", run->bin_path);
    }
    if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) { /* the file is little-endian */
        gops_memory_swap(elements, step->bytes, gops_type_bytes(step->output.type));
    }
    return true;
}

/* Reads a Const, or the file that the command line gives, into memory that the caller frees. */
static bool read_source(const gops_ir_run *run, int source, void **elements, gops_tool_error *error)
{
    gops_ir_step *step = &run->step[source];
    if (step->prepare != gops_ir_prepare_const) {
        return gops_npy_read(&step->file, elements, error);
    }
    *elements = malloc(step->bytes + 1);
    if (*elements == NULL) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "no memory for %zu bytes", step->bytes);
    }
    return gops_ir_read_const(run, source, *elements, error);
}

int gops_ir_constant_input(const gops_ir_run *run, int index, int input, const char *what,
                           int64_t values[GOPS_MAX_RANK], gops_tool_error *error)
{
    const gops_ir_step *source = &run->step[gops_ir_source(run, index, input)];
    const gops_tensor *tensor = &source->output;
    const bool is_there = source->prepare == gops_ir_prepare_const || source->file.descriptor >= 0;
    const size_t bytes = gops_type_bytes(tensor->type);
    const int64_t numbers = tensor->dims[0];
    void *elements = NULL;
    int count = -1;
    if (!is_there || tensor->rank != 1 || numbers < 0 || numbers > GOPS_MAX_RANK ||
        tensor->type < GOPS_I8) {
        gops_ir_refuse(run, index, error,
                       "%s must be up to %d integers with rank 1: a Const, or a Parameter that "
                       "--input=NAME=FILE gives",
                       what, GOPS_MAX_RANK);
        return -1;
    }
    if (read_source(run, gops_ir_source(run, index, input), &elements, error)) {
        count = (int)numbers;
    }
    for (int i = 0; i < count; i++) {
        const char *element = (const char *)elements + (size_t)i * bytes;
        if (bytes == sizeof values[i]) {
            memcpy(&values[i], element, bytes);
        } else {
            values[i] = (int64_t)gops_element_load(tensor->type, element);
        }
    }
    free(elements);
    return count;
}

bool gops_ir_prepare_result(gops_ir_run *run, int index, gops_tool_error *error)
{
    run->step[index].output = *gops_ir_input(run, index, 0);
    run->step[index].algorithm = "-";
    return run->step[index].output.rank != 0 ||
           gops_ir_refuse(run, index, error, "a scalar output is not written");
}
