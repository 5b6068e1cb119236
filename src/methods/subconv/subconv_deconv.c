/*
 * subconv_deconv.c: GroupConvolutionBackpropData as sub-convolutions, each by implicit GEMM;
 * subconv.h and implicit.h.
 *
 * All sub-convolutions read one padded input. The sums of all sub-convolutions of a panel of output
 * channels are computed for a block of positions and then interleaved. So the output is written in
 * runs along its last axis, and each element once.
 */
#include "methods/subconv/subconv_deconv.h"

#include "base/checked.h"
#include "base/error.h"

#include <stdio.h>
#include <string.h>

static void subconv_explain(gops_plan *plan, const gops_subconv_parameters *p,
                            const gops_subconv_geometry *geometry)
{
    static const char *const splits[] = {
        [GOPS_SUBCONV_BY_DATA] = "",
        [GOPS_SUBCONV_BY_OUTPUT] = " from the first output on",
        [GOPS_SUBCONV_BY_TAP] = ", one for each tap on the one data pixel",
    };
    const gops_tile_form form = p->implicit.form;
    snprintf(plan->why, sizeof plan->why,
             "%s%lld sub-convolutions with stride 1%s, as %lld products without a column matrix: "
             "%stiles of %lld channels by %s%s, %lld boxes",
             gops_plan_takes_bf16(plan) ? "relaxed, pairs of bf16: " : "",
             (long long)gops_subconv_count(geometry), splits[p->split], (long long)p->products,
             gops_tile_is_wide(form) ? "AMX " : "", (long long)p->implicit.mr,
             gops_tile_has_pixels(form) ? "vectors of pixels" : "single pixels",
             form == GOPS_TILE_BLOCKED ? ", the input blocked" : "", (long long)p->implicit.boxes);
}

static gops_status subconv_prepare(gops_plan *plan, int64_t worker_limit, gops_error *error)
{
    gops_subconv_parameters *p = gops_parameters(plan);
    const gops_conv_geometry *conv = &plan->conv;
    gops_subconv_geometry geometry;
    gops_subconv_kinds kinds;
    const gops_status fit = gops_implicit_fit(plan, gops_subconv_plan, worker_limit, error);
    if (fit == GOPS_INVALID) {
        return fit;
    }
    if (fit != GOPS_OK && plan->wanted_variant != 0) {
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "subconv does not serve these sizes or pads with the packed filter of the "
                         "plan; a part's pads_begin are the plan's modulo the strides");
    }
    if (fit != GOPS_OK) {
        int64_t strides = 1;
        for (int a = 0; a < conv->axes; a++) {
            strides = gops_mul_saturate(strides, conv->axis[a].stride);
        }
        return gops_fail(
            error, GOPS_UNSUPPORTED,
            "subconv takes strides that make at most %d sub-convolutions, strides and "
            "dilations below %d with %d spatial axes, and data of which half of the "
            "second level cache holds what one output pixel reads; here are %lld strides, "
            "C_IN %lld, %lld taps",
            GOPS_MAX_SUBCONVS, 1 << (24 / conv->axes), (int)conv->axes, (long long)strides,
            (long long)conv->channels_in, (long long)conv->taps);
    }
    /* Both succeed: gops_subconv_plan takes no other split. */
    gops_subconv_split_axes(conv, p->split, &geometry);
    gops_subconv_count_kinds(&geometry, &kinds);
    p->panel_weights = gops_subconv_panel_weights(plan, p, &kinds, p->panel_channels);
    plan->worker_bytes = p->implicit.worker_bytes;
    plan->cost = p->implicit.cost;
    plan->items = conv->batch * conv->groups * p->implicit.channel_blocks * p->implicit.boxes;
    p->panel_depth = p->implicit.planes * kinds.taps;
    plan->filter_bytes = conv->groups * gops_subconv_group_weights(plan, &geometry) *
                         gops_compute_bytes(plan->type->compute);
    if (plan->quantized) {
        plan->filter_bytes +=
            gops_lanes_filter_bytes(plan, p->panel_depth, gops_implicit_ones_mr(plan, &p->implicit),
                                    conv->groups * conv->channels_out * p->subconvs);
    }
    subconv_explain(plan, p, &geometry);
    return GOPS_OK;
}

/* The weights of a panel of `channels` output channels: product after product, tile after tile.
 * Moves `tile` behind them. */
static void pack_panel(const gops_plan *plan, const gops_subconv_geometry *geometry,
                       int64_t channels, gops_subconv_tile *tile)
{
    const gops_implicit *p = &gops_subconv_read(plan)->implicit;
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    gops_subconv_product product;
    gops_subconv_first_product(geometry, &product);
    do {
        const int64_t rows = product.taps > 0 ? channels * product.count : 0;
        for (tile->first = 0; tile->first < rows; tile->first += tile->mr) {
            tile->mr = gops_implicit_mr(plan, p, rows - tile->first);
            tile->count = gops_min(tile->mr, rows - tile->first);
            gops_subconv_pack_tile(plan, geometry, &product, tile);
            tile->to += p->planes * product.taps * tile->mr * bytes;
            if (tile->sums != NULL) {
                tile->sums += tile->count;
            }
        }
    } while (gops_subconv_next_product(geometry, &product));
}

/* The weights of 1 of each product. */
static void pack_ones(const gops_plan *plan, const gops_subconv_geometry *geometry, uint32_t *to)
{
    const gops_implicit *p = &gops_subconv_read(plan)->implicit;
    const int64_t mr = gops_implicit_ones_mr(plan, p);
    gops_subconv_product product;
    gops_subconv_first_product(geometry, &product);
    do {
        for (int64_t i = 0; i < product.axis[0].taps && product.taps > 0; i++) {
            const int64_t inner = product.taps / product.axis[0].taps;
            const gops_lanes_panel panel = {
                .to = to, .mr = mr, .planes = p->planes, .form = p->form};
            for (int64_t tap = 0; tap < inner; tap++) {
                gops_lanes_pack_ones(plan, tap, inner, &panel);
            }
            to += p->planes * inner * mr;
        }
    } while (gops_subconv_next_product(geometry, &product));
}

static void subconv_pack(const gops_plan *plan, const void *weights, const int32_t *zero_points,
                         void *packed)
{
    const gops_subconv_parameters *p = gops_subconv_read(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t size = plan->filter_type->bytes;
    gops_subconv_geometry geometry;
    gops_subconv_tile tile = {.to = packed, .planes = p->implicit.planes, .form = p->implicit.form};
    gops_subconv_split_axes(conv, p->split, &geometry);
    if (plan->quantized) {
        const int64_t rows = conv->groups * conv->channels_out * p->subconvs;
        const int64_t mr = gops_implicit_ones_mr(plan, &p->implicit), depth = p->panel_depth;
        const gops_lanes_filter filter = gops_lanes_filter_of(plan, packed, depth, mr, rows);
        if (filter.ones != NULL) {
            memset(filter.ones, 0, (size_t)gops_lanes_filter_bytes(plan, depth, mr, rows));
            pack_ones(plan, &geometry, filter.ones);
            tile.sums = filter.sums;
        }
    }
    for (int64_t g = 0; g < conv->groups; g++) {
        const unsigned char *group = (const unsigned char *)weights +
                                     g * conv->channels_in * conv->channels_out * conv->taps * size;
        for (int64_t c = 0; c < conv->channels_out; c += p->panel_channels) {
            tile.weights = group + c * conv->taps * size;
            tile.zero_points = plan->quantized ? zero_points + g * conv->channels_out + c : NULL;
            pack_panel(plan, &geometry, gops_min(p->panel_channels, conv->channels_out - c), &tile);
        }
    }
}

const gops_method gops_subconv_deconv = {
    .name = "subconv",
    .operation = GOPS_OPERATION_DECONV,
    .prepare = subconv_prepare,
    .pack = subconv_pack,
    .run = gops_subconv_run,
    .quantized = true,
};
