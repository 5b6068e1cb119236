/* lanes_run.h: what a work item of a quantized plan does around its tiles; lanes.h. */
#ifndef GOPS_IMPLICIT_LANES_RUN_H
#define GOPS_IMPLICIT_LANES_RUN_H

#include "methods/implicit/implicit.h"

/* Rows of a product: first to first + count - 1, of which each output channel has `repeat`; row 0
 * belongs to `channel`, counted over all groups. `k` is what one output adds: C_IN times taps. */
typedef struct gops_lanes_rows {
    int64_t channel, repeat, first, count;
    int64_t k;
    const uint32_t *weight_sums; /* of row `first` on; quads alone have them */
} gops_lanes_rows;

/* Finds out what the tiles can leave of the item's outputs, and whether they need the sums of
 * windows. Bytes are left only of sums that one block of depth completes. */
void gops_lanes_begin(const gops_implicit *p, gops_implicit_item *item);

/* The former alone, where the item's windows, plan, job and channel_of_all are set. `complete`: one block of
 * depth completes the sums. */
void gops_lanes_begin_epilogue(gops_implicit_item *item, bool complete);

/* Divides the columns of the pass, of which `first` is the first one, into ranges whose tiles leave out
 * taps on padding, and finds what the ends of rows leave out. The axes are the outermost and the last one
 * of what K is made of, and may be the same. */
void gops_lanes_find_ranges(const gops_implicit *p, const gops_axis *axis, const gops_axis *last,
                            int64_t first, gops_implicit_item *item);

/* Has the tiles leave sums for gops_store. */
void gops_lanes_keep_raw(gops_implicit_item *item);

/* Writes the item's values: what corrects the sums of these rows, and what requantizes them. Long before tiles
 * read them, where it can be: vectors of what was stored in parts wait for all stores before. */
void gops_lanes_begin_rows(gops_implicit_item *item, const gops_lanes_rows *rows);

/* Has the tiles of the pass take the values from that one on. */
static inline void gops_lanes_take_values(gops_implicit_item *item, int64_t from)
{
    item->pass.work.bias = item->values.first + from;
    item->epilogue.scale = item->values.scale + from;
}

/* What transposes, and what interleaves, what the tiles leave: bytes, or else values of the compute type. Of all plans
 * only quantized ones leave bytes. */
static inline gops_transpose_fn *gops_lanes_transpose(const gops_implicit_item *item)
{
    return item->result == GOPS_LANES_BYTES ? item->plan->kernels->lanes->transpose_bytes
                                            : gops_plan_tiles(item->plan)->transpose;
}

static inline gops_interleave_fn *gops_lanes_interleave(const gops_implicit_item *item)
{
    return item->result == GOPS_LANES_BYTES ? item->plan->kernels->lanes->interleave_bytes
                                            : gops_plan_tiles(item->plan)->interleave;
}

/* Computes the sums of the windows of the pass, whose offsets and depth are set, by the packed
 * weights of 1. In the channels form this changes the list of columns. */
void gops_lanes_sum_windows(const gops_implicit *p, const gops_implicit_item *item, int64_t first,
                            const uint32_t *ones);

/* Subtracts them, times the filter's zero points, from the sums of these rows. */
void gops_lanes_subtract_windows(const gops_implicit *p, const gops_implicit_item *item,
                                 const gops_lanes_rows *rows);

#endif
