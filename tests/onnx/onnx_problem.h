/*
 * onnx_problem.h: a case of one of the Conv operators as a call of the library, and the result it
 * must give.
 *
 * Conv and ConvTranspose go to the library in the type they are published in. Their bias, which
 * the library's operations have not, is taken off the published output instead of being added to
 * ours: that costs no rounding. ConvInteger and QLinearConv subtract zero points first, in the i32
 * that both define; what the library computes then is exact. onnx_check.c besides hands the
 * operands to the library as they were published, zero points and all.
 */
#ifndef GROUPOPS_TESTS_ONNX_PROBLEM_H
#define GROUPOPS_TESTS_ONNX_PROBLEM_H

#include "onnx_attributes.h"
#include "reference.h"

typedef struct gops_onnx_problem {
    const gops_onnx_case *source;
    gops_tensor data;
    gops_tensor filter; /* of the library's shape */
    void *data_values;
    void *filter_values;
    gops_conv_attributes conv;
    gops_deconv_attributes deconv; /* counts for ConvTranspose, in place of conv */
    const gops_onnx_array *bias;
    gops_reference_result exact; /* without bias */
} gops_onnx_problem;

/* False: *why says what does not fit. gops_onnx_problem_free may be called in either case. */
bool gops_onnx_problem_create(const gops_onnx_case *source, gops_onnx_problem *problem,
                              char why[GOPS_ONNX_WHY]);
void gops_onnx_problem_free(gops_onnx_problem *problem);

#endif
