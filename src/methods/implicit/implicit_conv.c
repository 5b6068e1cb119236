/*
 * implicit_conv.c: GroupConvolution without the column matrix; implicit.h.
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
#include "methods/implicit/implicit_conv.h"
#include "methods/methods.h"

#include "base/checked.h"

#include <assert.h>
#include <stdio.h>

enum {
    /* The least items to cut a large layer into, so that threads find work ... */
    SHARES = 8,
    CHANNEL_SHARES = 4, /* where each copies all of the data */
    /* ... and the multiplications of an item below which that is not worth the copies. */
    SMALL_ITEM = 200000,
    MAX_SUMS_BYTES = 32 << 10,
};

static_assert(sizeof(gops_implicit) <= GOPS_PARAMETER_BYTES, "parameters outgrow the plan's room");

static gops_implicit *own(gops_plan *plan)
{
    return gops_parameters(plan);
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

/* Lays out one form and tile; *worker_bytes and the plan's time in *cost. */
static int lay_out(const gops_plan *plan, const gops_tile *tile, int pixels, int64_t worker_limit,
                   gops_implicit *p, int64_t *worker_bytes, double *cost)
{
    const gops_conv_geometry *conv = &plan->conv;
    const gops_tiles *tiles = plan->kernels->implicit->tiles[plan->type->compute];
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t images = gops_max(1, gops_mul_saturate(conv->batch, conv->groups));
    const int64_t least = gops_clamp(conv->flops / 2 / SMALL_ITEM, 1, SHARES);
    gops_implicit_axis axis[GOPS_MAX_SPATIAL];
    gops_implicit_axes(conv, axis);
    /* Without outputs K may be anything, and is not used. */
    *p = (gops_implicit){.depth = conv->channels_out > 0 ? conv->k : 1,
                         .tile = tile->channels,
                         .pixels = (int8_t)pixels};
    p->depth_block = gops_max(64, plan->machine.l1_bytes / 2 / (p->tile * bytes));
    p->depth_block = gops_ceil_div(p->depth, gops_ceil_div(p->depth, p->depth_block));
    p->in_place = plan->type->native && is_unpadded(conv) &&
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
    const int64_t limit = gops_min(worker_limit / 2, plan->machine.l2_bytes / 2);
    const int64_t bands =
        p->parts > 1 ? 1 : gops_ceil_div(least, gops_mul_saturate(images, p->parts));
    if (!gops_implicit_cut(p, conv->axes, axis, conv->channels_in, bytes, limit, bands)) {
        return 0;
    }
    const int64_t spots = gops_implicit_merge(p, conv->axes, axis, tiles->lanes,
                                              plan->type->native && p->depth_block == p->depth);
    if (p->in_place && pixels && !p->direct) {
        p->in_place = 0; /* the last vector would read beyond the data */
        if (!gops_implicit_cut(p, conv->axes, axis, conv->channels_in, bytes, limit, bands)) {
            return 0;
        }
        gops_implicit_merge(p, conv->axes, axis, tiles->lanes, 0);
    }
    const int64_t step = pixels ? tiles->lanes : 1;
    p->chunk = gops_max(1, MAX_SUMS_BYTES / (p->tile * step * bytes) / tile->spots) * tile->spots;
    p->chunk = gops_min(p->chunk, gops_round_up(spots, tile->spots));
    const int64_t frame = p->in_place ? 0 : p->frame.plane * conv->channels_in + tiles->lanes;
    const int64_t sums = p->tile * p->chunk * step;
    *worker_bytes = gops_implicit_workspace(p, frame, p->depth, sums, pixels ? 0 : sums, bytes);
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
    return *worker_bytes <= worker_limit;
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
static int find_best(gops_plan *plan, int64_t worker_limit)
{
    const gops_conv_geometry *conv = &plan->conv;
    const gops_tiles *tiles = plan->kernels->implicit->tiles[plan->type->compute];
    int found = 0;
    for (int pixels = 0; pixels < 2; pixels++) {
        const gops_tile *tile = pixels ? tiles->pixels : tiles->channels;
        int64_t width = 0;
        for (; tile->channels != 0; tile++) {
            gops_implicit candidate;
            int64_t worker_bytes;
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
            if (lay_out(plan, tile, pixels, worker_limit, &candidate, &worker_bytes, &cost) &&
                (!found || cost < plan->cost)) {
                *own(plan) = candidate;
                plan->worker_bytes = worker_bytes;
                plan->cost = cost;
                found = 1;
            }
        }
    }
    return found;
}

static gops_status prepare(gops_plan *plan, int64_t worker_limit, gops_error *error)
{
    const gops_conv_geometry *conv = &plan->conv;
    const gops_tiles *tiles = plan->kernels->implicit->tiles[plan->type->compute];
    if (!find_best(plan, worker_limit)) {
        return gops_implicit_refuse(plan, worker_limit, find_best(plan, GOPS_UNLIMITED), error);
    }
    const gops_implicit *p = gops_implicit_read(plan);
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
    const gops_implicit *p = gops_implicit_read(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const gops_type_row *type = plan->filter_type;
    const gops_tile *list = gops_implicit_tiles(p, plan->kernels->implicit->tiles[type->compute]);
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

const gops_method gops_implicit_conv = {
    .name = "implicit",
    .operation = GOPS_OPERATION_CONV,
    .prepare = prepare,
    .pack = pack,
    .run = gops_implicit_run,
    .modular = 1,
};
