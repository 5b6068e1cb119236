/*
 * ort_pool.h: MaxPool of 8-bit integers over two axes, alone or between DequantizeLinear and
 * QuantizeLinear of the same scale and zero point.
 *
 * It is claimed for what stands between our convolutions: the runtime's own kernel for this layout
 * takes as long as several of them.
 */
#ifndef GROUPOPS_ENGINES_ORT_POOL_H
#define GROUPOPS_ENGINES_ORT_POOL_H

#include "engines/onnxruntime/graph/ort_operation.h"
#include "engines/onnxruntime/graph/ort_window.h"

typedef struct gops_ort_pool {
    /* Which the model gives; images and channels it may leave open. */
    int64_t in[GOPS_ORT_WINDOW_AXES], out[GOPS_ORT_WINDOW_AXES];
    gops_ort_window window;
} gops_ort_pool;

/* Reads the node, and those around it; *serves is false if it is no such pool. Of the claim's operation it sets no more
 * than the type of the data, which is the output's. */
ort_status *gops_ort_pool_claim(const gops_ort_graph *graph, gops_ort_node *node,
                                gops_ort_claim *claim, gops_ort_pool *pool, bool *serves);

#endif
