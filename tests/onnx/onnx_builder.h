/*
 * onnx_builder.h: writes an ONNX model (ModelProto of onnx.proto3) node by node, as large as it
 * gets. Running out of memory is noticed at the end.
 *
 *     gops_onnx_builder builder;
 *     gops_onnx_build(&builder, 21);
 *     gops_onnx_build_input(&builder, "x", GOPS_ONNX_FLOAT, 4, dims);
 *     gops_onnx_build_node(&builder, "Relu", "y", (const char *[]){"x"}, 1);
 *     gops_onnx_build_output(&builder, "y", GOPS_ONNX_FLOAT, 4, dims);
 *     if (gops_onnx_build_end(&builder, &model)) ... free(model.bytes);
 */
#ifndef GROUPOPS_TESTS_ONNX_BUILDER_H
#define GROUPOPS_TESTS_ONNX_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* TensorProto.DataType, which ONNX Runtime numbers its elements by too. */
typedef enum gops_onnx_element {
    GOPS_ONNX_FLOAT = 1,
    GOPS_ONNX_UINT8 = 2,
    GOPS_ONNX_INT8 = 3,
    GOPS_ONNX_INT32 = 6,
    GOPS_ONNX_INT64 = 7,
    GOPS_ONNX_BOOL = 9,
    GOPS_ONNX_FLOAT16 = 10,
    GOPS_ONNX_DOUBLE = 11,
} gops_onnx_element;

typedef struct gops_onnx_buffer {
    uint8_t *bytes;
    size_t size;
    size_t capacity;
    bool out_of_memory;
} gops_onnx_buffer;

typedef struct gops_onnx_builder {
    gops_onnx_buffer graph;
    gops_onnx_buffer node; /* the one that attributes are added to */
    int64_t opset;
    const char *domain; /* NULL, or another domain that the model imports */
} gops_onnx_builder;

void gops_onnx_build(gops_onnx_builder *builder, int64_t opset);
enum { GOPS_ONNX_BATCH = -2 };
/* An input or output of the graph. A dimension of -1 is left open, and so is a rank of -1; one of GOPS_ONNX_BATCH
 * too, with a name. */
void gops_onnx_build_input(gops_onnx_builder *builder, const char *name, gops_onnx_element element,
                           int rank, const int64_t *dims);
void gops_onnx_build_output(gops_onnx_builder *builder, const char *name, gops_onnx_element element,
                            int rank, const int64_t *dims);
/* What the model says of a value in between. */
void gops_onnx_build_value(gops_onnx_builder *builder, const char *name, gops_onnx_element element,
                           int rank, const int64_t *dims);
/* An initializer with these bytes. */
void gops_onnx_build_constant(gops_onnx_builder *builder, const char *name,
                              gops_onnx_element element, int rank, const int64_t *dims,
                              const void *values, size_t bytes);
/* An initializer whose bytes are those of a file from an offset on. */
void gops_onnx_build_external(gops_onnx_builder *builder, const char *name,
                              gops_onnx_element element, int rank, const int64_t *dims,
                              const char *file, int offset);
/* A node with one output, which gives it its name too. An input named "" is left out. */
void gops_onnx_build_node(gops_onnx_builder *builder, const char *type, const char *output,
                          const char *const *inputs, int count);

/* A further output of the node before. */
void gops_onnx_build_more(gops_onnx_builder *builder, const char *output);

/* Makes the node before one of another domain, at version 1; a model imports one such domain. */
void gops_onnx_build_domain(gops_onnx_builder *builder, const char *domain);

/* Attributes of the node before. */
void gops_onnx_build_int(gops_onnx_builder *builder, const char *name, int64_t value);
void gops_onnx_build_ints(gops_onnx_builder *builder, const char *name, const int64_t *values,
                          int count);
void gops_onnx_build_float(gops_onnx_builder *builder, const char *name, float value);
void gops_onnx_build_floats(gops_onnx_builder *builder, const char *name, const float *values,
                            int count);
void gops_onnx_build_string(gops_onnx_builder *builder, const char *name, const char *value);
/* Ends `inner`, which was begun by gops_onnx_build, and gives its graph to the node. */
void gops_onnx_build_graph(gops_onnx_builder *builder, const char *name, gops_onnx_builder *inner);

/* The model, whose bytes the caller frees; false: there was no memory, and *model is empty. */
bool gops_onnx_build_end(gops_onnx_builder *builder, gops_onnx_buffer *model);

#endif
