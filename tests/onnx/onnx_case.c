/* onnx_case.c: loads a case: the graph's one operator, and its inputs from files, initializers and
 * constants. */
#include "onnx_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elements.h"
#include "guarded_memory.h"

static const char *const kind_names[GOPS_ONNX_KINDS] = {
    [GOPS_ONNX_CONV] = "Conv",
    [GOPS_ONNX_CONV_TRANSPOSE] = "ConvTranspose",
    [GOPS_ONNX_CONV_INTEGER] = "ConvInteger",
    [GOPS_ONNX_QLINEAR_CONV] = "QLinearConv",
    [GOPS_ONNX_GROUP_NORMALIZATION] = "GroupNormalization",
};

const char *gops_onnx_kind_name(gops_onnx_kind kind)
{
    return kind_names[kind];
}

static bool find_kind(const gops_onnx_node *node, gops_onnx_kind *kind)
{
    if (node->domain.size != 0 && !gops_onnx_equal(node->domain, "ai.onnx"))
        return false;
    for (int k = 0; k < GOPS_ONNX_KINDS; k++) {
        if (gops_onnx_equal(node->op_type, kind_names[k])) {
            *kind = (gops_onnx_kind)k;
            return true;
        }
    }
    return false;
}

bool gops_onnx_look(gops_onnx_bytes graph, gops_onnx_content *content)
{
    *content = (gops_onnx_content){0};
    gops_onnx_bytes message;
    gops_onnx_step step;
    while ((step = gops_onnx_next_bytes(&graph, GOPS_ONNX_GRAPH_NODE, &message)) ==
           GOPS_ONNX_FOUND) {
        gops_onnx_node node;
        if (!gops_onnx_read_node(message, &node))
            return false;
        if (find_kind(&node, &content->kind)) {
            content->operators++;
            content->node = node;
        } else if (!gops_onnx_equal(node.op_type, "Constant")) {
            content->others++;
        }
    }
    return step == GOPS_ONNX_END;
}

gops_onnx_bytes gops_onnx_read_file(const char *path)
{
    gops_onnx_bytes bytes = {NULL, 0};
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return bytes;
    long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (size >= 0 && fseek(file, 0, SEEK_SET) == 0) {
        uint8_t *memory = gops_test_allocate((size_t)size + 1);
        if (fread(memory, 1, (size_t)size, file) == (size_t)size)
            bytes = (gops_onnx_bytes){memory, (size_t)size};
        else
            free(memory);
    }
    fclose(file);
    return bytes;
}

static bool decode(gops_onnx_bytes message, gops_onnx_array *array)
{
    gops_onnx_tensor tensor;
    if (!gops_onnx_read_tensor(message, &tensor))
        return false;
    array->tensor = tensor.tensor;
    array->count = tensor.count;
    array->values = gops_test_allocate(tensor.count * gops_test_type_bytes(tensor.tensor.type) + 1);
    gops_onnx_tensor_values(&tensor, array->values);
    return true;
}

static bool load_file(const char *folder, const char *stem, int number, gops_onnx_array *array,
                      char *why)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s_%d.pb", folder, stem, number);
    gops_onnx_bytes file = gops_onnx_read_file(path);
    bool good = file.at != NULL && decode(file, array);
    if (!good)
        snprintf(why, GOPS_ONNX_WHY, "%s_%d.pb: %s", stem, number,
                 file.at == NULL ? "cannot be read" : "not a tensor of a type that is read here");
    free((void *)file.at);
    return good;
}

static bool same_name(gops_onnx_bytes a, gops_onnx_bytes b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.at, b.at, a.size) == 0);
}

/* The initializer of that name as a TensorProto. */
static bool find_initializer(gops_onnx_bytes graph, gops_onnx_bytes name, gops_onnx_bytes *message)
{
    while (gops_onnx_next_bytes(&graph, GOPS_ONNX_GRAPH_INITIALIZER, message) == GOPS_ONNX_FOUND) {
        gops_onnx_tensor tensor;
        if (gops_onnx_read_tensor(*message, &tensor) && same_name(tensor.name, name))
            return true;
    }
    return false;
}

/* The value of the Constant node with that output, as a TensorProto. */
static bool find_constant(gops_onnx_bytes graph, gops_onnx_bytes name, gops_onnx_bytes *message)
{
    gops_onnx_bytes node_message;
    while (gops_onnx_next_bytes(&graph, GOPS_ONNX_GRAPH_NODE, &node_message) == GOPS_ONNX_FOUND) {
        gops_onnx_node node;
        gops_onnx_attribute value;
        if (gops_onnx_read_node(node_message, &node) && gops_onnx_equal(node.op_type, "Constant") &&
            same_name(node.output, name) &&
            gops_onnx_find_attribute(&node, "value", GOPS_ONNX_TENSOR, &value) == GOPS_ONNX_FOUND) {
            *message = value.t;
            return true;
        }
    }
    return false;
}

/* The number of the input_N.pb that stands for the graph's input of that name, -1 for none. Models
 * of IR version 3 list their initializers among the inputs, and those have no file. */
static int find_graph_input(gops_onnx_bytes graph, gops_onnx_bytes name)
{
    enum { VALUE_INFO_NAME = 1 };
    gops_onnx_bytes rest = graph, value_info, input, initializer;
    int number = 0;
    while (gops_onnx_next_bytes(&rest, GOPS_ONNX_GRAPH_INPUT, &value_info) == GOPS_ONNX_FOUND) {
        if (gops_onnx_next_bytes(&value_info, VALUE_INFO_NAME, &input) != GOPS_ONNX_FOUND)
            return -1;
        if (find_initializer(graph, input, &initializer))
            continue;
        if (same_name(input, name))
            return number;
        number++;
    }
    return -1;
}

static bool load_input(gops_onnx_bytes graph, gops_onnx_bytes name, const char *folder,
                       gops_onnx_array *array, char *why)
{
    gops_onnx_bytes message;
    if (find_initializer(graph, name, &message) || find_constant(graph, name, &message)) {
        bool good = decode(message, array);
        if (!good)
            snprintf(why, GOPS_ONNX_WHY, "a constant that is not read here");
        return good;
    }
    int number = find_graph_input(graph, name);
    if (number < 0) {
        snprintf(why, GOPS_ONNX_WHY, "input \"%.*s\" comes from nowhere",
                 (int)(name.size < 99 ? name.size : 99), (const char *)name.at);
        return false;
    }
    return load_file(folder, "input", number, array, why);
}

bool gops_onnx_case_load(const char *name, const gops_onnx_model *model,
                         const gops_onnx_content *content, const char *folder,
                         gops_onnx_case *loaded, char why[GOPS_ONNX_WHY])
{
    *loaded = (gops_onnx_case){
        .name = name, .kind = content->kind, .opset = model->opset, .node = content->node};
    if (content->node.input_count > GOPS_ONNX_MAX_INPUTS) {
        snprintf(why, GOPS_ONNX_WHY, "%d inputs", content->node.input_count);
        return false;
    }
    for (int i = 0; i < content->node.input_count; i++) {
        gops_onnx_bytes input = content->node.inputs[i];
        if (input.size != 0 && !load_input(model->graph, input, folder, &loaded->inputs[i], why))
            return false;
    }
    return load_file(folder, "output", 0, &loaded->output, why);
}

void gops_onnx_case_free(gops_onnx_case *loaded)
{
    for (int i = 0; i < GOPS_ONNX_MAX_INPUTS; i++)
        free(loaded->inputs[i].values);
    free(loaded->output.values);
}
