/* ort_pool_call.h: one call of a MaxPool. */
#ifndef GROUPOPS_ENGINES_ORT_POOL_CALL_H
#define GROUPOPS_ENGINES_ORT_POOL_CALL_H

#include "engines/onnxruntime/graph/ort_pool.h"

/* Makes the object that the runtime calls; its only input that counts is number `input`. */
ort_status *gops_ort_pool_create(gops_ort_runtime *runtime, const gops_ort_claim *claim,
                                 const gops_ort_pool *pool, size_t input, ort_compute_info **info);

#endif
