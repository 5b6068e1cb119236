/* ort_turns.h: times two sessions of ONNX Runtime in turns. */
#ifndef GROUPOPS_BENCH_ORT_TURNS_H
#define GROUPOPS_BENCH_ORT_TURNS_H

#include "ort_host.h"

/* The least milliseconds that a run of each takes; INFINITY after a failure. Sessions of several threads have three
 * times as many rounds. */
void gops_ort_take_turns(ort_session *const *sessions, const gops_ort_tensor *input, int threads,
                         int rounds, double *least);

#endif
