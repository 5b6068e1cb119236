/* ort_capability.h: tells the runtime which nodes of a graph the provider takes. */
#ifndef GROUPOPS_ENGINES_ORT_CAPABILITY_H
#define GROUPOPS_ENGINES_ORT_CAPABILITY_H

#include "engines/onnxruntime/runtime/ort_runtime.h"

/* Without a logger nothing is said of what was decided. */
ort_status *gops_ort_claim_nodes(const gops_ort_runtime *runtime, const ort_logger *logger,
                                 const ort_graph *from, ort_graph_support *support);

#endif
