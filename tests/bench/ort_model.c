/* ort_model.c: writes the protobuf messages of onnx.proto3 that a model of one operation needs. */
#include "ort_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Field numbers of the messages, and what some of the fields hold. */
enum {
    MODEL_IR_VERSION = 1,
    MODEL_GRAPH = 7,
    MODEL_OPSET = 8,
    OPSET_VERSION = 2,
    GRAPH_NODE = 1,
    GRAPH_NAME = 2,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    NODE_INPUT = 1,
    NODE_OUTPUT = 2,
    NODE_OP_TYPE = 4,
    NODE_ATTRIBUTE = 5,
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_F = 2,
    ATTRIBUTE_I = 3,
    ATTRIBUTE_INTS = 8,
    ATTRIBUTE_TYPE = 20,
    TENSOR_DIMS = 1,
    TENSOR_DATA_TYPE = 2,
    TENSOR_NAME = 8,
    TENSOR_RAW_DATA = 9,
    VALUE_NAME = 1,
    VALUE_TYPE = 2,
    TYPE_TENSOR = 1,
    TENSOR_TYPE_ELEMENT = 1,
    TENSOR_TYPE_SHAPE = 2,
    SHAPE_DIM = 1,
    DIM_VALUE = 1,

    IR_VERSION = 10,
    OPSET = 21,
    ELEMENT_FLOAT = 1,
    TYPE_FLOAT = 1,
    TYPE_INT = 2,
    TYPE_INTS = 7,
    WIRE_VARINT = 0,
    WIRE_BYTES = 2,
    WIRE_FIXED32 = 5,
};

static void append(gops_ort_bytes *to, const void *bytes, size_t size)
{
    if (to->size + size > to->capacity) {
        const size_t capacity = (to->size + size) * 2;
        uint8_t *larger = realloc(to->bytes, capacity);
        if (larger == NULL) {
            to->out_of_memory = true;
            return;
        }
        to->bytes = larger;
        to->capacity = capacity;
    }
    memcpy(to->bytes + to->size, bytes, size);
    to->size += size;
}

static void put_varint(gops_ort_bytes *to, uint64_t value)
{
    uint8_t byte;
    for (; value >= 0x80; value >>= 7) {
        byte = (uint8_t)(value | 0x80);
        append(to, &byte, 1);
    }
    byte = (uint8_t)value;
    append(to, &byte, 1);
}

static void put_integer(gops_ort_bytes *to, unsigned field, int64_t value)
{
    put_varint(to, field << 3 | WIRE_VARINT);
    put_varint(to, (uint64_t)value);
}

static void put_bytes(gops_ort_bytes *to, unsigned field, const void *bytes, size_t size)
{
    put_varint(to, field << 3 | WIRE_BYTES);
    put_varint(to, size);
    append(to, bytes, size);
}

static void put_text(gops_ort_bytes *to, unsigned field, const char *text)
{
    put_bytes(to, field, text, strlen(text));
}

/* Puts a message into another one, and releases it. */
static void put_message(gops_ort_bytes *to, unsigned field, gops_ort_bytes *message)
{
    put_bytes(to, field, message->size != 0 ? message->bytes : (const uint8_t *)"", message->size);
    to->out_of_memory = to->out_of_memory || message->out_of_memory;
    gops_ort_bytes_release(message);
}

void gops_ort_bytes_release(gops_ort_bytes *bytes)
{
    free(bytes->bytes);
    *bytes = (gops_ort_bytes){NULL, 0, 0, false};
}

static void put_attribute_integer(gops_ort_bytes *node, const char *name, int64_t value)
{
    gops_ort_bytes attribute = {0};
    put_text(&attribute, ATTRIBUTE_NAME, name);
    put_integer(&attribute, ATTRIBUTE_I, value);
    put_integer(&attribute, ATTRIBUTE_TYPE, TYPE_INT);
    put_message(node, NODE_ATTRIBUTE, &attribute);
}

static void put_attribute_real(gops_ort_bytes *node, const char *name, float value)
{
    gops_ort_bytes attribute = {0};
    put_text(&attribute, ATTRIBUTE_NAME, name);
    put_varint(&attribute, ATTRIBUTE_F << 3 | WIRE_FIXED32);
    append(&attribute, &value, sizeof value); /* lowest byte first, as this machine has it */
    put_integer(&attribute, ATTRIBUTE_TYPE, TYPE_FLOAT);
    put_message(node, NODE_ATTRIBUTE, &attribute);
}

static void put_attribute_lists(gops_ort_bytes *node, const char *name, const gops_list *first,
                                const gops_list *second)
{
    gops_ort_bytes attribute = {0};
    put_text(&attribute, ATTRIBUTE_NAME, name);
    for (int i = 0; i < first->count; i++) {
        put_integer(&attribute, ATTRIBUTE_INTS, first->values[i]);
    }
    for (int i = 0; second != NULL && i < second->count; i++) {
        put_integer(&attribute, ATTRIBUTE_INTS, second->values[i]);
    }
    put_integer(&attribute, ATTRIBUTE_TYPE, TYPE_INTS);
    put_message(node, NODE_ATTRIBUTE, &attribute);
}

static void put_attributes(gops_ort_bytes *node, const gops_peer_problem *problem)
{
    if (problem->operation->bit == GOPS_OF_NORM) {
        put_attribute_integer(node, "num_groups", problem->groups);
        put_attribute_real(node, "epsilon", (float)problem->settings.epsilon);
        return;
    }
    put_attribute_integer(node, "group", problem->groups);
    put_attribute_lists(node, "kernel_shape", &problem->kernel, NULL);
    put_attribute_lists(node, "strides", &problem->strides, NULL);
    put_attribute_lists(node, "dilations", &problem->dilations, NULL);
    put_attribute_lists(node, "pads", &problem->pads_begin, &problem->pads_end);
    if (problem->operation->bit == GOPS_OF_DECONV) {
        put_attribute_lists(node, "output_padding", &problem->output_padding, NULL);
    }
}

static void put_nodes(gops_ort_bytes *graph, const gops_peer_problem *problem, int depth)
{
    static const char *const types[] = {"Conv", "ConvTranspose", "GroupNormalization"};
    const unsigned bit = problem->operation->bit;
    const char *type = types[bit == GOPS_OF_CONV ? 0 : bit == GOPS_OF_DECONV ? 1 : 2];
    char from[16] = GOPS_ORT_INPUT;
    char to[16];
    for (int i = 0; i < depth; i++) {
        gops_ort_bytes node = {0};
        snprintf(to, sizeof to, i + 1 == depth ? GOPS_ORT_OUTPUT : "t%d", i);
        put_text(&node, NODE_INPUT, from);
        for (int input = 1; input < problem->operation->inputs; input++) {
            put_text(&node, NODE_INPUT, problem->operation->input_names[input]);
        }
        put_text(&node, NODE_OUTPUT, to);
        put_text(&node, NODE_OP_TYPE, type);
        put_attributes(&node, problem);
        put_message(graph, GRAPH_NODE, &node);
        memcpy(from, to, sizeof from);
    }
}

/* A convolution's filter has the groups in its first axis (Conv: outputs, ConvTranspose: inputs).
 */
static void put_constant(gops_ort_bytes *graph, const gops_peer_problem *problem, int input)
{
    const gops_tensor *tensor = &problem->inputs[input];
    gops_ort_bytes constant = {0};
    size_t count = 1;
    const int first = tensor->rank > 1 ? 1 : 0;
    for (int i = first; i < tensor->rank; i++) {
        const int64_t dim = tensor->dims[i] * (i == 1 && first == 1 ? tensor->dims[0] : 1);
        put_integer(&constant, TENSOR_DIMS, dim);
        count *= (size_t)dim;
    }
    put_integer(&constant, TENSOR_DATA_TYPE, ELEMENT_FLOAT);
    put_text(&constant, TENSOR_NAME, problem->operation->input_names[input]);
    put_bytes(&constant, TENSOR_RAW_DATA, problem->values[input], count * sizeof(float));
    put_message(graph, GRAPH_INITIALIZER, &constant);
}

static void put_value(gops_ort_bytes *graph, unsigned field, const char *name,
                      const gops_tensor *tensor)
{
    gops_ort_bytes shape = {0};
    gops_ort_bytes tensor_type = {0};
    gops_ort_bytes type = {0};
    gops_ort_bytes value = {0};
    for (int i = 0; i < tensor->rank; i++) {
        gops_ort_bytes dim = {0};
        put_integer(&dim, DIM_VALUE, tensor->dims[i]);
        put_message(&shape, SHAPE_DIM, &dim);
    }
    put_integer(&tensor_type, TENSOR_TYPE_ELEMENT, ELEMENT_FLOAT);
    put_message(&tensor_type, TENSOR_TYPE_SHAPE, &shape);
    put_message(&type, TYPE_TENSOR, &tensor_type);
    put_text(&value, VALUE_NAME, name);
    put_message(&value, VALUE_TYPE, &type);
    put_message(graph, field, &value);
}

bool gops_ort_model(const gops_peer_problem *problem, int depth, gops_ort_bytes *model)
{
    gops_ort_bytes graph = {0};
    gops_ort_bytes opset = {0};
    *model = (gops_ort_bytes){NULL, 0, 0, false};
    put_nodes(&graph, problem, depth);
    put_text(&graph, GRAPH_NAME, "layer");
    for (int input = 1; input < problem->operation->inputs; input++) {
        put_constant(&graph, problem, input);
    }
    put_value(&graph, GRAPH_INPUT, GOPS_ORT_INPUT, &problem->inputs[0]);
    put_value(&graph, GRAPH_OUTPUT, GOPS_ORT_OUTPUT, &problem->output);
    put_integer(&opset, OPSET_VERSION, OPSET);
    put_integer(model, MODEL_IR_VERSION, IR_VERSION);
    put_message(model, MODEL_GRAPH, &graph);
    put_message(model, MODEL_OPSET, &opset);
    if (model->out_of_memory) {
        gops_ort_bytes_release(model);
        return false;
    }
    return true;
}
