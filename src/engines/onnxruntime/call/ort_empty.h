/* ort_empty.h: convolutions whose sums are empty, because the data has size 0 on a spatial axis or, if
 * they are transposed, no channel. The library refuses them. The runtime's own provider returns the bias
 * if its formula for the output's size gives at least 1, and a model with open shapes may rely on that. */
#ifndef GROUPOPS_ENGINES_ORT_EMPTY_H
#define GROUPOPS_ENGINES_ORT_EMPTY_H

#include "engines/onnxruntime/graph/ort_operation.h"

/* Whether the shapes are those of such a convolution and it has an output; *output is its shape. */
bool gops_ort_empty_shape(const gops_ort_operation *operation, const gops_tensor *data,
                          const gops_tensor *filter, gops_tensor *output);

/* Computes it: of the arguments bias, residual, slopes and output are read. `quantization` is NULL
 * if the operation is not quantized. */
gops_status gops_ort_empty_execute(gops_ort_runtime *runtime, const gops_ort_operation *operation,
                                   const gops_tensor *output, const gops_quantization *quantization,
                                   const gops_arguments *arguments, gops_error *error);

#endif
