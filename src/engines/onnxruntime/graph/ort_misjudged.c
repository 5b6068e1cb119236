/*
 * ort_misjudged.c: shapes that the runtime infers otherwise than its own kernels make them.
 *
 * Regions are planned for the shapes that the runtime infers, and what is added is fused where they are those of
 * the sum. Where one differs from what comes, all behind it may, so such a graph has neither.
 */
#include "engines/onnxruntime/graph/ort_attributes.h"
#include "engines/onnxruntime/graph/ort_constant.h"
#include "engines/onnxruntime/graph/ort_window.h"

#include <math.h>
#include <string.h>

static bool is_same(gops_auto_pad auto_pad)
{
    return auto_pad == GOPS_AUTO_PAD_SAME_UPPER || auto_pad == GOPS_AUTO_PAD_SAME_LOWER;
}

/* With ceil_mode the kernel leaves out windows that begin on the padding behind the data; with SAME_UPPER and
 * SAME_LOWER it pads for a kernel without dilations. */
static ort_status *misjudges_pool(const gops_ort_runtime *runtime, const gops_ort_node *node,
                                  bool *does)
{
    gops_ort_attributes attributes = {runtime, node, NULL, false};
    gops_list strides = {0}, begin = {0}, end = {0}, dilations = {0};
    gops_auto_pad auto_pad = GOPS_AUTO_PAD_EXPLICIT;
    gops_tensor data, output;
    int64_t ceil_mode = 0;
    bool known = false;
    gops_ort_attribute_auto_pad(&attributes, &auto_pad);
    gops_ort_attribute_list(&attributes, "dilations", &dilations);
    for (int32_t i = 0; i < dilations.count; i++) {
        *does = *does || (is_same(auto_pad) && dilations.values[i] != 1);
    }
    gops_ort_attribute_int(&attributes, "ceil_mode", &ceil_mode);
    gops_ort_attribute_list(&attributes, "strides", &strides);
    gops_ort_attribute_pads(&attributes, &begin, &end);
    ort_status *status = attributes.status;
    if (status == NULL && ceil_mode != 0 && node->inputs[0] != NULL && node->outputs[0] != NULL) {
        status = gops_ort_value_tensor(runtime, node->inputs[0], &data, &known);
    }
    if (status == NULL && known) {
        status = gops_ort_value_tensor(runtime, node->outputs[0], &output, &known);
    }
    for (int32_t i = 0; status == NULL && known && i + 2 < data.rank && i + 2 < output.rank; i++) {
        const int64_t stride = i < strides.count ? strides.values[i] : 1;
        const int64_t pad = i < begin.count ? begin.values[i] : 0;
        *does = *does || !gops_ort_begin_within(data.dims[2 + i], output.dims[2 + i], stride, pad);
    }
    return status;
}

/* With SAME_UPPER and SAME_LOWER the kernel leaves out output_padding. The shape ends before the first axis on which
 * `output_shape` is smaller than the data. */
static ort_status *misjudges_deconv(const gops_ort_runtime *runtime, const gops_ort_node *node,
                                    bool *does)
{
    gops_ort_attributes attributes = {runtime, node, NULL, false};
    gops_auto_pad auto_pad = GOPS_AUTO_PAD_EXPLICIT;
    gops_list padding = {0};
    gops_tensor data, output;
    bool known = false;
    gops_ort_attribute_auto_pad(&attributes, &auto_pad);
    gops_ort_attribute_list(&attributes, "output_padding", &padding);
    for (int32_t i = 0; i < padding.count; i++) {
        *does = *does || (is_same(auto_pad) && padding.values[i] != 0);
    }
    ort_status *status = attributes.status;
    if (status == NULL && node->inputs[0] != NULL && node->outputs[0] != NULL) {
        status = gops_ort_value_tensor(runtime, node->inputs[0], &data, &known);
    }
    if (status == NULL && known) {
        status = gops_ort_value_tensor(runtime, node->outputs[0], &output, &known);
    }
    *does = *does || (known && output.rank != data.rank);
    return status;
}

/* Whether some size times some scale is a float of another whole part than their product has. */
static bool differ(const gops_tensor *data, const float *scales, int64_t count)
{
    for (int32_t i = 0; i < data->rank; i++) {
        for (int64_t k = 0; k < count; k++) { /* `axes` may say which belongs to which */
            const float product = (float)data->dims[i] * scales[k];
            if (trunc((double)product) != trunc((double)data->dims[i] * (double)scales[k])) {
                return true;
            }
        }
    }
    return false;
}

/* The kernel of Resize and Upsample rounds that product. */
static ort_status *misjudges_resize(const gops_ort_runtime *runtime, const gops_ort_node *node,
                                    bool *does)
{
    const size_t place = strcmp(node->type, "Resize") == 0 && node->version >= 11 ? 2 : 1;
    gops_ort_constant scales;
    gops_tensor data;
    bool known = false;
    if (node->input_count <= place) {
        *does = place == 1; /* Upsample below version 9, whose scales are an attribute */
        return NULL;
    }
    ort_status *status = gops_ort_read_constant(runtime, node->inputs[place], &scales, &known);
    if (status == NULL && known && scales.tensor.type == GOPS_F32 && node->inputs[0] != NULL) {
        status = gops_ort_value_tensor(runtime, node->inputs[0], &data, &known);
        *does = status == NULL && known && differ(&data, scales.values, scales.count);
    }
    return status;
}

/* The graph around this one may have misjudged what its nodes read. */
static ort_status *reads_outer(const gops_ort_runtime *runtime, const gops_ort_node *node,
                               bool *does)
{
    ort_status *status = NULL;
    for (size_t i = 0; status == NULL && i < node->input_count && !*does; i++) {
        bool is_outer = false, is_constant = false;
        if (node->inputs[i] != NULL) {
            status = runtime->api->is_outer(node->inputs[i], &is_outer);
        }
        if (status == NULL && is_outer) {
            status = runtime->api->is_constant_initializer(node->inputs[i], &is_constant);
        }
        *does = is_outer && !is_constant;
    }
    return status;
}

/* What the body of a Scan is fed has the shapes of the graph around it. That of a Loop may declare shapes that only its
 * first iteration has. */
static ort_status *is_fed_by_outer(const gops_ort_runtime *runtime, const ort_graph *graph,
                                   bool *is)
{
    const ort_node *parent = NULL;
    const char *type = "";
    ort_status *status = runtime->api->graph_parent(graph, &parent);
    if (status == NULL && parent != NULL) {
        status = runtime->api->node_type(parent, &type);
    }
    *is = strcmp(type, "Scan") == 0 || strcmp(type, "Loop") == 0;
    return status;
}

ort_status *gops_ort_misjudges(const gops_ort_graph *graph, const ort_graph *from, bool *does)
{
    ort_status *status = is_fed_by_outer(graph->runtime, from, does);
    for (size_t i = 0; status == NULL && i < graph->node_count && !*does; i++) {
        const gops_ort_node *node = &graph->nodes[i];
        if (strstr(node->type, "Pool") != NULL && node->input_count > 0 && node->output_count > 0) {
            status = misjudges_pool(graph->runtime, node, does);
        } else if (strcmp(node->type, "ConvTranspose") == 0) {
            status = misjudges_deconv(graph->runtime, node, does);
        } else if (strcmp(node->type, "Resize") == 0 || strcmp(node->type, "Upsample") == 0) {
            status = misjudges_resize(graph->runtime, node, does);
        }
        if (status == NULL && !*does) {
            status = reads_outer(graph->runtime, node, does);
        }
    }
    return status;
}
