/* clock.c: the time of everything that is measured here. */
#include "clock.h"

#include <time.h>

double gops_peer_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}
