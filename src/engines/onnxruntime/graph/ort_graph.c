/* ort_graph.c: reads the runtime's graph. */
#include "engines/onnxruntime/graph/ort_graph.h"

#include <stdlib.h>
#include <string.h>

/* Of uses or outputs, which both begin with the name of their value. */
static int compare_values(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Allocates `count` value infos and their names together, at *infos. */
static bool make_values(size_t count, const ort_value_info ***infos, const char ***names)
{
    void **memory = calloc(count * 2 + 1, sizeof *memory);
    *infos = (const ort_value_info **)(void *)memory;
    *names = (const char **)(void *)(memory != NULL ? memory + count : NULL);
    return memory != NULL;
}

ort_status *gops_ort_value_names(const gops_ort_runtime *runtime,
                                 const ort_value_info *const *infos, size_t count,
                                 const char **names)
{
    for (size_t i = 0; i < count; i++) {
        names[i] = "";
        if (infos[i] != NULL) {
            ort_status *status = runtime->api->get_value_name(infos[i], &names[i]);
            if (status != NULL) {
                return status;
            }
        }
    }
    return NULL;
}

/* Inputs, and behind them the values that graphs within the node read. */
static ort_status *read_values(const gops_ort_runtime *runtime, gops_ort_node *node)
{
    const ort_api *api = runtime->api;
    size_t own = 0, implicit = 0;
    ort_status *status;
    if ((status = api->node_input_count(node->handle, &own)) != NULL ||
        (status = api->node_implicit_count(node->handle, &implicit)) != NULL ||
        (status = api->node_output_count(node->handle, &node->output_count)) != NULL) {
        return status;
    }
    node->input_count = own + implicit;
    if (!make_values(node->input_count, &node->inputs, &node->input_names) ||
        !make_values(node->output_count, &node->outputs, &node->output_names)) {
        return gops_ort_no_memory(runtime, "a graph");
    }
    if ((status = api->node_inputs(node->handle, node->inputs, own)) != NULL ||
        (status = api->node_implicits(node->handle, node->inputs + own, implicit)) != NULL ||
        (status = api->node_outputs(node->handle, node->outputs, node->output_count)) != NULL ||
        (status = gops_ort_value_names(runtime, node->inputs, node->input_count,
                                       node->input_names)) != NULL) {
        return status;
    }
    return gops_ort_value_names(runtime, node->outputs, node->output_count, node->output_names);
}

/* Operators on integers that ONNX lacks. */
static bool is_quantized(const char *type)
{
    static const char *const types[] = {"QLinearAdd",
                                        "QLinearConcat",
                                        "QLinearMul",
                                        "QLinearSigmoid",
                                        "QLinearLeakyRelu",
                                        "QLinearAveragePool",
                                        "QLinearGlobalAveragePool"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(type, types[i]) == 0) {
            return true;
        }
    }
    return false;
}

#define QUANTIZES "QuantizeLinear"
#define DEQUANTIZES "DequantizeLinear"
#define MICROSOFT "com.microsoft"

/* By what name we know an operator; "" of all that we do not. */
static const char *known_type(const char *domain, const char *type)
{
    if (domain[0] == '\0' || strcmp(domain, "ai.onnx") == 0) {
        return type;
    }
    if (strcmp(domain, MICROSOFT) != 0) {
        return "";
    }
    return is_quantized(type)               ? type
           : strcmp(type, QUANTIZES) == 0   ? MICROSOFT "." QUANTIZES
           : strcmp(type, DEQUANTIZES) == 0 ? MICROSOFT "." DEQUANTIZES
                                            : "";
}

bool gops_ort_quantizes(const gops_ort_node *node)
{
    return node != NULL &&
           (strcmp(node->type, QUANTIZES) == 0 || strcmp(node->type, MICROSOFT "." QUANTIZES) == 0);
}

bool gops_ort_bounds(const gops_ort_node *node)
{
    return node != NULL && (strcmp(node->type, "Relu") == 0 || strcmp(node->type, "Clip") == 0);
}

bool gops_ort_dequantizes(const gops_ort_node *node)
{
    return node != NULL && (strcmp(node->type, DEQUANTIZES) == 0 ||
                            strcmp(node->type, MICROSOFT "." DEQUANTIZES) == 0);
}

static ort_status *read_node(const gops_ort_runtime *runtime, gops_ort_node *node)
{
    const ort_api *api = runtime->api;
    const char *domain = "";
    ort_status *status;
    if ((status = api->node_name(node->handle, &node->name)) != NULL ||
        (status = api->node_type(node->handle, &node->type)) != NULL ||
        (status = api->node_domain(node->handle, &domain)) != NULL ||
        (status = api->node_version(node->handle, &node->version)) != NULL) {
        return status;
    }
    node->type = known_type(domain, node->type);
    return read_values(runtime, node);
}

static ort_status *read_nodes(const gops_ort_runtime *runtime, const ort_graph *from,
                              gops_ort_graph *graph)
{
    size_t count = 0;
    ort_status *status = runtime->api->graph_node_count(from, &count);
    if (status != NULL) {
        return status;
    }
    const ort_node **handles = calloc(count + 1, sizeof *handles);
    graph->nodes = calloc(count + 1, sizeof *graph->nodes);
    if (handles == NULL || graph->nodes == NULL) {
        free(handles);
        return gops_ort_no_memory(runtime, "a graph");
    }
    graph->node_count = count;
    status = runtime->api->graph_nodes(from, handles, count);
    for (size_t i = 0; status == NULL && i < count; i++) {
        graph->nodes[i].handle = handles[i];
        status = read_node(runtime, &graph->nodes[i]);
    }
    free(handles);
    return status;
}

static ort_status *read_uses(const gops_ort_runtime *runtime, const ort_graph *from,
                             gops_ort_graph *graph)
{
    const ort_value_info **outputs;
    const char **names;
    size_t count = 0, inputs = 0;
    ort_status *status = runtime->api->graph_output_count(from, &count);
    if (status != NULL) {
        return status;
    }
    for (size_t i = 0; i < graph->node_count; i++) {
        inputs += graph->nodes[i].input_count;
    }
    gops_ort_use *uses = calloc(inputs + count + 1, sizeof *uses);
    graph->uses = uses;
    if (uses == NULL || !make_values(count, &outputs, &names)) {
        return gops_ort_no_memory(runtime, "a graph");
    }
    if ((status = runtime->api->graph_outputs(from, outputs, count)) == NULL &&
        (status = gops_ort_value_names(runtime, outputs, count, names)) == NULL) {
        for (size_t i = 0; i < count; i++) {
            uses[graph->use_count++] = (gops_ort_use){names[i], NULL};
        }
        for (size_t i = 0; i < graph->node_count; i++) {
            gops_ort_node *node = &graph->nodes[i];
            for (size_t input = 0; input < node->input_count; input++) {
                uses[graph->use_count++] = (gops_ort_use){node->input_names[input], node};
            }
        }
        qsort(uses, graph->use_count, sizeof *uses, compare_values);
    }
    free(outputs);
    return status;
}

static ort_status *sort_outputs(gops_ort_graph *graph)
{
    size_t count = 0;
    for (size_t i = 0; i < graph->node_count; i++) {
        count += graph->nodes[i].output_count;
    }
    gops_ort_output *outputs = calloc(count + 1, sizeof *outputs);
    graph->outputs = outputs;
    if (outputs == NULL) {
        return gops_ort_no_memory(graph->runtime, "a graph");
    }
    for (size_t i = 0; i < graph->node_count; i++) {
        gops_ort_node *node = &graph->nodes[i];
        for (size_t k = 0; k < node->output_count; k++) {
            outputs[graph->output_count++] = (gops_ort_output){node->output_names[k], node};
        }
    }
    qsort(outputs, graph->output_count, sizeof *outputs, compare_values);
    return NULL;
}

ort_status *gops_ort_graph_read(const gops_ort_runtime *runtime, const ort_graph *from,
                                gops_ort_graph *graph)
{
    *graph = (gops_ort_graph){.runtime = runtime};
    ort_status *status = read_nodes(runtime, from, graph);
    if (status == NULL) {
        status = read_uses(runtime, from, graph);
    }
    if (status == NULL) {
        status = sort_outputs(graph);
    }
    if (status == NULL) {
        status = gops_ort_find_batch(graph);
    }
    if (status == NULL) {
        status = gops_ort_misjudges(graph, from, &graph->misjudged);
    }
    if (status != NULL) {
        gops_ort_graph_free(graph);
    }
    return status;
}

void gops_ort_graph_free(gops_ort_graph *graph)
{
    for (size_t i = 0; i < graph->node_count; i++) {
        free(graph->nodes[i].inputs);
        free(graph->nodes[i].outputs);
    }
    free(graph->nodes);
    free(graph->uses);
    free(graph->outputs);
    *graph = (gops_ort_graph){0};
}

const gops_ort_use *gops_ort_uses(const gops_ort_graph *graph, const char *value, size_t *count)
{
    size_t low = 0, high = graph->use_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (strcmp(graph->uses[middle].value, value) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *count = 0;
    while (low + *count < graph->use_count && strcmp(graph->uses[low + *count].value, value) == 0) {
        ++*count;
    }
    return &graph->uses[low];
}

gops_ort_node *gops_ort_only_reader(const gops_ort_graph *graph, const char *value)
{
    size_t count;
    const gops_ort_use *use = gops_ort_uses(graph, value, &count);
    if (count != 1 || use->reader == NULL || use->reader->claimed) {
        return NULL;
    }
    return use->reader;
}

gops_ort_node *gops_ort_writer(const gops_ort_graph *graph, const char *value)
{
    const gops_ort_output *found = bsearch(&value, graph->outputs, graph->output_count,
                                           sizeof *graph->outputs, compare_values);
    return value[0] != '\0' && found != NULL ? found->writer : NULL;
}

gops_ort_node *gops_ort_only_writer(const gops_ort_graph *graph, const char *value,
                                    const char *type, const gops_ort_node *reader)
{
    gops_ort_node *writer = gops_ort_writer(graph, value);
    if (writer == NULL || writer->claimed || writer->output_count != 1 ||
        strcmp(writer->type, type) != 0 || gops_ort_only_reader(graph, value) != reader) {
        return NULL;
    }
    return writer;
}

ort_status *gops_ort_is_reshape(const gops_ort_runtime *runtime, const gops_ort_node *node,
                                bool *is)
{
    *is = node != NULL && strcmp(node->type, "Reshape") == 0 && node->input_count == 2 &&
          node->inputs[1] != NULL;
    return *is ? runtime->api->is_constant_initializer(node->inputs[1], is) : NULL;
}
