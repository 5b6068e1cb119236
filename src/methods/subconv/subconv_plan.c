/*
 * subconv_plan.c: the form of the phases, the tile and the blocks that cost least.
 *
 * Products of the same size cost the same, so that a plan looks at sizes of products and not at
 * each of what may be thousands.
 */
#include "methods/subconv/subconv_deconv.h"

#include "base/checked.h"

enum {
    SHARES = 8,          /* as for the convolution: the least items of a large layer ... */
    SMALL_ITEM = 200000, /* ... and the least multiplications of an item */
    MAX_SUMS_BYTES = 64 << 10,
    MAX_PRODUCTS = 4096,
};

void gops_subconv_axes(const gops_subconv_view *view, gops_implicit_axis *axis)
{
    for (int a = 0; a < view->axes; a++) {
        const gops_subconv_side *side = &view->side[a];
        axis[a] =
            (gops_implicit_axis){side->data, side->positions, side->most - side->least + 1, 1, 1};
    }
}

/* Every tap reads data, and the positions are pixels of it. */
static int is_unpadded(const gops_subconv_view *view)
{
    for (int a = 0; a < view->axes; a++) {
        const gops_subconv_side *side = &view->side[a];
        if (side->least != 0 || side->most != 0 || side->positions > side->data) {
            return 0;
        }
    }
    return 1;
}

int64_t gops_subconv_span_weights(const gops_plan *plan, const gops_subconv_parameters *p,
                                  const gops_subconv_kinds *kinds, int64_t channels)
{
    const gops_tiles *tiles = plan->kernels->implicit->tiles[plan->type->compute];
    int64_t values = 0;
    for (int64_t i = 0; i < kinds->kinds; i++) {
        const gops_subconv_kind *kind = &kinds->kind[i];
        values += gops_implicit_padded(&p->implicit, tiles, channels * kind->count) *
                  plan->conv.channels_in * kind->taps * kind->times;
    }
    return values;
}

int64_t gops_subconv_group_weights(const gops_plan *plan, const gops_subconv_view *view)
{
    const gops_subconv_parameters *p = gops_subconv_read(plan);
    const int64_t channels = plan->conv.channels_out, rest = channels % p->span;
    gops_subconv_kinds kinds;
    int64_t values = channels / p->span * p->weights;
    if (rest > 0 && gops_subconv_count_kinds(view, &kinds)) {
        values += gops_subconv_span_weights(plan, p, &kinds, rest);
    }
    return values;
}

/* Estimated nanoseconds of one item's products. */
static double products_cost(const gops_plan *plan, const gops_subconv_parameters *p,
                            const gops_subconv_kinds *kinds, int64_t spots)
{
    /* From beyond the second level cache: 80 GB/s on the machine of implicit_layout.c. */
    static const double NS_PER_STREAMED_BYTE = 1 / 80.0;
    /* Tiles of one vector of channels load a pointer for each pixel where a row ends within them,
     * and every further block of depth loads and stores the sums again: measured there on DCGAN's
     * last layer and HiFi-GAN's, as is the transposition. */
    static const double ONE_VECTOR = 1.25, NS_PER_BLOCK_SUM = 0.05, NS_PER_TURNED_SUM = 0.08;
    const int64_t lanes = plan->kernels->implicit->tiles[plan->type->compute]->lanes;
    const double product = p->implicit.pixels || p->implicit.tile > lanes ? 1 : ONE_VECTOR;
    const int64_t part = p->implicit.part;
    double cost = 0, weights = 0;
    for (int64_t i = 0; i < kinds->kinds; i++) {
        const gops_subconv_kind *kind = &kinds->kind[i];
        const double times = (double)kind->times * (double)part / (double)p->span;
        const int64_t depth = plan->conv.channels_in * kind->taps;
        const int64_t further = (depth - 1) / p->implicit.depth_block;
        const double sums = times * (double)(p->span * kind->count) * (double)spots *
                            (double)(p->implicit.pixels ? lanes : 1);
        cost += times * product *
                gops_implicit_product_cost(plan, &p->implicit, p->span * kind->count, spots, depth);
        cost += sums * ((double)further * NS_PER_BLOCK_SUM +
                        (p->implicit.pixels || p->single ? 0 : NS_PER_TURNED_SUM));
        weights += (double)(part * kind->count) *
                   (double)(plan->conv.channels_in * kind->taps * kind->times);
    }
    const double bytes = weights * (double)gops_compute_bytes(plan->type->compute) *
                         (double)gops_ceil_div(spots, p->implicit.chunk);
    const double stream = bytes > (double)plan->machine.l2_bytes ? bytes * NS_PER_STREAMED_BYTE : 0;
    return cost > stream ? cost : stream;
}

static int64_t lay_out_workspace(const gops_plan *plan, const gops_subconv_view *view,
                                 const gops_subconv_kinds *kinds, gops_subconv_parameters *p,
                                 int64_t frame)
{
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t stride = view->side[view->axes - 1].stride;
    const int64_t step =
        p->implicit.pixels ? plan->kernels->implicit->tiles[plan->type->compute]->lanes : 1;
    /* A single position's tiles write whole tiles there. */
    const int64_t sums = p->rows * p->implicit.chunk * step + kinds->products * p->implicit.tile;
    const int64_t block = p->implicit.pixels ? 0 : p->implicit.tile * p->implicit.chunk;
    int64_t end = gops_implicit_workspace(&p->implicit, frame, plan->conv.channels_in * kinds->taps,
                                          sums, block, bytes);
    p->block_from = p->implicit.turned_from;
    p->table_from = end;
    end += gops_round_up(gops_subconv_count(view) * (int64_t)sizeof(gops_subconv_row),
                         GOPS_WORKSPACE_ALIGNMENT);
    p->products_from = end;
    end += gops_round_up(kinds->products * (int64_t)sizeof(gops_subconv_product),
                         GOPS_WORKSPACE_ALIGNMENT);
    p->pointers_from = end;
    end += gops_round_up(stride * (int64_t)sizeof(void *), GOPS_WORKSPACE_ALIGNMENT);
    p->line_from = end;
    return end + gops_round_up(p->implicit.chunk * step * stride * bytes, GOPS_WORKSPACE_ALIGNMENT);
}

/* One position stands for all outputs of a channel, in their order, and all have taps: the sums
 * are the outputs. */
static int is_single(const gops_subconv_view *view, const gops_subconv_kinds *kinds)
{
    int64_t outputs = 1;
    for (int a = 0; a < view->axes; a++) {
        const gops_subconv_side *side = &view->side[a];
        if (side->positions != 1 || side->lead != 0 || side->output != side->stride) {
            return 0;
        }
        outputs *= side->output;
    }
    return kinds->products == 1 && kinds->phases == outputs;
}

/* How many channels at a time. Of several products the packed filter has them one after the other
 * for each span, so that it must not depend on the data's size; of one it does not. */
static void choose_span(const gops_plan *plan, const gops_subconv_kinds *kinds, int64_t channels,
                        int64_t spots, gops_subconv_parameters *p)
{
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    p->span = gops_min(channels, gops_ceil_div(p->implicit.tile, kinds->least));
    if (kinds->products == 1 && p->span * kinds->phases % p->implicit.tile == 0) {
        const int64_t sums = gops_mul_saturate(p->span * kinds->phases, spots * bytes);
        const int64_t shares = gops_max(1, channels / p->span / SHARES);
        p->span *= gops_clamp(MAX_SUMS_BYTES / 2 / sums, 1, shares);
    }
    p->rows = p->span * kinds->phases;
}

/* Divides the work into items: parts of the channels, where the weights are more than the data,
 * and bands. False where no band's frame fits. */
static int divide(const gops_plan *plan, const gops_implicit_axis *axis, int64_t channels,
                  int64_t worker_limit, gops_subconv_parameters *p)
{
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t images = gops_max(1, gops_mul_saturate(conv->batch, conv->groups));
    const int64_t least = gops_clamp(conv->flops / 2 / SMALL_ITEM, 1, SHARES);
    const int64_t spans = gops_ceil_div(channels, p->span);
    const int64_t weights =
        gops_mul_saturate(gops_mul_saturate(conv->channels_in, channels), conv->taps);
    const int64_t data = gops_mul_saturate(conv->data_pixels, conv->channels_in);
    gops_implicit *implicit = &p->implicit;
    implicit->parts = weights > data ? gops_clamp(gops_ceil_div(least, images), 1, spans) : 1;
    implicit->part = gops_ceil_div(spans, implicit->parts) * p->span;
    implicit->parts = gops_ceil_div(channels, implicit->part);
    const int64_t limit = gops_min(worker_limit / 2, plan->machine.l2_bytes / 2);
    const int64_t bands =
        implicit->parts > 1 ? 1 : gops_ceil_div(least, gops_mul_saturate(images, implicit->parts));
    return gops_implicit_cut(implicit, conv->axes, axis, conv->channels_in, bytes, limit, bands);
}

/* Lays out one form of tile, and the tile; false where it does not fit. */
static int lay_out(const gops_plan *plan, const gops_subconv_view *view,
                   const gops_subconv_kinds *kinds, const gops_tile *tile, int pixels,
                   int64_t worker_limit, gops_subconv_parameters *p, int64_t *worker_bytes,
                   double *cost)
{
    const gops_conv_geometry *conv = &plan->conv;
    const gops_tiles *tiles = plan->kernels->implicit->tiles[plan->type->compute];
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t images = gops_max(1, gops_mul_saturate(conv->batch, conv->groups));
    const int64_t channels = gops_max(1, conv->channels_out);
    gops_implicit_axis axis[GOPS_MAX_SPATIAL];
    gops_implicit *implicit = &p->implicit;
    int64_t positions = 1;
    gops_subconv_axes(view, axis);
    for (int a = 0; a < view->axes; a++) {
        positions = gops_mul_saturate(positions, axis[a].pixels);
    }
    *p = (gops_subconv_parameters){.form = view->form, .products = kinds->products};
    *implicit = (gops_implicit){
        .depth = conv->channels_in * gops_ceil_div(kinds->taps, kinds->products),
        .tile = tile->channels,
        .pixels = (int8_t)pixels,
        .in_place = plan->type->native && !pixels && is_unpadded(view),
    };
    implicit->depth_block = gops_max(64, plan->machine.l1_bytes / 2 / (implicit->tile * bytes));
    choose_span(plan, kinds, channels, positions, p);
    if (!divide(plan, axis, channels, worker_limit, p)) {
        return 0;
    }
    const int64_t spots = gops_implicit_merge(implicit, conv->axes, axis, tiles->lanes, 0);
    const int64_t step = pixels ? tiles->lanes : 1;
    const int64_t some = MAX_SUMS_BYTES / (p->rows * step * bytes) / tile->spots;
    implicit->chunk = gops_min(gops_max(1, some) * tile->spots, gops_round_up(spots, tile->spots));
    p->single = !pixels && is_single(view, kinds);
    const int64_t frame =
        implicit->in_place ? 0 : implicit->frame.plane * conv->channels_in + tiles->lanes;
    *worker_bytes = lay_out_workspace(plan, view, kinds, p, frame);
    const double runs = (double)frame / (double)implicit->frame.axis[conv->axes - 1].length;
    const double outputs = (double)channels * (double)conv->output_pixels;
    const double item =
        products_cost(plan, p, kinds, spots) + gops_implicit_copy_cost((double)frame, runs);
    /* A run of the output is found, interleaved and perhaps cut: as much as six runs of a copy. */
    static const double COPIES_PER_RUN = 6;
    /* Interleaving more than two phases: FCN-8s' 8 x 8 on the same machine. */
    static const double NS_PER_SCATTERED_OUTPUT = 0.5;
    const double scatter =
        p->single || view->side[conv->axes - 1].stride <= 2 ? 0 : NS_PER_SCATTERED_OUTPUT;
    const double rows = p->single ? 0 : outputs / (double)conv->axis[conv->axes - 1].output;
    *cost =
        (double)images * (item * (double)(implicit->bands * implicit->parts) + scatter * outputs +
                          gops_implicit_copy_cost(2 * outputs, COPIES_PER_RUN * rows));
    return *worker_bytes <= worker_limit;
}

/* On what the packing depends beside the shape of the filter, in one number; -1 where it is too
 * small for that. */
static int64_t encode(const gops_conv_geometry *conv, const gops_subconv_view *view, int64_t tile,
                      int pixels)
{
    enum { BITS = 48 };
    const int fields = view->form == GOPS_SUBCONVS_OF_OUTPUT ? 3 : 2;
    const int bits = BITS / fields / conv->axes;
    int64_t code = (tile * 2 + pixels) * GOPS_SUBCONV_FORMS + view->form;
    for (int a = 0; a < conv->axes; a++) {
        const gops_axis *axis = &conv->axis[a];
        const int64_t dilation = axis->kernel > 1 ? axis->dilation : 1;
        /* Of an axis whose taps are its phases the stride does not matter. */
        const int64_t stride = view->side[a].stride == axis->stride ? axis->stride : 0;
        if (axis->stride >> bits != 0 || dilation >> bits != 0) {
            return -1;
        }
        code = (code << bits | stride) << bits | dilation;
        if (view->form == GOPS_SUBCONVS_OF_OUTPUT) {
            code = code << bits | axis->pad_begin % axis->stride;
        }
    }
    return code;
}

/* The best tile of one form of the tiles, of one of the phases. */
static int find_tile(gops_plan *plan, const gops_subconv_view *view,
                     const gops_subconv_kinds *kinds, int pixels, int found, int64_t worker_limit)
{
    const gops_conv_geometry *conv = &plan->conv;
    const gops_tiles *tiles = plan->kernels->implicit->tiles[plan->type->compute];
    const gops_tile *tile = pixels ? tiles->pixels : tiles->channels;
    gops_subconv_parameters *p = gops_parameters(plan);
    for (int64_t width = 0; tile->channels != 0; tile++) {
        gops_subconv_parameters candidate;
        int64_t worker_bytes;
        double cost;
        if (tile->channels == width || tile->channels - (pixels ? 1 : tiles->lanes) >=
                                           gops_max(1, conv->channels_out) * kinds->most) {
            continue;
        }
        width = tile->channels;
        const int64_t variant = encode(conv, view, width, pixels);
        if (variant < 0 || (plan->wanted_variant != 0 && plan->wanted_variant != variant)) {
            continue;
        }
        if (lay_out(plan, view, kinds, tile, pixels, worker_limit, &candidate, &worker_bytes,
                    &cost) &&
            (!found || cost < plan->cost)) {
            *p = candidate;
            plan->worker_bytes = worker_bytes;
            plan->filter_variant = variant;
            plan->cost = cost;
            found = 1;
        }
    }
    return found;
}

int gops_subconv_plan(gops_plan *plan, int64_t worker_limit)
{
    int found = 0;
    for (int form = 0; form < GOPS_SUBCONV_FORMS; form++) {
        gops_subconv_view view;
        gops_subconv_kinds kinds;
        if (gops_subconv_look(&plan->conv, (gops_subconv_form)form, &view) &&
            gops_subconv_count_kinds(&view, &kinds) && kinds.products <= MAX_PRODUCTS) {
            found = find_tile(plan, &view, &kinds, 0, found, worker_limit);
            found = find_tile(plan, &view, &kinds, 1, found, worker_limit);
        }
    }
    return found;
}
