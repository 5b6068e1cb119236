/*
 * guard_buffers.h: all that a problem is executed with, each buffer against an unmapped page, with
 * canaries in what is left of its pages and in the gaps between channels and images.
 */
#ifndef GROUPOPS_TEST_GUARD_BUFFERS_H
#define GROUPOPS_TEST_GUARD_BUFFERS_H

#include "fence.h"
#include "problem.h"

typedef enum gops_guard_buffer {
    GOPS_GUARD_DATA,
    GOPS_GUARD_WEIGHTS,
    GOPS_GUARD_SCALE,
    GOPS_GUARD_BIAS,
    GOPS_GUARD_RESIDUAL,
    GOPS_GUARD_ZERO_POINTS,
    GOPS_GUARD_FILTER_SCALES,
    GOPS_GUARD_DATA_ZERO,
    GOPS_GUARD_SLOPES,
    GOPS_GUARD_INPUTS, /* those above cannot be written */
    GOPS_GUARD_OUTPUT = GOPS_GUARD_INPUTS,
    GOPS_GUARD_MEAN,
    GOPS_GUARD_VARIANCE,
    GOPS_GUARD_WORKSPACE,
    GOPS_GUARD_BUFFERS
} gops_guard_buffer;

/* Buffers that the problem lacks are all zeros. */
typedef struct gops_guard_set {
    const gops_problem *problem;
    gops_tensor output;
    gops_fenced of[GOPS_GUARD_BUFFERS];
} gops_guard_set;

/* Copies what is given, with the problem's gaps behind channels and images; a residual that is added in place
 * lies in the output. */
gops_guard_set gops_guard_set_create(const gops_problem *problem, const gops_problem_buffers *given,
                                     const gops_tensor *output, size_t workspace_bytes,
                                     gops_fence_end end);

/* Packs the filter with `packer` and executes `plan`. */
gops_status gops_guard_set_execute(const gops_guard_set *set, const gops_plan *plan,
                                   const gops_plan *packer, gops_error *error);

/* Asserts that nothing around a buffer was written, nor the output's gaps, and copies its channels
 * to `dense`. `what` goes into the message. */
int gops_guard_set_check(const gops_guard_set *set, const char *what, void *dense);

void gops_guard_set_destroy(gops_guard_set *set);

#endif
