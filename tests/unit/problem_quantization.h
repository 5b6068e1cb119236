/* problem_quantization.h: what a quantized problem has in place of one element type: descriptors of its
 * bias and residual, its gops_quantization, and its reference. */
#ifndef GROUPOPS_TEST_PROBLEM_QUANTIZATION_H
#define GROUPOPS_TEST_PROBLEM_QUANTIZATION_H

#include "problem.h"

/* Whether its plans are quantized: groupops/quantization.h. */
int gops_problem_is_quantized(const gops_problem *problem);

/* [C] as arguments.bias has it, and a tensor like the output as arguments.residual has it. */
gops_tensor gops_problem_bias(const gops_problem *problem, const gops_tensor *output);
gops_tensor gops_problem_residual(const gops_problem *problem, const gops_tensor *output);

/* Whether the residual may be the output: their elements are as large. */
int gops_problem_fits_in_place(const gops_problem *problem);

/* What gops_filter_create gets: NULL, or *quantization filled in from the problem's, with the filter's
 * zero points at `zero_points`, in the filter's type: gops_problem_set_zero_points. */
const gops_quantization *gops_problem_quantization(const gops_problem *problem,
                                                   const void *zero_points,
                                                   gops_quantization *quantization);
void gops_problem_set_zero_points(const gops_problem *problem, void *zero_points);

/* The same for the `count` output channels from `first` on. */
const gops_quantization *gops_problem_quantization_of(const gops_problem *problem,
                                                      const void *zero_points, int64_t first,
                                                      int64_t count,
                                                      gops_quantization *quantization);

/* The bytes of these. */
size_t gops_problem_zero_point_bytes(const gops_problem *problem);

/* Packs the weights with the plan, in one step or in two. */
gops_status gops_problem_pack(const gops_problem *problem, const gops_plan *plan,
                              const void *weights, gops_packed_filter **filter, gops_error *error);

/* What the reference computes from the buffers: gops_problem_reference of a quantized problem. */
void gops_problem_quantized_reference(const gops_problem *problem,
                                      const gops_reference_geometry *geometry,
                                      const gops_problem_buffers *buffers,
                                      gops_reference_result *result);

#endif
