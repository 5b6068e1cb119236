/* winograd_layout.c: blocks, items, and a model of the time. */
#include "methods/winograd/winograd_layout.h"

#include "base/error.h"
#include "methods/implicit/lanes_plan.h"
#include "methods/implicit/tiles/lanes.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

static_assert(sizeof(gops_winograd_layout) <= GOPS_PARAMETER_BYTES, "parameters outgrow the room");

enum {
    /* A large layer is cut into at least MIN_ITEMS work items, so that all threads find work, but
     * not into items of fewer than SMALL_ITEM multiplications of the definition. */
    MIN_ITEMS = 16,
    SMALL_ITEM = 500000,
    /* Tiles that share what is loaded of the weights, which are streamed once for each block. */
    MIN_BLOCK_TILES = 24,
    /* Their pixels stay in the first level cache. */
    ROW_TILES = 8,
    /* Of quantized plans: two or three blocks of transposed outputs. */
    PAIRS_OUTPUT_TILES = 16,
};

/* Measured on a Zen 5 with AVX-512, one core of a virtual machine, 2026. */
static const double NS_PER_ITEM = 100;
static const double CYCLES_PER_TILE = 20; /* of the registers, and its sums as they are stored */
static const double BYTES_PER_CYCLE = 8;  /* of weights that the second level cache does not hold */
/* The same on Intel's servers: 512 -> 512 on 7x7 reads 16.8 MB in 1.11 ms by F(2,3) (Granite Rapids class). */
static const double LATE_BYTES_PER_CYCLE = 4;
static const double L2_BYTES_PER_CYCLE = 32;
/* A vector of channels of a tile, its pixels transposed and transformed. */
static const double CYCLES_PER_INPUT[] = {[GOPS_WINOGRAD_F2] = 50, [GOPS_WINOGRAD_F4] = 170};
static const double CYCLES_PER_OUTPUT[] = {[GOPS_WINOGRAD_F2] = 40, [GOPS_WINOGRAD_F4] = 120};

/* The same of quantized plans; a pair's product and its sum are two instructions. Weights beyond the L2 came
 * at 28 GB/s where nothing else ran (Intel Xeon, Granite Rapids class). */
static const double PAIRS_SLOWER = 1.5, PAIRS_BYTES_PER_CYCLE = 6, SLOWER_THAN_QUADS = 1.5;
static const double CYCLES_PER_PAIRS[] = {[GOPS_WINOGRAD_F2] = 60, [GOPS_WINOGRAD_F3] = 75};
static const double CYCLES_PER_REQUANTIZED[] = {[GOPS_WINOGRAD_F2] = 60, [GOPS_WINOGRAD_F3] = 130};

/* Cycles of all products of a block of tiles. Two multiplications or two loads can start in a cycle,
 * and a multiplication waits 4 cycles for the sum of the one before it. */
static double product_cycles(const gops_plan *plan, const gops_winograd_layout *p)
{
    const gops_winograd_kernels *kernels = plan->kernels->winograd[plan->type->compute];
    const double vectors = (double)p->vectors / (double)p->channel_blocks;
    const double tiles = (double)p->tiles / (double)p->tile_blocks;
    const double parts =
        (double)gops_ceil_div(p->block_tiles, kernels->max_tiles[p->block_vectors - 1]);
    const double sums = vectors * tiles / parts, loads = vectors + tiles / parts;
    const double step =
        plan->quantized ? fmax(sums * PAIRS_SLOWER, loads) / 2 : fmax(fmax(sums, loads) / 2, 4);
    const double weights = (double)p->depth * vectors *
                           (double)(kernels->lanes * gops_compute_bytes(plan->type->compute));
    const double beyond_l2 = plan->quantized                             ? PAIRS_BYTES_PER_CYCLE
                             : gops_machine_has_large_l2(&plan->machine) ? LATE_BYTES_PER_CYCLE
                                                                         : BYTES_PER_CYCLE;
    const double streamed = weights / (p->weights_beyond_l2 ? beyond_l2 : L2_BYTES_PER_CYCLE);
    const double computed = parts * ((double)p->depth * step + CYCLES_PER_TILE + sums);
    return fmax(computed, streamed) * (double)p->positions * (double)p->channel_blocks;
}

static double estimate(const gops_plan *plan, const gops_winograd_layout *p)
{
    /* Of 85 layers for which this method was estimated to be faster than products of four, it was so for six. */
    const double slower = gops_lanes_are_quads(plan) ? SLOWER_THAN_QUADS : 1;
    const double input = (plan->quantized ? CYCLES_PER_PAIRS : CYCLES_PER_INPUT)[p->form];
    const double output = (plan->quantized ? CYCLES_PER_REQUANTIZED : CYCLES_PER_OUTPUT)[p->form];
    const double transforms = (double)p->depth_vectors * input + (double)p->vectors * output;
    const double cycles =
        (double)p->tile_blocks * product_cycles(plan, p) + (double)p->tiles * transforms;
    return (double)plan->conv.batch * (double)plan->conv.groups * cycles * GOPS_NS_PER_CYCLE *
               slower +
           (double)plan->items * NS_PER_ITEM;
}

/* The distance from one position to the next: an odd number of cache lines, as a transform writes
 * or reads all positions of a tile, and must not find them in the same sets of the cache. */
static int64_t odd_lines(int64_t values, int64_t bytes)
{
    const int64_t lines = gops_ceil_div(gops_min(values, INT64_MAX / 16) * bytes, GOPS_CACHE_LINE);
    return (lines | 1) * GOPS_CACHE_LINE / bytes;
}

/* At least `least` work items, but small ones: blocks of tiles of images and groups; where these are few, also blocks
 * of output channels, if there is room to share the transformed data. Where there is none, these are cut for many
 * threads only: each item then transforms the data for itself. */
static void divide_into_items(const gops_plan *plan, gops_winograd_layout *p, int64_t worker_limit,
                              int64_t least)
{
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t most = conv->flops / 2 / SMALL_ITEM, min_items = gops_clamp(most, 1, MIN_ITEMS);
    const int64_t blocks =
        gops_mul_saturate(gops_mul_saturate(conv->batch, conv->groups), p->tile_blocks);
    const int64_t wanted = gops_min(gops_ceil_div(min_items, blocks), p->channel_blocks);
    const bool shares =
        wanted > 1 && gops_mul_saturate(blocks, p->points_bytes) <= worker_limit / 2;
    p->block_items = shares ? wanted : 1;
    if (least > MIN_ITEMS) {
        const int64_t parts = gops_ceil_div(gops_clamp(most, 1, least), blocks);
        p->block_items = gops_clamp(parts, p->block_items, p->channel_blocks);
    }
    p->depth_items = shares ? gops_min(p->block_items, p->depth_vectors) : 0;
}

/* Cuts the tiles of an image into blocks of at most `most` tiles, all into at least `items` items, and lays out the
 * workspace. */
static void lay_out(gops_plan *plan, gops_winograd_layout *p, int64_t most, int64_t worker_limit,
                    int64_t items)
{
    const gops_winograd_kernels *kernels = plan->kernels->winograd[plan->type->compute];
    const int64_t bytes = gops_compute_bytes(plan->type->compute), lanes = kernels->lanes;
    p->tile_blocks = gops_ceil_div(p->tiles, most);
    p->block_tiles = gops_ceil_div(p->tiles, p->tile_blocks);
    const int64_t row = gops_min(p->block_tiles, p->row_tiles);
    /* Those whose pixels a block of transposed pixels holds, in quantized plans. */
    const int64_t pairs = (GOPS_WINOGRAD_PAIRS_COLUMNS - (p->points - p->m)) / p->m;
    p->input_tiles = gops_min(row, plan->quantized ? pairs : ROW_TILES);
    p->output_tiles = gops_min(row, plan->quantized ? PAIRS_OUTPUT_TILES : ROW_TILES);
    p->points_block = p->block_tiles * lanes;
    p->points_ld = odd_lines(gops_mul_saturate(p->depth_vectors, p->points_block), bytes);
    p->sums_ld = odd_lines(p->block_tiles * p->block_vectors * lanes, bytes);
    p->points_bytes = gops_round_up(
        gops_min(gops_mul_saturate(p->positions, gops_mul_saturate(p->points_ld, bytes)),
                 INT64_MAX / 2),
        GOPS_WORKSPACE_ALIGNMENT);
    divide_into_items(plan, p, worker_limit, items);
    const bool shares = p->depth_items > 0;
    const int64_t columns = gops_round_up(p->input_tiles * p->m + p->points - p->m,
                                          gops_max(lanes, GOPS_WINOGRAD_PAIRS_COLUMNS));
    const int64_t outputs = p->block_vectors * lanes * p->m * p->output_tiles * p->m;
    plan->worker_bytes = 0;
    gops_reserve(&plan->worker_bytes, p->points * columns * lanes * bytes);
    p->points_from = gops_reserve(&plan->worker_bytes, shares ? 0 : p->points_bytes);
    p->sums_from = gops_reserve(&plan->worker_bytes, p->positions * p->sums_ld * bytes);
    p->outputs_from = gops_reserve(&plan->worker_bytes, outputs * bytes);
    if (plan->quantized) { /* a transpose may read 15 bytes too many (lanes.h) */
        p->transposed_from = gops_reserve(&plan->worker_bytes, 2 * (outputs / p->m) * bytes);
    }
    const int64_t blocks = plan->conv.batch * plan->conv.groups * p->tile_blocks;
    plan->shared_bytes = shares ? blocks * p->points_bytes : 0;
    plan->barrier = shares ? blocks * p->depth_items : 0;
    plan->items = plan->barrier + blocks * p->block_items;
}

/* Tiles of a block, at most: what keeps the transformed data and the sums in half of the second
 * level cache, but not so few that reading the weights would take longer than multiplying. */
static int64_t choose_tiles(const gops_plan *plan, const gops_winograd_layout *p)
{
    const gops_winograd_kernels *kernels = plan->kernels->winograd[plan->type->compute];
    const int64_t channels = (p->depth_vectors + p->block_vectors) * kernels->lanes;
    const int64_t tile =
        gops_mul_saturate(channels, p->positions * gops_compute_bytes(plan->type->compute));
    return gops_clamp(plan->machine.l2_bytes / 2 / tile, MIN_BLOCK_TILES, p->tiles);
}

/* The most channels of 8 bits whose sums are exact (winograd_quantized.c). */
static int64_t most_channels(gops_winograd_form form)
{
    enum { MAX_VALUE = 255, MAX_SUM = (1 << 29) - 1 };
    const int64_t taps = form == GOPS_WINOGRAD_F3 ? 4 : 9;
    return MAX_SUM / (taps * MAX_VALUE * MAX_VALUE);
}

/* Of a transposed convolution (winograd_deconv.c). */
static gops_status check_axes(const gops_plan *plan, gops_error *error)
{
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t lanes = plan->kernels->winograd[plan->type->compute]->lanes;
    int64_t repeat = 1;
    for (int a = 0; a < 2; a++) {
        const gops_axis *axis = &conv->axis[a];
        if (axis->dilation != 1 || axis->kernel % 2 != 0 || axis->kernel / 2 != axis->stride) {
            return gops_fail(error, GOPS_UNSUPPORTED,
                             "winograd serves transposed convolutions whose kernels are twice the "
                             "stride, with dilation 1; axis %d has a kernel of %lld, stride %lld, "
                             "dilation %lld",
                             a, (long long)axis->kernel, (long long)axis->stride,
                             (long long)axis->dilation);
        }
        repeat = gops_mul_saturate(repeat, axis->stride);
    }
    if (repeat > lanes || lanes % repeat != 0) {
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "winograd serves transposed convolutions the product of whose strides "
                         "divides %lld, not %lld",
                         (long long)lanes, (long long)repeat);
    }
    return GOPS_OK;
}

static gops_status check_shape(const gops_plan *plan, gops_winograd_form form, gops_error *error)
{
    const gops_conv_geometry *conv = &plan->conv;
    if (form == GOPS_WINOGRAD_F3 && !plan->quantized) {
        return gops_fail(error, GOPS_UNSUPPORTED, "winograd/f3 serves quantized plans, not %s",
                         plan->type->name);
    }
    if (!plan->quantized && (gops_is_integer(plan->type) || !plan->type->native)) {
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "winograd serves f32, f64 and quantized plans, not %s", plan->type->name);
    }
    if (conv->axes != 2) {
        return gops_fail(error, GOPS_UNSUPPORTED, "winograd serves 2 spatial axes, not %d",
                         (int)conv->axes);
    }
    if (form == GOPS_WINOGRAD_F3) {
        GOPS_TRY(check_axes(plan, error));
    }
    for (int a = 0; a < 2 && form != GOPS_WINOGRAD_F3; a++) {
        const gops_axis *axis = &conv->axis[a];
        if (axis->kernel != 3 || axis->stride != 1 || axis->dilation != 1) {
            return gops_fail(error, GOPS_UNSUPPORTED,
                             "winograd serves kernels of 3 with stride and dilation 1; axis %d has "
                             "a kernel of %lld, stride %lld, dilation %lld",
                             a, (long long)axis->kernel, (long long)axis->stride,
                             (long long)axis->dilation);
        }
    }
    if (plan->quantized &&
        (conv->channels_in < GOPS_LANES_PAIR || conv->channels_in > most_channels(form))) {
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "winograd serves quantized plans with 2 to %lld input channels, not %lld",
                         (long long)most_channels(form), (long long)conv->channels_in);
    }
    if (!plan->quantized && !plan->relaxed) {
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "winograd rounds otherwise than accuracy exact allows; it serves accuracy "
                         "relaxed");
    }
    return GOPS_OK;
}

gops_winograd_row gops_winograd_find_row(const gops_plan *plan, int64_t row_of_all)
{
    const gops_winograd_layout *p = gops_winograd_layout_of(plan);
    const int64_t lanes = plan->kernels->winograd[plan->type->compute]->lanes;
    const int64_t group = row_of_all / p->rows, row = row_of_all % p->rows;
    int64_t block = row / lanes * p->channel_blocks / p->vectors;
    while (gops_part(p->vectors, p->channel_blocks, block).end * lanes <= row) {
        block++;
    }
    const gops_range vectors = gops_part(p->vectors, p->channel_blocks, block);
    const int64_t first = (group * p->vectors + vectors.begin) * lanes;
    return (gops_winograd_row){first * p->positions * p->depth + row - vectors.begin * lanes,
                               (vectors.end - vectors.begin) * lanes};
}

/* The axes that tiles cover: the outputs, or the positions of a transposed convolution
 * (winograd_deconv.c). */
static void set_axes(const gops_conv_geometry *conv, gops_winograd_layout *p)
{
    p->repeat = 1;
    for (int a = 0; a < 2; a++) {
        const gops_axis *axis = &conv->axis[a];
        p->outputs[a] = axis->output;
        p->begin[a] = -axis->pad_begin;
        if (p->form == GOPS_WINOGRAD_F3) {
            const int64_t first = axis->pad_begin / axis->stride;
            p->outputs[a] = (axis->output - 1 + axis->pad_begin) / axis->stride - first + 1;
            p->begin[a] = first - 1;
            p->repeat *= axis->stride;
        }
    }
    p->rows = conv->channels_out * p->repeat;
}

gops_status gops_winograd_prepare(gops_plan *plan, gops_winograd_form form, int64_t worker_limit,
                                  gops_error *error)
{
    const gops_conv_geometry *conv = &plan->conv;
    gops_winograd_layout *p = gops_parameters(plan);
    GOPS_TRY(check_shape(plan, form, error));
    const gops_winograd_kernels *kernels = plan->kernels->winograd[plan->type->compute];
    const int64_t m = gops_winograd_outputs(form), points = gops_winograd_points(form);
    const int64_t channels = plan->quantized ? GOPS_LANES_PAIR * kernels->lanes : kernels->lanes;
    *p = (gops_winograd_layout){
        .form = form,
        .m = m,
        .points = points,
        .positions = points * points,
        .depth =
            plan->quantized ? gops_ceil_div(conv->channels_in, GOPS_LANES_PAIR) : conv->channels_in,
        .channels = channels,
        .depth_vectors = gops_ceil_div(conv->channels_in, channels),
    };
    set_axes(conv, p);
    p->vectors = gops_ceil_div(p->rows, kernels->lanes);
    p->row_tiles = gops_ceil_div(p->outputs[1], m);
    p->tiles = gops_ceil_div(p->outputs[0], m) * p->row_tiles;
    p->channel_blocks = gops_ceil_div(p->vectors, kernels->max_vectors);
    p->block_vectors = gops_ceil_div(p->vectors, p->channel_blocks);
    int64_t most = choose_tiles(plan, p);
    lay_out(plan, p, most, worker_limit, MIN_ITEMS);
    while (most > 1 && plan->worker_bytes > worker_limit - plan->shared_bytes) {
        most /= 2;
        lay_out(plan, p, most, worker_limit, MIN_ITEMS);
    }
    plan->filter_bytes =
        gops_mul_saturate(gops_mul_saturate(conv->groups * p->depth, p->vectors * kernels->lanes),
                          p->positions * gops_compute_bytes(plan->type->compute));
    p->weights_beyond_l2 = plan->filter_bytes > plan->machine.l2_bytes / 2;
    plan->cost = estimate(plan, p);
    lay_out(plan, p, most, worker_limit, gops_items_for_threads(plan)); /* as much memory */
    snprintf(plan->why, sizeof plan->why,
             "%s, Winograd's F(%lld,%lld)%s: blocks of %lld tiles of %lldx%lld outputs by %lld "
             "channels",
             plan->quantized ? "exact" : "relaxed", (long long)m, (long long)(points - m + 1),
             form == GOPS_WINOGRAD_F3 ? " of the sub-convolutions" : "", (long long)p->block_tiles,
             (long long)m, (long long)m, (long long)(p->block_vectors * kernels->lanes));
    return GOPS_OK;
}
