/* clock.h: the clock by which the tool times. */
#ifndef GOPS_COMMON_CLOCK_H
#define GOPS_COMMON_CLOCK_H

/* Milliseconds of a clock that never goes back; only differences mean something. */
double gops_clock_ms(void);

#endif
