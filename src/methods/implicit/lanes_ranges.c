/*
 * lanes_ranges.c: which steps of K the pixels of a quantized plan or a blocked input need.
 *
 * K begins with the taps of the outermost axis (lanes.h), so those that lie on padding for a whole row
 * of pixels, at either end, are steps at an end of K. Where padding is 0 in the padded input they add
 * nothing, and tiles of such rows leave them out: 3 x 3 on 14 x 14 pixels has 0.95 of the products.
 *
 * Taps of the last axis lie on padding for the first or the last pixel of a row. Where a tile of single
 * pixels begins or ends with a row, and has loops for it (gops_tiles.least_row), that column leaves these
 * taps out: 0.95 again.
 */
#include "methods/implicit/lanes_run.h"

#include "base/checked.h"

/* Vectors of sums below which a product waits for the one before it on the same sum: it takes so many
 * cycles on two units (Intel Xeon, Granite Rapids; Zen 5 has as many). */
enum { SUMS_IN_FLIGHT = 10 };

/* The steps of pixels of row `y`. */
static gops_implicit_range range_of_row(const gops_axis *axis, int64_t y, int64_t depth)
{
    const gops_range inside = gops_taps_inside(axis, y);
    const int64_t step = depth / axis->kernel;
    return (gops_implicit_range){.first = inside.begin * step,
                                 .depth = (inside.end - inside.begin) * step};
}

/* How many rows from `y` on need the same steps as it, at least: all whose taps lie inside. */
static int64_t rows_alike(const gops_axis *axis, int64_t y)
{
    const int64_t reach = (axis->kernel - 1) * axis->dilation;
    const int64_t last = gops_floor_div(axis->data - 1 - reach + axis->pad_begin, axis->stride);
    return y * axis->stride >= axis->pad_begin ? gops_max(last + 1 - y, 1) : 1;
}

/* What `columns` of a range cost: products for each vector of channels. */
static int64_t cost_of(const gops_implicit_pass *pass, int64_t lanes, int64_t columns,
                       int64_t depth)
{
    const int64_t full = gops_implicit_tile(pass->tiles, pass->mr, INT64_MAX)->nr;
    const int64_t rest = columns % full, least = gops_ceil_div(SUMS_IN_FLIGHT * lanes, pass->mr);
    const int64_t padded =
        rest > 0 ? gops_max(least, gops_implicit_tile(pass->tiles, pass->mr, rest)->nr) : 0;
    return (columns - rest + padded) * depth;
}

/* Whether steps on padding may be left out: it is the zero point of quads, and 0 elsewhere. Sums of bf16 that underflow
 * to -0 become +0 by such steps; those of f32 do without them (implicit_blocked.inc.h). */
static bool may_leave_out(const gops_plan *plan, const gops_job *job)
{
    if (gops_plan_takes_bf16(plan)) {
        return false;
    }
    return !plan->quantized || !gops_lanes_are_quads(plan) ||
           gops_lanes_data(plan, job, NULL).zero == 0;
}

/* Finds which taps of the last axis the ends of a row of outputs leave out, if all of the row is in the
 * box; K ends with these taps for each block of planes, and all of these are alike. */
static void find_rows(const gops_implicit *p, const gops_axis *axis, int64_t first,
                      gops_implicit_item *item)
{
    const int64_t last = p->padded.axes - 1, width = gops_min(p->planes, GOPS_LANES_BLOCK);
    const int64_t length = item->box.count[last];
    const gops_implicit_range begin = range_of_row(axis, 0, axis->kernel);
    const gops_implicit_range end = range_of_row(axis, length - 1, axis->kernel);
    const int64_t inside = end.first + end.depth, least = gops_plan_tiles(item->plan)->least_row;
    if (least > 0 && last > 0 && length == axis->output && length > 1 && p->planes % width == 0 &&
        begin.first < inside && (begin.first > 0 || inside < axis->kernel)) {
        item->pass.rows = (gops_implicit_rows){
            .length = length,
            .column = first % length,
            .begin = begin.first * width,
            .middle = (inside - begin.first) * width,
            .end = (axis->kernel - inside) * width,
        };
    }
}

void gops_lanes_find_ranges(const gops_implicit *p, const gops_axis *axis, const gops_axis *last,
                            int64_t first, gops_implicit_item *item)
{
    gops_implicit_pass *pass = &item->pass;
    const int64_t depth = pass->work.depth;
    int64_t row = 1, split = 0, ranges = 0, columns;
    pass->ranges = 0;
    pass->rows.length = 0;
    if (gops_tile_has_pixels(p->form) || p->depth_block < depth ||
        !may_leave_out(item->plan, item->job)) {
        return;
    }
    find_rows(p, last, first, item);
    if (axis->kernel == 1) {
        return;
    }
    for (int a = 1; a < p->padded.axes; a++) {
        row *= item->box.count[a];
    }
    for (int64_t i = 0; i < pass->count; i += columns) {
        const int64_t y = item->box.begin[0] + (first + i) / row;
        gops_implicit_range range = range_of_row(axis, y, depth);
        gops_implicit_range *before = ranges > 0 ? &pass->range[ranges - 1] : NULL;
        columns = gops_min(pass->count - i, rows_alike(axis, y) * row - (first + i) % row);
        range.columns = columns;
        if (before != NULL && before->first == range.first && before->depth == range.depth) {
            before->columns += columns;
        } else if (ranges == GOPS_IMPLICIT_MAX_RANGES) {
            return;
        } else {
            pass->range[ranges++] = range;
        }
    }
    const int64_t lanes = gops_plan_tiles(item->plan)->lanes;
    for (int64_t i = 0; i < ranges; i++) {
        split += cost_of(pass, lanes, pass->range[i].columns, pass->range[i].depth);
    }
    pass->ranges = split < cost_of(pass, lanes, pass->count, depth) ? ranges : 0;
}
