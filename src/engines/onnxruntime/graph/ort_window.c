/* ort_window.c: reads the windows of pools, and counts them. */
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

int64_t gops_ort_count_windows(const gops_ort_window *window, int axis, int64_t in, bool ceil_mode)
{
    const int64_t stride = window->strides[axis];
    const int64_t room =
        in + window->pads_begin[axis] + window->pads_end[axis] - window->kernel[axis];
    return room < 0 ? 0 : room / stride + 1 + (ceil_mode && room % stride != 0);
}

ort_status *gops_ort_read_max_windows(const gops_ort_runtime *runtime, const gops_ort_node *node,
                                      const gops_tensor *data, const gops_tensor *output,
                                      gops_ort_window *window, bool *reads)
{
    ort_status *status = gops_ort_read_window(runtime, node, window, reads);
    *reads = *reads && data->rank == 2 + GOPS_ORT_WINDOW_AXES && output->rank == data->rank &&
             output->dims[0] == data->dims[0] && output->dims[1] == data->dims[1];
    for (int axis = 0; axis < GOPS_ORT_WINDOW_AXES && *reads; axis++) {
        *reads = gops_ort_begin_within(data->dims[2 + axis], output->dims[2 + axis],
                                       window->strides[axis], window->pads_begin[axis]);
    }
    return status;
}

ort_status *gops_ort_read_average_windows(const gops_ort_runtime *runtime,
                                          const gops_ort_node *node, const gops_tensor *data,
                                          const gops_tensor *output, gops_ort_window *window,
                                          bool *divides_alike, bool *reads)
{
    gops_ort_attributes from = {runtime, node, NULL, false};
    int64_t counts_padding = 0;
    bool pads = false;
    ort_status *status = gops_ort_read_max_windows(runtime, node, data, output, window, reads);
    if (status != NULL || !*reads) {
        return status;
    }
    gops_ort_attribute_int(&from, "count_include_pad", &counts_padding);
    *reads = from.status == NULL && !from.malformed;
    for (int axis = 0; axis < GOPS_ORT_WINDOW_AXES && *reads; axis++) {
        *reads = window->pads_end[axis] < window->kernel[axis] &&
                 output->dims[2 + axis] ==
                     gops_ort_count_windows(window, axis, data->dims[2 + axis], false);
        pads = pads || window->pads_begin[axis] > 0 || window->pads_end[axis] > 0;
    }
    *divides_alike = counts_padding != 0 || !pads;
    return from.status;
}
