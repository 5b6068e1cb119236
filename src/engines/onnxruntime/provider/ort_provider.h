/* ort_provider.h: the execution provider of one session. */
#ifndef GROUPOPS_ENGINES_ORT_PROVIDER_H
#define GROUPOPS_ENGINES_ORT_PROVIDER_H

#include "engines/onnxruntime/runtime/ort_runtime.h"

/* `runtime` and `logger`, which may be NULL, must outlive the provider. */
ort_status *gops_ort_provider_create(const gops_ort_runtime *runtime, const ort_logger *logger,
                                     ort_ep **ep);
/* NULL is allowed. */
void gops_ort_provider_destroy(ort_ep *ep);

#endif
