/*
 * ort_pool.h: MaxPool of 8-bit integers over two axes, alone or between DequantizeLinear and
 * QuantizeLinear of the same scale and zero point.
 *
 * It is claimed for what stands between our convolutions: the runtime's own kernel for this layout
 * takes as long as several of them.
 */
#ifndef GROUPOPS_ENGINES_ORT_POOL_H
#define GROUPOPS_ENGINES_ORT_POOL_H

#include "engines/onnxruntime/graph/ort_graph.h"

enum { GOPS_ORT_POOL_AXES = 2, GOPS_ORT_POOL_NODES = 3 };

typedef struct gops_ort_pool {
    gops_ort_node *nodes[GOPS_ORT_POOL_NODES];
    size_t node_count;
    gops_type type;
    int64_t
        data[GOPS_ORT_POOL_AXES]; /* which the model gives; images and channels it may leave open */
    int64_t kernel[GOPS_ORT_POOL_AXES], strides[GOPS_ORT_POOL_AXES];
    int64_t pads_begin[GOPS_ORT_POOL_AXES], output[GOPS_ORT_POOL_AXES];
} gops_ort_pool;

/* Reads the node, and those around it; *serves is false if it is no such pool. */
ort_status *gops_ort_pool_claim(const gops_ort_runtime *runtime, const gops_ort_graph *graph,
                                gops_ort_node *node, gops_ort_pool *pool, bool *serves);

/* Makes the object that the runtime calls; its only input that counts is number `input`. */
ort_status *gops_ort_pool_create(gops_ort_runtime *runtime, const gops_ort_pool *pool, size_t input,
                                 ort_compute_info **info);

/* Whether the object is one of these; destroys it. */
bool gops_ort_is_pool(const ort_compute_info *info);
void gops_ort_pool_destroy(ort_compute_info *info);

#endif
