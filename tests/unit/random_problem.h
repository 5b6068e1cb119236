/*
 * random_problem.h: random problems for the three operations, small enough for the reference.
 *
 * Every axis has another prime as its size where it can have one. Roughly one attribute in three is
 * left out; values beyond what makes sense (pads that auto_pad ignores, kernels larger than the
 * data, pads larger than the kernel, strides larger than the kernel) occur too. One problem in
 * eight has as many channels as some layout, or one more or less (layout_sizes.h), on a small
 * plane.
 */
#ifndef GROUPOPS_TEST_RANDOM_PROBLEM_H
#define GROUPOPS_TEST_RANDOM_PROBLEM_H

#include "problem.h"

/* Legal problems by the reference geometry, of at most fifty thousand multiplications. */
gops_problem gops_random_problem(gops_problem_operation operation, gops_type type,
                                 gops_test_random *random);

/* Gives half of all problems something fused into the store. */
void gops_random_fusion(gops_problem *problem, gops_test_random *random);

/* Relaxes some convolutions of f32 and f64, of which those with two axes then are of the kind that
 * Winograd's method serves. */
void gops_random_relax(gops_problem *problem, gops_test_random *random);

/* A max_workspace: none given, no limit, little, or next to nothing. */
int64_t gops_random_budget(gops_test_random *random);

/* Gives the data of some problems, and the output of some, gaps behind each channel. */
void gops_random_channel_gaps(gops_problem *problem, gops_test_random *random);

/* That too; makes some problems' tensors slices of larger ones, and some residuals the output itself. */
void gops_random_view(gops_problem *problem, gops_test_random *random);

/* Other data for the plan that `problem` is reshaped from: another batch, other spatial sizes. */
gops_tensor gops_random_other_data(const gops_problem *problem, gops_test_random *random);

#endif
