/* base/clock.h: the time that has passed. */
#ifndef GOPS_BASE_CLOCK_H
#define GOPS_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds from some moment on. */
static inline int64_t gops_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#endif
