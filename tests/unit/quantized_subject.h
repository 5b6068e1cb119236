/* quantized_subject.h: a small quantized plan with a filter, for tests of what is refused. */
#ifndef GROUPOPS_TEST_QUANTIZED_SUBJECT_H
#define GROUPOPS_TEST_QUANTIZED_SUBJECT_H

#include "problem.h"

enum {
    GOPS_QUANTIZED_CHANNELS = 3,
    GOPS_QUANTIZED_WEIGHTS = GOPS_QUANTIZED_CHANNELS * 5 * 2,
    GOPS_QUANTIZED_OUTPUTS = 2 * GOPS_QUANTIZED_CHANNELS * 6
};

/* Two images of five channels, to three output channels. */
gops_problem gops_quantized_problem(gops_type data, gops_type filter, gops_type output);

/* Its plan, asserted. */
gops_plan *gops_quantized_plan(const gops_problem *problem);

typedef struct gops_quantized_subject {
    gops_problem problem;
    gops_plan *plan;
    gops_packed_filter *filter;
    unsigned char data[2 * 5 * 7], weights[GOPS_QUANTIZED_WEIGHTS];
    /* Of elements of up to 4 bytes. */
    float expected[GOPS_QUANTIZED_OUTPUTS], output[GOPS_QUANTIZED_OUTPUTS];
    float residual[GOPS_QUANTIZED_OUTPUTS];
    gops_quantization quantization; /* the filter's */
} gops_quantized_subject;

/* Makes all of it and executes it once, to `expected`. */
void gops_quantized_start(gops_quantized_subject *s, gops_problem problem);
void gops_quantized_stop(gops_quantized_subject *s);

/* Executes the plan with the filter. */
gops_status gops_quantized_execute(const gops_quantized_subject *s, const void *residual,
                                   void *output, gops_error *error);

#endif
