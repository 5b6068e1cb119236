/* ort_empty.h: convolutions that have nothing to sum: the data has size 0 on a spatial axis, or no
 * channel. The library refuses them; the runtime's own provider answers with the bias wherever its
 * formula for the output's size gives at least 1, and a model that leaves its shapes open may rely
 * on that. */
#ifndef GROUPOPS_ENGINES_ORT_EMPTY_H
#define GROUPOPS_ENGINES_ORT_EMPTY_H

#include "ort_operation.h"

/* Whether the shapes are of such a problem that has an answer, and then the output's. */
bool gops_ort_empty_shape(const gops_ort_operation *operation, const gops_tensor *data,
                          const gops_tensor *filter, gops_tensor *output);

/* Computes it: of the arguments bias, residual and output are read. */
gops_status gops_ort_empty_execute(gops_ort_runtime *runtime, const gops_ort_operation *operation,
                                   const gops_tensor *output, const gops_arguments *arguments,
                                   gops_error *error);

#endif
