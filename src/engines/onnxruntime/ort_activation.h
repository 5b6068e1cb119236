/* ort_activation.h: reads the operators that a plan applies as an activation. */
#ifndef GROUPOPS_ENGINES_ORT_ACTIVATION_H
#define GROUPOPS_ENGINES_ORT_ACTIVATION_H

#include "ort_graph.h"

/* *serves is false if the node is no activation that the library has. */
ort_status *gops_ort_read_activation(const gops_ort_runtime *runtime, const gops_ort_node *node,
                                     gops_activation *activation, bool *serves);

#endif
