/* pointwise_layout.c: panels, blocks, items, and a model of the time. */
#include "methods/pointwise/pointwise_layout.h"

#include "base/checked.h"
#include "base/error.h"

#include <assert.h>

static_assert(sizeof(gops_pointwise_layout) <= GOPS_PARAMETER_BYTES, "parameters outgrow the room");

enum {
    /* The least items to cut a large layer into, so that threads find work, and the multiplications
     * of an item below which that is not worth it. */
    SHARES = 16,
    SMALL_ITEM = 200000,
    /* Input channels at a time: 256 and 1024 took 1% longer over 74 layers. */
    MAX_DEPTH = 512,
    CACHE_LINE = 64,
    /* Addresses so far apart fall on the same lines of the nearest cache: it looks for a line while
     * the page's address is still being found. */
    WAY_BYTES = 4096,
    /* Blocks of output channels that pay for a copy of what they read. */
    COPY_BLOCKS = 8,
};

/* Measured on a Zen 5 with AVX-512, one core of a virtual machine, 2026. */
static const double NS_PER_CYCLE = 0.26;
static const double CYCLES_PER_TILE = 12; /* the loop's end, which the processor does not foresee */
static const double CYCLES_PER_SUM = 1;   /* a vector of sums written */
static const double CYCLES_PER_PANEL = 60;
static const double CYCLES_PER_PICK = 6;   /* a vector copied together, or less at a row's end */
static const double CYCLES_PER_PIXEL = 1;  /* one copied by itself */
static const double CYCLES_PER_COPY = 1.5; /* a vector copied as it lies */
/* A line that is in the second level cache comes meanwhile. With AVX-512 tiles multiply that long
 * and copies took 1.07 to 1.1 of the time; with AVX2 320 -> 320 on 64x64 took 0.68 by them. */
static const double CYCLES_PER_FAR_LINE = 4;
static const double NS_PER_ITEM = 100;

static gops_even_cut cut(int64_t whole, int64_t most)
{
    const int64_t pieces = gops_ceil_div(whole, most);
    return (gops_even_cut){pieces, whole / pieces, whole % pieces};
}

/* Panels of whole vectors, or of the most vectors and odd pixels after them: a vector is a
 * multiplication for each channel, an odd pixel is one. */
static void cut_pixels(gops_pointwise_layout *p, const gops_pointwise *kernels, int64_t pixels)
{
    const int64_t most = kernels->vectors * kernels->lanes, full = pixels / most;
    const int64_t vectors = gops_ceil_div(pixels, kernels->lanes);
    const int64_t left = pixels - full * most, channels = gops_piece_size(&p->blocks, 0);
    p->panels = cut(vectors, kernels->vectors);
    p->unit = kernels->lanes;
    if (left <= full * kernels->odd && left < (vectors - full * kernels->vectors) * channels) {
        p->panels = (gops_even_cut){full, pixels / full, pixels % full};
        p->unit = 1;
    }
}

/* Cycles of one step with so many channels and vectors: two multiplications or two loads each, and
 * a multiplication waits four for the one before it. */
static double step_cycles(double channels, double vectors)
{
    const double multiplies = channels * vectors / 2;
    const double loads = (channels + 2 * vectors) / 2; /* lines, not vectors */
    const double most = multiplies > loads ? multiplies : loads;
    return most > 4 ? most : 4;
}

/* Cycles of copying so many pixels of an input channel. */
static double copy_cycles(const gops_plan *plan, const gops_pointwise_layout *p, double pixels)
{
    const gops_pointwise *kernels = plan->kernels->pointwise[plan->type->compute];
    const gops_axis *x = &plan->conv.axis[plan->conv.axes - 1];
    const double vectors = pixels / (double)kernels->lanes;
    if (!p->picks) {
        return p->copies ? vectors * CYCLES_PER_COPY : 0;
    }
    /* Nothing asks for what lies beyond the second level cache. */
    return (vectors + 1 + pixels / (double)x->output) * CYCLES_PER_PICK * (p->fetches ? 2 : 1) +
           (x->stride > 2 ? pixels * CYCLES_PER_PIXEL : 0);
}

static double panel_cycles(const gops_plan *plan, const gops_pointwise_layout *p, int64_t size)
{
    const gops_pointwise *kernels = plan->kernels->pointwise[plan->type->compute];
    const double vectors = p->unit > 1 ? (double)size : (double)kernels->vectors;
    const double odd = p->unit > 1 ? 0 : (double)(size - kernels->vectors * kernels->lanes);
    const double depth = (double)plan->conv.channels_in;
    const double passes = (double)gops_ceil_div(plan->conv.channels_in, p->depth_block);
    double cycles = CYCLES_PER_PANEL +
                    depth * (double)p->parts * copy_cycles(plan, p, (double)(size * p->unit));
    for (int larger = 0; larger < 2; larger++) {
        const int64_t blocks = larger ? p->blocks.larger : p->blocks.pieces - p->blocks.larger;
        const double channels = (double)(p->blocks.size + larger);
        cycles +=
            (double)blocks * (depth * (step_cycles(channels, vectors) + odd / 2) +
                              passes * (CYCLES_PER_TILE + CYCLES_PER_SUM * channels * vectors));
    }
    return cycles;
}

static double estimate(const gops_plan *plan, const gops_pointwise_layout *p)
{
    const double larger = (double)p->panels.larger;
    const double cycles =
        larger * panel_cycles(plan, p, p->panels.size + 1) +
        ((double)p->panels.pieces - larger) * panel_cycles(plan, p, p->panels.size);
    const double images = (double)plan->conv.batch * (double)plan->conv.groups;
    return images *
           (cycles * NS_PER_CYCLE + NS_PER_ITEM * (double)(p->bands * p->parts) / (double)p->share);
}

/* Items: images and groups, then bands of panels, then where those are few blocks of channels. */
static void divide(const gops_plan *plan, gops_pointwise_layout *p)
{
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t least = gops_clamp(conv->flops / 2 / SMALL_ITEM, 1, SHARES);
    const int64_t both = gops_mul_saturate(conv->batch, conv->groups);
    p->share = gops_clamp(both / least, 1, conv->groups);
    const int64_t wanted = gops_ceil_div(least, gops_max(1, both));
    p->band = gops_ceil_div(p->panels.pieces, gops_min(wanted, p->panels.pieces));
    p->bands = gops_ceil_div(p->panels.pieces, p->band);
    /* The weights of an item stay in the second level cache. */
    const int64_t weights = plan->filter_bytes / conv->groups;
    const int64_t parts = gops_max(gops_ceil_div(wanted, p->bands),
                                   gops_ceil_div(weights, plan->machine.l2_bytes / 2));
    p->part = gops_ceil_div(p->blocks.pieces, gops_min(parts, p->blocks.pieces));
    p->parts = gops_ceil_div(p->blocks.pieces, p->part);
}

static int serves(const gops_conv_geometry *conv)
{
    for (int a = 0; a < conv->axes; a++) {
        const gops_axis *axis = &conv->axis[a];
        if (axis->kernel != 1 || axis->pad_begin != 0 ||
            axis->output > gops_ceil_div(axis->data, axis->stride)) {
            return 0;
        }
    }
    return conv->channels_out > 0;
}

static int has_gaps(const gops_conv_geometry *conv)
{
    int gaps = 0;
    for (int a = 0; a < conv->axes; a++) {
        gaps |= conv->axis[a].output != conv->axis[a].data;
    }
    return gaps;
}

/* A panel that the nearest cache could hold, but for the planes' distance, by which a quarter of
 * its lines and more fall where there are as many as it holds. */
static int collides(const gops_plan *plan, const gops_pointwise_layout *p, int64_t panel)
{
    enum { SETS = WAY_BYTES / CACHE_LINE };
    const int64_t ways = plan->machine.l1_bytes / WAY_BYTES;
    const int64_t lines = gops_ceil_div(panel, CACHE_LINE);
    const int64_t step =
        plan->conv.data_pixels % WAY_BYTES * gops_compute_bytes(plan->type->compute);
    int64_t taken[SETS] = {0}, away = 0;
    const double multiplies =
        step_cycles((double)gops_piece_size(&p->blocks, 0), (double)gops_piece_size(&p->panels, 0));
    if (p->blocks.pieces < COPY_BLOCKS || p->depth_block * lines > ways * SETS ||
        multiplies >= CYCLES_PER_FAR_LINE * (double)lines) {
        return 0;
    }
    for (int64_t k = 0; k < p->depth_block; k++) {
        for (int64_t i = 0; i < lines; i++) {
            away += ++taken[(k * step / CACHE_LINE + i) % SETS] > ways;
        }
    }
    return away > p->depth_block * lines / 4;
}

gops_status gops_pointwise_lay_out(gops_plan *plan, int64_t slot_limit, gops_error *error)
{
    const gops_conv_geometry *conv = &plan->conv;
    const gops_pointwise *kernels = plan->kernels->pointwise[plan->type->compute];
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    gops_pointwise_layout *p = (gops_pointwise_layout *)(void *)plan->parameters.bytes;
    if (kernels == NULL || !plan->type->plain || plan->output_type != plan->type) {
        return gops_fail(error, GOPS_UNSUPPORTED, "pointwise serves f32 and f64, not %s",
                         plan->type->name);
    }
    if (!serves(conv)) {
        return gops_fail(error, GOPS_UNSUPPORTED, "pointwise serves kernels of 1 without pads");
    }
    *p = (gops_pointwise_layout){
        .blocks = cut(conv->channels_out, kernels->channels),
    };
    cut_pixels(p, kernels, conv->output_pixels);
    p->depth_block = gops_ceil_div(conv->channels_in, gops_ceil_div(conv->channels_in, MAX_DEPTH));
    p->picks = has_gaps(conv);
    p->fetches = gops_mul_saturate(conv->channels_in * bytes, conv->data_pixels) >
                 plan->machine.l2_bytes / 2;
    /* Tiles with odd pixels read a vector of weights where there may be less left. */
    plan->filter_bytes =
        (conv->groups * conv->channels_out * conv->channels_in + kernels->lanes) * bytes;
    divide(plan, p);
    const int64_t vectors =
        p->unit > 1 ? gops_piece_size(&p->panels, 0) : kernels->vectors + kernels->odd;
    const int64_t panel = vectors * kernels->lanes * bytes;
    p->copies = !p->picks && p->unit > 1 && collides(plan, p, panel);
    const int64_t channels = p->part * gops_piece_size(&p->blocks, 0);
    const int64_t sums = p->depth_block < conv->channels_in
                             ? gops_min(gops_mul_saturate(channels, panel), GOPS_UNLIMITED / 4)
                             : 0;
    const int64_t stored = gops_min(GOPS_POINTWISE_STORED, channels) * panel;
    p->sums_from =
        gops_round_up(p->depth_block * panel + kernels->lanes * bytes, GOPS_WORKSPACE_ALIGNMENT);
    p->outputs_from = p->sums_from + gops_round_up(sums, GOPS_WORKSPACE_ALIGNMENT);
    plan->slot_bytes = p->outputs_from + gops_round_up(stored, GOPS_WORKSPACE_ALIGNMENT);
    if (plan->slot_bytes > slot_limit) {
        return gops_fail(error, GOPS_INVALID,
                         "max_workspace is %lld; pointwise needs %lld for one thread",
                         (long long)slot_limit, (long long)plan->slot_bytes);
    }
    plan->cost = estimate(plan, p);
    plan->filter_variant = p->depth_block;
    if (plan->wanted_variant != 0 && plan->wanted_variant != plan->filter_variant) {
        return gops_fail(error, GOPS_UNSUPPORTED, "pointwise packs filters otherwise");
    }
    plan->items = conv->batch * gops_ceil_div(conv->groups, p->share) * p->parts * p->bands;
    return GOPS_OK;
}
