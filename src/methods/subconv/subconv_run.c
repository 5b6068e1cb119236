/* subconv_run.c: a work item of a transposed convolution as sub-convolutions; subconv.h. */
#include "methods/subconv/subconv_deconv.h"

#include "base/checked.h"

static int64_t *list_at(const gops_subconv_work *work, int64_t begin)
{
    return (int64_t *)(void *)(work->workspace + begin);
}

static gops_subconv_product_size *product_sizes(const gops_subconv_work *work)
{
    return (gops_subconv_product_size *)(void *)(work->workspace +
                                                 gops_subconv_read(work->plan)->products_begin);
}

/* Fills in the rows of sums of each sub-convolution, and for each product its size and its offset
 * table, one after the other. */
static void fill_tables(const gops_subconv_work *work)
{
    const gops_subconv_parameters *p = gops_subconv_read(work->plan);
    const gops_conv_geometry *conv = &work->plan->conv;
    const gops_subconv_geometry *geometry = &work->geometry;
    gops_subconv_row *rows = (gops_subconv_row *)(void *)(work->workspace + p->rows_begin);
    gops_subconv_product_size *size = product_sizes(work);
    int64_t *offsets = list_at(work, p->implicit.offsets_begin);
    const int64_t plane = p->implicit.in_place ? conv->data_pixels : p->implicit.padded.plane;
    gops_subconv_product product;
    int64_t row = 0;
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
            *size = (gops_subconv_product_size){product.count, conv->channels_in * product.taps};
            gops_subconv_offsets(geometry, &product, p->implicit.pitch, plane, conv->channels_in,
                                 offsets);
            offsets += size++->depth;
        }
    } while (gops_subconv_next_product(geometry, &product));
}

/* Computes a product of `count` sub-convolutions over the columns of the pass: the sums of
 * `channels` channels from `channel` on go to rows `row` on. Returns the weights that follow. */
static const unsigned char *subconv_multiply(const gops_subconv_work *work,
                                             gops_implicit_pass *pass, int64_t row, int64_t channel,
                                             int64_t channels, int64_t count,
                                             const unsigned char *weights)
{
    const gops_subconv_parameters *p = gops_subconv_read(work->plan);
    const gops_tiles *tiles = work->plan->kernels->implicit->tiles[work->plan->type->compute];
    const int64_t ld = work->sums_ld;
    unsigned char *sums = work->workspace + p->implicit.sums_begin + row * ld * pass->bytes;
    gops_epilogue_values bias;
    for (int64_t i = 0; i < channels * count; i += pass->mr) {
        const int64_t left = channels * count - i;
        pass->mr = gops_implicit_mr(pass->tiles, p->implicit.pixels_form, p->implicit.mr, left);
        if (work->epilogue != NULL) {
            gops_epilogue_bias_rows(work->plan, work->whole, channel, count, i,
                                    gops_min(pass->mr, left), pass->mr, &bias);
            pass->bounds = &work->epilogue->bounds;
            pass->bias = &bias;
        }
        pass->weights = weights;
        weights += pass->mr * pass->depth * pass->bytes;
        if (p->implicit.pixels_form || p->single_position) {
            pass->sums = sums + i * ld * pass->bytes;
            pass->sums_ld = ld;
            gops_implicit_multiply(pass);
        } else {
            pass->sums = work->workspace + p->implicit.transpose_begin;
            pass->sums_ld = 0; /* the channels form does not read it */
            gops_implicit_multiply(pass);
            tiles->transpose(sums + i * ld * pass->bytes, ld, pass->sums, p->implicit.mr,
                             gops_min(pass->mr, left), pass->count);
        }
    }
    return weights;
}

/* Computes and stores one block of columns after the other, each panel by panel. */
static void subconv_run_columns(const gops_subconv_work *work, gops_implicit_pass *pass)
{
    const gops_plan *plan = work->plan;
    const gops_subconv_parameters *p = gops_subconv_read(plan);
    const int64_t count = work->runs.columns * work->runs.count;
    int64_t *columns = list_at(work, p->implicit.columns_begin);
    int64_t *sum_offsets = list_at(work, p->implicit.sum_offsets_begin);
    pass->columns = columns;
    pass->sum_offsets = sum_offsets;
    for (int64_t first = 0; first < count; first += p->implicit.column_block) {
        pass->count = gops_min(p->implicit.column_block, count - first);
        gops_implicit_list_columns(
            &p->implicit, plan->conv.axes, &work->runs, &work->box, first, pass->count, false,
            p->implicit.pixels_form ? work->runs.step : p->implicit.mr, columns, sum_offsets);
        const unsigned char *weights = work->filter;
        for (int64_t c = 0; c < work->channels; c += p->panel_channels) {
            const int64_t channels = gops_min(p->panel_channels, work->channels - c);
            const gops_subconv_product_size *size = product_sizes(work);
            int64_t row = 0;
            pass->offsets = list_at(work, p->implicit.offsets_begin);
            for (int64_t i = 0; i < p->products; i++, size++) {
                pass->depth = size->depth;
                weights = subconv_multiply(work, pass, row, work->channel + c, channels,
                                           size->count, weights);
                row += p->panel_channels * size->count;
                pass->offsets += pass->depth;
            }
            gops_subconv_store(work, first, pass->count, c, channels);
        }
    }
}

static const void *subconv_find_input(const gops_subconv_work *work, const unsigned char *data)
{
    const gops_implicit *p = &gops_subconv_read(work->plan)->implicit;
    int64_t origin[GOPS_MAX_SPATIAL];
    for (int a = 0; a < work->geometry.axes; a++) {
        origin[a] = work->box.begin[a] - work->geometry.axis[a].max_shift;
    }
    return gops_implicit_input(work->plan, p, &work->box, origin, data, work->workspace);
}

void gops_subconv_run(const gops_plan *plan, const gops_job *job, int64_t item, void *workspace)
{
    const gops_subconv_parameters *p = gops_subconv_read(plan);
    const gops_implicit *implicit = &p->implicit;
    const gops_conv_geometry *conv = &plan->conv;
    const gops_tiles *tiles = plan->kernels->implicit->tiles[plan->type->compute];
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t image_group = item / implicit->boxes / implicit->channel_blocks;
    const int64_t channel =
        item / implicit->boxes % implicit->channel_blocks * implicit->channel_block;
    const int64_t group = image_group % conv->groups;
    const gops_epilogue epilogue = gops_epilogue_read(plan, job, GOPS_EPILOGUE_NO_RESIDUAL);
    gops_subconv_work work = {
        .plan = plan,
        .job = job,
        .whole = job,
        .channel = group * conv->channels_out + channel,
        .element = (image_group * conv->channels_out + channel) * conv->output_pixels,
        .channels = gops_min(implicit->channel_block, conv->channels_out - channel),
        .workspace = workspace,
    };
    gops_implicit_axis axis[GOPS_MAX_SPATIAL];
    gops_subconv_split_axes(conv, p->split, &work.geometry);
    const int64_t weights = group * gops_subconv_group_weights(plan, &work.geometry) +
                            channel / p->panel_channels * p->panel_weights;
    work.filter = (const unsigned char *)job->filter + weights * bytes;
    gops_subconv_axes(&work.geometry, axis);
    gops_implicit_box(implicit, conv->axes, axis, item % implicit->boxes, &work.box);
    work.runs = gops_implicit_runs(implicit, conv->axes, tiles->lanes, &work.box);
    work.sums_ld = p->single_position ? 1 : implicit->column_block * work.runs.step;
    fill_tables(&work);
    /* A sub-convolution without taps goes through no tile; its outputs are made when they are
     * stored. So the tiles' epilogue serves only where all sub-convolutions have taps. */
    if (epilogue.applies &&
        p->panel_rows == p->panel_channels * gops_subconv_count(&work.geometry)) {
        work.job = &epilogue.rest;
        work.epilogue = &epilogue;
    }
    gops_implicit_pass pass = {
        .tiles = gops_implicit_tiles(implicit, tiles),
        .input = subconv_find_input(
            &work, gops_data_at(plan, job, image_group / conv->groups,
                                image_group * conv->channels_in * conv->data_pixels)),
        .depth_block = implicit->depth_block,
        /* The packed weights lie in the order in which they are read, which the processor
         * prefetches by itself. Prefetching by instructions as well made DCGAN's layer from 512 to
         * 256 channels a tenth slower. */
        .prefetch_weights = false,
        .bytes = bytes,
    };
    subconv_run_columns(&work, &pass);
}
