/* ort_compute.h: the object that the runtime calls for a claim. */
#ifndef GROUPOPS_ENGINES_ORT_COMPUTE_H
#define GROUPOPS_ENGINES_ORT_COMPUTE_H

#include "engines/onnxruntime/graph/ort_operation.h"

/* Makes the object that the runtime calls for a claim, with the claim's inputs in the order of
 * `inputs`. If the model has constant weights and gives the shapes, the weights are packed now. */
ort_status *gops_ort_compute_create(gops_ort_runtime *runtime, const gops_ort_claim *claim,
                                    const char *const *inputs, size_t input_count,
                                    ort_compute_info **info);

#endif
