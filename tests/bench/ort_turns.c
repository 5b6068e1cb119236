/* ort_turns.c: times two sessions of ONNX Runtime in turns. */
#include "ort_turns.h"

#include "common/clock.h"

#include <math.h>

/* Milliseconds of the fastest of some runs; INFINITY after a failure. In the first of them the other session's threads
 * may still wait by spinning. */
static double run_turn(ort_session *session, const gops_ort_tensor *input)
{
    enum { MAX_RUNS = 20 };
    const double enough = 60; /* ms */
    double least = INFINITY, all = 0;
    for (int run = 0; run < MAX_RUNS && all < enough; run++) {
        ort_value *output = NULL;
        const double start = gops_clock_ms();
        if (!gops_ort_works(gops_ort_run(session, input, 1, &output), "a run")) {
            return INFINITY;
        }
        const double took = gops_clock_ms() - start;
        gops_ort_load()->release_value(output);
        least = fmin(least, took);
        all += took;
    }
    return least;
}

void gops_ort_take_turns(ort_session *const *sessions, const gops_ort_tensor *input, int threads,
                         int rounds, double *least)
{
    /* For seconds the cores of a virtual machine may lie far apart: then two threads take twice as long. */
    const int turns = threads > 1 ? 3 * rounds : rounds;
    least[0] = least[1] = INFINITY;
    for (int round = 0; round < turns; round++) {
        for (int with = 0; with < 2; with++) {
            least[with] = fmin(least[with], run_turn(sessions[with], input));
        }
    }
}
