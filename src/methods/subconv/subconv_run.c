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

/* Fills in the rows of sums of each sub-convolution, and for each product its size and its offset
 * table, one after the other. */
static void fill_tables(const gops_subconv_work *work)
{
    const gops_subconv_parameters *p = gops_subconv_read(work->item.plan);
    const gops_conv_geometry *conv = &work->item.plan->conv;
    const gops_subconv_geometry *geometry = &work->geometry;
    gops_subconv_row *rows = (gops_subconv_row *)(void *)(work->item.workspace + p->rows_begin);
    gops_subconv_product_size *size = product_sizes(work);
    int64_t *offsets = offset_tables(work);
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
 * `channels` of the item's channels, from c on, go to rows `row` on. Returns the weights that
 * follow. */
static const unsigned char *multiply(gops_subconv_work *work, int64_t row, int64_t c,
                                     int64_t channels, int64_t count, const unsigned char *weights)
{
    const gops_implicit_item *item = &work->item;
    const gops_plan *plan = item->plan;
    const gops_subconv_parameters *p = gops_subconv_read(plan);
    const gops_tiles *tiles = plan->kernels->implicit->tiles[plan->type->compute];
    const bool to_rows = p->implicit.pixels_form || p->single_position;
    gops_implicit_pass *pass = &work->item.pass;
    const int64_t row_bytes = work->sums_ld * pass->bytes;
    unsigned char *sums = item->workspace + p->implicit.sums_begin + row * row_bytes;
    gops_epilogue_values bias;
    for (int64_t i = 0; i < channels * count; i += pass->mr, sums += pass->mr * row_bytes) {
        const int64_t left = channels * count - i;
        pass->mr = gops_implicit_mr(pass->tiles, p->implicit.pixels_form, p->implicit.mr, left);
        if (work->epilogue != NULL) {
            gops_epilogue_bias_rows(plan, item->whole, item->channel_of_all + c, count, i,
                                    gops_min(pass->mr, left), pass->mr, &bias);
            pass->work.bounds = &work->epilogue->bounds;
            pass->work.bias = &bias;
        }
        pass->work.weights = weights;
        weights += pass->mr * pass->work.depth * pass->bytes;
        pass->work.sums = to_rows ? sums : item->workspace + p->implicit.transpose_begin;
        pass->work.sums_ld = work->sums_ld; /* which the channels form does not read */
        gops_implicit_multiply(pass);
        if (!to_rows) {
            tiles->transpose(sums, work->sums_ld, pass->work.sums, p->implicit.mr,
                             gops_min(pass->mr, left), pass->count);
        }
    }
    return weights;
}

/* Computes and stores one block of columns, panel by panel. */
static void run_columns(gops_subconv_work *work, int64_t first)
{
    gops_implicit_item *item = &work->item;
    const gops_subconv_parameters *p = gops_subconv_read(item->plan);
    const unsigned char *weights = work->filter;
    gops_implicit_list_columns(&p->implicit, item, first, false,
                               p->implicit.pixels_form ? item->runs.step : p->implicit.mr);
    for (int64_t c = 0; c < item->channels; c += p->panel_channels) {
        const int64_t channels = gops_min(p->panel_channels, item->channels - c);
        const gops_subconv_product_size *size = product_sizes(work);
        int64_t row = 0;
        item->pass.work.offsets = offset_tables(work);
        for (int64_t i = 0; i < p->products; i++, size++) {
            item->pass.work.depth = size->depth;
            weights = multiply(work, row, c, channels, size->count, weights);
            row += p->panel_channels * size->count;
            item->pass.work.offsets += size->depth;
        }
        gops_subconv_store(work, first, c, channels);
    }
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
    const int64_t weights = item->group * gops_subconv_group_weights(plan, &work.geometry) +
                            item->channel / p->panel_channels * p->panel_weights;
    work.filter = (const unsigned char *)job->filter + weights * item->pass.bytes;
    work.sums_ld = p->single_position ? 1 : implicit->column_block * item->runs.step;
    fill_tables(&work);
    /* A sub-convolution without taps goes through no tile; its outputs are made when they are
     * stored. So the tiles' epilogue serves only where all sub-convolutions have taps. */
    if (epilogue.applies &&
        p->panel_rows == p->panel_channels * gops_subconv_count(&work.geometry)) {
        item->job = &epilogue.rest;
        work.epilogue = &epilogue;
    }
    const int64_t count = item->runs.columns * item->runs.count;
    for (int64_t first = 0; first < count; first += implicit->column_block) {
        item->pass.count = gops_min(implicit->column_block, count - first);
        run_columns(&work, first);
    }
}
