/* direct_estimate.h: what a direct convolution takes by one of its tiles; direct_layout.c. */
#ifndef GOPS_DIRECT_ESTIMATE_H
#define GOPS_DIRECT_ESTIMATE_H

#include "methods/direct/direct_layout.h"

/* The pairs of tiles and taps: their cycles for one block of output channels, negative where the
 * kernels do not have their ranges; and what else of them the layout has. */
typedef struct gops_direct_taps {
    double cycles;
    int64_t left_tiles, right_tiles, apart, entries;
} gops_direct_taps;

gops_direct_taps gops_direct_count_taps(const gops_plan *plan, const gops_direct_layout *p,
                                        const gops_direct_tile *tile);

/* The plan's time in ns; `cycles` are the tap cycles of a block. */
double gops_direct_estimate(const gops_plan *plan, const gops_direct_layout *p, double cycles);

#endif
