/* ort_member_pool.c: pools over two axes. */
#include "engines/onnxruntime/region/ort_member.h"

enum { Y, X };

enum { MAX_TAPS = 1024 }; /* of an average; more is a global one, or rare */

/* Rows of windows are no longer than those that a pass has room for. */
static bool fits_pass(const gops_ort_reading *from, const gops_ort_window *window)
{
    return gops_ort_reach(window, X, from->output.dims[3]) <= GOPS_ORT_MAX_ROW &&
           from->data.dims[3] <= GOPS_ORT_MAX_ROW;
}

static ort_status *make_pool(const gops_ort_reading *from, gops_ort_member_kind kind,
                             const gops_ort_window *window, gops_ort_member **member)
{
    *member = gops_ort_member_make(kind, &from->claim, &from->data);
    if (*member == NULL) {
        return gops_ort_no_memory(from->graph->runtime, "a node");
    }
    (*member)->output = from->output;
    (*member)->window = *window;
    return NULL;
}

ort_status *gops_ort_member_of_max_pool(gops_ort_reading *from, gops_ort_member **member)
{
    gops_ort_window window;
    bool serves;
    ort_status *status = gops_ort_read_max_windows(from->graph->runtime, from->node, &from->data,
                                                   &from->output, &window, &serves);
    return status != NULL || !serves || !fits_pass(from, &window)
               ? status
               : make_pool(from, GOPS_ORT_MAX_POOL, &window, member);
}

ort_status *gops_ort_member_of_average_pool(gops_ort_reading *from, gops_ort_member **member)
{
    gops_conv_attributes *conv = &from->claim.operation.conv;
    gops_ort_window window;
    bool serves, divides_alike;
    ort_status *status =
        gops_ort_read_average_windows(from->graph->runtime, from->node, &from->data, &from->output,
                                      &window, &divides_alike, &serves);
    if (status != NULL || !serves || !divides_alike ||
        window.kernel[Y] > MAX_TAPS / window.kernel[X]) {
        return status;
    }
    for (int axis = Y; axis <= X; axis++) {
        conv->strides.values[axis] = window.strides[axis];
        conv->pads_begin.values[axis] = window.pads_begin[axis];
        conv->pads_end.values[axis] = window.pads_end[axis];
    }
    conv->strides.count = conv->pads_begin.count = conv->pads_end.count = GOPS_ORT_WINDOW_AXES;
    const int64_t taps = window.kernel[Y] * window.kernel[X];
    status = gops_ort_member_add_post_ops(from->graph, &from->claim);
    if (status == NULL && from->claim.node_count == 1 && fits_pass(from, &window)) {
        return make_pool(from, GOPS_ORT_AVERAGE_POOL, &window, member);
    }
    if (status != NULL || (status = gops_ort_member_make_depthwise(from, taps, member)) != NULL) {
        return status;
    }
    for (int64_t i = 0; i < taps * from->data.dims[1]; i++) {
        (*member)->made[i] = 1 / (float)taps;
    }
    (*member)->filter.dims[3] = window.kernel[Y];
    (*member)->filter.dims[4] = window.kernel[X];
    (*member)->output = from->output;
    return NULL;
}
