/* demo_run.h: one operation of the demo, executed, timed, and described for its line of the
 * report. */
#ifndef GOPS_DEMO_RUN_H
#define GOPS_DEMO_RUN_H

#include "common/dims_text.h"

#include <groupops/groupops.h>

typedef struct gops_demo_step {
    const char *operation;
    char data[GOPS_DIMS_TEXT_BYTES]; /* shapes */
    char filter[GOPS_DIMS_TEXT_BYTES];
    char output[GOPS_DIMS_TEXT_BYTES];
    char algorithm[32];
    double milliseconds; /* of execution alone, the shortest of a few repetitions */
} gops_demo_step;

/* Packs `weights` (NULL for a normalization) into arguments->filter for the time of the call,
 * executes, and fills in the step's output, algorithm and time. */
gops_status gops_demo_run(const gops_plan *plan, const void *weights, gops_arguments *arguments,
                          gops_demo_step *step, gops_error *error);

#endif
