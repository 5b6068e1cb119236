/* ort_pool.c: claims MaxPool of 8-bit integers. */
#include "engines/onnxruntime/graph/ort_pool.h"

#include "engines/onnxruntime/graph/ort_attributes.h"
#include "engines/onnxruntime/graph/ort_linear.h"

#include <string.h>

enum { Y, X };

/* So wide a row has room on the stack of whoever computes it. */
enum { MAX_WIDTH = 8192 };

static int64_t value_of(const gops_list *list, int axis, int64_t missing)
{
    return list->count == 0 ? missing : list->values[axis];
}

static bool has_two(const gops_list *list)
{
    return list->count == 0 || list->count == GOPS_ORT_POOL_AXES;
}

/* Every window holds an element: ONNX has pads below the kernel. */
static bool set_axis(gops_ort_pool *pool, int axis, int64_t pad_end)
{
    const int64_t kernel = pool->kernel[axis], begin = pool->pads_begin[axis];
    const int64_t data = pool->data[axis];
    if (kernel < 1 || pool->strides[axis] < 1 || begin < 0 || pad_end < 0 || begin >= kernel ||
        pad_end >= kernel || data < 1 || kernel > MAX_WIDTH || data > MAX_WIDTH ||
        data + begin + pad_end < kernel) {
        return false;
    }
    pool->output[axis] = (data + begin + pad_end - kernel) / pool->strides[axis] + 1;
    return true;
}

static ort_status *read_attributes(const gops_ort_runtime *runtime, const gops_ort_node *node,
                                   gops_ort_pool *pool, bool *serves)
{
    gops_ort_attributes from = {runtime, node, NULL, false};
    gops_list kernel = {0}, strides = {0}, dilations = {0}, begin = {0}, end = {0};
    gops_auto_pad auto_pad = GOPS_AUTO_PAD_EXPLICIT;
    int64_t ceil_mode = 0;
    gops_ort_attribute_list(&from, "kernel_shape", &kernel);
    gops_ort_attribute_list(&from, "strides", &strides);
    gops_ort_attribute_list(&from, "dilations", &dilations);
    gops_ort_attribute_pads(&from, &begin, &end);
    gops_ort_attribute_auto_pad(&from, &auto_pad);
    gops_ort_attribute_int(&from, "ceil_mode", &ceil_mode);
    *serves = from.status == NULL && !from.malformed && kernel.count == GOPS_ORT_POOL_AXES &&
              has_two(&strides) && has_two(&dilations) && has_two(&begin) && ceil_mode == 0 &&
              auto_pad == GOPS_AUTO_PAD_EXPLICIT;
    for (int axis = Y; axis <= X && *serves; axis++) {
        pool->kernel[axis] = kernel.values[axis];
        pool->strides[axis] = value_of(&strides, axis, 1);
        pool->pads_begin[axis] = value_of(&begin, axis, 0);
        *serves =
            value_of(&dilations, axis, 1) == 1 && set_axis(pool, axis, value_of(&end, axis, 0));
    }
    return from.status;
}

/* Whether the QuantizeLinear undoes the DequantizeLinear. */
static ort_status *is_undone(const gops_ort_runtime *runtime, const gops_ort_node *quantize,
                             const gops_ort_dequantized *by, bool *is)
{
    gops_tensor output;
    float scale;
    int32_t zero_point;
    bool known;
    *is = quantize != NULL && strcmp(quantize->type, "QuantizeLinear") == 0 &&
          quantize->output_count == 1 && quantize->input_count >= 2 && quantize->input_count <= 3;
    if (!*is) {
        return NULL;
    }
    ort_status *status = gops_ort_value_tensor(runtime, quantize->outputs[0], &output, &known);
    if (status == NULL) {
        status = gops_ort_read_scalars(runtime, quantize->inputs[1],
                                       quantize->input_count > 2 ? quantize->inputs[2] : NULL,
                                       output.type, &scale, &zero_point, is);
    }
    *is = *is && status == NULL && output.type == by->input.type &&
          scale == gops_ort_only_scale(by) && zero_point == gops_ort_only_zero_point(by);
    return status;
}

static ort_status *add_qdq(const gops_ort_runtime *runtime, const gops_ort_graph *graph,
                           gops_ort_pool *pool, bool *serves)
{
    const gops_ort_node *node = pool->nodes[0];
    gops_ort_dequantized data;
    ort_status *status =
        gops_ort_read_dequantized(runtime, graph, node->input_names[0], node, &data, serves);
    if (status != NULL || !*serves || !gops_ort_has_one_scale(&data)) {
        *serves = false;
        return status;
    }
    gops_ort_node *quantize = gops_ort_only_reader(graph, node->output_names[0]);
    status = is_undone(runtime, quantize, &data, serves);
    if (*serves) {
        pool->type = data.input.type;
        pool->nodes[pool->node_count++] = data.node;
        pool->nodes[pool->node_count++] = quantize;
    }
    return status;
}

ort_status *gops_ort_pool_claim(const gops_ort_runtime *runtime, const gops_ort_graph *graph,
                                gops_ort_node *node, gops_ort_pool *pool, bool *serves)
{
    gops_tensor data;
    bool known;
    *serves = strcmp(node->type, "MaxPool") == 0 && node->input_count == 1 &&
              node->output_count == 1 && node->inputs[0] != NULL && !graph->nested;
    if (!*serves) {
        return NULL;
    }
    ort_status *status = gops_ort_value_tensor(runtime, node->inputs[0], &data, &known);
    *pool = (gops_ort_pool){.nodes = {node}, .node_count = 1, .type = data.type};
    *serves = status == NULL && known && data.rank == 2 + GOPS_ORT_POOL_AXES;
    if (!*serves) {
        return status;
    }
    for (int axis = Y; axis <= X; axis++) {
        pool->data[axis] = data.dims[2 + axis];
    }
    status = read_attributes(runtime, node, pool, serves);
    if (status == NULL && *serves && data.type == GOPS_F32) {
        return add_qdq(runtime, graph, pool, serves);
    }
    *serves = *serves && gops_ort_is_8_bit(data.type);
    return status;
}
