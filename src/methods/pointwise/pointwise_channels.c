/*
 * pointwise_channels.c: GroupConvolution with a kernel of 1 and no pads, by vectors of channels,
 * for few pixels.
 *
 * Images of one pixel, as after a global pooling, make this a product of the weights with a vector,
 * or with one for each image: reading the weights takes the time. So the weights lie in the order in
 * which the tiles read them, and all images share them. The pixels of an image, or those of all
 * images where each has one, are columns, which a tile reads where they lie, with any stride. One
 * work item computes some panels of columns for some blocks of channels of some groups:
 *
 *     for each panel of columns:
 *         for each block of output channels:
 *             for each block of input channels:     its weights stay in a cache
 *                 for each tile of columns: add to the sums
 *
 * The sums of a tile are neighbouring channels of each column. Where an image has one pixel, that
 * is how the output lies; else they are transposed.
 */
#include "methods/pointwise/pointwise_layout.h"

#include "base/checked.h"
#include "post_ops/epilogue.h"
#include "post_ops/post_ops.h"

#include <string.h>

/* Groups, in each blocks of output channels, in each [c][channels of the block]; channels that fill
 * the last vector are zero. */
static void channels_pack(const gops_plan *plan, const void *weights, const int32_t *zero_points,
                          void *packed)
{
    (void)zero_points; /* serves no quantized plan */
    const gops_pointwise_channels_layout *p = gops_pointwise_channels_layout_of(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const gops_type_row *type = plan->filter_type;
    const int64_t bytes = gops_compute_bytes(type->compute);
    const int64_t lanes = plan->kernels->pointwise[type->compute]->lanes;
    const int64_t row = conv->channels_in * type->bytes;
    const unsigned char *group = weights;
    unsigned char *to = packed;
    memset(packed, 0, (size_t)plan->filter_bytes);
    for (int64_t g = 0; g < conv->groups; g++, group += conv->channels_out * row) {
        for (int64_t b = 0; b < p->blocks.count; b++) {
            const int64_t first = gops_even_begin(&p->blocks, b) * lanes;
            const int64_t width = gops_even_size(&p->blocks, b) * lanes;
            const int64_t channels = gops_min(width, conv->channels_out - first);
            const unsigned char *from = group + first * row;
            for (int64_t c = 0; c < conv->channels_in; c++, from += type->bytes) {
                for (int64_t i = 0; i < channels; i++) {
                    type->load(to + i * bytes, from + i * row, 1);
                }
                to += width * bytes;
            }
        }
    }
}

/* A work item in execution. */
typedef struct channels_item {
    const gops_plan *plan;
    const gops_job *job;
    const gops_epilogue *epilogue;
    const gops_job *rest; /* the job less the epilogue */
    int64_t run, group;
    const unsigned char *weights; /* of the group */
    unsigned char *sums, *transposed;
    /* The panel: its columns, and where each has its first input channel. */
    int64_t first_column, count;
    const void *columns[GOPS_POINTWISE_MAX_PIXELS];
} channels_item;

/* Finds the columns of a panel. */
static void find_columns(channels_item *item, int64_t panel)
{
    const gops_plan *plan = item->plan;
    const gops_conv_geometry *conv = &plan->conv;
    const gops_pointwise_channels_layout *p = gops_pointwise_channels_layout_of(plan);
    const int64_t group_data = conv->channels_in * plan->data_plane;
    item->first_column = gops_even_begin(&p->panels, panel);
    item->count = gops_even_size(&p->panels, panel);
    if (p->across_images) {
        for (int64_t i = 0; i < item->count; i++) {
            const int64_t image = item->first_column + i;
            item->columns[i] = gops_data_at(plan, item->job, image,
                                            image * plan->image_data + item->group * group_data);
        }
        return;
    }
    gops_pointwise_row rows[GOPS_POINTWISE_MAX_PIXELS];
    const int64_t stride = conv->axis[conv->axes - 1].stride * plan->type->bytes;
    const int64_t row_count = gops_pointwise_list_rows(conv, item->first_column, item->count, rows);
    const void **to = item->columns;
    for (int64_t r = 0; r < row_count; r++) {
        const unsigned char *from =
            gops_data_at(plan, item->job, item->run,
                         item->run * plan->image_data + item->group * group_data + rows[r].from);
        for (int64_t i = 0; i < rows[r].count; i++) {
            *to++ = from + i * stride;
        }
    }
}

/* Computes all tiles of a panel for one block of output channels and one of input channels from c
 * on. `work` says where the outputs of the panel go. */
static void run_tiles(const channels_item *item, gops_pointwise_channels_work work, int64_t vectors,
                      int64_t c)
{
    const gops_plan *plan = item->plan;
    const gops_pointwise *kernels = plan->kernels->pointwise[plan->type->compute];
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t ld = vectors * kernels->lanes * bytes;
    const gops_even_split tiles = gops_split_evenly(item->count, kernels->max_columns);
    const void *columns[GOPS_POINTWISE_MAX_COLUMNS];
    work.columns = columns;
    work.data_ld = plan->data_plane;
    for (int64_t t = 0, j = 0; t < tiles.count; t++) {
        const int64_t count = gops_even_size(&tiles, t);
        for (int64_t i = 0; i < count; i++) {
            columns[i] = (const unsigned char *)item->columns[j + i] + c * plan->data_plane * bytes;
        }
        work.prefetches = t == 0;
        work.kept = c > 0 ? item->sums + j * ld : NULL;
        kernels->column_tiles[(vectors - 1) * kernels->max_columns + count - 1](&work);
        work.output = (unsigned char *)work.output + count * work.output_ld * bytes;
        if (work.residual != NULL) {
            work.residual = (const unsigned char *)work.residual + count * work.residual_ld * bytes;
        }
        j += count;
    }
}

/* Stores the sums of a block of channels of an image, which lie [column][channel]. */
static void store_pixels(const channels_item *item, int64_t channel, int64_t channels, int64_t ld)
{
    const gops_plan *plan = item->plan;
    const gops_pointwise *kernels = plan->kernels->pointwise[plan->type->compute];
    const int64_t plane = plan->output_plane;
    const int64_t first =
        ((item->run * plan->conv.groups * plan->conv.channels_out) + channel) * plane +
        item->first_column;
    if (!item->rest->fused) {
        kernels->transpose(gops_output_at(plan, item->rest, first), plane, item->sums, ld, channels,
                           item->count);
        return;
    }
    kernels->transpose(item->transposed, item->count, item->sums, ld, channels, item->count);
    gops_store_channels(plan, item->rest, channel, first,
                        &(gops_store_values){item->transposed, item->count, channels, item->count});
}

/* Applies what the tiles left to do to images of one pixel, whose neighbouring outputs are
 * channels. */
static void store_images(const channels_item *item, int64_t channel, int64_t channels, int64_t ld)
{
    const int64_t bytes = gops_compute_bytes(item->plan->type->compute);
    const int64_t image_channels = item->plan->conv.groups * item->plan->conv.channels_out;
    for (int64_t i = 0; i < item->count; i++) {
        gops_store(item->plan, item->rest, 0, (item->first_column + i) * image_channels + channel,
                   channels, item->sums + i * ld * bytes);
    }
}

/* Has the tiles of images of one pixel write to the output; the tiles of others keep their sums. */
static void set_output(const channels_item *item, int64_t channel, int64_t channels,
                       gops_pointwise_channels_work *work)
{
    const gops_plan *plan = item->plan;
    const int64_t element =
        item->first_column * plan->conv.groups * plan->conv.channels_out + channel;
    if (!gops_pointwise_channels_layout_of(plan)->across_images) {
        return;
    }
    work->channels = channels; /* of the residual too */
    if (item->epilogue->applies && item->job->residual != NULL) {
        work->residual = gops_residual_at(plan, item->job, element);
        work->residual_ld = plan->image_outputs + item->job->residual_gap;
    }
    if (!item->rest->fused) {
        work->output = gops_output_at(plan, item->job, element);
        work->output_ld = plan->image_outputs + item->job->output_gap;
    }
}

static void run_block(const channels_item *item, int64_t block)
{
    const gops_plan *plan = item->plan;
    const gops_pointwise_channels_layout *p = gops_pointwise_channels_layout_of(plan);
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t lanes = plan->kernels->pointwise[plan->type->compute]->lanes;
    const int64_t vectors = gops_even_size(&p->blocks, block), ld = vectors * lanes;
    const int64_t first = gops_even_begin(&p->blocks, block) * lanes;
    const int64_t channels = gops_min(ld, plan->conv.channels_out - first);
    const int64_t channel = item->group * plan->conv.channels_out + first;
    const unsigned char *weights = item->weights + first * plan->conv.channels_in * bytes;
    gops_epilogue_values bias;
    for (int64_t d = 0; d < p->depths.count; d++) {
        const int64_t c = gops_even_begin(&p->depths, d);
        const bool last_depth = d + 1 == p->depths.count;
        gops_pointwise_channels_work work = {
            .depth = gops_even_size(&p->depths, d),
            .weights = weights + c * ld * bytes,
            .output = item->sums,
            .output_ld = ld,
            .channels = ld,
        };
        if (last_depth) {
            set_output(item, channel, channels, &work);
        }
        if (last_depth && item->epilogue->applies) {
            gops_epilogue_bias(plan, item->job, channel, 1, channels, ld, &bias);
            work.bounds = &item->epilogue->bounds;
            work.bias = &bias;
        }
        run_tiles(item, work, vectors, c);
    }
    if (!p->across_images) {
        store_pixels(item, channel, channels, ld);
    } else if (item->rest->fused) {
        store_images(item, channel, channels, ld);
    }
}

static void channels_run(const gops_plan *plan, const gops_job *job, int64_t index, void *workspace)
{
    const gops_pointwise_channels_layout *p = gops_pointwise_channels_layout_of(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const gops_item of = gops_find_item(
        &p->items, &(gops_items){conv->groups, p->blocks.count, p->panels.count}, index / p->runs);
    const gops_epilogue epilogue = p->across_images
                                       ? gops_epilogue_read_sums(plan, job)
                                       : gops_epilogue_read(plan, job, GOPS_EPILOGUE_NO_RESIDUAL);
    channels_item item = {
        .plan = plan,
        .job = job,
        .epilogue = &epilogue,
        .rest = epilogue.applies ? &epilogue.rest : job,
        .run = index % p->runs,
        .sums = workspace,
        .transposed = (unsigned char *)workspace + p->transposed_from,
    };
    for (item.group = of.groups.begin; item.group < of.groups.end; item.group++) {
        item.weights =
            (const unsigned char *)job->filter + plan->filter_bytes / conv->groups * item.group;
        for (int64_t panel = of.panels.begin; panel < of.panels.end; panel++) {
            find_columns(&item, panel);
            for (int64_t block = of.blocks.begin; block < of.blocks.end; block++) {
                run_block(&item, block);
            }
        }
    }
}

const gops_method gops_pointwise_channels_conv = {
    .name = "pointwise/channels",
    .operation = GOPS_OPERATION_CONV,
    .prepare = gops_pointwise_channels_prepare,
    .pack = channels_pack,
    .run = channels_run,
};
