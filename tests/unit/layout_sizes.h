/*
 * layout_sizes.h: numbers of channels on both sides of every constant that a layout of the library
 * has.
 */
#ifndef GROUPOPS_TEST_LAYOUT_SIZES_H
#define GROUPOPS_TEST_LAYOUT_SIZES_H

#include <stdint.h>

/* As many channels as one vector holds and as many as a register tile has vectors
 * (the kernels' tiles), 32 and 64 that are stored at a time
 * (GOPS_POINTWISE_STORE_CHANNELS, GOPS_EPILOGUE_CHANNELS), 256 and 512 that are summed or
 * converted at a time; each also one less and one more. */
enum { GOPS_LAYOUT_SMALL_SIZES = 27, GOPS_LAYOUT_SIZES = 33, GOPS_LAYOUT_MOST = 513 };

/* Size number `index` modulo GOPS_LAYOUT_SIZES; the first GOPS_LAYOUT_SMALL_SIZES are up to 65. */
int64_t gops_layout_size(int64_t index);

#endif
