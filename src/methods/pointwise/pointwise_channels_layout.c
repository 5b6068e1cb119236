/* pointwise_channels_layout.c: blocks, panels and items of the form whose vectors hold channels,
 * and a model of its time. */
#include "methods/pointwise/pointwise_layout.h"

#include "base/checked.h"
#include "base/error.h"
#include "post_ops/epilogue.h"

#include <assert.h>
#include <stdio.h>

static_assert(sizeof(gops_pointwise_channels_layout) <= GOPS_PARAMETER_BYTES,
              "parameters outgrow the room");

enum {
    /* As in pointwise_layout.c. */
    MIN_ITEMS = 16,
    SMALL_ITEM = 200000,
    SMALL_WEIGHTS = 25000, /* 7 us from beyond the second level cache (Intel Xeon) */
    MAX_PANEL = 60,        /* columns; tiles of all sizes divide it */
    /* Tiles of fewer columns read weights faster than the second level cache gives them: two of AVX2
     * 32 bytes a cycle, six of AVX-512 21. */
    MIN_L2_COLUMNS = 4,
};
static_assert((int)MAX_PANEL <= (int)GOPS_POINTWISE_MAX_PIXELS, "a panel outgrows its rows");

/* Measured on a Zen 5 with AVX-512, one core of a virtual machine, 2026. */
static const double CYCLES_PER_TILE = 20;
static const double CYCLES_PER_SUM = 1.5;        /* a vector of sums written */
static const double CYCLES_PER_TRANSPOSED = 1.2; /* an output written by itself */
static const double BYTES_PER_CYCLE = 31;        /* weights, from beyond the second level cache */
static const double L2_BYTES_PER_CYCLE = 48;
static const double NS_PER_ITEM = 100;

/* The bytes of a block's weights that its tiles, but for the first one, find in a cache. From the first
 * level, 960 -> 160 on 7x7 took AVX2 0.157 ms, from the second 0.207 (Zen 4); AVX-512 took 2% longer. */
static int64_t weights_in_cache(const gops_plan *plan, const gops_pointwise *kernels)
{
    return kernels->max_columns < MIN_L2_COLUMNS ? plan->machine.l1_bytes / 2
                                                 : plan->machine.l2_bytes / 4;
}

/* Cycles that a tile takes for one k: two multiplications or two loads can start in a cycle, and a
 * multiplication waits 4 cycles for the sum of the one before it. */
static double step_cycles(const gops_plan *plan, double vectors, double columns, bool in_l2)
{
    const double bytes = (double)plan->kernels->vector_bytes;
    const double multiplies = vectors * columns / 2, loads = (vectors + columns) / 2;
    const double latency = vectors == 1 ? 1 : vectors == 2 ? 2 : 4;
    const double stream = vectors * bytes / (in_l2 ? L2_BYTES_PER_CYCLE : BYTES_PER_CYCLE);
    double most = multiplies > loads ? multiplies : loads;
    most = most > latency ? most : latency;
    return most > stream ? most : stream;
}

/* Cycles of a block of so many vectors for one group and run. */
static double block_cycles(const gops_plan *plan, const gops_pointwise_channels_layout *p,
                           double vectors)
{
    const gops_pointwise *kernels = plan->kernels->pointwise[plan->type->compute];
    const double depth = (double)plan->conv.channels_in, passes = (double)p->depths.count;
    double cycles = 0;
    for (int larger = 0; larger < 2; larger++) {
        const int64_t panels = larger ? p->panels.larger : p->panels.count - p->panels.larger;
        const gops_even_split tiles =
            gops_split_evenly(p->panels.size + larger, kernels->max_columns);
        double panel = 0;
        for (int64_t t = 0; t < tiles.count; t++) {
            const double columns = (double)gops_even_size(&tiles, t);
            const bool in_l2 = t > 0 || plan->filter_bytes <= plan->machine.l2_bytes;
            panel += depth * step_cycles(plan, vectors, columns, in_l2) +
                     passes * (CYCLES_PER_TILE + CYCLES_PER_SUM * vectors * columns);
        }
        cycles += (double)panels * panel;
    }
    return cycles;
}

static double estimate(const gops_plan *plan, const gops_pointwise_channels_layout *p)
{
    const gops_conv_geometry *conv = &plan->conv;
    const double larger = (double)p->blocks.larger;
    double cycles =
        larger * block_cycles(plan, p, (double)(p->blocks.size + 1)) +
        ((double)p->blocks.count - larger) * block_cycles(plan, p, (double)p->blocks.size);
    if (!p->across_images) {
        cycles += CYCLES_PER_TRANSPOSED * (double)p->columns * (double)conv->channels_out;
    }
    const double units = (double)p->runs * (double)conv->groups;
    return units * (cycles * GOPS_NS_PER_CYCLE +
                    NS_PER_ITEM * (double)gops_count_items(&p->items) / (double)plan->conv.groups);
}

/* Work items: runs and groups; where these are few also blocks of channels, then panels. Layers of few
 * columns are as much work as it is to read their weights. */
static void divide_into_items(const gops_plan *plan, gops_pointwise_channels_layout *p)
{
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t weights = plan->filter_bytes / gops_compute_bytes(plan->type->compute);
    const int64_t min_items =
        gops_clamp(gops_max(conv->flops / 2 / SMALL_ITEM, weights / SMALL_WEIGHTS), 1, MIN_ITEMS);
    const int64_t units = gops_mul_saturate(p->runs, conv->groups);
    const int64_t wanted = gops_ceil_div(min_items, units);
    p->items.groups = gops_ceil_div(conv->groups, gops_clamp(units / min_items, 1, conv->groups));
    p->items.blocks = gops_min(wanted, p->blocks.count);
    p->items.panels = gops_min(gops_ceil_div(wanted, p->items.blocks), p->panels.count);
}

/* The input channels of a block, at most. A part adds its floats up in the blocks of the whole plan, of whose
 * columns it may have so few that one tile takes them. */
static int64_t depth_of_block(const gops_plan *plan, const gops_pointwise *kernels, int64_t columns)
{
    const int64_t channels = plan->conv.channels_in;
    if (plan->is_part && plan->order > 0) {
        return gops_ceil_div(channels, plan->order);
    }
    const int64_t bytes = kernels->column_vectors * plan->kernels->vector_bytes;
    return columns <= kernels->max_columns ? channels
                                           : gops_max(1, weights_in_cache(plan, kernels) / bytes);
}

static void lay_out(const gops_plan *plan, const gops_pointwise *kernels,
                    gops_pointwise_channels_layout *p)
{
    const gops_conv_geometry *conv = &plan->conv;
    /* What is stored for channels side by side cannot tell them apart, as slopes would need, and is
     * given the residual with the sums. */
    const bool alike = gops_epilogue_ends_alike(plan);
    *p = (gops_pointwise_channels_layout){.across_images = plan->output_plane == 1 && alike};
    p->runs = p->across_images ? 1 : conv->batch;
    p->columns = p->across_images ? conv->batch : conv->output_pixels;
    p->blocks = gops_split_evenly(gops_ceil_div(conv->channels_out, kernels->lanes),
                                  kernels->column_vectors);
    p->panels = gops_split_evenly(p->columns, MAX_PANEL);
    p->depths = gops_split_evenly(conv->channels_in, depth_of_block(plan, kernels, p->columns));
    divide_into_items(plan, p);
}

gops_status gops_pointwise_channels_prepare(gops_plan *plan, int64_t worker_limit,
                                            gops_error *error)
{
    (void)worker_limit;
    const gops_conv_geometry *conv = &plan->conv;
    const gops_pointwise *kernels = plan->kernels->pointwise[plan->type->compute];
    gops_pointwise_channels_layout *p = gops_parameters(plan);
    GOPS_TRY(gops_pointwise_check(plan, error));
    const int64_t vector_bytes = plan->kernels->vector_bytes;
    plan->filter_bytes = gops_ceil_div(conv->channels_out, kernels->lanes) * vector_bytes *
                         conv->groups * conv->channels_in;
    lay_out(plan, kernels, p);
    const int64_t sums = gops_even_size(&p->panels, 0) * kernels->column_vectors * vector_bytes;
    plan->worker_bytes = 0;
    gops_reserve(&plan->worker_bytes, sums);
    p->transposed_from = gops_reserve(&plan->worker_bytes, sums);
    plan->order = (int32_t)gops_min(p->depths.count, INT32_MAX);
    plan->cost = estimate(plan, p);
    plan->items = p->runs * gops_count_items(&p->items);
    snprintf(plan->why, sizeof plan->why,
             "a kernel of 1 on the input where it lies: tiles of %lld channels by %lld pixels%s, "
             "each weight read in order",
             (long long)(gops_even_size(&p->blocks, 0) * kernels->lanes),
             (long long)gops_min(p->columns, kernels->max_columns),
             p->across_images ? " of several images" : "");
    return GOPS_OK;
}
