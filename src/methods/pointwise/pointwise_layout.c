/* pointwise_layout.c: panels, blocks, items, and a model of the time. */
#include "methods/pointwise/pointwise_layout.h"

#include "base/checked.h"
#include "base/error.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

static_assert(sizeof(gops_pointwise_layout) <= GOPS_PARAMETER_BYTES, "parameters outgrow the room");

enum {
    /* A large layer is cut into at least MIN_ITEMS work items, so that all threads find work, but
     * not into items of fewer than SMALL_ITEM multiplications. */
    MIN_ITEMS = 16,
    SMALL_ITEM = 200000,
    ITEMS_A_THREAD = 3,
    /* Input channels at a time. 256 and 1024 took 1% longer over 74 layers (Zen 5). */
    MAX_DEPTH = 512,
    /* At least so many blocks of output channels must read a panel for a copy of it to pay: the
     * first one waits for the stores. */
    COPY_BLOCKS = 8,
    CONFLICT_BLOCKS = 4,  /* the same of a panel whose lines evict each other */
    STRADDLED_BLOCKS = 6, /* the same of a panel whose vectors straddle cache lines */
    MAX_PANELS = 8,       /* at a time */
    FEW_CHANNELS = 32,    /* of data: multiplying them takes less time than waiting for outputs */
    WIDE_MR = 8,          /* with 32 registers */
};

/* Measured on a Zen 5 with AVX-512, one core of a virtual machine, 2026. */
static const double CYCLES_PER_TILE = 12; /* the mispredicted end of the loop */
static const double CYCLES_PER_SUM = 1;   /* a vector of sums written */
static const double CYCLES_PER_PANEL = 60;
/* With 16 registers tiles of one or two vectors have no more sums than must be waited for, and as many loads as
 * multiplications: 2048 -> 512 on 7x7 took AVX2 1.29 times what was estimated without this (Zen 4). */
static const double CYCLES_PER_SHORT_STEP = 1;
static const double CYCLES_PER_GATHER = 4; /* a vector gathered, or what a row has less than one */
static const double CYCLES_PER_PIXEL = 1;  /* a pixel gathered by itself */
static const double NS_PER_ITEM = 100;

/* Panels of whole vectors; or panels of the most vectors and a tail, where that takes fewer
 * multiplications. A vector takes one for each channel of a tile, a tail pixel takes one in all. */
static void split_pixels(gops_pointwise_layout *p, const gops_pointwise *kernels, int64_t pixels)
{
    const int64_t max = kernels->vectors * kernels->lanes, full = pixels / max;
    const int64_t vectors = gops_ceil_div(pixels, kernels->lanes);
    const int64_t left = pixels - full * max, mr = gops_even_size(&p->blocks, 0);
    p->panels = gops_split_evenly(vectors, kernels->vectors);
    p->unit = kernels->lanes;
    if (p->large_workers == 0 && left <= full * kernels->max_tail &&
        left < (vectors - full * kernels->vectors) * mr) {
        p->panels = (gops_even_split){full, pixels / full, pixels % full};
        p->unit = 1;
    }
}

/* Cycles that a tile takes for one k. Two multiplications or two loads can start in a cycle, and a
 * multiplication waits 4 cycles for the sum of the one before it. */
static double step_cycles(const gops_pointwise *kernels, double mr, double vectors)
{
    const double multiplies = mr * vectors / 2;
    const double loads = (mr + 2 * vectors) / 2; /* a vector of pixels lies in two cache lines */
    const double most = multiplies > loads ? multiplies : loads;
    return most > 4 ? most : kernels->mr < WIDE_MR ? 4 + CYCLES_PER_SHORT_STEP : 4;
}

/* Cycles to gather so many pixels of one input channel; 0 where panels are not gathered. */
static double gather_cycles(const gops_plan *plan, const gops_pointwise_layout *p, double pixels)
{
    const gops_pointwise *kernels = plan->kernels->pointwise[plan->type->compute];
    const gops_axis *x = &plan->conv.axis[plan->conv.axes - 1];
    const double vectors = pixels / (double)kernels->lanes;
    if (!p->gathers) {
        return 0;
    }
    /* What lies beyond the second level cache comes late, though it is prefetched. */
    const double loads = vectors + 1 + pixels / (double)x->output;
    return loads * CYCLES_PER_GATHER * (p->data_beyond_l2 ? 2 : 1) +
           (x->stride > 2 ? pixels * CYCLES_PER_PIXEL : 0);
}

static double panel_cycles(const gops_plan *plan, const gops_pointwise_layout *p, int64_t size)
{
    const gops_pointwise *kernels = plan->kernels->pointwise[plan->type->compute];
    const double vectors = p->unit > 1 ? (double)size : (double)kernels->vectors;
    const double tail = p->unit > 1 ? 0 : (double)(size - kernels->vectors * kernels->lanes);
    const double depth = (double)plan->conv.channels_in;
    const double passes = (double)gops_ceil_div(plan->conv.channels_in, p->depth_block);
    double cycles = CYCLES_PER_PANEL + depth * (double)(p->shared_panels ? 1 : p->items.blocks) *
                                           gather_cycles(plan, p, (double)(size * p->unit));
    for (int larger = 0; larger < 2; larger++) {
        const int64_t blocks = larger ? p->blocks.larger : p->blocks.count - p->blocks.larger;
        const double mr = (double)(p->blocks.size + larger);
        cycles += (double)blocks * (depth * (step_cycles(kernels, mr, vectors) + tail / 2) +
                                    passes * (CYCLES_PER_TILE + CYCLES_PER_SUM * mr * vectors));
    }
    return cycles;
}

/* Cycles that stores take where planes of the output share sets of the first level cache, which few input channels do
 * not hide: 3 -> 120 took 18 us on 60x60, 98 on 64x64 and 26 on 66x66 (AMD EPYC, Zen 5). Larger outputs are
 * prefetched. */
static double store_cycles(const gops_plan *plan)
{
    static const double CYCLES_PER_SHARED_LINE = 11;
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t lines =
        gops_mul_saturate(conv->channels_out, conv->output_pixels) / (GOPS_CACHE_LINE / bytes);
    const bool share =
        conv->channels_out > FEW_CHANNELS && lines / 3 < plan->machine.l2_bytes / GOPS_CACHE_LINE &&
        gops_machine_planes_conflict(&plan->machine, plan->output_plane, bytes, conv->channels_out);
    return share ? CYCLES_PER_SHARED_LINE * (double)lines : 0;
}

static double estimate(const gops_plan *plan, const gops_pointwise_layout *p)
{
    const double larger = (double)p->panels.larger;
    const double multiplied =
        larger * panel_cycles(plan, p, p->panels.size + 1) +
        ((double)p->panels.count - larger) * panel_cycles(plan, p, p->panels.size);
    const double cycles = fmax(multiplied, store_cycles(plan));
    const double images = (double)plan->conv.batch * (double)plan->conv.groups;
    return images * (cycles * GOPS_NS_PER_CYCLE +
                     NS_PER_ITEM * (double)gops_count_items(&p->items) / (double)plan->conv.groups);
}

/* At least `least` work items, but small ones: images and groups; where these are few also panels; and where all are
 * few, or the weights of a group outgrow half of the second level cache, also blocks of channels. What cuts a group is
 * an even number, as that of threads mostly is. */
static void divide_into_items(const gops_plan *plan, gops_pointwise_layout *p, int64_t least)
{
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t min_items = gops_clamp(conv->flops / 2 / SMALL_ITEM, 1, least);
    const int64_t groups = gops_mul_saturate(conv->batch, conv->groups);
    p->items.groups = gops_ceil_div(conv->groups, gops_clamp(groups / min_items, 1, conv->groups));
    const int64_t parts = gops_ceil_div(min_items, groups);
    const int64_t wanted = parts > 1 ? gops_round_up(parts, 2) : 1;
    p->items.panels = gops_min(wanted, p->panels.count);
    p->item_panels = gops_ceil_div(p->panels.count, p->items.panels);
    const int64_t weights =
        conv->channels_out * conv->channels_in * gops_compute_bytes(plan->type->compute);
    const int64_t block_items = gops_max(gops_max(wanted / p->items.panels, 1),
                                         gops_ceil_div(weights, plan->machine.l2_bytes / 2));
    const int64_t items = p->items.panels * block_items;
    const bool odd = items > 1 && items % 2 != 0;
    p->items.blocks = gops_min(block_items + odd, p->blocks.count);
    p->item_blocks = gops_ceil_div(p->blocks.count, p->items.blocks);
}

gops_status gops_pointwise_check(const gops_plan *plan, gops_error *error)
{
    const gops_conv_geometry *conv = &plan->conv;
    if (plan->kernels->pointwise[plan->type->compute] == NULL || !plan->type->native) {
        return gops_fail(error, GOPS_UNSUPPORTED, "pointwise serves f32 and f64, not %s",
                         plan->type->name);
    }
    for (int a = 0; a < conv->axes; a++) {
        const gops_axis *axis = &conv->axis[a];
        if (axis->kernel != 1 || axis->pad_begin != 0 ||
            axis->output > gops_ceil_div(axis->data, axis->stride)) {
            return gops_fail(
                error, GOPS_UNSUPPORTED,
                "pointwise serves kernels of 1 of which no output lies on padding; axis "
                "%d has a kernel of %lld, pads of %lld and %lld, stride %lld",
                a, (long long)axis->kernel, (long long)axis->pad_begin, (long long)axis->pad_end,
                (long long)axis->stride);
        }
    }
    return GOPS_OK;
}

int64_t gops_pointwise_list_rows(const gops_conv_geometry *conv, int64_t pixel, int64_t count,
                                 gops_pointwise_row *rows)
{
    const gops_axis *x = &conv->axis[conv->axes - 1];
    const int64_t end = pixel + count;
    int64_t row_count = 0, length;
    for (; pixel < end; pixel += length) {
        int64_t outer = pixel / x->output, pitch = x->data;
        int64_t from = pixel % x->output * x->stride;
        for (int a = conv->axes - 2; a >= 0; a--) {
            const gops_axis *axis = &conv->axis[a];
            from += outer % axis->output * axis->stride * pitch;
            outer /= axis->output;
            pitch *= axis->data;
        }
        length = gops_min(x->output - pixel % x->output, end - pixel);
        rows[row_count++] = (gops_pointwise_row){from, length};
    }
    return row_count;
}

static bool skips_pixels(const gops_conv_geometry *conv)
{
    bool skips = false;
    for (int a = 0; a < conv->axes; a++) {
        skips |= conv->axis[a].output != conv->axis[a].data;
    }
    return skips;
}

/* Whether a copy of a panel pays, as its vectors lie across two cache lines. Those of a whole line: always, as
 * they load a third more lines. Shorter ones, which lie in one line as often as in two: where these lines take half
 * of the first level cache from the weights. 256 -> 1024 on 14x14 took AVX2 1.30 ms in place, 1.10 copied (Zen 3). */
static bool panel_straddles(const gops_plan *plan, const gops_pointwise_layout *p, int64_t panel)
{
    const gops_pointwise *kernels = plan->kernels->pointwise[plan->type->compute];
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const bool whole_lines = kernels->lanes * bytes == GOPS_CACHE_LINE;
    const int64_t unaligned = panel + GOPS_CACHE_LINE - kernels->lanes * bytes;
    return p->item_blocks >= STRADDLED_BLOCKS &&
           (whole_lines
                ? p->unit % kernels->lanes != 0 || plan->data_plane * bytes % GOPS_CACHE_LINE != 0
                : p->depth_block * unaligned >= plan->machine.l1_bytes / 2);
}

/* Whether the lines of a panel evict each other. Considers as many channels as fill three quarters of the L1 cache, and
 * counts the lines that fall into sets with more lines than ways (one way is left for the weights): more than a quarter
 * is a conflict. Lines that are read in turn are then all lost. Without a copy 512 -> 512 on 32x32 took 1.4 times as
 * long with AVX2 (Zen 5). */
static bool panel_conflicts(const gops_plan *plan, const gops_pointwise_layout *p, int64_t panel)
{
    enum { SETS = GOPS_WAY_BYTES / GOPS_CACHE_LINE };
    const int64_t ways = plan->machine.l1_bytes / GOPS_WAY_BYTES - 1;
    const int64_t lines = gops_ceil_div(panel, GOPS_CACHE_LINE);
    const int64_t step =
        plan->data_plane % GOPS_WAY_BYTES * gops_compute_bytes(plan->type->compute);
    int64_t taken[SETS] = {0}, lost = 0;
    const int64_t depth = gops_min(p->depth_block, ways * SETS * 3 / 4 / lines);
    if (p->blocks.count < CONFLICT_BLOCKS) {
        return false;
    }
    for (int64_t k = 0; k < depth; k++) {
        for (int64_t i = 0; i < lines; i++) {
            taken[(k * step / GOPS_CACHE_LINE + i) % SETS]++;
        }
    }
    for (int i = 0; i < SETS; i++) {
        lost += taken[i] > ways ? taken[i] : 0;
    }
    return lost > depth * lines / 4;
}

/* Whether a panel that is too large for the first level cache has each input channel on a page of its own. Each block
 * of output channels reads it from the second level cache, and the processor prefetches a copy there, but not lines on
 * so many pages: 256 -> 128 on 56x56 took 1.09 times as long in place (Intel Xeon, Granite Rapids class). With so
 * large an L2 two channels to a page are as bad, and vectors of half a line gain by a copy wherever they lie; neither
 * was measured with a smaller one. */
static bool panel_scatters(const gops_plan *plan, const gops_pointwise_layout *p, int64_t panel)
{
    const bool large_l2 = gops_machine_has_large_l2(&plan->machine);
    const int64_t plane = plan->data_plane * gops_compute_bytes(plan->type->compute);
    const bool far = plane >= (large_l2 ? GOPS_PAGE_BYTES / 2 : GOPS_PAGE_BYTES) &&
                     p->depth_block * panel > plan->machine.l1_bytes * 3 / 4;
    return p->item_blocks >= COPY_BLOCKS &&
           (far || (large_l2 && plan->kernels->vector_bytes < GOPS_CACHE_LINE));
}

/* How many workers, at most, have outputs that leave the second level cache; 0 where the tiles for that do not serve.
 * With a large L2: so many that each writes half of it and more, or reads and writes all of it. With them 16 -> 96 on
 * 112x112 took 0.32 ms instead of 0.52 (Intel Xeon, Granite Rapids class). Behind a smaller one the next cache answers
 * sooner, and only layers of few channels wait for it (Zen 3, AVX2; not measured by AVX-512). */
static int32_t large_workers(const gops_plan *plan, const gops_pointwise_layout *p)
{
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t bytes = gops_compute_bytes(plan->type->compute), l2 = plan->machine.l2_bytes;
    const int64_t outputs = gops_mul_saturate(conv->channels_out * bytes, conv->output_pixels);
    const int64_t data = gops_mul_saturate(conv->channels_in * bytes, conv->data_pixels);
    if (p->gathers || p->depth_block < conv->channels_in) {
        return 0;
    }
    if (!gops_machine_has_large_l2(&plan->machine)) {
        const bool waits = conv->channels_in <= FEW_CHANNELS && data / 3 + outputs / 3 >= l2;
        return waits ? INT32_MAX : 0;
    }
    const int64_t moved = p->blocks.count < COPY_BLOCKS ? 0 : (data / 2 + outputs / 2) / (l2 / 2);
    return (int32_t)gops_min(gops_max(outputs / (l2 / 2), moved), INT32_MAX);
}

/* How many panels of large outputs each block of output channels computes before the next one does: those that leave
 * room in the first level cache. So a channel's outputs are written in longer runs, which the processor fetches. */
static int64_t panels_at_a_time(const gops_plan *plan, const gops_pointwise_layout *p,
                                int64_t worker_limit)
{
    const int64_t room = gops_min(plan->machine.l1_bytes / 2, worker_limit / 4);
    const int64_t max = gops_clamp(room / p->copy_bytes, 1, MAX_PANELS);
    return p->large_workers == 0
               ? 1
               : gops_ceil_div(p->item_panels, gops_ceil_div(p->item_panels, max));
}

/* Lays out the workspace, in which a panel takes `panel` bytes for each input channel: shared panels, then of each
 * worker the copies, the sums that are kept, and the outputs that gops_store takes. */
static void lay_out_workspace(gops_plan *plan, gops_pointwise_layout *p, int64_t panel,
                              int64_t worker_limit)
{
    const gops_conv_geometry *conv = &plan->conv;
    const gops_pointwise *kernels = plan->kernels->pointwise[plan->type->compute];
    const int64_t vector = kernels->lanes * gops_compute_bytes(plan->type->compute);
    const int64_t channels = p->item_blocks * gops_even_size(&p->blocks, 0);
    const int64_t sums = p->depth_block < conv->channels_in
                             ? gops_min(gops_mul_saturate(channels, panel), GOPS_UNLIMITED / 4)
                             : 0;
    const int64_t images = gops_mul_saturate(conv->batch, conv->groups);
    p->panel_bytes = gops_round_up(gops_mul_saturate(conv->channels_in, panel) + vector,
                                   GOPS_WORKSPACE_ALIGNMENT);
    const int64_t shared =
        gops_mul_saturate(p->panel_bytes, gops_mul_saturate(images, p->panels.count));
    p->shared_panels = p->gathers && p->items.blocks > 1 && shared <= worker_limit / 2;
    plan->shared_bytes = p->shared_panels ? shared : 0;
    plan->barrier = p->shared_panels ? images * p->panels.count : 0;
    plan->worker_bytes = 0;
    p->copy_bytes = gops_round_up(p->depth_block * panel + vector, GOPS_WORKSPACE_ALIGNMENT);
    p->max_panels = panels_at_a_time(plan, p, worker_limit);
    const int64_t stored =
        gops_min(GOPS_POINTWISE_STORE_CHANNELS, channels) * p->max_panels * panel;
    gops_reserve(&plan->worker_bytes, p->max_panels * p->copy_bytes);
    p->sums_from = gops_reserve(&plan->worker_bytes, sums);
    p->outputs_from = gops_reserve(&plan->worker_bytes, stored);
}

static void pointwise_explain(gops_plan *plan, const gops_pointwise_layout *p)
{
    snprintf(plan->why, sizeof plan->why,
             "a kernel of 1 on the input%s: tiles of %lld channels by %lld pixels, C_IN "
             "%lld in blocks of %lld",
             p->gathers  ? ", gathered by panels"
             : p->copies ? ", copied by panels"
                         : " where it lies",
             (long long)gops_even_size(&p->blocks, 0),
             (long long)(gops_even_size(&p->panels, 0) * p->unit),
             (long long)plan->conv.channels_in, (long long)p->depth_block);
}

/* Divides the work into items, and lays out the workspace for them. */
static void divide(gops_plan *plan, gops_pointwise_layout *p, int64_t least, int64_t worker_limit)
{
    const gops_pointwise *kernels = plan->kernels->pointwise[plan->type->compute];
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t vectors =
        p->unit > 1 ? gops_even_size(&p->panels, 0) : kernels->vectors + kernels->max_tail;
    const int64_t panel = vectors * kernels->lanes * bytes;
    divide_into_items(plan, p, least);
    p->copies = !p->gathers && (panel_straddles(plan, p, panel) ||
                                panel_conflicts(plan, p, panel) || panel_scatters(plan, p, panel));
    p->copies_large =
        gops_machine_has_large_l2(&plan->machine) ? p->item_blocks >= COPY_BLOCKS : p->copies;
    lay_out_workspace(plan, p, panel, worker_limit);
}

/* Divides the work into as many items as the threads want. Few for few of them, as an item reads its panel once for
 * each of its blocks of channels, and a copy of it pays: in networks 1x1 layers take 0.96 to 1.0 of the time with one
 * thread, 0.93 to 1.0 with two, those of more than 640 channels on 14x14 0.89 (Zen 5). Not where their workspace is
 * beyond the limit. */
static void divide_for_threads(gops_plan *plan, gops_pointwise_layout *p, int64_t worker_limit)
{
    const int64_t threads = plan->workers, least = threads == 1 ? 1 : ITEMS_A_THREAD * threads;
    divide(plan, p, least, worker_limit);
    if (plan->worker_bytes >
        (worker_limit - plan->shared_bytes) / (least < MIN_ITEMS ? threads : 1)) {
        divide(plan, p, MIN_ITEMS, worker_limit);
    }
}

gops_status gops_pointwise_prepare(gops_plan *plan, int64_t worker_limit, gops_error *error)
{
    const gops_conv_geometry *conv = &plan->conv;
    const gops_pointwise *kernels = plan->kernels->pointwise[plan->type->compute];
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    gops_pointwise_layout *p = gops_parameters(plan);
    GOPS_TRY(gops_pointwise_check(plan, error));
    *p = (gops_pointwise_layout){
        .blocks = gops_split_evenly(conv->channels_out, kernels->mr),
    };
    p->depth_block = gops_ceil_div(conv->channels_in, gops_ceil_div(conv->channels_in, MAX_DEPTH));
    p->gathers = skips_pixels(conv);
    p->large_workers = large_workers(plan, p);
    split_pixels(p, kernels, conv->output_pixels);
    p->data_beyond_l2 = gops_mul_saturate(conv->channels_in * bytes, conv->data_pixels) >
                        plan->machine.l2_bytes / 2;
    /* Tiles with a tail read a vector of weights at the last k too. */
    plan->filter_bytes =
        (conv->groups * conv->channels_out * conv->channels_in + kernels->lanes) * bytes;
    p->weights_beyond_l2 = plan->filter_bytes / conv->groups > plan->machine.l2_bytes / 2;
    /* What is estimated, and the least workspace, must not depend on the number of threads: the method, which has its
     * own order of sums, is chosen by them. */
    divide(plan, p, MIN_ITEMS, worker_limit);
    plan->cost = estimate(plan, p);
    if (plan->worker_bytes <= worker_limit - plan->shared_bytes) {
        divide_for_threads(plan, p, worker_limit);
    }
    plan->filter_variant = p->depth_block;
    if (plan->wanted_variant != 0 && plan->wanted_variant != plan->filter_variant) {
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "%s packs filters for blocks of %lld input channels, not of %lld",
                         plan->method->name, (long long)plan->filter_variant,
                         (long long)plan->wanted_variant);
    }
    plan->items = plan->barrier + conv->batch * gops_count_items(&p->items);
    pointwise_explain(plan, p);
    return GOPS_OK;
}
