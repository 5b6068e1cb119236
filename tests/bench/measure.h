/* measure.h: all contestants at one layer, in turn. */
#ifndef GROUPOPS_BENCH_MEASURE_H
#define GROUPOPS_BENCH_MEASURE_H

#include "contestant.h"

enum { GOPS_MAX_CONTESTANTS = 16 };

typedef struct gops_measure_options {
    int rounds;      /* how often each has its turn */
    double turn_ms;  /* how long a turn is to last; at least one execution */
    unsigned wanted; /* bit i: contestant i of the list takes part */
} gops_measure_options;

typedef struct gops_measured {
    const gops_contestant *contestant;
    bool present;
    double ms_min;
    double ms_median;
    double error; /* of the result over what rounding explains; negative: it has no result */
    gops_peer_note note;
} gops_measured;

/* Prepares every contestant, checks its result, and lets them run in turn, each round in another
 * order. Returns how many rows of `measured` were filled. */
int gops_measure(const gops_peer_problem *problem, const gops_measure_options *options,
                 gops_measured measured[GOPS_MAX_CONTESTANTS]);

#endif
