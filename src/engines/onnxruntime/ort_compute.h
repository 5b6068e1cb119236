/* ort_compute.h: a claim that the runtime calls. */
#ifndef GROUPOPS_ENGINES_ORT_COMPUTE_H
#define GROUPOPS_ENGINES_ORT_COMPUTE_H

#include "ort_operation.h"

/* Makes what the runtime calls for a claim, whose inputs it will hand over in the order of
 * `inputs`. Where the model gives the shapes and constant weights, the weights are packed now. */
ort_status *gops_ort_compute_create(gops_ort_runtime *runtime, const gops_ort_claim *claim,
                                    const char *const *inputs, size_t input_count,
                                    ort_compute_info **info);
/* NULL is allowed. */
void gops_ort_compute_destroy(ort_compute_info *info);

#endif
