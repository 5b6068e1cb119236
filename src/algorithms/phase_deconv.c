/*
 * algorithms/phase_deconv.c: GroupConvolutionBackpropData by phases, each an implicit convolution;
 * algorithms/phase.h and algorithms/implicit.h.
 *
 * All phases read one frame of the data. The sums of all phases of a `span` of output channels are
 * made for a chunk of pixels and then interleaved, so that the output is written in runs along its
 * last axis and every element once.
 */
#include "algorithms/methods.h"
#include "algorithms/phase_deconv.h"

#include "base/checked.h"
#include "base/error.h"

#include <stdio.h>

enum {
    SHARES = 8,          /* as for the convolution: the least items of a large layer ... */
    SMALL_ITEM = 200000, /* ... and the least multiplications of an item */
    MOST_SUMS_BYTES = 64 << 10,
    MOST_PRODUCTS = 4096,
    MOST_PHASES = 1 << 16,
};

void gops_phase_axes(const gops_conv_geometry *conv, gops_implicit_axis *axis)
{
    for (int a = 0; a < conv->axes; a++) {
        const gops_axis *from = &conv->axis[a];
        const int64_t last = (from->output - 1 + from->pad_begin) / from->stride;
        axis[a] = (gops_implicit_axis){from->data, last - gops_phase_first(from) + 1,
                                       gops_phase_reach(from) + 1, 1, 1};
    }
}

/* Every tap reads data, and the pixels are those of the data. */
static int is_unpadded(const gops_conv_geometry *conv)
{
    gops_implicit_axis axis[GOPS_MAX_SPATIAL];
    gops_phase_axes(conv, axis);
    for (int a = 0; a < conv->axes; a++) {
        if (axis[a].kernel != 1 || gops_phase_first(&conv->axis[a]) != 0 ||
            axis[a].pixels > axis[a].data) {
            return 0;
        }
    }
    return 1;
}

/* What all products come to. */
typedef struct totals {
    int64_t products, phases; /* those with taps */
    int64_t least, most;      /* phases of one */
    int64_t taps;
} totals;

/* False where there are too many. */
static int count_products(const gops_conv_geometry *conv, totals *sum)
{
    gops_phases phases;
    *sum = (totals){0, 0, INT64_MAX, 0, 0};
    if (gops_phase_count(conv) > MOST_PHASES) {
        return 0;
    }
    gops_phases_first(conv, &phases);
    do {
        if (phases.taps > 0) {
            sum->products++;
            sum->phases += phases.count;
            sum->least = gops_min(sum->least, phases.count);
            sum->most = gops_max(sum->most, phases.count);
            sum->taps += phases.taps;
        }
    } while (sum->products <= MOST_PRODUCTS && gops_phases_next(conv, &phases));
    return sum->products <= MOST_PRODUCTS;
}

static int64_t span_weights(const gops_plan *plan, const gops_implicit *p, int64_t channels)
{
    const gops_tiles *tiles = plan->kernels->tiles[plan->type->compute];
    gops_phases phases;
    int64_t values = 0;
    gops_phases_first(&plan->conv, &phases);
    do {
        values += gops_implicit_padded(p, tiles, channels * phases.count) * plan->conv.channels_in *
                  phases.taps;
    } while (gops_phases_next(&plan->conv, &phases));
    return values;
}

int64_t gops_phase_group_weights(const gops_plan *plan)
{
    const gops_phase_parameters *p = gops_phase_read(plan);
    const int64_t channels = plan->conv.channels_out, rest = channels % p->span;
    return channels / p->span * p->weights +
           (rest > 0 ? span_weights(plan, &p->implicit, rest) : 0);
}

/* Estimated nanoseconds of one item's products. */
static double products_cost(const gops_plan *plan, const gops_phase_parameters *p, int64_t spots)
{
    gops_phases phases;
    double cost = 0;
    gops_phases_first(&plan->conv, &phases);
    do {
        if (phases.taps > 0) {
            cost += gops_implicit_product_cost(plan, &p->implicit, p->span * phases.count, spots,
                                               plan->conv.channels_in * phases.taps);
        }
    } while (gops_phases_next(&plan->conv, &phases));
    return cost * (double)p->implicit.part / (double)p->span;
}

static int64_t lay_out_workspace(const gops_plan *plan, const totals *sum, gops_phase_parameters *p,
                                 int64_t frame)
{
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t stride = conv->axis[conv->axes - 1].stride;
    const int64_t step = p->implicit.pixels ? plan->kernels->tiles[plan->type->compute]->lanes : 1;
    const int64_t sums = p->rows * p->implicit.chunk * step;
    const int64_t block = p->implicit.pixels ? 0 : p->implicit.tile * p->implicit.chunk;
    int64_t end = gops_implicit_workspace(&p->implicit, frame, conv->channels_in * sum->taps, sums,
                                          block, bytes);
    p->block_from = p->implicit.turned_from;
    p->table_from = end;
    end += gops_round_up(gops_phase_count(conv) * (int64_t)sizeof(gops_phase_row),
                         GOPS_WORKSPACE_ALIGNMENT);
    p->pointers_from = end;
    end += gops_round_up(stride * (int64_t)sizeof(void *), GOPS_WORKSPACE_ALIGNMENT);
    p->line_from = end;
    return end + gops_round_up(p->implicit.chunk * step * stride * bytes, GOPS_WORKSPACE_ALIGNMENT);
}

/* Lays out one form and tile; false where it does not fit. */
static int lay_out(const gops_plan *plan, const totals *sum, const gops_tile *tile, int pixels,
                   int64_t slot_limit, gops_phase_parameters *p, int64_t *slot_bytes, double *cost)
{
    const gops_conv_geometry *conv = &plan->conv;
    const gops_tiles *tiles = plan->kernels->tiles[plan->type->compute];
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t images = gops_max(1, gops_mul_saturate(conv->batch, conv->groups));
    const int64_t least = gops_clamp(conv->flops / 2 / SMALL_ITEM, 1, SHARES);
    const int64_t channels = gops_max(1, conv->channels_out);
    gops_implicit_axis axis[GOPS_MAX_SPATIAL];
    gops_implicit *implicit = &p->implicit;
    gops_phase_axes(conv, axis);
    *implicit = (gops_implicit){
        .depth = conv->channels_in * gops_ceil_div(sum->taps, sum->products),
        .tile = tile->channels,
        .pixels = (int8_t)pixels,
        .in_place = plan->type->plain && !pixels && is_unpadded(conv),
    };
    implicit->depth_block = gops_max(64, plan->machine.l1_bytes / 2 / (implicit->tile * bytes));
    p->span = gops_min(channels, gops_ceil_div(implicit->tile, sum->least));
    p->rows = p->span * sum->phases;
    const int64_t spans = gops_ceil_div(channels, p->span);
    const int64_t weights =
        gops_mul_saturate(gops_mul_saturate(conv->channels_in, channels), conv->taps);
    const int64_t data = gops_mul_saturate(conv->data_pixels, conv->channels_in);
    implicit->parts = weights > data ? gops_clamp(gops_ceil_div(least, images), 1, spans) : 1;
    implicit->part = gops_ceil_div(spans, implicit->parts) * p->span;
    implicit->parts = gops_ceil_div(channels, implicit->part);
    const int64_t limit = gops_min(slot_limit / 2, plan->machine.l2_bytes / 2);
    const int64_t bands = gops_ceil_div(least, gops_mul_saturate(images, implicit->parts));
    if (!gops_implicit_cut(implicit, conv->axes, axis, conv->channels_in, bytes, limit, bands)) {
        return 0;
    }
    const int64_t spots = gops_implicit_merge(implicit, conv->axes, axis, tiles->lanes, 0);
    const int64_t step = pixels ? tiles->lanes : 1;
    const int64_t some = MOST_SUMS_BYTES / (p->rows * step * bytes) / tile->spots;
    implicit->chunk = gops_min(gops_max(1, some) * tile->spots, gops_round_up(spots, tile->spots));
    const int64_t frame =
        implicit->in_place ? 0 : implicit->frame.plane * conv->channels_in + tiles->lanes;
    *slot_bytes = lay_out_workspace(plan, sum, p, frame);
    const double runs = (double)frame / (double)implicit->frame.axis[conv->axes - 1].length;
    const double outputs = (double)channels * (double)conv->output_pixels;
    const double item =
        products_cost(plan, p, spots) + gops_implicit_copy_cost((double)frame, runs);
    /* A run of the output is found, interleaved and perhaps cut: as much as six runs of a copy. */
    static const double COPIES_PER_RUN = 6;
    const double rows = outputs / (double)conv->axis[conv->axes - 1].output;
    *cost = (double)images * (item * (double)(implicit->bands * implicit->parts) +
                              gops_implicit_copy_cost(2 * outputs, COPIES_PER_RUN * rows));
    return *slot_bytes <= slot_limit;
}

/* The strides and dilations, on which the packing depends, in one number; -1 where it is too small
 * for them. */
static int64_t encode(const gops_conv_geometry *conv, const gops_implicit *p)
{
    const int bits = 24 / conv->axes;
    int64_t code = p->tile * 2 + p->pixels;
    for (int a = 0; a < conv->axes; a++) {
        const gops_axis *axis = &conv->axis[a];
        const int64_t dilation = axis->kernel > 1 ? axis->dilation : 1;
        if (axis->stride >> bits != 0 || dilation >> bits != 0) {
            return -1;
        }
        code = (code << bits | axis->stride) << bits | dilation;
    }
    return code;
}

static void explain(gops_plan *plan, const gops_phase_parameters *p, const totals *sum)
{
    snprintf(plan->why, sizeof plan->why,
             "the outputs' %lld phases as %lld convolutions with stride 1, no column matrix: tiles "
             "of %lld channels by %s, %lld bands, estimated %.3f ms",
             (long long)gops_phase_count(&plan->conv), (long long)sum->products,
             (long long)p->implicit.tile,
             p->implicit.pixels ? "vectors of pixels" : "single pixels",
             (long long)p->implicit.bands, plan->cost / 1e6);
}

/* Lays out the form and tile that cost least; 0 where none fits. */
static int find_best(gops_plan *plan, const totals *sum, int64_t slot_limit)
{
    const gops_conv_geometry *conv = &plan->conv;
    const gops_tiles *tiles = plan->kernels->tiles[plan->type->compute];
    gops_phase_parameters *p = (gops_phase_parameters *)(void *)plan->parameters.bytes;
    int found = 0;
    for (int pixels = 0; pixels < 2; pixels++) {
        const gops_tile *tile = pixels ? tiles->pixels : tiles->channels;
        int64_t width = 0;
        for (; tile->channels != 0; tile++) {
            gops_phase_parameters candidate;
            int64_t slot_bytes;
            double cost;
            if (tile->channels == width || tile->channels - (pixels ? 1 : tiles->lanes) >=
                                               gops_max(1, conv->channels_out) * sum->most) {
                continue;
            }
            width = tile->channels;
            candidate.implicit = (gops_implicit){.tile = width, .pixels = (int8_t)pixels};
            if (plan->wanted_variant != 0 &&
                plan->wanted_variant != encode(conv, &candidate.implicit)) {
                continue;
            }
            if (lay_out(plan, sum, tile, pixels, slot_limit, &candidate, &slot_bytes, &cost) &&
                (!found || cost < plan->cost)) {
                *p = candidate;
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
    gops_phase_parameters *p = (gops_phase_parameters *)(void *)plan->parameters.bytes;
    const gops_conv_geometry *conv = &plan->conv;
    totals sum;
    if (!count_products(conv, &sum)) {
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "implicit takes strides of at most %d output phases in %d products",
                         MOST_PHASES, MOST_PRODUCTS);
    }
    if (!find_best(plan, &sum, slot_limit)) {
        return gops_implicit_refuse(plan, slot_limit, find_best(plan, &sum, GOPS_UNLIMITED), error);
    }
    plan->filter_variant = encode(conv, &p->implicit);
    if (plan->filter_variant < 0) {
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "implicit takes strides and dilations below %d with %d spatial axes",
                         1 << (24 / conv->axes), (int)conv->axes);
    }
    p->weights = span_weights(plan, &p->implicit, p->span);
    plan->items = conv->batch * conv->groups * p->implicit.parts * p->implicit.bands;
    plan->filter_bytes =
        conv->groups * gops_phase_group_weights(plan) * gops_compute_bytes(plan->type->compute);
    explain(plan, p, &sum);
    return GOPS_OK;
}

/* The weights of a span of `channels` output channels: product after product, block after block. */
static unsigned char *pack_span(const gops_plan *plan, const unsigned char *weights,
                                int64_t channels, unsigned char *to)
{
    const gops_implicit *p = &gops_phase_read(plan)->implicit;
    const gops_conv_geometry *conv = &plan->conv;
    const gops_tile *list = gops_implicit_tiles(p, plan->kernels->tiles[plan->type->compute]);
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    gops_phases phases;
    gops_phases_first(conv, &phases);
    do {
        int64_t width, rows = phases.taps > 0 ? channels * phases.count : 0;
        for (int64_t first = 0; first < rows; first += width) {
            width = gops_implicit_width(list, p->pixels, p->tile, rows - first);
            gops_phase_pack(plan, &phases, weights, first, gops_min(width, rows - first), width,
                            to);
            to += conv->channels_in * phases.taps * width * bytes;
        }
    } while (gops_phases_next(conv, &phases));
    return to;
}

static void pack(const gops_plan *plan, const void *weights, void *packed)
{
    const gops_phase_parameters *p = gops_phase_read(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t size = (int64_t)gops_type_bytes(plan->filter_type->type);
    unsigned char *to = packed;
    for (int64_t g = 0; g < conv->groups; g++) {
        const unsigned char *group = (const unsigned char *)weights +
                                     g * conv->channels_in * conv->channels_out * conv->taps * size;
        for (int64_t c = 0; c < conv->channels_out; c += p->span) {
            to = pack_span(plan, group + c * conv->taps * size,
                           gops_min(p->span, conv->channels_out - c), to);
        }
    }
}

const gops_method gops_phase_deconv = {
    .algorithm = "implicit",
    .operation = GOPS_OPERATION_DECONV,
    .prepare = prepare,
    .pack = pack,
    .run = gops_phase_run,
    .modular = 1,
};
