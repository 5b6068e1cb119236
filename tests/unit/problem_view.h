/* problem_view.h: the tensors of a problem as parts of larger ones, and results added in place. */
#ifndef GROUPOPS_TEST_PROBLEM_VIEW_H
#define GROUPOPS_TEST_PROBLEM_VIEW_H

#include "problem.h"

typedef struct gops_problem_view {
    gops_test_guarded data;
    gops_test_guarded output;
    gops_test_guarded residual;
} gops_problem_view;

/* Puts copies of the buffers into `arguments`, their channels and images as far apart as the problem's
 * gaps say, with garbage between them. Tensors without a gap stay as they are. The data of a
 * normalization that are the output's buffer stay so. */
gops_problem_view gops_problem_view_enter(const gops_problem *problem,
                                          const gops_problem_buffers *buffers,
                                          gops_arguments *arguments);

/* Brings the output back to the buffers and frees the copies. Asserts and returns that the output's
 * gaps were not written. */
int gops_problem_view_leave(const gops_problem *problem, gops_problem_view *view,
                            const gops_problem_buffers *buffers);

#endif
