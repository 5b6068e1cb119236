/* ort_batch.c: which of a graph's values have its images. */
#include "engines/onnxruntime/graph/ort_operation.h"

#include <string.h>

static bool is_pool(const gops_ort_node *node)
{
    return strcmp(node->type, "MaxPool") == 0;
}

/* The data of a node: of integers what a DequantizeLinear in front of it reads, as a claim does. */
static const ort_value_info *data_of(const gops_ort_graph *graph, const gops_ort_node *node)
{
    const gops_ort_node *writer = gops_ort_writer(graph, node->input_names[0]);
    const bool is_quantized = writer != NULL && strcmp(writer->type, "DequantizeLinear") == 0 &&
                              writer->input_count > 0 && writer->inputs[0] != NULL;
    return is_quantized ? writer->inputs[0] : node->inputs[0];
}

static ort_status *read_batch(gops_ort_graph *graph, const ort_value_info *data)
{
    gops_tensor tensor;
    bool known = false;
    ort_status *status = gops_ort_value_batch(graph->runtime, data, &graph->batch);
    if (status == NULL && graph->batch == NULL) {
        status = gops_ort_value_tensor(graph->runtime, data, &tensor, &known);
    }
    if (known && tensor.rank > 0 && tensor.dims[0] > 0) {
        graph->images = tensor.dims[0];
    }
    return status;
}

/* The first of the operations whose batch is known decides: other values, as the boxes that a detector found, may be
 * open in models whose images are not. A region has one of these operations, or pools, and values of one batch. */
ort_status *gops_ort_find_batch(gops_ort_graph *graph)
{
    bool (*const deciding[])(const gops_ort_node *node) = {gops_ort_is_operation, is_pool};
    ort_status *status = NULL;
    for (size_t k = 0; k < sizeof deciding / sizeof deciding[0]; k++) {
        for (size_t i = 0;
             i < graph->node_count && status == NULL && graph->batch == NULL && graph->images == 0;
             i++) {
            const gops_ort_node *node = &graph->nodes[i];
            if (deciding[k](node) && node->input_count > 0 && node->inputs[0] != NULL) {
                status = read_batch(graph, data_of(graph, node));
            }
        }
    }
    return status;
}
