/* random_fill.h: random elements to measure with. */
#ifndef GOPS_COMMON_RANDOM_FILL_H
#define GOPS_COMMON_RANDOM_FILL_H

#include <groupops/tensor.h>

/* Floating point types: either sign, 0.5 to 1, so that neither zeros nor denormals nor overflow
 * make the work easier or harder than it is. Integers: every bit random. The same seed gives the
 * same elements. */
void gops_random_fill(gops_type type, void *elements, size_t bytes, uint64_t seed);

#endif
