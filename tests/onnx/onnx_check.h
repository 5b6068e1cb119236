/* onnx_check.h: runs a problem by every algorithm of the library and compares with what was
 * published. */
#ifndef GROUPOPS_TESTS_ONNX_CHECK_H
#define GROUPOPS_TESTS_ONNX_CHECK_H

#include "onnx_problem.h"

#define GOPS_ONNX_ALGORITHMS 16

typedef struct gops_onnx_tally {
    int checked[GOPS_ONNX_KINDS];
    int by_algorithm[GOPS_ONNX_ALGORITHMS]; /* cases that gops_algorithm_name(index) took */
} gops_onnx_tally;

/* Asserts everything about one case: the published output against the reference, which shows that
 * the operator was understood, and the output of every algorithm against the published one. */
void gops_onnx_check(const gops_onnx_problem *problem, gops_onnx_tally *tally);

#endif
