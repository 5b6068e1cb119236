/* implicit_boxes.h: boxes of output pixels and their padded inputs; implicit_layout.c. */
#ifndef GOPS_IMPLICIT_BOXES_H
#define GOPS_IMPLICIT_BOXES_H

#include "methods/implicit/implicit.h"

/* Cuts the pixels into boxes such that the padded input of `channels` channels takes at most `limit` bytes, and into at
 * least `min_boxes` where there are so many pixels. Fills in padded, pitch, cut, cut_pixels and boxes; false where a
 * single pixel needs more. */
bool gops_implicit_cut_boxes(gops_implicit *p, int axes, const gops_axis *axis, int64_t channels,
                             int64_t bytes, int64_t limit, int64_t min_boxes);

/* Makes boxes smaller, but not below half, where each of the plan's threads then has less to do. There are `images`
 * times as many. */
void gops_implicit_even_boxes(const gops_plan *plan, gops_implicit *p, int axes,
                              const gops_axis *axis, int64_t images);

/* The pixels of the largest box on each axis. */
void gops_implicit_box_counts(const gops_implicit *p, int axes, const gops_axis *axis,
                              int64_t *count);

#endif
