/* clock.h: the time of everything that is measured here. */
#ifndef GROUPOPS_BENCH_CLOCK_H
#define GROUPOPS_BENCH_CLOCK_H

/* Milliseconds of a clock that only goes forward. */
double gops_peer_now(void);

#endif
