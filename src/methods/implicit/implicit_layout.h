/* implicit_layout.h: how an implicit product is cut into bands and what it costs. */
#ifndef GOPS_IMPLICIT_LAYOUT_H
#define GOPS_IMPLICIT_LAYOUT_H

#include "methods/implicit/implicit.h"

/* An axis as the frame sees it: pixel o and tap k meet at data o * stride + k * dilation, less a
 * pad. `pixels` is what boxes count. */
typedef struct gops_implicit_axis {
    int64_t data, pixels, kernel, stride, dilation;
} gops_implicit_axis;

/* Fills in the frame, pitch, cut, band and bands: bands of the pixels such that the frame of
 * `channels` takes at most `limit` bytes, or where in_place (decided before) whole, and at least
 * `least` of them where there are so many. False where a single pixel's frame is larger. */
int gops_implicit_cut(gops_implicit *p, int axes, const gops_implicit_axis *axis, int64_t channels,
                      int64_t bytes, int64_t limit, int64_t least);

/* Fills in merged, dense and direct for the bands; returns the spots of a whole band. */
int64_t gops_implicit_merge(gops_implicit *p, int axes, const gops_implicit_axis *axis,
                            int64_t lanes, int can_direct);

/* Where the band with this number begins and ends. */
void gops_implicit_band(const gops_implicit *p, int axes, const gops_implicit_axis *axis,
                        int64_t band, gops_box *box);

/* Fills in the workspace's parts and returns its bytes. */
int64_t gops_implicit_workspace(gops_implicit *p, int64_t frame_values, int64_t offsets,
                                int64_t sums, int64_t turned, int64_t bytes);

/* Estimated nanoseconds of `depth` steps of all tiles over `spots` spots for `channels` channels.
 */
double gops_implicit_product_cost(const gops_plan *plan, const gops_implicit *p, int64_t channels,
                                  int64_t spots, int64_t depth);

/* Estimated nanoseconds of copying so many values in so many runs. */
double gops_implicit_copy_cost(double values, double runs);

/* What the padded input sees of the axes. */
void gops_implicit_axes(const gops_conv_geometry *conv, gops_implicit_axis *axis);

#endif
