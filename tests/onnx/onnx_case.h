/*
 * onnx_case.h: a published test case: one operator, its inputs and the output it must give.
 *
 * A case is a folder with model.onnx and folders test_data_set_0, 1, ... that hold input_0.pb, ...
 * and output_0.pb. Inputs of the operator come from these files, from the model's initializers or
 * from Constant nodes.
 */
#ifndef GROUPOPS_TESTS_ONNX_CASE_H
#define GROUPOPS_TESTS_ONNX_CASE_H

#include "onnx_model.h"
#include "onnx_tensor.h"

typedef enum gops_onnx_kind {
    GOPS_ONNX_CONV,
    GOPS_ONNX_CONV_TRANSPOSE,
    GOPS_ONNX_CONV_INTEGER,
    GOPS_ONNX_QLINEAR_CONV,
    GOPS_ONNX_GROUP_NORMALIZATION,
    GOPS_ONNX_KINDS /* how many */
} gops_onnx_kind;

/* "Conv", ... */
const char *gops_onnx_kind_name(gops_onnx_kind kind);

/* What a graph is made of, for the eyes of this test. */
typedef struct gops_onnx_content {
    int operators; /* of one of the kinds above */
    int others;    /* neither that nor Constant */
    gops_onnx_kind kind;
    gops_onnx_node node; /* the last of the operators */
} gops_onnx_content;

/* False when the graph is malformed. */
bool gops_onnx_look(gops_onnx_bytes graph, gops_onnx_content *content);

typedef struct gops_onnx_array {
    gops_tensor tensor;
    size_t count;
    void *values; /* NULL: an optional input that is left out */
} gops_onnx_array;

#define GOPS_ONNX_WHY 400

typedef struct gops_onnx_case {
    const char *name;
    gops_onnx_kind kind;
    int64_t opset;
    gops_onnx_node node;
    gops_onnx_array inputs[GOPS_ONNX_MAX_INPUTS]; /* those beyond the node's own are absent */
    gops_onnx_array output;
} gops_onnx_case;

/* Reads the inputs and the output of the model's only operator from a folder test_data_set_N.
 * False: *why says what is amiss. The case points into the model; gops_onnx_case_free frees the
 * rest, and may be called after a failure too. */
bool gops_onnx_case_load(const char *name, const gops_onnx_model *model,
                         const gops_onnx_content *content, const char *folder,
                         gops_onnx_case *loaded, char why[GOPS_ONNX_WHY]);
void gops_onnx_case_free(gops_onnx_case *loaded);

/* The bytes of a file, to be freed by the caller; at NULL when it cannot be read. */
gops_onnx_bytes gops_onnx_read_file(const char *path);

#endif
