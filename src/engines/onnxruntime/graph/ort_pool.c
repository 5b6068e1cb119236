/* ort_pool.c: claims MaxPool of 8-bit integers. */
#include "engines/onnxruntime/graph/ort_pool.h"

#include "engines/onnxruntime/graph/ort_attributes.h"
#include "engines/onnxruntime/graph/ort_linear.h"
#include "engines/onnxruntime/graph/ort_quantized.h"

#include <math.h>
#include <string.h>

enum { Y, X };

/* Every window holds an element: ONNX has pads below the kernel, and one that ceil_mode adds must begin in the data. */
static bool set_axis(gops_ort_pool *pool, int axis, bool ceil_mode)
{
    const gops_ort_window *window = &pool->window;
    const int64_t kernel = window->kernel[axis], in = pool->in[axis];
    if (window->pads_end[axis] >= kernel || in < 1 || kernel > GOPS_ORT_MAX_BYTES ||
        in > GOPS_ORT_MAX_BYTES) {
        return false;
    }
    const int64_t out = gops_ort_count_windows(window, axis, in, ceil_mode);
    pool->out[axis] = out;
    return out > 0 &&
           gops_ort_begin_within(in, out, window->strides[axis], window->pads_begin[axis]);
}

static ort_status *read_attributes(const gops_ort_runtime *runtime, const gops_ort_node *node,
                                   gops_ort_pool *pool, bool *serves)
{
    gops_ort_attributes from = {runtime, node, NULL, false};
    int64_t ceil_mode = 0;
    ort_status *status = gops_ort_read_window(runtime, node, &pool->window, serves);
    if (status != NULL || !*serves) {
        return status;
    }
    gops_ort_attribute_int(&from, "ceil_mode", &ceil_mode);
    *serves = from.status == NULL && !from.malformed && set_axis(pool, Y, ceil_mode != 0) &&
              set_axis(pool, X, ceil_mode != 0);
    return from.status;
}

static ort_status *add_qdq(const gops_ort_graph *graph, gops_ort_claim *claim, bool *serves)
{
    const gops_ort_node *node = claim->nodes[0];
    gops_ort_dequantized data;
    ort_status *status =
        gops_ort_read_dequantized(graph, node->input_names[0], node, &data, serves);
    const float most = 255; /* the largest difference from a zero point */
    if (status != NULL || !*serves || !gops_ort_has_one_scale(&data) ||
        !isfinite(gops_ort_only_scale(&data) * most)) {
        *serves = false;
        return status;
    }
    const gops_ort_operation *by = &claim->operation;
    gops_ort_take_input(claim, GOPS_ORT_DATA, &data);
    status = gops_ort_claim_quantize(graph, claim, serves);
    *serves = *serves && status == NULL && by->output_type == data.input.type &&
              by->quantization.output_scale == gops_ort_only_scale(&data) &&
              by->quantization.output_zero_point == gops_ort_only_zero_point(&data);
    /* It is no convolution. */
    claim->operation = (gops_ort_operation){.types = {[GOPS_ORT_DATA] = data.input.type}};
    if (*serves) {
        status =
            gops_ort_serve_writer(graph, claim->inputs[GOPS_ORT_DATA], data.input.type, serves);
        if (status == NULL) {
            status = gops_ort_serve_readers(graph, claim->output, data.input.type, serves);
        }
    }
    return status;
}

ort_status *gops_ort_pool_claim(const gops_ort_graph *graph, gops_ort_node *node,
                                gops_ort_claim *claim, gops_ort_pool *pool, bool *serves)
{
    gops_tensor data;
    bool known;
    *serves = strcmp(node->type, "MaxPool") == 0 && node->input_count == 1 &&
              node->output_count == 1 && node->inputs[0] != NULL;
    if (!*serves) {
        return NULL;
    }
    ort_status *status = gops_ort_value_tensor(graph->runtime, node->inputs[0], &data, &known);
    *claim = (gops_ort_claim){.operation = {.types = {[GOPS_ORT_DATA] = data.type}},
                              .nodes = {node},
                              .node_count = 1,
                              .inputs = {[GOPS_ORT_DATA] = node->input_names[0]},
                              .infos = {[GOPS_ORT_DATA] = node->inputs[0]},
                              .output = node->output_names[0]};
    *serves = status == NULL && known && data.rank == 2 + GOPS_ORT_WINDOW_AXES;
    if (!*serves) {
        return status;
    }
    for (int axis = Y; axis <= X; axis++) {
        pool->in[axis] = data.dims[2 + axis];
    }
    status = read_attributes(graph->runtime, node, pool, serves);
    if (status == NULL && *serves && data.type == GOPS_F32) {
        return add_qdq(graph, claim, serves);
    }
    *serves = *serves && gops_ort_is_8_bit(data.type);
    return status;
}
