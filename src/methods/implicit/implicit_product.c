/* implicit_product.c: runs the register tiles over the columns of a box; implicit.h. */
#include "methods/implicit/implicit.h"

#include "base/checked.h"

#include <stddef.h>
#include <string.h>

const gops_tile *gops_implicit_tile(const gops_tile *tiles, int64_t mr, int64_t left)
{
    const gops_tile *fit = NULL;
    for (; tiles->mr != 0; tiles++) {
        if (tiles->mr == mr && (fit == NULL || tiles->nr >= left)) {
            fit = tiles;
        }
    }
    return fit;
}

/* Has a tile of `nr` columns from number `at` on leave out what lies on padding, if they are one or two
 * whole rows, or the beginning or the end of a row. */
static void set_rows(const gops_implicit_pass *pass, int64_t at, int64_t nr, gops_tile_work *work)
{
    const gops_implicit_rows *rows = &pass->rows;
    work->rows = 0;
    if (rows->length == 0 || at + nr > pass->count) { /* which repeats the last column */
        return;
    }
    const int64_t column = (rows->column + at) % rows->length;
    const bool begins = column == 0, two = begins && nr == 2 * rows->length;
    const bool ends = two || column + nr == rows->length;
    if (two || ends || (begins && nr < rows->length)) {
        work->rows = two ? 2 : 1;
        work->begin = begins ? rows->begin : 0;
        work->end = ends ? rows->end : 0;
        work->middle = rows->begin + rows->middle + rows->end - work->begin - work->end;
    }
}

/* Which tiles `columns` take: as many of the first one as are counted, and then the other. */
static gops_implicit_split split_columns(const gops_implicit_pass *pass, int64_t columns)
{
    gops_implicit_split split = {.mr = pass->mr,
                                 .columns = columns,
                                 .larger = gops_implicit_tile(pass->tiles, pass->mr, INT64_MAX)};
    const gops_tile *larger = split.larger;
    split.larger_calls = columns / larger->nr;
    split.smaller = gops_implicit_tile(pass->tiles, pass->mr, columns % larger->nr);
    if (columns > 0 &&
        gops_implicit_splits_evenly(larger)) { /* with 6 at most, 49 are 4 x 6 and 5 x 5 */
        const int64_t calls = gops_ceil_div(columns, larger->nr), size = columns / calls;
        split.larger = gops_implicit_tile(pass->tiles, pass->mr, size + 1);
        split.smaller = gops_implicit_tile(pass->tiles, pass->mr, size);
        split.larger_calls = columns % calls;
    }
    return split;
}

/* The columns from number `at` on that are of one range. A tile may compute columns of the next range, which
 * that range computes again. */
static void multiply_range(gops_implicit_pass *pass, int64_t at, int64_t columns)
{
    gops_tile_work *work = &pass->work;
    const gops_tile *tile;
    if (pass->split.mr != pass->mr || pass->split.columns != columns) {
        pass->split = split_columns(pass, columns);
    }
    const int64_t larger_calls = pass->split.larger_calls;
    for (int64_t i = 0, done = 0; i < columns; i += work->tiles * tile->nr, done += work->tiles) {
        tile = done < larger_calls ? pass->split.larger : pass->split.smaller;
        work->tiles = pass->rows.length > 0 ? 1
                      : done < larger_calls ? larger_calls - done
                                            : gops_ceil_div(columns - i, tile->nr);
        set_rows(pass, at + i, tile->nr, work);
        tile->run(work);
    }
}

/* Behind what was prefetched: the rest of the plane, or the next one. */
static void move_next(gops_implicit_next *next, const unsigned char *at)
{
    next->at = at;
    if (at >= next->end) {
        next->planes--;
        next->end += next->plane_bytes;
        next->at = next->end - next->bytes;
    }
}

/* Tiles take the pass's work itself: a copy of it would read in vectors what was stored in parts just before,
 * and so wait until all stores to the output before those are done. */
void gops_implicit_multiply(gops_implicit_pass *pass)
{
    gops_tile_work *work = &pass->work;
    const int64_t *const columns = work->columns, *const sum_offsets = work->sum_offsets;
    const int64_t *const offsets = work->offsets, all = work->depth;
    const unsigned char *const weights = work->weights;
    const void *const bounds = work->bounds;
    const int64_t step_bytes = pass->mr * pass->bytes;
    const bool prefetches_data = pass->next.planes > 0;
    work->ahead = pass->next.at;
    work->ahead_end = pass->next.end;
    for (int64_t k = 0; k < all; k += pass->depth_block) {
        const int64_t depth = gops_min(pass->depth_block, all - k);
        work->accumulate = k > 0;
        work->bounds = k + depth == all ? bounds : NULL;
        if (!prefetches_data) { /* the weights behind these come next, and may be in no cache */
            work->ahead = weights + (k + depth) * step_bytes;
            work->ahead_end = work->ahead + depth * step_bytes;
        }
        int64_t at = 0;
        for (int64_t i = 0; i < gops_max(1, pass->ranges); i++) {
            const gops_implicit_range one = {.columns = pass->count, .depth = depth};
            const gops_implicit_range *range = pass->ranges > 0 ? &pass->range[i] : &one;
            work->offsets = offsets + k + range->first;
            work->weights = weights + (k + range->first) * step_bytes;
            work->depth = range->depth;
            work->columns = columns + at;
            work->sum_offsets = sum_offsets + at;
            multiply_range(pass, at, range->columns);
            at += range->columns;
        }
    }
    if (prefetches_data) {
        move_next(&pass->next, work->ahead);
    }
    work->columns = columns;
    work->sum_offsets = sum_offsets;
    work->offsets = offsets;
    work->depth = all;
    work->weights = weights;
    work->bounds = bounds;
}

static gops_pixel_runs pixel_runs(const gops_implicit *p, int64_t step, const gops_box *box)
{
    const int axes = (int)p->padded.axes;
    gops_pixel_runs runs = {.rows = 1, .width = 1, .step = step, .count = 1};
    for (int a = 0; a < axes; a++) {
        if (a < axes - p->merged) {
            runs.count *= box->count[a];
        } else {
            runs.width *= box->count[a];
        }
    }
    runs.pitch = runs.length = runs.width;
    if (!p->dense) {
        runs.rows = box->count[axes - 2];
        runs.width = box->count[axes - 1];
        runs.pitch = p->pitch[axes - 2];
        runs.length = (runs.rows - 1) * runs.pitch + runs.width;
    }
    runs.columns = gops_ceil_div(runs.length, runs.step);
    /* The last box of an axis may be smaller, and its runs shorter than a vector. AMX can store a part
     * of one. */
    runs.writes_outputs =
        p->writes_outputs && (runs.length >= runs.step || gops_tile_is_wide(p->form));
    runs.last = runs.writes_outputs && p->form != GOPS_TILE_WIDE_PLANES
                    ? gops_max(0, runs.length - runs.step)
                    : (runs.columns - 1) * runs.step;
    return runs;
}

int64_t gops_implicit_stored_pixels(const gops_implicit *p, const gops_pixel_runs *runs,
                                    bool to_output)
{
    if (p->form == GOPS_TILE_WIDE_PLANES) {
        return to_output ? runs->length : INT64_MAX;
    }
    return to_output ? gops_min(runs->length, runs->step) : runs->step;
}

void gops_implicit_list_columns(const gops_implicit *p, const gops_implicit_item *item,
                                int64_t first, bool to_output, int64_t apart)
{
    const int axes = (int)p->padded.axes;
    const int64_t count = item->pass.count;
    const gops_pixel_runs *runs = &item->runs;
    const gops_box *box = &item->box;
    const int64_t values = gops_tile_is_blocked(p->form) ? GOPS_LANES_BLOCK : 1; /* of a position */
    int64_t *columns = (int64_t *)(void *)(item->workspace + p->columns_begin);
    int64_t *sum_offsets = (int64_t *)(void *)(item->workspace + p->sum_offsets_begin);
    int64_t run = first / runs->columns;
    int64_t next = first % runs->columns;
    int64_t i = 0;
    for (; i < count; run++, next = 0) {
        int64_t position = 0, rest = run;
        for (int a = axes - p->merged - 1; a >= 0; a--) {
            position += rest % box->count[a] * p->pitch[a];
            rest /= box->count[a];
        }
        const int64_t begin = gops_min(next * runs->step, runs->last);
        const int64_t base = to_output ? run * runs->length + begin : i * apart;
        const int64_t scale = to_output ? 1 : apart / runs->step;
        const int64_t some = gops_min(count - i, runs->columns - next);
        const int64_t pitch = p->pitch[axes - 1] * values, step = runs->step;
        for (int64_t j = 0; j < some; j++) {
            sum_offsets[i + j] = base + j * (step * scale);
            columns[i + j] = position * values + begin * pitch + j * (step * pitch);
        }
        i += some;
        if ((next + some - 1) * step > runs->last) { /* the last one ends with the run */
            sum_offsets[i - 1] = base + (runs->last - begin) * scale;
            columns[i - 1] = position * values + runs->last * pitch;
        }
    }
    for (int64_t j = 0; j < GOPS_MAX_NR - 1; j++) {
        columns[i + j] = columns[i - 1];
        sum_offsets[i + j] = sum_offsets[i - 1];
    }
}

/* The box with this number. */
static void find_box(const gops_implicit *p, const gops_axis *axis, int64_t number, gops_box *box)
{
    const int64_t along = gops_ceil_div(axis[p->cut].output, p->cut_pixels);
    for (int a = (int)p->padded.axes - 1; a > p->cut; a--) {
        box->begin[a] = 0;
        box->count[a] = axis[a].output;
    }
    box->begin[p->cut] = number % along * p->cut_pixels;
    box->count[p->cut] = gops_min(p->cut_pixels, axis[p->cut].output - box->begin[p->cut]);
    number /= along;
    for (int64_t a = p->cut - 1; a >= 0; a--) {
        box->begin[a] = number % axis[a].output;
        box->count[a] = 1;
        number /= axis[a].output;
    }
}

/* Where the data of an image and group lies. */
static const void *find_data(const gops_plan *plan, const gops_job *job, int64_t image_group)
{
    const gops_conv_geometry *conv = &plan->conv;
    return gops_data_at(plan, job, image_group / conv->groups,
                        image_group * conv->channels_in * plan->data_plane);
}

/* The padded copy of joined taps, quads or bf16. */
static void copy_joined(const gops_plan *plan, const gops_implicit *p, const int64_t *origin,
                        const gops_job *job, const void *data, uint32_t *to)
{
    const bool bf16 = !plan->quantized;
    const gops_lanes_join join = gops_implicit_join(plan);
    const gops_lanes_source source =
        bf16 ? (gops_lanes_source){.data = data, .apart = plan->data_plane}
             : gops_lanes_data(plan, job, data);
    gops_lanes_joined_fn *const copy =
        bf16 ? plan->kernels->bf16->joined : plan->kernels->lanes->joined;
    copy(&p->padded, &join, origin, plan->conv.channels_in, &source, to);
}

/* That of a quantized plan. */
static void copy_lanes(const gops_plan *plan, const gops_implicit *p, const int64_t *origin,
                       const gops_job *job, const void *data, uint32_t *to)
{
    const struct gops_lanes_kernels *lanes = plan->kernels->lanes;
    const gops_lanes_source source = gops_lanes_data(plan, job, data);
    gops_lanes_input_fn *const copy = gops_tile_is_blocked(p->form) ? lanes->blocks : lanes->input;
    copy(&p->padded, origin, plan->conv.channels_in, &source, to);
    if (p->form == GOPS_TILE_WIDE_PLANES) { /* planes that fill up a block have weights of 0 */
        const int64_t planes = gops_ceil_div(plan->conv.channels_in, GOPS_LANES_QUAD);
        memset(to + planes * p->padded.plane, 0,
               (size_t)((p->planes - planes) * p->padded.plane) * sizeof *to);
    }
}

/* What makes that of other plans. */
static gops_padded_input_fn *input_of(const gops_plan *plan, bool blocked)
{
    if (gops_plan_takes_bf16(plan)) {
        return blocked ? plan->kernels->bf16->blocks : plan->kernels->bf16->input;
    }
    return blocked ? gops_plan_tiles(plan)->blocks
                   : plan->kernels->implicit->padded_input[plan->type->index];
}

/* Makes the padded copy of what a box reads. */
static void copy_input(const gops_plan *plan, const gops_implicit *p, const gops_axis *axis,
                       const gops_box *box, const gops_job *job, const void *data, void *to)
{
    int64_t origin[GOPS_MAX_SPATIAL];
    for (int a = 0; a < p->padded.axes; a++) {
        origin[a] = box->begin[a] * axis[a].stride - axis[a].pad_begin;
    }
    if (p->form == GOPS_TILE_WIDE_JOINED) {
        copy_joined(plan, p, origin, job, data, to);
    } else if (plan->quantized) {
        copy_lanes(plan, p, origin, job, data, to);
    } else {
        input_of(plan, gops_tile_is_blocked(p->form))(&p->padded, origin, plan->conv.channels_in,
                                                      data, to);
    }
}

/* The input of the item's box: the data itself; or its padded copy in the workspace, which is made unless the
 * worker's item before this one left it there. */
static const void *find_input(const gops_implicit *p, const gops_axis *axis,
                              const gops_implicit_item *item, int64_t number)
{
    const unsigned char *data = find_data(item->plan, item->job, number / p->boxes);
    int64_t start = 0;
    for (int a = 0; a < p->padded.axes; a++) {
        start += item->box.begin[a] * p->pitch[a];
    }
    if (p->in_place) {
        return data + start * item->plan->type->bytes;
    }
    if (item->job->kept[GOPS_IMPLICIT_KEPT_BOX] != number) {
        copy_input(item->plan, p, axis, &item->box, item->job, data, item->workspace);
        item->job->kept[GOPS_IMPLICIT_KEPT_BOX] = number;
    }
    return item->workspace;
}

/* What the next item copies: in a network it may be in no cache, and nothing is multiplied while it is copied. Where
 * the first level cache does not hold the weights, these are prefetched instead. */
static gops_implicit_next find_next(const gops_implicit *p, const gops_axis *axis,
                                    const gops_implicit_item *item, int64_t number)
{
    const gops_plan *plan = item->plan;
    const int64_t weights = item->channels * p->depth * gops_compute_bytes(plan->type->compute);
    const bool last_block = item->channel + item->channels == plan->conv.channels_out;
    if (p->in_place || p->cut > 0 || !last_block || (number + 1) % p->boxes == 0 ||
        plan->quantized || gops_tile_is_blocked(p->form) || weights > plan->machine.l1_bytes) {
        return (gops_implicit_next){0};
    }
    const int64_t row = plan->conv.data_pixels / axis->data * plan->type->bytes;
    const int64_t reach = (axis->kernel - 1) * axis->dilation + 1 - axis->pad_begin;
    const int64_t last = item->box.begin[0] + item->box.count[0] - 1;
    const int64_t begin = gops_clamp(last * axis->stride + reach, 0, axis->data);
    const int64_t end =
        gops_clamp((last + p->cut_pixels) * axis->stride + reach, begin, axis->data);
    const unsigned char *data = find_data(plan, item->job, number / p->boxes);
    return (gops_implicit_next){
        .at = data + begin * row,
        .end = data + end * row,
        .bytes = (end - begin) * row,
        .plane_bytes = plan->data_plane * plan->type->bytes,
        .planes = begin < end ? plan->conv.channels_in : 0,
    };
}

void gops_implicit_begin(const gops_plan *plan, const gops_implicit *p, const gops_axis *axis,
                         const gops_job *job, int64_t index, void *workspace,
                         gops_implicit_item *item)
{
    const gops_conv_geometry *conv = &plan->conv;
    const gops_tiles *tiles = gops_plan_tiles(plan);
    const int64_t number = index / p->channel_blocks, image_group = number / p->boxes;
    const int64_t group = image_group % conv->groups;
    const int64_t channel = index % p->channel_blocks * p->channel_block;
    *item = (gops_implicit_item){
        .plan = plan,
        .job = job,
        .whole = job,
        .group = group,
        .channels = gops_min(p->channel_block, conv->channels_out - channel),
        .channel = channel,
        .channel_of_all = group * conv->channels_out + channel,
        .element = (image_group * conv->channels_out + channel) * plan->output_plane,
        .workspace = workspace,
    };
    find_box(p, axis, number % p->boxes, &item->box);
    item->runs = pixel_runs(p, gops_tile_pixels(tiles, p->form), &item->box);
    const gops_implicit_next next = find_next(p, axis, item, number);
    item->pass = (gops_implicit_pass){
        .tiles = gops_implicit_tiles(plan, p),
        .depth_block = p->depth_block,
        .bytes = gops_compute_bytes(plan->type->compute),
        .next = next,
        .work =
            {
                .input = find_input(p, axis, item, number),
                .columns = (const int64_t *)(void *)(item->workspace + p->columns_begin),
                .sum_offsets = (const int64_t *)(void *)(item->workspace + p->sum_offsets_begin),
            },
    };
    if (gops_tile_is_wide(p->form)) {
        tiles->begin();
    }
}

void gops_implicit_end(const gops_implicit *p, const gops_implicit_item *item)
{
    if (gops_tile_is_wide(p->form)) {
        gops_plan_tiles(item->plan)->end();
    }
}
