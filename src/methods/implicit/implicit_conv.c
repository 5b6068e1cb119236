/*
 * implicit_conv.c: GroupConvolution by implicit GEMM; implicit.h.
 *
 * Row (channel, tap) of the column matrix is the padded input of that channel, shifted by the tap:
 * pixel o and tap k meet at o * stride + k * dilation of the padded data, and the second term does
 * not depend on o. The pixels form wants neighbouring outputs to read neighbours. For it the pixels
 * of each residue of the stride lie together, and o and k meet at position o + k * dilation /
 * stride of residue k * dilation % stride. All that is left of im2col is the table of C_IN * taps
 * offsets.
 *
 * Which form and size of tile is the fastest depends on C_OUT, the width of the output and the
 * processor's vectors. implicit_prepare lays out each of them and keeps the one with the least
 * estimate.
 */
#include "methods/implicit/implicit_estimate.h"
#include "methods/implicit/implicit_layout.h"

#include "base/checked.h"
#include "base/error.h"

#include <assert.h>
#include <stdio.h>

enum {
    /* A worker that has items of several boxes may copy each box for each block of channels. */
    MAX_CHANNEL_BLOCKS = 4,
    MAX_SUMS_BYTES = 32 << 10,
    IN_PLACE_L2S = 4, /* second level caches of data that is read where it lies */
};

static_assert(sizeof(gops_implicit) <= GOPS_PARAMETER_BYTES, "parameters outgrow the plan's room");

extern const gops_method gops_implicit_blocked_conv;

/* Columns at a time of a blocked input: blocks of about one size, since each reads the weights again; if
 * there are some, they begin with a cache line of an output that does. */
static int64_t blocked_columns(const gops_plan *plan, const gops_implicit *p, int64_t columns,
                               int64_t nr)
{
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t lanes = gops_plan_tiles(plan)->lanes, unit = nr / gops_gcd(nr, lanes) * lanes;
    const int64_t wanted = gops_implicit_weights_beyond_l2(plan, p)
                               ? GOPS_IMPLICIT_COLUMNS_BEYOND_L2
                               : MAX_SUMS_BYTES / (p->mr * bytes);
    const int64_t most = gops_max(unit, gops_round_up(wanted, unit));
    const int64_t blocks = gops_max(1, gops_ceil_div(columns, most));
    const int64_t even = gops_max(1, gops_ceil_div(columns, blocks));
    return blocks > 1 ? gops_round_up(even, unit) : gops_round_up(even, nr);
}

/* Whether vectors of pixels may be read where the data lies. For several taps a tile reads some rows of each channel,
 * more streams than a processor prefetches. Where it finds them in main memory it waits, if its vectors are so long
 * that the processor does not see beyond the next channel: 64 -> 32, 3x3 on 226x226 without padding, took AVX-512 13.9
 * ms, with a copy 8.4; AVX2 14.4 and 15.4 (Zen 5). */
static bool may_stay(const gops_plan *plan)
{
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t pixel = conv->channels_in * gops_compute_bytes(plan->type->compute);
    return conv->taps == 1 || plan->kernels->vector_bytes < GOPS_CACHE_LINE ||
           gops_mul_saturate(pixel, conv->data_pixels) <= IN_PLACE_L2S * plan->machine.l2_bytes;
}

/* What the form says of the product, before it is divided. */
static gops_implicit of_form(const gops_plan *plan, const gops_tile *tile, gops_tile_form form)
{
    const gops_conv_geometry *conv = &plan->conv;
    const bool pixels = gops_tile_has_pixels(form), blocked = form == GOPS_TILE_BLOCKED;
    return (gops_implicit){
        .planes = gops_implicit_planes(plan, form),
        .form = form,
        .mr = tile->mr,
        .flat = plan->quantized && gops_conv_is_pointwise(conv),
        /* With lanes, data that a single tap steps over is not copied. */
        .residues = pixels || ((gops_plan_has_lanes(plan) || blocked) && conv->taps == 1),
        .in_place = plan->type->native && !blocked &&
                    gops_implicit_unpadded(conv->axes, conv->axis) &&
                    (!pixels || (conv->axis[conv->axes - 1].stride == 1 && may_stay(plan))),
        .aligned = (form == GOPS_TILE_PIXELS || form == GOPS_TILE_WIDE_PLANES) && conv->taps == 1,
    };
}

/* Cuts K into blocks of about one size. */
static void divide_depth(const gops_plan *plan, int axes, const gops_axis *axis, gops_implicit *p)
{
    p->depth = p->planes;
    for (int a = 0; a < axes; a++) {
        p->depth *= axis[a].kernel;
    }
    const int64_t most = gops_implicit_depth_block(plan, p);
    p->depth_block = gops_ceil_div(p->depth, gops_ceil_div(p->depth, most));
    if (p->form == GOPS_TILE_BLOCKED && gops_plan_tiles(plan)->blocked != NULL) {
        p->depth_block = gops_round_up(p->depth_block, GOPS_BLOCKED_STEPS);
    }
    if (gops_tile_is_wide(p->form)) {
        p->depth_block = gops_round_up(p->depth_block, GOPS_LANES_BLOCK);
    }
}

/* The pixels of the shortest run: those of the last box along the axis that is cut. */
static int64_t shortest_run(const gops_implicit *p, int axes, const gops_axis *axis)
{
    const int64_t rest = axis[p->cut].output % p->cut_pixels;
    int64_t length = 1;
    for (int a = axes - p->merged; a < axes; a++) {
        length *= a > p->cut ? axis[a].output : rest > 0 ? rest : p->cut_pixels;
    }
    return length;
}

/* Divides the output into boxes; returns the columns of a whole one, 0 where it does not fit. */
static int64_t divide_output(const gops_plan *plan, int axes, const gops_axis *axis,
                             int64_t max_blocks, int64_t worker_limit, gops_implicit *p)
{
    const int64_t lanes = gops_plan_tiles(plan)->lanes;
    if (!gops_implicit_divide(plan, p, axes, axis, p->mr, max_blocks, worker_limit)) {
        return 0;
    }
    p->form = gops_implicit_settled_form(plan, p);
    const bool stores = (plan->type->native || plan->quantized) && p->depth_block == p->depth &&
                        (p->flat || p->form != GOPS_TILE_WIDE_PLANES);
    int64_t columns = gops_implicit_merge(p, axes, axis, lanes, stores);
    if (p->in_place && gops_tile_has_pixels(p->form) &&
        (!p->writes_outputs || shortest_run(p, axes, axis) < lanes)) {
        p->in_place = false; /* the last vector would read beyond the data */
        if (!gops_implicit_divide(plan, p, axes, axis, p->mr, max_blocks, worker_limit)) {
            return 0;
        }
        columns = gops_implicit_merge(p, axes, axis, lanes, false);
    }
    return columns;
}

/* Lays out the product for one form and tile, as it is estimated or for the plan's threads; false where it does not
 * fit. */
static bool implicit_lay_out(const gops_plan *plan, const gops_tile *tile, gops_tile_form form,
                             bool for_threads, int64_t max_blocks, int64_t worker_limit,
                             gops_implicit *p)
{
    gops_axis axis[GOPS_MAX_SPATIAL];
    *p = of_form(plan, tile, form);
    p->for_threads = for_threads;
    const int axes = gops_implicit_axes(plan, p, axis);
    const int64_t step = gops_tile_pixels(gops_plan_tiles(plan), form);
    divide_depth(plan, axes, axis, p);
    const int64_t nr = gops_implicit_tile(gops_implicit_tiles(plan, p), p->mr, INT64_MAX)->nr;
    p->granule = p->flat ? nr * step : 1;
    const int64_t columns = divide_output(plan, axes, axis, max_blocks, worker_limit, p);
    if (columns == 0) {
        return false;
    }
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    p->column_block = form == GOPS_TILE_BLOCKED && !plan->quantized
                          ? blocked_columns(plan, p, columns, nr)
                          : gops_implicit_column_block(plan, p, axes, axis, columns, nr,
                                                       MAX_SUMS_BYTES / (p->mr * step * bytes));
    p->worker_bytes = gops_implicit_workspace(plan, p, p->depth, p->mr * p->column_block * step);
    p->cost = gops_implicit_conv_cost(plan, p, columns);
    return p->worker_bytes <= worker_limit;
}

/* Cuts what was laid out for the plan's threads, if these want it otherwise and it fits. */
static void cut_for_threads(const gops_plan *plan, const gops_tile *tile, gops_tile_form form,
                            int64_t blocks, int64_t worker_limit, gops_implicit *p)
{
    const int64_t most = gops_max(blocks, gops_items_for_threads(plan));
    gops_implicit cut;
    if ((gops_implicit_wants_less(plan) || gops_implicit_wants_more(plan, p)) &&
        implicit_lay_out(plan, tile, form, true, blocks > 1 ? most : 1, worker_limit, &cut)) {
        cut.cost = p->cost;
        *p = cut;
    }
}

/* Lays out one form and tile, and keeps it where it costs less than *best; `found` says whether there is
 * one. Returns whether there is one now. */
static bool implicit_try(const gops_plan *plan, const gops_tile *tile, gops_tile_form form,
                         int64_t worker_limit, bool found, gops_implicit *best)
{
    /* With lanes, copying for each block of channels may cost more than small boxes. */
    const int64_t least = plan->quantized ? 1 : MAX_CHANNEL_BLOCKS;
    gops_implicit candidate;
    if (plan->wanted_variant != 0 &&
        plan->wanted_variant != gops_implicit_variant(tile->mr, form)) {
        return found;
    }
    for (int64_t blocks = MAX_CHANNEL_BLOCKS; blocks >= least; blocks /= 2) {
        if (implicit_lay_out(plan, tile, form, false, blocks, worker_limit, &candidate) &&
            (!found || candidate.cost < best->cost)) {
            *best = candidate;
            found = true;
            cut_for_threads(plan, tile, form, blocks, worker_limit, best);
        }
    }
    return found;
}

/* The form of tiles of `mr` channels in a list; planes are read by convolutions alone. */
static gops_tile_form listed_form(const gops_plan *plan, gops_tile_form listed, int64_t mr)
{
    const gops_tile_form form = gops_implicit_form(plan, listed, mr);
    return form == GOPS_TILE_WIDE_BLOCKS && gops_implicit_takes_planes(plan) ? GOPS_TILE_WIDE_PLANES
                                                                             : form;
}

/* Whether there are channels that such tiles would take. */
static bool has_channels(const gops_plan *plan, int64_t mr, gops_tile_form form)
{
    const int64_t channels = plan->conv.channels_out;
    const gops_implicit of = {.form = form, .mr = mr};
    return channels > mr ? gops_implicit_whole_tiles(plan, &of, channels) > 0
                         : channels > mr - gops_tile_min_mr(gops_plan_tiles(plan), form);
}

/* Tries the tiles of a list: those of CHANNELS, of PIXELS, or of single pixels for BLOCKED. */
static bool try_tiles(const gops_plan *plan, const gops_tile *tile, gops_tile_form listed,
                      int64_t worker_limit, bool found, gops_implicit *best)
{
    int64_t mr = 0;
    for (; tile->mr != 0; tile++) {
        const gops_tile_form form = listed_form(plan, listed, tile->mr);
        if (tile->mr == mr || !has_channels(plan, tile->mr, form)) {
            continue;
        }
        mr = tile->mr;
        /* Tiles of 3 channels are for sub-convolutions. With more channels they read the data
         * several times, which the estimate does not count: 48 -> 48 in 8 groups on 28x28 took
         * 0.16 ms by them instead of 0.127. */
        if (form == GOPS_TILE_PIXELS && mr == 3 && plan->conv.channels_out > 3) {
            continue;
        }
        found = implicit_try(plan, tile, form, worker_limit, found, best);
        if (gops_tile_is_wide(form) && gops_implicit_may_join(plan)) {
            found = implicit_try(plan, tile, GOPS_TILE_WIDE_JOINED, worker_limit, found, best);
        }
    }
    return found;
}

/* Lays out the form and tile that cost least; false where none fits. */
static bool implicit_find_best(gops_plan *plan, int64_t worker_limit)
{
    const gops_tiles *tiles = gops_plan_tiles(plan);
    gops_implicit *best = gops_parameters(plan);
    if (plan->method == &gops_implicit_blocked_conv) {
        return try_tiles(plan, tiles->channels, GOPS_TILE_BLOCKED, worker_limit, false, best);
    }
    const bool found =
        try_tiles(plan, tiles->channels, GOPS_TILE_CHANNELS, worker_limit, false, best);
    return try_tiles(plan, tiles->pixels, GOPS_TILE_PIXELS, worker_limit, found, best);
}

static gops_status implicit_prepare(gops_plan *plan, int64_t worker_limit, gops_error *error)
{
    const gops_conv_geometry *conv = &plan->conv;
    GOPS_TRY(gops_implicit_fit(plan, implicit_find_best, worker_limit, error));
    const gops_implicit *p = gops_implicit_read(plan);
    plan->worker_bytes = p->worker_bytes;
    plan->cost = p->cost;
    plan->items = conv->batch * conv->groups * p->channel_blocks * p->boxes;
    plan->filter_variant = gops_implicit_variant(p->mr, p->form);
    plan->filter_bytes = conv->groups * gops_implicit_padded_channels(plan, p, conv->channels_out) *
                         p->depth * gops_compute_bytes(plan->type->compute);
    if (plan->quantized) {
        plan->filter_bytes += gops_lanes_filter_bytes(
            plan, p->depth, gops_implicit_ones_mr(plan, p), conv->groups * conv->channels_out);
    }
    snprintf(
        plan->why, sizeof plan->why,
        "%sno column matrix: %stiles of %lld channels by %s, %s, K %lld in blocks of %lld, %lld "
        "boxes",
        gops_plan_takes_bf16(plan) ? "relaxed, pairs of bf16: " : "",
        gops_tile_is_wide(p->form) ? "AMX " : "", (long long)p->mr,
        gops_tile_has_pixels(p->form) ? "vectors of pixels" : "single pixels",
        p->in_place                        ? "the input where it lies"
        : p->form == GOPS_TILE_WIDE_JOINED ? "the input copied once with its padding, taps joined"
        : p->form == GOPS_TILE_BLOCKED     ? "the input copied once with its padding, blocked"
                                           : "the input copied once with its padding",
        (long long)p->depth, (long long)p->depth_block, (long long)p->boxes);
    return GOPS_OK;
}

static gops_status implicit_prepare_blocked(gops_plan *plan, int64_t worker_limit,
                                            gops_error *error)
{
    if (gops_plan_tiles(plan)->blocked == NULL || !plan->type->native) {
        return gops_fail(error, GOPS_UNSUPPORTED, "implicit/blocked serves f32, not %s",
                         plan->type->name);
    }
    /* With 32 registers pointwise has tiles of as many columns. */
    if (plan->conv.taps == 1 && plan->kernels->vector_bytes >= GOPS_CACHE_LINE) {
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "implicit/blocked serves kernels of 1 only without AVX-512, not by %s",
                         plan->kernels->isa);
    }
    return implicit_prepare(plan, worker_limit, error);
}

/* A function of its own, because plans with the same `pack` take each other's filters (gops_method.pack),
 * and these are packed otherwise. */
static void implicit_pack_blocked(const gops_plan *plan, const void *weights,
                                  const int32_t *zero_points, void *packed)
{
    gops_implicit_pack(plan, weights, zero_points, packed);
}

const gops_method gops_implicit_conv = {
    .name = "implicit",
    .operation = GOPS_OPERATION_CONV,
    .prepare = implicit_prepare,
    .pack = gops_implicit_pack,
    .run = gops_implicit_run,
    .quantized = true,
};

const gops_method gops_implicit_blocked_conv = {
    .name = "implicit/blocked",
    .operation = GOPS_OPERATION_CONV,
    .prepare = implicit_prepare_blocked,
    .pack = implicit_pack_blocked,
    .run = gops_implicit_run,
};
