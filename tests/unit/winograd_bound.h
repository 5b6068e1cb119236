/* winograd_bound.h: how far groupops/plan.h lets Winograd's convolution be from the exact sum. */
#ifndef GROUPOPS_TEST_WINOGRAD_BOUND_H
#define GROUPOPS_TEST_WINOGRAD_BOUND_H

#include "problem.h"

/* Whether accuracy=relaxed admits it for the problem. */
bool gops_test_winograd_serves(const gops_problem *problem, const gops_reference_geometry *g);

/* Adds to the error and the bound of each output what tiles of m x m outputs may add, before
 * anything is fused. */
void gops_test_allow_winograd(const gops_problem *problem, const gops_problem_buffers *buffers,
                              const gops_reference_geometry *g, int m,
                              gops_reference_result *result);

#endif
