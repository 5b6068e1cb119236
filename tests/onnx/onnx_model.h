/*
 * onnx_model.h: ModelProto, GraphProto, NodeProto and AttributeProto of onnx.proto, the fields that
 * a convolution needs. Everything points into the bytes that were given; nothing is allocated.
 */
#ifndef GROUPOPS_TESTS_ONNX_MODEL_H
#define GROUPOPS_TESTS_ONNX_MODEL_H

#include "onnx_wire.h"

typedef struct gops_onnx_model {
    gops_onnx_bytes graph;
    int64_t opset; /* of the default domain; 0: not said */
} gops_onnx_model;

/* The numbers of the fields of GraphProto, for gops_onnx_next_bytes. */
enum {
    GOPS_ONNX_GRAPH_NODE = 1,
    GOPS_ONNX_GRAPH_INITIALIZER = 5, /* TensorProto */
    GOPS_ONNX_GRAPH_INPUT = 11       /* ValueInfoProto, whose field 1 is the name */
};

/* QLinearConv, the largest operator here, has nine. */
#define GOPS_ONNX_MAX_INPUTS 9

typedef struct gops_onnx_node {
    gops_onnx_bytes message;
    gops_onnx_bytes op_type;
    gops_onnx_bytes domain;
    gops_onnx_bytes inputs[GOPS_ONNX_MAX_INPUTS];
    gops_onnx_bytes output; /* the first */
    int input_count;        /* of all, also those that inputs has no room for */
} gops_onnx_node;

/* The numbers of AttributeProto.AttributeType. */
typedef enum gops_onnx_attribute_type {
    GOPS_ONNX_INT = 2,
    GOPS_ONNX_STRING = 3,
    GOPS_ONNX_TENSOR = 4,
    GOPS_ONNX_INTS = 7
} gops_onnx_attribute_type;

/* pads has two numbers for each spatial axis. */
#define GOPS_ONNX_MAX_INTS 12

typedef struct gops_onnx_attribute {
    int64_t i;
    gops_onnx_bytes s;
    gops_onnx_bytes t; /* a TensorProto */
    int64_t ints[GOPS_ONNX_MAX_INTS];
    int int_count;
} gops_onnx_attribute;

/* False when the bytes are no message or have not exactly one graph. The graph's own fields are
 * only walked over. */
bool gops_onnx_read_model(gops_onnx_bytes message, gops_onnx_model *model);

bool gops_onnx_read_node(gops_onnx_bytes message, gops_onnx_node *node);

/* GOPS_ONNX_END: the node has no attribute of that name. GOPS_ONNX_MALFORMED: its type is another
 * one, it is there twice, or the bytes are no message. */
gops_onnx_step gops_onnx_find_attribute(const gops_onnx_node *node, const char *name,
                                        gops_onnx_attribute_type type,
                                        gops_onnx_attribute *attribute);

#endif
