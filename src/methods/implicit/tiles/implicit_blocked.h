/* implicit_blocked.h: tiles of floats that read a blocked padded input (lanes.h). K has the order of lanes, so
 * that rows of pixels leave out the rows of taps on padding (lanes_ranges.c). */
#ifndef GOPS_IMPLICIT_BLOCKED_H
#define GOPS_IMPLICIT_BLOCKED_H

#include "methods/implicit/tiles/implicit_tile.h"

/* Steps of K that share an entry of the offset table, the first of theirs. Planes are a multiple of it;
 * the last of them may be zeros. */
enum { GOPS_BLOCKED_STEPS = 4 };

#ifdef GOPS_ISA
extern const gops_tile GOPS_ISA_NAME(gops_implicit_blocked)[];
extern gops_padded_input_fn GOPS_ISA_NAME(gops_implicit_blocks);
#endif

#endif
