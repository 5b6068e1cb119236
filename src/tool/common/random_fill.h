/* random_fill.h: random elements to measure with. */
#ifndef GOPS_COMMON_RANDOM_FILL_H
#define GOPS_COMMON_RANDOM_FILL_H

#include <groupops/tensor.h>

/* Floating point types: from 0.5 to 1 with either sign, because zeros, denormals and overflow would
 * change the time of execution. Integers: all bits random. The same seed gives the same
 * elements. */
void gops_random_fill(gops_type type, void *elements, size_t bytes, uint64_t seed);

/* The seed whose first element is element `first` of the sequence of `seed`. */
uint64_t gops_random_skip(uint64_t seed, int64_t first);

#endif
