/* implicit_layout.h: how an implicit product is divided into work items. */
#ifndef GOPS_IMPLICIT_LAYOUT_H
#define GOPS_IMPLICIT_LAYOUT_H

#include "methods/implicit/implicit.h"

/* Axes of gops_axis are as the padded input sees them: `output` is what boxes count. */

/* The axes of boxes: those of the convolution, or with p->flat one that has all of its pixels, which
 * serves kernels of 1 without strides and pads. Where taps are joined, the last axis has one tap of an input
 * like its outputs, and the axis before it those taps that are left. Returns how many. */
int gops_implicit_axes(const gops_plan *plan, const gops_implicit *p,
                       gops_axis axis[GOPS_MAX_SPATIAL]);

/* implicit_join.c: where a tap of the filter lies in K: its number among the taps of gops_implicit_axes, and its first
 * plane. */
typedef struct gops_implicit_tap {
    int64_t tap, plane;
} gops_implicit_tap;
gops_implicit_tap gops_implicit_find_tap(const gops_plan *plan, int64_t tap);

/* Whether `p` has too few items for the threads of a plan; and whether these need no more than the caches ask for. */
bool gops_implicit_wants_more(const gops_plan *plan, const gops_implicit *p);
bool gops_implicit_wants_less(const gops_plan *plan);

/* Divides the work into items and fills in the padded input, pitch, cut, cut_pixels, boxes,
 * channel_block and channel_blocks; in_place was decided before. The channels are divided into at
 * most `max_channel_blocks`, each a multiple of `unit`, where reading all weights for each box
 * would cost more than copying the data for each block of channels. False where the padded input of
 * a single pixel is larger than worker_limit and, of floats, the L2 cache allow. */
bool gops_implicit_divide(const gops_plan *plan, gops_implicit *p, int axes, const gops_axis *axis,
                          int64_t unit, int64_t max_channel_blocks, int64_t worker_limit);

/* Fills in merged, dense and writes_outputs; returns the columns of a whole box. */
int64_t gops_implicit_merge(gops_implicit *p, int axes, const gops_axis *axis, int64_t lanes,
                            bool can_write_outputs);

/* Columns at a time: at most `most`, a multiple of `nr`. Each tile of channels reads the data of a block
 * again, so data that is read where it lies is cut to what stays in the L2 cache. */
int64_t gops_implicit_column_block(const gops_plan *plan, const gops_implicit *p, int axes,
                                   const gops_axis *axis, int64_t columns, int64_t nr,
                                   int64_t most);

/* The most steps of K for which the weights of a tile stay in the cache. */
int64_t gops_implicit_depth_block(const gops_plan *plan, const gops_implicit *p);

/* Fills in where the parts of the workspace begin, and returns its bytes. `offsets` and
 * `sums` are the values in the offset table and of the sums. Where there are lanes or a blocked
 * input, the offset table is followed by the offsets of the taps of one plane. */
int64_t gops_implicit_workspace(const gops_plan *plan, gops_implicit *p, int64_t offsets,
                                int64_t sums);

/* Lays out the best product that a budget allows; false where there is none. */
typedef bool gops_implicit_find(gops_plan *plan, int64_t worker_limit);

/* Lays out a product by `find`. Boxes as large as a budget allows may leave too little of it for the sums: then
 * those of budgets below it are tried, each by an eighth smaller, so that what suffices for a plan does so, with few
 * exceptions, in every larger budget. Refuses with a budget that suffices, if there is any. */
gops_status gops_implicit_fit(gops_plan *plan, gops_implicit_find *find, int64_t worker_limit,
                              gops_error *error);

static inline const gops_implicit *gops_implicit_read(const gops_plan *plan)
{
    return gops_read_parameters(plan);
}

/* implicit_pack.c: the weights of one tile after the other; the last one is padded with zeros. */
void gops_implicit_pack(const gops_plan *plan, const void *weights, const int32_t *zero_points,
                        void *packed);

/* implicit_run.c: executes an item of an implicit convolution. */
void gops_implicit_run(const gops_plan *plan, const gops_job *job, int64_t index, void *workspace);

/* implicit_variant.c. No tap of any output leaves the data. */
bool gops_implicit_unpadded(int axes, const gops_axis *axis);

/* Whether its tiles of AMX read planes. */
bool gops_implicit_takes_planes(const gops_plan *plan);

/* What packing depends on besides the shape of the filter. */
int64_t gops_implicit_variant(int64_t mr, gops_tile_form form);

#endif
