/* random_part.h: random parts of a convolution's outputs, by gops_plan_part, against the whole. */
#ifndef GROUPOPS_TEST_RANDOM_PART_H
#define GROUPOPS_TEST_RANDOM_PART_H

#include "every_plan.h"
#include "problem.h"

/* A problem that is legal and not empty, and its inputs. The output is what `plan` makes. */
typedef struct gops_whole {
    gops_problem *problem;
    gops_problem_buffers *buffers;
    gops_tensor output;
    gops_test_random *random;
    int64_t compared;       /* parts */
    gops_test_tally *tally; /* NULL, or counts them */
    int good;
    char what[1400]; /* was wrong with the part that was compared last */
} gops_whole;

/* Compares a part with the output that `plan` has made, bit by bit, with the residual beside or in the
 * output. Returns whether it is the same, or refused as it may be. */
int gops_compare_part(gops_whole *of, const gops_plan *plan);

/* Executes the plan, and compares some parts. What has no parts must be refused. `context` is a
 * gops_whole: gops_test_every_plan takes the function. Returns whether all was as it should be. */
int gops_compare_parts(void *context, const gops_plan *plan);

#endif
