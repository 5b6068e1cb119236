/* ort_window.c: reads the windows of pools. */
#include "engines/onnxruntime/graph/ort_window.h"

#include "engines/onnxruntime/graph/ort_attributes.h"

static int64_t value_of(const gops_list *list, int axis, int64_t missing)
{
    return list->count == 0 ? missing : list->values[axis];
}

static bool has_two(const gops_list *list)
{
    return list->count == 0 || list->count == GOPS_ORT_WINDOW_AXES;
}

ort_status *gops_ort_read_window(const gops_ort_runtime *runtime, const gops_ort_node *node,
                                 gops_ort_window *window, bool *reads)
{
    gops_ort_attributes from = {runtime, node, NULL, false};
    gops_list kernel = {0}, strides = {0}, dilations = {0}, begin = {0}, end = {0};
    gops_auto_pad auto_pad = GOPS_AUTO_PAD_EXPLICIT;
    gops_ort_attribute_list(&from, "kernel_shape", &kernel);
    gops_ort_attribute_list(&from, "strides", &strides);
    gops_ort_attribute_list(&from, "dilations", &dilations);
    gops_ort_attribute_pads(&from, &begin, &end);
    gops_ort_attribute_auto_pad(&from, &auto_pad);
    *window = (gops_ort_window){{0}, {0}, {0}, {0}};
    *reads = from.status == NULL && !from.malformed && kernel.count == GOPS_ORT_WINDOW_AXES &&
             has_two(&strides) && has_two(&dilations) && has_two(&begin) &&
             auto_pad == GOPS_AUTO_PAD_EXPLICIT;
    for (int axis = 0; axis < GOPS_ORT_WINDOW_AXES && *reads; axis++) {
        window->kernel[axis] = kernel.values[axis];
        window->strides[axis] = value_of(&strides, axis, 1);
        window->pads_begin[axis] = value_of(&begin, axis, 0);
        window->pads_end[axis] = value_of(&end, axis, 0);
        *reads = value_of(&dilations, axis, 1) == 1 && window->kernel[axis] >= 1 &&
                 window->strides[axis] >= 1 && window->pads_begin[axis] >= 0 &&
                 window->pads_end[axis] >= 0 && window->pads_begin[axis] < window->kernel[axis];
    }
    return from.status;
}
