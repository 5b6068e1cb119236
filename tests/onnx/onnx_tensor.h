/* onnx_tensor.h: TensorProto of onnx.proto, with its values in raw_data or in a typed field. */
#ifndef GROUPOPS_TESTS_ONNX_TENSOR_H
#define GROUPOPS_TESTS_ONNX_TENSOR_H

#include <groupops/tensor.h>

#include "onnx_wire.h"

typedef struct gops_onnx_tensor {
    gops_onnx_bytes message;
    gops_onnx_bytes name;
    /* A scalar has rank 0 here, which no descriptor of the library's own has. */
    gops_tensor tensor;
    size_t count; /* elements */
} gops_onnx_tensor;

/* Reads all but the values. False when the bytes are no message, the type is none of ours (string,
 * bool, complex, four bits), the rank is above GOPS_MAX_RANK, the values lie in another file, one
 * is out of the range of its type, or they are not as many as the dimensions say. So `count`
 * elements are really there, and a caller can allocate that many without being led on by a small
 * file. */
bool gops_onnx_read_tensor(gops_onnx_bytes message, gops_onnx_tensor *tensor);

/* Writes the `count` elements of a tensor that gops_onnx_read_tensor accepted. */
void gops_onnx_tensor_values(const gops_onnx_tensor *tensor, void *values);

#endif
