/* ort_activation.h: reads the operators that a plan applies as an activation. */
#ifndef GROUPOPS_ENGINES_ORT_ACTIVATION_H
#define GROUPOPS_ENGINES_ORT_ACTIVATION_H

#include "engines/onnxruntime/graph/ort_constant.h"
#include "engines/onnxruntime/graph/ort_graph.h"

/* *serves is false if the node is no activation that the library has. */
ort_status *gops_ort_read_activation(const gops_ort_runtime *runtime, const gops_ort_node *node,
                                     gops_activation *activation, bool *serves);

/* Whether x times it is hard_swish. Exporters below opset 14 write that operator so. */
bool gops_ort_is_hard_swish(const gops_activation *gate);

/* Reads the slopes of a PRelu that are constant, and one for all channels of a tensor of the shape
 * `data`, or one for each. *serves is false if the node is no such PRelu: slopes are broadcast from
 * the right, so that a vector belongs to the last axis. */
ort_status *gops_ort_read_slopes(const gops_ort_runtime *runtime, const gops_ort_node *node,
                                 const gops_tensor *data, gops_ort_constant *slopes, bool *serves);

#endif
