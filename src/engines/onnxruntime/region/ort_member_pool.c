/* ort_member_pool.c: pools over two axes. */
#include "engines/onnxruntime/graph/ort_attributes.h"
#include "engines/onnxruntime/region/ort_member.h"
#include "engines/onnxruntime/pass/ort_pass.h"

enum { Y, X };

enum { MAX_TAPS = 1024 }; /* of an average; more is a global one, or rare */

/* The window of a pool over two axes whose output is `output`: each window begins, and has an element,
 * in the data. *serves is false for all others. */
static ort_status *read_window(const gops_ort_reading *from, const gops_tensor *output,
                               gops_ort_window *window, bool *serves)
{
    ort_status *status = gops_ort_read_window(from->graph->runtime, from->node, window, serves);
    *serves = *serves && from->data.rank == 2 + GOPS_ORT_WINDOW_AXES &&
              output->rank == from->data.rank && output->dims[0] == from->data.dims[0] &&
              output->dims[1] == from->data.dims[1];
    for (int axis = Y; axis <= X && *serves; axis++) {
        const int64_t last =
            (output->dims[2 + axis] - 1) * window->strides[axis] - window->pads_begin[axis];
        *serves = last < from->data.dims[2 + axis];
    }
    return status;
}

/* Rows of windows are no longer than those that a pass has room for. */
static bool fits_pass(const gops_ort_reading *from, const gops_tensor *output,
                      const gops_ort_window *window)
{
    const int64_t row = (output->dims[3] - 1) * window->strides[X] + window->kernel[X];
    return row <= GOPS_ORT_MAX_ROW && from->data.dims[3] <= GOPS_ORT_MAX_ROW;
}

static ort_status *make_pool(const gops_ort_reading *from, gops_ort_member_kind kind,
                             const gops_tensor *output, const gops_ort_window *window,
                             gops_ort_member **member)
{
    *member = gops_ort_member_make(kind, &from->claim, &from->data);
    if (*member == NULL) {
        return gops_ort_no_memory(from->graph->runtime, "a node");
    }
    (*member)->output = *output;
    (*member)->window = *window;
    return NULL;
}

ort_status *gops_ort_member_of_max_pool(gops_ort_reading *from, gops_ort_member **member)
{
    const gops_tensor *output = &from->output;
    gops_ort_window window;
    bool serves;
    ort_status *status = read_window(from, output, &window, &serves);
    return status != NULL || !serves || !fits_pass(from, output, &window)
               ? status
               : make_pool(from, GOPS_ORT_MAX_POOL, output, &window, member);
}

ort_status *gops_ort_member_of_average_pool(gops_ort_reading *from, gops_ort_member **member)
{
    const gops_tensor *output = &from->output;
    gops_ort_attributes attributes = {from->graph->runtime, from->node, NULL, false};
    gops_conv_attributes *conv = &from->claim.operation.conv;
    gops_ort_window window;
    int64_t counts_padding = 0;
    bool serves;
    ort_status *status = read_window(from, output, &window, &serves);
    if (status != NULL || !serves) {
        return status;
    }
    gops_ort_attribute_int(&attributes, "count_include_pad", &counts_padding);
    serves = attributes.status == NULL && !attributes.malformed;
    for (int axis = Y; axis <= X; axis++) {
        const int64_t pad_end = window.pads_end[axis];
        const int64_t pads = window.pads_begin[axis] + pad_end;
        const int64_t steps =
            (from->data.dims[2 + axis] + pads - window.kernel[axis]) / window.strides[axis];
        serves = serves && (pads == 0 || counts_padding != 0) && pad_end < window.kernel[axis] &&
                 from->data.dims[2 + axis] + pads >= window.kernel[axis] &&
                 output->dims[2 + axis] == steps + 1;
        conv->strides.values[axis] = window.strides[axis];
        conv->pads_begin.values[axis] = window.pads_begin[axis];
        conv->pads_end.values[axis] = pad_end;
    }
    conv->strides.count = conv->pads_begin.count = conv->pads_end.count = GOPS_ORT_WINDOW_AXES;
    if (attributes.status != NULL || !serves || window.kernel[Y] > MAX_TAPS / window.kernel[X]) {
        return attributes.status;
    }
    const int64_t taps = window.kernel[Y] * window.kernel[X];
    status = gops_ort_member_add_post_ops(from->graph, &from->claim);
    if (status == NULL && from->claim.node_count == 1 && fits_pass(from, output, &window)) {
        return make_pool(from, GOPS_ORT_AVERAGE_POOL, output, &window, member);
    }
    if (status != NULL || (status = gops_ort_member_make_depthwise(from, taps, member)) != NULL) {
        return status;
    }
    for (int64_t i = 0; i < taps * from->data.dims[1]; i++) {
        (*member)->made[i] = 1 / (float)taps;
    }
    (*member)->filter.dims[3] = window.kernel[Y];
    (*member)->filter.dims[4] = window.kernel[X];
    (*member)->output = *output;
    return NULL;
}
