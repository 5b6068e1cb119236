/*
 * subconv_plan.c: the split, the form of the tiles, the tile and the blocks that cost least.
 *
 * There may be thousands of products. Those of equal size cost the same, so the estimate takes the
 * kinds of products and not each product.
 */
#include "methods/subconv/subconv_deconv.h"
#include "methods/implicit/implicit_estimate.h"

#include "base/checked.h"

enum {
    /* A layer with enough channels has this many panels at least. */
    MIN_PANELS = 8,
    MAX_SUMS_BYTES = 64 << 10,
    MAX_PRODUCTS = 4096,
};

int64_t gops_subconv_panel_weights(const gops_plan *plan, const gops_subconv_parameters *p,
                                   const gops_subconv_kinds *kinds, int64_t channels)
{
    int64_t values = 0;
    for (int64_t i = 0; i < kinds->kinds; i++) {
        const gops_subconv_kind *kind = &kinds->kind[i];
        values += gops_implicit_padded_channels(plan, &p->implicit, channels * kind->count) *
                  p->implicit.planes * kind->taps * kind->times;
    }
    return values;
}

int64_t gops_subconv_group_weights(const gops_plan *plan, const gops_subconv_geometry *geometry)
{
    const gops_subconv_parameters *p = gops_subconv_read(plan);
    const int64_t channels = plan->conv.channels_out, rest = channels % p->panel_channels;
    gops_subconv_kinds kinds;
    int64_t values = channels / p->panel_channels * p->panel_weights;
    if (rest > 0) {
        gops_subconv_count_kinds(geometry, &kinds); /* succeeds: it did for the plan */
        values += gops_subconv_panel_weights(plan, p, &kinds, rest);
    }
    return values;
}

/* Estimated nanoseconds of one item's products. The constants were measured on the machine of
 * implicit_estimate.c. */
static double products_cost(const gops_plan *plan, const gops_subconv_parameters *p,
                            const gops_subconv_kinds *kinds, int64_t columns)
{
    /* Weights from beyond the L2 cache, at 80 GB/s. */
    static const double NS_PER_STREAMED_BYTE = 1 / 80.0;
    /* A tile with one vector of channels loads a pointer for each pixel where a row ends within the
     * tile; of floats in vectors shorter than a cache line gops_implicit_product_cost counts it. */
    static const double ONE_VECTOR_SLOWDOWN = 1.25;
    /* Each further block of depth loads and stores the sums again. */
    static const double NS_PER_BLOCK_SUM = 0.05, NS_PER_TRANSPOSED_SUM = 0.08;
    /* Single pixels of data beyond the L2 cache come in pieces of lines, from a page for each channel.
     * 1024 -> 512 channels, 2x2 stride 2 on 28x28, took 24.6 ms where it lies, 21.0 by vectors of
     * pixels of a copy; 512 -> 256 on 52x52 22.9 and 17.9 (Intel Xeon, Granite Rapids class). */
    static const double IN_PLACE_SLOWDOWN = 1.35;
    const gops_tiles *tiles = gops_plan_tiles(plan);
    const bool pixels = gops_tile_has_pixels(p->implicit.form);
    const bool far = p->implicit.in_place &&
                     gops_mul_saturate(p->implicit.planes, plan->conv.data_pixels) >
                         plan->machine.l2_bytes / gops_compute_bytes(plan->type->compute);
    const bool counted = !plan->quantized && plan->kernels->vector_bytes < GOPS_CACHE_LINE;
    const bool one_vector = !pixels && p->implicit.mr <= tiles->lanes;
    const double slowdown =
        (one_vector && !counted ? ONE_VECTOR_SLOWDOWN : 1) * (far ? IN_PLACE_SLOWDOWN : 1);
    const int64_t channels = p->implicit.channel_block;
    double cost = 0, weights = 0;
    for (int64_t i = 0; i < kinds->kinds; i++) {
        const gops_subconv_kind *kind = &kinds->kind[i];
        const double times = (double)kind->times * (double)channels / (double)p->panel_channels;
        const int64_t depth = p->implicit.planes * kind->taps;
        const int64_t further = (depth - 1) / p->implicit.depth_block;
        const double sums = times * (double)(p->panel_channels * kind->count) * (double)columns *
                            (double)gops_tile_pixels(tiles, p->implicit.form);
        cost += times * slowdown *
                gops_implicit_product_cost(plan, &p->implicit, p->panel_channels * kind->count,
                                           columns, depth);
        cost += sums * ((double)further * NS_PER_BLOCK_SUM +
                        (pixels || p->single_position ? 0 : NS_PER_TRANSPOSED_SUM));
        weights += (double)(channels * kind->count) *
                   (double)(p->implicit.planes * kind->taps * kind->times);
    }
    const double bytes = weights * (double)gops_compute_bytes(plan->type->compute) *
                         (double)gops_ceil_div(columns, p->implicit.column_block);
    const double stream = bytes > (double)plan->machine.l2_bytes ? bytes * NS_PER_STREAMED_BYTE : 0;
    return cost > stream ? cost : stream;
}

static int64_t lay_out_workspace(const gops_plan *plan, const gops_subconv_geometry *geometry,
                                 const gops_subconv_kinds *kinds, gops_subconv_parameters *p)
{
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t stride = geometry->axis[geometry->axes - 1].stride;
    const int64_t step = gops_tile_pixels(gops_plan_tiles(plan), p->implicit.form);
    /* With a single position, tiles write their channels side by side, and whole tiles. */
    const int64_t sums = p->panel_channels * p->subconvs * p->implicit.column_block * step +
                         kinds->products * p->implicit.mr;
    int64_t end =
        gops_implicit_workspace(plan, &p->implicit, p->implicit.planes * kinds->taps, sums);
    p->rows_begin =
        gops_reserve(&end, gops_subconv_count(geometry) * (int64_t)sizeof(gops_subconv_row));
    p->products_begin =
        gops_reserve(&end, kinds->products * (int64_t)sizeof(gops_subconv_product_size));
    p->residues_begin = gops_reserve(&end, stride * (int64_t)sizeof(gops_residue_rows));
    p->output_row_begin = gops_reserve(&end, p->implicit.column_block * step * stride * bytes);
    return end;
}

/* There is one position, and its sums are all outputs of a channel, in their order. */
static bool is_single_position(const gops_subconv_geometry *geometry,
                               const gops_subconv_kinds *kinds)
{
    int64_t outputs = 1;
    for (int a = 0; a < geometry->axes; a++) {
        const gops_subconv_axis *axis = &geometry->axis[a];
        if (geometry->conv[a].output != 1 || axis->lead != 0 || axis->output != axis->stride) {
            return false;
        }
        outputs *= axis->output;
    }
    return kinds->products == 1 && kinds->subconvs == outputs;
}

/* The channels of a panel. The packed filter holds all products of a panel one after the other. So
 * with several products the size of a panel must not depend on that of the data, as the filter does
 * not. With one product the packed filter is the same for panels of any size. */
static void choose_panel(const gops_plan *plan, const gops_subconv_kinds *kinds, int64_t positions,
                         gops_subconv_parameters *p)
{
    const int64_t channels = plan->conv.channels_out;
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    p->panel_channels = gops_min(channels, gops_ceil_div(p->implicit.mr, kinds->min_count));
    if (kinds->products == 1 && p->panel_channels * kinds->subconvs % p->implicit.mr == 0) {
        const int64_t sums =
            gops_mul_saturate(p->panel_channels * kinds->subconvs, positions * bytes);
        const int64_t most = gops_max(1, channels / p->panel_channels / MIN_PANELS);
        p->panel_channels *= gops_clamp(MAX_SUMS_BYTES / 2 / sums, 1, most);
    }
}

/* Estimated nanoseconds of the plan. */
static double subconv_cost(const gops_plan *plan, const gops_subconv_geometry *geometry,
                           const gops_subconv_kinds *kinds, const gops_subconv_parameters *p,
                           int64_t columns)
{
    /* Finding a run of the output, interleaving it and storing what is inside the output, in runs of a copy: fitted to
     * 138 layers (AMD EPYC, Zen 5, AVX-512 and AVX2); to depthwise layers before them. */
    const double copies_per_run = plan->conv.channels_in == 1 ? 6 : 1.25;
    /* Interleaving more than two sub-convolutions: 11 layers of strides 3 to 8, same machine. */
    static const double NS_PER_SCATTERED_OUTPUT = 0.25;
    const gops_conv_geometry *conv = &plan->conv;
    const int last = conv->axes - 1;
    const int64_t images = gops_mul_saturate(conv->batch, conv->groups);
    const double outputs = (double)conv->channels_out * (double)conv->output_pixels;
    const double item =
        products_cost(plan, p, kinds, columns) + gops_implicit_input_cost(plan, &p->implicit);
    const double items = (double)(p->implicit.boxes * p->implicit.channel_blocks);
    const double scatter =
        p->single_position || geometry->axis[last].stride <= 2 ? 0 : NS_PER_SCATTERED_OUTPUT;
    const double rows = p->single_position ? 0 : outputs / (double)conv->axis[last].output;
    return (double)images * (item * items + scatter * outputs +
                             gops_implicit_copy_cost(2 * outputs, copies_per_run * rows));
}

/* Lays out one split, one form and one tile, as it is estimated or for the plan's threads; false where it does not
 * fit. */
static bool subconv_lay_out(const gops_plan *plan, const gops_subconv_geometry *geometry,
                            const gops_subconv_kinds *kinds, const gops_tile *tile,
                            gops_tile_form form, bool for_threads, int64_t worker_limit,
                            gops_subconv_parameters *p)
{
    const gops_conv_geometry *conv = &plan->conv;
    const gops_tiles *tiles = gops_plan_tiles(plan);
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const bool pixels = gops_tile_has_pixels(form);
    const gops_axis *axis = geometry->conv;
    gops_implicit *implicit = &p->implicit;
    int64_t positions = 1;
    for (int a = 0; a < geometry->axes; a++) {
        positions = gops_mul_saturate(positions, axis[a].output);
    }
    *p = (gops_subconv_parameters){
        .split = geometry->split, .products = kinds->products, .subconvs = kinds->subconvs};
    *implicit = (gops_implicit){
        .planes = gops_implicit_planes(plan, form),
        .form = form,
        .mr = tile->mr,
        .for_threads = for_threads,
        .residues = pixels,
        .aligned = pixels && !gops_plan_has_lanes(plan) && kinds->taps == kinds->products,
        .in_place = plan->type->native && form == GOPS_TILE_CHANNELS &&
                    gops_implicit_unpadded(conv->axes, axis),
    };
    implicit->depth = implicit->planes * gops_ceil_div(kinds->taps, kinds->products);
    implicit->depth_block = gops_round_up(gops_implicit_depth_block(plan, implicit),
                                          form == GOPS_TILE_BLOCKED ? GOPS_BLOCKED_STEPS : 1);
    choose_panel(plan, kinds, positions, p);
    if (!gops_implicit_divide(plan, implicit, conv->axes, axis, p->panel_channels, INT64_MAX,
                              worker_limit)) {
        return false;
    }
    implicit->form = gops_implicit_settled_form(plan, implicit);
    const int64_t columns = gops_implicit_merge(implicit, conv->axes, axis, tiles->lanes, false);
    const int64_t step = gops_tile_pixels(tiles, form);
    const gops_tile *list = gops_implicit_tiles(plan, implicit);
    const int64_t nr = gops_implicit_tile(list, implicit->mr, INT64_MAX)->nr;
    implicit->column_block = gops_implicit_column_block(
        plan, implicit, geometry->axes, axis, columns, nr,
        MAX_SUMS_BYTES / (p->panel_channels * p->subconvs * step * bytes));
    p->single_position = !pixels && is_single_position(geometry, kinds);
    implicit->worker_bytes = lay_out_workspace(plan, geometry, kinds, p);
    implicit->cost = subconv_cost(plan, geometry, kinds, p, columns);
    return implicit->worker_bytes <= worker_limit;
}

/* What the packing depends on besides the shape of the filter, in one number; -1 where 64 bits are
 * too few for it. */
static int64_t filter_variant(const gops_conv_geometry *conv, const gops_subconv_geometry *geometry,
                              int64_t mr, gops_tile_form form)
{
    enum { BITS = 48 };
    const int fields = geometry->split == GOPS_SUBCONV_BY_OUTPUT ? 3 : 2;
    const int bits = BITS / fields / conv->axes;
    int64_t code = (mr * GOPS_TILE_FORMS + (int64_t)form) * GOPS_SUBCONV_SPLITS + geometry->split;
    for (int a = 0; a < conv->axes; a++) {
        const gops_axis *axis = &conv->axis[a];
        /* The stride of an axis that is split by tap does not matter. */
        const int64_t stride = geometry->axis[a].stride == axis->stride ? axis->stride : 0;
        if (axis->stride >> bits != 0 || axis->dilation >> bits != 0) {
            return -1;
        }
        code = (code << bits | stride) << bits | axis->dilation;
        if (geometry->split == GOPS_SUBCONV_BY_OUTPUT) {
            code = code << bits | axis->pad_begin % axis->stride;
        }
    }
    return code;
}

/* Lays out the best tile of one split and one list, and keeps it where it costs less than what was
 * `found` before. Returns whether any was found. */
static bool find_tile(gops_plan *plan, const gops_subconv_geometry *geometry,
                      const gops_subconv_kinds *kinds, gops_tile_form listed, bool found,
                      int64_t worker_limit)
{
    const gops_conv_geometry *conv = &plan->conv;
    const gops_tiles *tiles = gops_plan_tiles(plan);
    const gops_tile *tile = gops_tile_list(tiles, listed);
    gops_subconv_parameters *p = gops_parameters(plan);
    bool lone = true;
    for (int a = 0; a < geometry->axes; a++) {
        lone &= geometry->conv[a].output == 1;
    }
    for (int64_t mr = 0; tile->mr != 0; tile++) {
        const gops_tile_form form = gops_implicit_form(plan, listed, tile->mr);
        gops_subconv_parameters candidate, cut;
        /* More positions take tiles of one column only where the filter is packed for them. */
        const bool fits = lone || tile->nr > 1 || plan->wanted_variant != 0;
        if (tile->mr == mr || !fits ||
            tile->mr - gops_tile_min_mr(tiles, form) >= conv->channels_out * kinds->max_count) {
            continue;
        }
        mr = tile->mr;
        const int64_t variant = filter_variant(conv, geometry, mr, form);
        if (variant < 0 || (plan->wanted_variant != 0 && plan->wanted_variant != variant)) {
            continue;
        }
        if (subconv_lay_out(plan, geometry, kinds, tile, form, false, worker_limit, &candidate) &&
            (!found || candidate.implicit.cost < p->implicit.cost)) {
            *p = candidate;
            plan->filter_variant = variant;
            found = true;
            if (gops_implicit_wants_more(plan, &candidate.implicit) &&
                subconv_lay_out(plan, geometry, kinds, tile, form, true, worker_limit, &cut)) {
                cut.implicit.cost = candidate.implicit.cost;
                *p = cut;
            }
        }
    }
    return found;
}

bool gops_subconv_plan(gops_plan *plan, int64_t worker_limit)
{
    const bool blocks =
        gops_plan_tiles(plan)->blocked != NULL && !gops_plan_has_lanes(plan) && plan->type->native;
    bool found = false;
    for (int split = 0; split < GOPS_SUBCONV_SPLITS; split++) {
        gops_subconv_geometry geometry;
        gops_subconv_kinds kinds;
        if (gops_subconv_split_axes(&plan->conv, (gops_subconv_split)split, &geometry) &&
            gops_subconv_count_kinds(&geometry, &kinds) && kinds.products <= MAX_PRODUCTS) {
            found = find_tile(plan, &geometry, &kinds, GOPS_TILE_CHANNELS, found, worker_limit);
            found = find_tile(plan, &geometry, &kinds, GOPS_TILE_PIXELS, found, worker_limit);
            if (blocks) {
                found = find_tile(plan, &geometry, &kinds, GOPS_TILE_BLOCKED, found, worker_limit);
            }
        }
    }
    return found;
}
