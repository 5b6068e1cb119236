/* subconv_run.c: a work item of a transposed convolution as sub-convolutions; subconv.h. */
#include "methods/subconv/subconv_deconv.h"

#include "base/checked.h"

/* Of the products with taps, one after the other. */
static int64_t *offset_tables(const gops_subconv_work *work)
{
    return (int64_t *)(void *)(work->item.workspace +
                               gops_subconv_read(work->item.plan)->implicit.offsets_begin);
}

static gops_subconv_product_size *product_sizes(const gops_subconv_work *work)
{
    return (
        gops_subconv_product_size *)(void *)(work->item.workspace +
                                             gops_subconv_read(work->item.plan)->products_begin);
}

/* The offset table of a product. */
static void fill_offsets(const gops_subconv_work *work, const gops_subconv_product *product,
                         int64_t plane, int64_t *offsets)
{
    const gops_plan *plan = work->item.plan;
    const gops_subconv_parameters *p = gops_subconv_read(plan);
    const bool in_blocks = gops_implicit_in_blocks(plan, &p->implicit);
    /* Those of the taps lie behind all tables while those of lanes are made. */
    int64_t *taps = in_blocks ? offset_tables(work) + p->panel_depth : offsets;
    gops_subconv_offsets(&work->geometry, product, p->implicit.pitch, taps);
    if (in_blocks) {
        const int64_t inner = product->taps / product->axis[0].taps;
        for (int64_t i = 0, j = product->taps - 1; i < j; i++, j--) {
            const int64_t first = taps[i];
            taps[i] = taps[j];
            taps[j] = first;
        }
        for (int64_t t = 0; t < product->taps; t += inner) {
            gops_lanes_offsets(taps + t, inner, p->implicit.planes, plane,
                               gops_tile_is_blocked(p->implicit.form),
                               offsets + t * p->implicit.planes);
        }
        return;
    }
    for (int64_t i = product->taps; i < p->implicit.planes * product->taps; i++) {
        offsets[i] = offsets[i - product->taps] + plane;
    }
}

/* Fills in the rows of sums of each sub-convolution, and for each product its size and its offset
 * table, one after the other. */
static void fill_tables(const gops_subconv_work *work)
{
    const gops_subconv_parameters *p = gops_subconv_read(work->item.plan);
    const gops_subconv_geometry *geometry = &work->geometry;
    gops_subconv_row *rows = (gops_subconv_row *)(void *)(work->item.workspace + p->rows_begin);
    gops_subconv_product_size *size = product_sizes(work);
    int64_t *offsets = offset_tables(work);
    const int64_t plane =
        p->implicit.in_place ? work->item.plan->data_plane : p->implicit.padded.plane;
    gops_subconv_product product;
    int64_t row = 0, rows_before = 0;
    gops_subconv_first_product(geometry, &product);
    do {
        for (int64_t i = 0; i < product.count; i++) {
            int64_t index = 0, rest = i, step = 1;
            for (int a = geometry->axes - 1; a >= 0; a--) {
                const gops_subconv_residues *residues = &product.axis[a];
                index += (residues->begin + rest % residues->count) * step;
                rest /= residues->count;
                step *= geometry->axis[a].stride;
            }
            rows[index] = (gops_subconv_row){product.taps > 0 ? row + i : -1, product.count};
        }
        if (product.taps > 0) {
            row += p->panel_channels * product.count;
            *size = (gops_subconv_product_size){
                .count = product.count,
                .taps = product.taps,
                .depth = p->implicit.planes * product.taps,
                .rows_before = rows_before,
                .outer = gops_subconv_product_axis(geometry, &product, 0),
                .last = gops_subconv_product_axis(geometry, &product, geometry->axes - 1),
            };
            rows_before += product.count;
            fill_offsets(work, &product, plane, offsets);
            offsets += size++->depth;
        }
    } while (gops_subconv_next_product(geometry, &product));
}

/* Computes a product of `count` sub-convolutions over the columns of the pass: the sums of
 * `channels` of the item's channels, from c on, go to rows `row` on. Returns the weights that
 * follow. */
static const unsigned char *multiply(gops_subconv_work *work, int64_t row, int64_t c,
                                     int64_t channels, const gops_subconv_product_size *size,
                                     const unsigned char *weights)
{
    const int64_t count = size->count;
    gops_implicit_item *item = &work->item;
    const gops_plan *plan = item->plan;
    const gops_subconv_parameters *p = gops_subconv_read(plan);
    const bool to_rows = gops_tile_has_pixels(p->implicit.form) || p->single_position;
    gops_implicit_pass *pass = &work->item.pass;
    const int64_t row_bytes = work->sums_ld * work->sum_bytes;
    unsigned char *sums = item->workspace + p->implicit.sums_begin + row * row_bytes;
    const uint32_t *weight_sums =
        work->lanes.sums != NULL ? work->lanes.sums + c * p->subconvs + size->rows_before * channels
                                 : NULL;
    gops_epilogue_values bias;
    for (int64_t i = 0; i < channels * count; i += pass->mr, sums += pass->mr * row_bytes) {
        const int64_t left = channels * count - i;
        pass->mr = gops_implicit_mr(plan, &p->implicit, left);
        if (work->epilogue != NULL) {
            gops_epilogue_bias_rows(plan, item->whole, item->channel_of_all + c, count, i,
                                    gops_min(pass->mr, left), pass->mr, &bias);
            pass->work.bounds = &work->epilogue->bounds;
            pass->work.bias = &bias;
        }
        const gops_lanes_rows of = {
            .channel = item->channel_of_all + c,
            .repeat = count,
            .first = i,
            .count = gops_min(pass->mr, left),
            .k = plan->conv.channels_in * size->taps,
            .weight_sums = weight_sums != NULL ? weight_sums + i : NULL,
        };
        if (plan->quantized) {
            gops_lanes_begin_rows(item, &of);
            gops_lanes_take_values(item, 0);
        }
        pass->work.channels = of.count;
        pass->work.pixels = work->item.runs.step;
        pass->work.weights = weights;
        weights += pass->mr * pass->work.depth * pass->bytes;
        pass->work.sums = to_rows ? sums : item->workspace + p->implicit.transpose_begin;
        pass->work.sums_ld = work->sums_ld; /* which the channels form does not read */
        gops_implicit_multiply(pass);
        if (item->windows) {
            gops_lanes_subtract_windows(&p->implicit, item, &of);
        }
        if (!to_rows) {
            work->transpose(sums, work->sums_ld, pass->work.sums, p->implicit.mr,
                            gops_min(pass->mr, left), pass->count);
        }
    }
    return weights;
}

static void list_columns(gops_subconv_work *work, int64_t first)
{
    const gops_implicit *p = &gops_subconv_read(work->item.plan)->implicit;
    gops_implicit_list_columns(p, &work->item, first, false,
                               gops_tile_has_pixels(p->form) ? work->item.runs.step : p->mr);
}

/* Computes and stores one block of columns, panel by panel. */
static void run_columns(gops_subconv_work *work, int64_t first)
{
    gops_implicit_item *item = &work->item;
    const gops_subconv_parameters *p = gops_subconv_read(item->plan);
    const unsigned char *weights = work->filter;
    list_columns(work, first);
    for (int64_t c = 0; c < item->channels; c += p->panel_channels) {
        const int64_t channels = gops_min(p->panel_channels, item->channels - c);
        const gops_subconv_product_size *size = product_sizes(work);
        const uint32_t *ones = work->lanes.ones;
        int64_t row = 0;
        item->pass.work.offsets = offset_tables(work);
        for (int64_t i = 0; i < p->products; i++, size++) {
            item->pass.work.depth = size->depth;
            if (item->plan->quantized || p->implicit.form == GOPS_TILE_BLOCKED) {
                item->pass.mr = p->implicit.mr;
                gops_lanes_find_ranges(&p->implicit, &size->outer, &size->last, first, item);
            }
            if (item->windows) {
                gops_lanes_sum_windows(&p->implicit, item, first, ones);
                list_columns(work, first);
                ones += size->depth * gops_implicit_ones_mr(item->plan, &p->implicit);
            }
            weights = multiply(work, row, c, channels, size, weights);
            row += p->panel_channels * size->count;
            item->pass.work.offsets += size->depth;
        }
        gops_subconv_store(work, first, c, channels);
    }
}

/* Finds what the tiles of a quantized plan leave. */
static void begin_lanes(gops_subconv_work *work, bool all_taps)
{
    gops_implicit_item *item = &work->item;
    const gops_plan *plan = item->plan;
    const gops_subconv_parameters *p = gops_subconv_read(plan);
    gops_lanes_begin(&p->implicit, item);
    bool complete = all_taps && !item->adds;
    for (int64_t i = 0; i < p->products && item->result == GOPS_LANES_BYTES; i++) {
        complete &= product_sizes(work)[i].depth <= p->implicit.depth_block;
    }
    if (!complete) {
        gops_lanes_keep_raw(item);
    }
    work->finished = item->result != GOPS_LANES_RAW;
    const int64_t rows = plan->conv.groups * plan->conv.channels_out * p->subconvs;
    work->lanes = gops_lanes_filter_of(plan, item->job->filter, p->panel_depth,
                                       gops_implicit_ones_mr(plan, &p->implicit), rows);
    if (work->lanes.sums != NULL) {
        work->lanes.sums += item->channel_of_all * p->subconvs;
    }
}

/* Finds how the sums, or what the tiles make of them, are stored. */
static void begin_stores(gops_subconv_work *work, bool all_taps)
{
    gops_implicit_item *item = &work->item;
    if (item->plan->quantized) {
        begin_lanes(work, all_taps);
    }
    work->transpose = gops_lanes_transpose(item);
    work->interleave = gops_lanes_interleave(item);
    work->sum_bytes = item->result == GOPS_LANES_BYTES ? 1 : item->pass.bytes;
}

void gops_subconv_run(const gops_plan *plan, const gops_job *job, int64_t index, void *workspace)
{
    const gops_subconv_parameters *p = gops_subconv_read(plan);
    const gops_implicit *implicit = &p->implicit;
    const gops_epilogue epilogue = gops_epilogue_read(plan, job, GOPS_EPILOGUE_NO_RESIDUAL);
    gops_subconv_work work = {.epilogue = NULL};
    gops_implicit_item *item = &work.item;
    gops_subconv_split_axes(&plan->conv, p->split, &work.geometry);
    /* The packed weights lie in the order in which they are read, which the processor prefetches by
     * itself. Prefetching by instructions as well made DCGAN's layer from 512 to 256 channels a
     * tenth slower. */
    gops_implicit_begin(plan, implicit, work.geometry.conv, job, index, workspace, item);
    item->values = (gops_lanes_values){work.first, work.scale};
    const int64_t weights = item->group * gops_subconv_group_weights(plan, &work.geometry) +
                            item->channel / p->panel_channels * p->panel_weights;
    work.filter = (const unsigned char *)job->filter + weights * item->pass.bytes;
    work.sums_ld = p->single_position ? 1 : implicit->column_block * item->runs.step;
    fill_tables(&work);
    const bool all_taps = p->subconvs == gops_subconv_count(&work.geometry);
    begin_stores(&work, all_taps);
    /* A sub-convolution without taps goes through no tile; its outputs are made when they are
     * stored. So the tiles' epilogue serves only where all sub-convolutions have taps. */
    if (epilogue.applies && all_taps) {
        item->job = &epilogue.rest;
        work.epilogue = &epilogue;
    }
    const int64_t count = item->runs.columns * item->runs.count;
    for (int64_t first = 0; first < count; first += implicit->column_block) {
        item->pass.count = gops_min(implicit->column_block, count - first);
        run_columns(&work, first);
    }
    gops_implicit_end(implicit, item);
}
