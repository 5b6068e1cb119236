/* ort_worth.h: whether nodes are worth taking from the runtime. The only place that decides so. */
#ifndef GROUPOPS_ENGINES_ORT_WORTH_H
#define GROUPOPS_ENGINES_ORT_WORTH_H

#include "ort_member.h"

/* What a call of these members takes less than the runtime's own nodes, in ns of one core; below 0 it
 * takes more. An estimate, from the shapes, the processor and the accuracy that the runtime's user
 * admits. */
double gops_ort_gain(const gops_ort_runtime *runtime, gops_ort_member *const *members,
                     size_t count);

/* The same of a claim that is a call by itself, which the runtime may have to reorder data for and
 * from. Sizes that the model leaves open count as usual ones. *known is false where nothing is known
 * that makes the runtime better: what is no convolution of f32, or has no shape of weights. */
ort_status *gops_ort_gain_alone(const gops_ort_runtime *runtime, const gops_ort_graph *graph,
                                const gops_ort_claim *claim, double *gain, bool *known);

#endif
