/* direct_estimate.h: what a direct convolution takes by one of its tiles; direct_layout.c. */
#ifndef GOPS_DIRECT_ESTIMATE_H
#define GOPS_DIRECT_ESTIMATE_H

#include "methods/direct/direct_layout.h"

/* The cycles of all pairs of tiles and taps for one block of output channels; negative where the
 * kernels do not have their ranges. Sets the layout's tiles at the ends, and its entries. */
double gops_direct_tap_cycles(const gops_plan *plan, gops_direct_layout *p,
                              const gops_direct_tile *tile);

/* The plan's time in ns; `cycles` are the tap cycles of a block. */
double gops_direct_estimate(const gops_plan *plan, gops_direct_layout *p, double cycles);

#endif
