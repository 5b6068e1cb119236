/* ort_worth.h: whether a region is worth taking from the runtime. The only place that decides so. */
#ifndef GROUPOPS_ENGINES_ORT_WORTH_H
#define GROUPOPS_ENGINES_ORT_WORTH_H

#include "ort_member.h"

/* What a call of these members takes less than the runtime's own nodes, in ns of one core; below 0 it
 * takes more. An estimate, from the shapes, the
 * processor and the accuracy that the runtime's user admits. */
double gops_ort_gain(const gops_ort_runtime *runtime, gops_ort_member *const *members,
                     size_t count);

#endif
