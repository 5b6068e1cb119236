/*
 * algorithms/implicit_conv.c: GroupConvolution without the column matrix; algorithms/implicit.h.
 *
 * Row (channel, tap) of the column matrix is the frame of that channel, shifted by the tap: pixel o
 * and tap k meet at o * stride + k * dilation of the padded data, and the second term does not
 * depend on o. The pixels form wants neighbouring outputs to read neighbours; for it the phases of
 * the strides lie apart, and the two meet at position o + k * dilation / stride of phase
 * k * dilation % stride. All that is left of im2col is the table of C_IN * taps shifts.
 *
 * Which form and size of tile is quickest depends on C_OUT, the width of the output and the
 * processor's vectors; `prepare` lays out each and keeps the one whose estimate is least.
 */
#include "algorithms/implicit_layout.h"
#include "algorithms/methods.h"

#include "base/checked.h"
#include "base/error.h"
#include "store/store.h"
#include "store/trim.h"

#include <assert.h>
#include <stdio.h>

enum {
    /* The least items to cut a large layer into, so that threads find work ... */
    SHARES = 8,
    CHANNEL_SHARES = 4, /* where each copies all of the data */
    /* ... and the multiplications of an item below which that is not worth the copies. */
    SMALL_ITEM = 200000,
    MOST_SUMS_BYTES = 32 << 10,
};

static_assert(sizeof(gops_implicit) <= GOPS_PARAMETER_BYTES, "parameters outgrow the plan's room");

static gops_implicit *own(gops_plan *plan)
{
    return (gops_implicit *)(void *)plan->parameters.bytes;
}

static const gops_implicit *read_own(const gops_plan *plan)
{
    return (const gops_implicit *)(const void *)plan->parameters.bytes;
}

static void fill_axes(const gops_conv_geometry *conv, gops_implicit_axis *axis)
{
    for (int a = 0; a < conv->axes; a++) {
        const gops_axis *from = &conv->axis[a];
        axis[a] = (gops_implicit_axis){from->data, from->output, from->kernel, from->stride,
                                       from->dilation};
    }
}

/* No tap of any output leaves the data. */
static int is_unpadded(const gops_conv_geometry *conv)
{
    for (int a = 0; a < conv->axes; a++) {
        const gops_axis *axis = &conv->axis[a];
        const int64_t last =
            (axis->output - 1) * axis->stride + (axis->kernel - 1) * axis->dilation;
        if (axis->pad_begin != 0 || last >= axis->data) {
            return 0;
        }
    }
    return 1;
}

/* Lays out one form and tile; *slot_bytes and the plan's time in *cost. */
static int lay_out(const gops_plan *plan, const gops_tile *tile, int pixels, int64_t slot_limit,
                   gops_implicit *p, int64_t *slot_bytes, double *cost)
{
    const gops_conv_geometry *conv = &plan->conv;
    const gops_tiles *tiles = plan->kernels->tiles[plan->type->compute];
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t images = gops_max(1, gops_mul_saturate(conv->batch, conv->groups));
    const int64_t least = gops_clamp(conv->flops / 2 / SMALL_ITEM, 1, SHARES);
    gops_implicit_axis axis[GOPS_MAX_SPATIAL];
    fill_axes(conv, axis);
    /* Without outputs K may be anything, and is not used. */
    *p = (gops_implicit){.depth = conv->channels_out > 0 ? conv->k : 1,
                         .tile = tile->channels,
                         .pixels = (int8_t)pixels};
    p->depth_block = gops_max(64, plan->machine.l1_bytes / 2 / (p->tile * bytes));
    p->depth_block = gops_ceil_div(p->depth, gops_ceil_div(p->depth, p->depth_block));
    p->in_place = plan->type->plain && is_unpadded(conv) &&
                  (!pixels || conv->axis[conv->axes - 1].stride == 1);
    /* Items: first the blocks of channels, where reading all weights again would cost more than
     * copying the data again; then bands. */
    const int64_t weights = gops_mul_saturate(conv->k, conv->channels_out);
    const int64_t data = gops_mul_saturate(conv->data_pixels, conv->channels_in);
    const int64_t blocks = gops_ceil_div(conv->channels_out, p->tile);
    p->parts = weights > data
                   ? gops_clamp(gops_ceil_div(gops_min(least, CHANNEL_SHARES), images), 1, blocks)
                   : 1;
    p->part = gops_ceil_div(blocks, p->parts) * p->tile;
    p->parts = gops_ceil_div(conv->channels_out, p->part);
    const int64_t limit = gops_min(slot_limit / 2, plan->machine.l2_bytes / 2);
    const int64_t bands =
        p->parts > 1 ? 1 : gops_ceil_div(least, gops_mul_saturate(images, p->parts));
    if (!gops_implicit_cut(p, conv->axes, axis, conv->channels_in, bytes, limit, bands)) {
        return 0;
    }
    const int64_t spots = gops_implicit_merge(p, conv->axes, axis, tiles->lanes,
                                              plan->type->plain && p->depth_block == p->depth);
    if (p->in_place && pixels && !p->direct) {
        p->in_place = 0; /* the last vector would read beyond the data */
        if (!gops_implicit_cut(p, conv->axes, axis, conv->channels_in, bytes, limit, bands)) {
            return 0;
        }
        gops_implicit_merge(p, conv->axes, axis, tiles->lanes, 0);
    }
    const int64_t step = pixels ? tiles->lanes : 1;
    p->chunk = gops_max(1, MOST_SUMS_BYTES / (p->tile * step * bytes) / tile->spots) * tile->spots;
    p->chunk = gops_min(p->chunk, gops_round_up(spots, tile->spots));
    const int64_t frame = p->in_place ? 0 : p->frame.plane * conv->channels_in + tiles->lanes;
    const int64_t sums = p->tile * p->chunk * step;
    *slot_bytes = gops_implicit_workspace(p, frame, p->depth, sums, pixels ? 0 : sums, bytes);
    const double runs = (double)frame / (double)p->frame.axis[conv->axes - 1].length;
    const double outputs = (double)conv->channels_out * (double)conv->output_pixels;
    double item = gops_implicit_product_cost(plan, p, p->part, spots, p->depth) +
                  gops_implicit_copy_cost((double)frame + (double)p->depth, runs);
    *cost = (double)images *
            (item * (double)(p->bands * p->parts) +
             (p->direct ? 0
                        : gops_implicit_copy_cost(
                              outputs,
                              pixels ? outputs / (double)conv->axis[conv->axes - 1].output : 0)));
    return *slot_bytes <= slot_limit;
}

static void explain(gops_plan *plan, const gops_implicit *p)
{
    snprintf(plan->why, sizeof plan->why,
             "no column matrix: tiles of %lld channels by %s, %s, K %lld in blocks of %lld, %lld "
             "bands",
             (long long)p->tile, p->pixels ? "vectors of pixels" : "single pixels",
             p->in_place ? "the input where it lies" : "the input copied once into a padded frame",
             (long long)p->depth, (long long)p->depth_block, (long long)p->bands);
}

/* What the packing depends on beside the shape of the filter. */
static int64_t variant(int64_t tile, int pixels)
{
    return tile * 2 + pixels;
}

/* Lays out the form and tile that cost least; 0 where none fits. */
static int find_best(gops_plan *plan, int64_t slot_limit)
{
    const gops_conv_geometry *conv = &plan->conv;
    const gops_tiles *tiles = plan->kernels->tiles[plan->type->compute];
    int found = 0;
    for (int pixels = 0; pixels < 2; pixels++) {
        const gops_tile *tile = pixels ? tiles->pixels : tiles->channels;
        int64_t width = 0;
        for (; tile->channels != 0; tile++) {
            gops_implicit candidate;
            int64_t slot_bytes;
            double cost;
            if (tile->channels == width ||
                tile->channels - (pixels ? 1 : tiles->lanes) >= gops_max(1, conv->channels_out)) {
                continue;
            }
            width = tile->channels;
            /* Tiles of 3 channels are for the phases of transposed convolutions; more channels
             * than that they make read the data again, which the estimate does not count: 48 -> 48
             * in 8 groups on 28x28 took 0.16 ms by them for 0.127. */
            if (pixels && width == 3 && conv->channels_out > 3) {
                continue;
            }
            if (plan->wanted_variant != 0 && plan->wanted_variant != variant(width, pixels)) {
                continue;
            }
            if (lay_out(plan, tile, pixels, slot_limit, &candidate, &slot_bytes, &cost) &&
                (!found || cost < plan->cost)) {
                *own(plan) = candidate;
                plan->slot_bytes = slot_bytes;
                plan->cost = cost;
                found = 1;
            }
        }
    }
    return found;
}

static gops_status prepare(gops_plan *plan, int64_t slot_limit, gops_error *error)
{
    const gops_conv_geometry *conv = &plan->conv;
    const gops_tiles *tiles = plan->kernels->tiles[plan->type->compute];
    if (!find_best(plan, slot_limit)) {
        return gops_implicit_refuse(plan, slot_limit, find_best(plan, GOPS_UNLIMITED), error);
    }
    const gops_implicit *p = read_own(plan);
    plan->items = conv->batch * conv->groups * p->parts * p->bands;
    plan->filter_variant = variant(p->tile, p->pixels);
    plan->filter_bytes = conv->groups * gops_implicit_padded(p, tiles, conv->channels_out) *
                         conv->k * gops_compute_bytes(plan->type->compute);
    explain(plan, p);
    return GOPS_OK;
}

/* Blocks of the tile's channels, each [K][channels]; what pads the last block is 0. */
static void pack(const gops_plan *plan, const void *weights, void *packed)
{
    const gops_implicit *p = read_own(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const gops_type_row *type = plan->filter_type;
    const gops_tile *list = gops_implicit_tiles(p, plan->kernels->tiles[type->compute]);
    const int64_t size = type->bytes;
    const int64_t bytes = gops_compute_bytes(type->compute);
    const unsigned char *from = weights;
    unsigned char *to = packed;
    for (int64_t g = 0; g < conv->groups; g++, from += conv->channels_out * conv->k * size) {
        int64_t width;
        for (int64_t c = 0; c < conv->channels_out; c += width) {
            const int64_t left = conv->channels_out - c;
            width = gops_implicit_width(list, p->pixels, p->tile, left);
            gops_implicit_pack_block(type, from + c * conv->k * size, conv->k * size, size, conv->k,
                                     gops_min(width, left), width, to);
            to += width * conv->k * bytes;
        }
    }
}

/* What one item works on. */
typedef struct piece {
    const gops_plan *plan;
    const gops_job *job;
    gops_box box;
    gops_segments segments;
    const unsigned char *filter; /* of the part of the channels */
    int64_t channel;             /* its first, counted over all groups */
    int64_t element;             /* of the output: the box's first pixel in that channel */
    int64_t channels;
    unsigned char *workspace;
    const gops_job *whole; /* job, and what the tiles do of it */
    const gops_trim *trim;
    gops_implicit_pass pass;
} piece;

/* The shifts of all taps of all channels. */
static void fill_offsets(const gops_plan *plan, int64_t *offsets)
{
    const gops_implicit *p = read_own(plan);
    const gops_conv_geometry *conv = &plan->conv;
    int64_t tap[GOPS_MAX_SPATIAL] = {0};
    const int64_t plane = p->in_place ? conv->data_pixels : p->frame.plane;
    for (int64_t t = 0; t < conv->taps; t++) {
        int64_t shift = 0, phase = 0;
        for (int a = 0; a < conv->axes; a++) {
            const int64_t reach = tap[a] * conv->axis[a].dilation;
            if (p->in_place || !p->pixels) {
                shift += reach * (p->pitch[a] / conv->axis[a].stride);
            } else {
                const int64_t phases = p->frame.axis[a].phases;
                shift += reach / conv->axis[a].stride * p->pitch[a];
                phase = phase * phases + tap[a] % phases;
            }
        }
        offsets[t] = shift + phase * p->frame.positions;
        for (int a = conv->axes - 1; a >= 0 && ++tap[a] == conv->axis[a].kernel; a--) {
            tap[a] = 0;
        }
    }
    for (int64_t i = conv->taps; i < p->depth; i++) {
        offsets[i] = offsets[i - conv->taps] + plane;
    }
}

/* Finds the box's input: where it lies, or copied. */
static const void *find_frame(const gops_plan *plan, const unsigned char *data, const gops_box *box,
                              void *workspace)
{
    const gops_implicit *p = read_own(plan);
    const gops_conv_geometry *conv = &plan->conv;
    int64_t origin[GOPS_MAX_SPATIAL], start = 0;
    for (int a = 0; a < conv->axes; a++) {
        origin[a] = box->begin[a] * conv->axis[a].stride - conv->axis[a].pad_begin;
        start += box->begin[a] * p->pitch[a];
    }
    if (p->in_place) {
        return data + start * plan->type->bytes;
    }
    plan->type->frame(&p->frame, origin, conv->channels_in, data, workspace);
    return workspace;
}

/* Stores the sums of the pass, those of the part's channels c to c + count - 1. */
static void store(const piece *at, int64_t first, int64_t c, int64_t count)
{
    const gops_plan *plan = at->plan;
    const gops_implicit *p = read_own(plan);
    const gops_tiles *tiles = plan->kernels->tiles[plan->type->compute];
    const gops_implicit_pass *pass = &at->pass;
    const int64_t pixels = plan->conv.output_pixels;
    const int64_t element = at->element + c * pixels;
    if (p->pixels) {
        const gops_rows rows = {pass->sums, pass->sums_ld,   first,  pass->count,
                                count,      at->channel + c, element};
        gops_implicit_store_rows(plan, at->job, &at->segments, &rows);
    } else if (plan->type->plain && !at->job->fused) {
        void *to = gops_output_at(plan, at->job, element + first);
        tiles->transpose(to, pixels, pass->sums, pass->width, count, pass->count);
    } else if (plan->type->plain && !gops_adds_in_place(at->job)) {
        unsigned char *to = gops_output_at(plan, at->job, element + first);
        tiles->transpose(to, pixels, pass->sums, pass->width, count, pass->count);
        for (int64_t i = 0; i < count; i++) { /* while it is in the first cache */
            gops_store(plan, at->job, at->channel + c + i, element + i * pixels + first,
                       pass->count, to + i * pixels * pass->bytes);
        }
    } else {
        unsigned char *turned = at->workspace + p->turned_from;
        tiles->transpose(turned, pass->count, pass->sums, pass->width, count, pass->count);
        for (int64_t i = 0; i < count; i++) {
            gops_store(plan, at->job, at->channel + c + i, element + i * pixels + first,
                       pass->count, turned + i * pass->count * pass->bytes);
        }
    }
}

/* One chunk of spots for all channels of the part. */
static void run_chunk(piece *at, int64_t first, int64_t *list, int64_t *places)
{
    const gops_plan *plan = at->plan;
    const gops_implicit *p = read_own(plan);
    gops_implicit_pass *pass = &at->pass;
    const int direct = at->segments.direct && !at->job->fused;
    const int64_t pixels = plan->conv.output_pixels;
    const unsigned char *weights = at->filter;
    gops_trim_values bias;
    for (int64_t c = 0; c < at->channels; c += pass->width) {
        const int64_t left = at->channels - c;
        const int64_t width = gops_implicit_width(pass->tiles, p->pixels, p->tile, left);
        if (c == 0 || (width != pass->width && !p->pixels)) {
            gops_implicit_list_spots(p, plan->conv.axes, &at->segments, &at->box, first,
                                     pass->count, direct, p->pixels ? at->segments.step : width,
                                     list, places);
        }
        pass->width = width;
        if (at->trim->applies) {
            gops_trim_bias(plan, at->whole, at->channel + c, 1, gops_min(width, left), width,
                           &bias);
            pass->bounds = &at->trim->bounds;
            pass->bias = &bias;
        }
        pass->weights = weights;
        weights += width * p->depth * pass->bytes;
        pass->sums = at->workspace + p->sums_from;
        pass->sums_ld = p->chunk * at->segments.step;
        pass->residual = NULL;
        if (direct && at->whole->residual != NULL) {
            pass->residual = gops_residual_at(plan, at->whole, at->element + c * pixels);
        }
        if (direct) {
            pass->sums = gops_output_at(plan, at->job, at->element + c * pixels);
            pass->sums_ld = pixels;
        }
        gops_implicit_multiply(pass);
        if (!direct) {
            store(at, first, c, gops_min(width, left));
        }
    }
}

static void run(const gops_plan *plan, const gops_job *job, int64_t item, void *workspace)
{
    const gops_implicit *p = read_own(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const gops_tiles *tiles = plan->kernels->tiles[plan->type->compute];
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t image_group = item / p->bands / p->parts;
    const int64_t channel = item / p->bands % p->parts * p->part;
    const int64_t padded = gops_implicit_padded(p, tiles, conv->channels_out);
    const int64_t group = image_group % conv->groups;
    const void *data = gops_data_at(plan, job, image_group / conv->groups,
                                    image_group * conv->channels_in * conv->data_pixels);
    piece at = {
        .plan = plan,
        .whole = job,
        .filter = (const unsigned char *)job->filter + (group * padded + channel) * conv->k * bytes,
        .channel = group * conv->channels_out + channel,
        .channels = gops_min(p->part, conv->channels_out - channel),
        .workspace = workspace,
    };
    gops_implicit_axis axis[GOPS_MAX_SPATIAL];
    fill_axes(conv, axis);
    gops_implicit_band(p, conv->axes, axis, item % p->bands, &at.box);
    at.segments = gops_implicit_segments(p, conv->axes, tiles->lanes, &at.box);
    const gops_trim trim = gops_trim_read(plan, job,
                                          p->pixels && at.segments.direct ? GOPS_TRIM_ADDS_ELSEWHERE
                                                                          : GOPS_TRIM_ADDS_NOTHING);
    at.job = trim.applies ? &trim.rest : job;
    at.trim = &trim;
    for (int a = 0; a < conv->axes; a++) {
        at.element = at.element * conv->axis[a].output + at.box.begin[a];
    }
    at.element += (image_group * conv->channels_out + channel) * conv->output_pixels;
    int64_t *offsets = (int64_t *)(void *)(at.workspace + p->offsets_from);
    int64_t *list = (int64_t *)(void *)(at.workspace + p->spots_from);
    int64_t *places = (int64_t *)(void *)(at.workspace + p->places_from);
    fill_offsets(plan, offsets);
    at.pass = (gops_implicit_pass){
        .tiles = gops_implicit_tiles(p, tiles),
        .frame = find_frame(plan, data, &at.box, workspace),
        .offsets = offsets,
        .depth = p->depth,
        .depth_block = p->depth_block,
        .streams = at.channels * p->depth * bytes > plan->machine.l2_bytes / 2,
        .bytes = bytes,
        .spots = list,
        .places = places,
    };
    const int64_t spots = at.segments.spots * at.segments.count;
    for (int64_t first = 0; first < spots; first += p->chunk) {
        at.pass.count = gops_min(p->chunk, spots - first);
        run_chunk(&at, first, list, places);
    }
}

const gops_method gops_implicit_conv = {
    .algorithm = "implicit",
    .operation = GOPS_OPERATION_CONV,
    .prepare = prepare,
    .pack = pack,
    .run = run,
    .modular = 1,
};
