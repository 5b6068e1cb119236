/* onnx_builder.c: writes the protobuf messages of onnx.proto3 that a model is made of. */
#include "onnx_builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Field numbers of the messages, and what some of the fields hold. */
enum {
    MODEL_IR_VERSION = 1,
    MODEL_GRAPH = 7,
    MODEL_OPSET = 8,
    OPSET_DOMAIN = 1,
    OPSET_VERSION = 2,
    GRAPH_NODE = 1,
    GRAPH_NAME = 2,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    GRAPH_VALUE = 13,
    NODE_INPUT = 1,
    NODE_OUTPUT = 2,
    NODE_NAME = 3,
    NODE_OP_TYPE = 4,
    NODE_ATTRIBUTE = 5,
    NODE_DOMAIN = 7,
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_F = 2,
    ATTRIBUTE_I = 3,
    ATTRIBUTE_S = 4,
    ATTRIBUTE_G = 6,
    ATTRIBUTE_FLOATS = 7,
    ATTRIBUTE_INTS = 8,
    ATTRIBUTE_TYPE = 20,
    TENSOR_DIMS = 1,
    TENSOR_DATA_TYPE = 2,
    TENSOR_NAME = 8,
    TENSOR_RAW_DATA = 9,
    TENSOR_EXTERNAL_DATA = 13,
    TENSOR_DATA_LOCATION = 14,
    VALUE_NAME = 1,
    VALUE_TYPE = 2,
    TYPE_TENSOR = 1,
    TENSOR_TYPE_ELEMENT = 1,
    TENSOR_TYPE_SHAPE = 2,
    SHAPE_DIM = 1,
    DIM_VALUE = 1,
    DIM_PARAM = 2,

    IR_VERSION = 10,
    TYPE_FLOAT = 1,
    TYPE_INT = 2,
    TYPE_STRING = 3,
    TYPE_GRAPH = 5,
    TYPE_FLOATS = 6,
    TYPE_INTS = 7,
    WIRE_VARINT = 0,
    WIRE_BYTES = 2,
    WIRE_FIXED32 = 5,
};

static void append(gops_onnx_buffer *to, const void *bytes, size_t size)
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
    if (size > 0) {
        memcpy(to->bytes + to->size, bytes, size);
        to->size += size;
    }
}

static void put_varint(gops_onnx_buffer *to, uint64_t value)
{
    uint8_t byte;
    for (; value >= 0x80; value >>= 7) {
        byte = (uint8_t)(value | 0x80);
        append(to, &byte, 1);
    }
    byte = (uint8_t)value;
    append(to, &byte, 1);
}

static void put_integer(gops_onnx_buffer *to, unsigned field, int64_t value)
{
    put_varint(to, field << 3 | WIRE_VARINT);
    put_varint(to, (uint64_t)value);
}

static void put_bytes(gops_onnx_buffer *to, unsigned field, const void *bytes, size_t size)
{
    put_varint(to, field << 3 | WIRE_BYTES);
    put_varint(to, size);
    append(to, bytes, size);
}

static void put_text(gops_onnx_buffer *to, unsigned field, const char *text)
{
    put_bytes(to, field, text, strlen(text));
}

/* Puts a message into another one, and empties it. */
static void put_message(gops_onnx_buffer *to, unsigned field, gops_onnx_buffer *message)
{
    put_bytes(to, field, message->bytes, message->size);
    to->out_of_memory = to->out_of_memory || message->out_of_memory;
    free(message->bytes);
    *message = (gops_onnx_buffer){NULL, 0, 0, false};
}

static void end_node(gops_onnx_builder *builder)
{
    if (builder->node.size > 0) {
        put_message(&builder->graph, GRAPH_NODE, &builder->node);
    }
}

void gops_onnx_build(gops_onnx_builder *builder, int64_t opset)
{
    *builder = (gops_onnx_builder){.opset = opset};
    put_text(&builder->graph, GRAPH_NAME, "model");
}

static void put_value(gops_onnx_builder *builder, unsigned field, const char *name,
                      gops_onnx_element element, int rank, const int64_t *dims)
{
    gops_onnx_buffer shape = {0}, tensor_type = {0}, type = {0}, value = {0};
    end_node(builder);
    for (int i = 0; i < rank; i++) {
        gops_onnx_buffer dim = {0};
        if (dims[i] >= 0) {
            put_integer(&dim, DIM_VALUE, dims[i]);
        } else if (dims[i] == GOPS_ONNX_BATCH) {
            put_text(&dim, DIM_PARAM, "batch");
        }
        put_message(&shape, SHAPE_DIM, &dim);
    }
    put_integer(&tensor_type, TENSOR_TYPE_ELEMENT, element);
    if (rank >= 0) {
        put_message(&tensor_type, TENSOR_TYPE_SHAPE, &shape);
    }
    put_message(&type, TYPE_TENSOR, &tensor_type);
    put_text(&value, VALUE_NAME, name);
    put_message(&value, VALUE_TYPE, &type);
    put_message(&builder->graph, field, &value);
}

void gops_onnx_build_input(gops_onnx_builder *builder, const char *name, gops_onnx_element element,
                           int rank, const int64_t *dims)
{
    put_value(builder, GRAPH_INPUT, name, element, rank, dims);
}

void gops_onnx_build_output(gops_onnx_builder *builder, const char *name, gops_onnx_element element,
                            int rank, const int64_t *dims)
{
    put_value(builder, GRAPH_OUTPUT, name, element, rank, dims);
}

void gops_onnx_build_value(gops_onnx_builder *builder, const char *name, gops_onnx_element element,
                           int rank, const int64_t *dims)
{
    put_value(builder, GRAPH_VALUE, name, element, rank, dims);
}

void gops_onnx_build_constant(gops_onnx_builder *builder, const char *name,
                              gops_onnx_element element, int rank, const int64_t *dims,
                              const void *values, size_t bytes)
{
    gops_onnx_buffer constant = {0};
    end_node(builder);
    for (int i = 0; i < rank; i++) {
        put_integer(&constant, TENSOR_DIMS, dims[i]);
    }
    put_integer(&constant, TENSOR_DATA_TYPE, element);
    put_text(&constant, TENSOR_NAME, name);
    put_bytes(&constant, TENSOR_RAW_DATA, values, bytes);
    put_message(&builder->graph, GRAPH_INITIALIZER, &constant);
}

static void put_entry(gops_onnx_buffer *tensor, const char *key, const char *text)
{
    enum { KEY = 1, VALUE = 2 };
    gops_onnx_buffer entry = {0};
    put_text(&entry, KEY, key);
    put_text(&entry, VALUE, text);
    put_message(tensor, TENSOR_EXTERNAL_DATA, &entry);
}

void gops_onnx_build_external(gops_onnx_builder *builder, const char *name,
                              gops_onnx_element element, int rank, const int64_t *dims,
                              const char *file, int offset)
{
    enum { EXTERNAL = 1, NUMBER_BYTES = 16 };
    gops_onnx_buffer constant = {0};
    char number[NUMBER_BYTES];
    snprintf(number, sizeof number, "%d", offset);
    end_node(builder);
    for (int i = 0; i < rank; i++) {
        put_integer(&constant, TENSOR_DIMS, dims[i]);
    }
    put_integer(&constant, TENSOR_DATA_TYPE, element);
    put_text(&constant, TENSOR_NAME, name);
    put_entry(&constant, "location", file);
    put_entry(&constant, "offset", number);
    put_integer(&constant, TENSOR_DATA_LOCATION, EXTERNAL);
    put_message(&builder->graph, GRAPH_INITIALIZER, &constant);
}

void gops_onnx_build_node(gops_onnx_builder *builder, const char *type, const char *output,
                          const char *const *inputs, int count)
{
    end_node(builder);
    for (int i = 0; i < count; i++) {
        put_text(&builder->node, NODE_INPUT, inputs[i]);
    }
    put_text(&builder->node, NODE_OUTPUT, output);
    put_text(&builder->node, NODE_NAME, output);
    put_text(&builder->node, NODE_OP_TYPE, type);
}

void gops_onnx_build_more(gops_onnx_builder *builder, const char *output)
{
    put_text(&builder->node, NODE_OUTPUT, output);
}

void gops_onnx_build_domain(gops_onnx_builder *builder, const char *domain)
{
    put_text(&builder->node, NODE_DOMAIN, domain);
    builder->domain = domain;
}

void gops_onnx_build_int(gops_onnx_builder *builder, const char *name, int64_t value)
{
    gops_onnx_buffer attribute = {0};
    put_text(&attribute, ATTRIBUTE_NAME, name);
    put_integer(&attribute, ATTRIBUTE_I, value);
    put_integer(&attribute, ATTRIBUTE_TYPE, TYPE_INT);
    put_message(&builder->node, NODE_ATTRIBUTE, &attribute);
}

void gops_onnx_build_ints(gops_onnx_builder *builder, const char *name, const int64_t *values,
                          int count)
{
    gops_onnx_buffer attribute = {0};
    put_text(&attribute, ATTRIBUTE_NAME, name);
    for (int i = 0; i < count; i++) {
        put_integer(&attribute, ATTRIBUTE_INTS, values[i]);
    }
    put_integer(&attribute, ATTRIBUTE_TYPE, TYPE_INTS);
    put_message(&builder->node, NODE_ATTRIBUTE, &attribute);
}

void gops_onnx_build_float(gops_onnx_builder *builder, const char *name, float value)
{
    gops_onnx_buffer attribute = {0};
    put_text(&attribute, ATTRIBUTE_NAME, name);
    put_varint(&attribute, ATTRIBUTE_F << 3 | WIRE_FIXED32);
    append(&attribute, &value, sizeof value); /* lowest byte first, as these machines have it */
    put_integer(&attribute, ATTRIBUTE_TYPE, TYPE_FLOAT);
    put_message(&builder->node, NODE_ATTRIBUTE, &attribute);
}

void gops_onnx_build_floats(gops_onnx_builder *builder, const char *name, const float *values,
                            int count)
{
    gops_onnx_buffer attribute = {0};
    put_text(&attribute, ATTRIBUTE_NAME, name);
    put_bytes(&attribute, ATTRIBUTE_FLOATS, values, (size_t)count * sizeof *values);
    put_integer(&attribute, ATTRIBUTE_TYPE, TYPE_FLOATS);
    put_message(&builder->node, NODE_ATTRIBUTE, &attribute);
}

void gops_onnx_build_string(gops_onnx_builder *builder, const char *name, const char *value)
{
    gops_onnx_buffer attribute = {0};
    put_text(&attribute, ATTRIBUTE_NAME, name);
    put_text(&attribute, ATTRIBUTE_S, value);
    put_integer(&attribute, ATTRIBUTE_TYPE, TYPE_STRING);
    put_message(&builder->node, NODE_ATTRIBUTE, &attribute);
}

void gops_onnx_build_graph(gops_onnx_builder *builder, const char *name, gops_onnx_builder *inner)
{
    gops_onnx_buffer attribute = {0};
    end_node(inner);
    put_text(&attribute, ATTRIBUTE_NAME, name);
    put_message(&attribute, ATTRIBUTE_G, &inner->graph);
    put_integer(&attribute, ATTRIBUTE_TYPE, TYPE_GRAPH);
    put_message(&builder->node, NODE_ATTRIBUTE, &attribute);
}

bool gops_onnx_build_end(gops_onnx_builder *builder, gops_onnx_buffer *model)
{
    gops_onnx_buffer opset = {0};
    *model = (gops_onnx_buffer){NULL, 0, 0, false};
    end_node(builder);
    put_integer(&opset, OPSET_VERSION, builder->opset);
    put_integer(model, MODEL_IR_VERSION, IR_VERSION);
    put_message(model, MODEL_GRAPH, &builder->graph);
    put_message(model, MODEL_OPSET, &opset);
    if (builder->domain != NULL) {
        put_text(&opset, OPSET_DOMAIN, builder->domain);
        put_integer(&opset, OPSET_VERSION, 1);
        put_message(model, MODEL_OPSET, &opset);
    }
    if (model->out_of_memory) {
        free(model->bytes);
        *model = (gops_onnx_buffer){NULL, 0, 0, false};
        return false;
    }
    return true;
}
