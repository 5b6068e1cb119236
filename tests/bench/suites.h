/* suites.h: the layers of the suites that a program is given, one after the other. */
#ifndef GROUPOPS_BENCH_SUITES_H
#define GROUPOPS_BENCH_SUITES_H

#include "peer_problem.h"

/* Times a layer and prints what it found. */
typedef bool gops_peer_time(const gops_peer_problem *problem, void *context,
                            gops_tool_error *error);

/* Goes through the suites words[1] to words[count - 1]. Returns the status to exit with, and prints why it is
 * not GOPS_EXIT_DONE. */
int gops_peer_time_suites(int count, char **words, gops_peer_time *time, void *context);

#endif
