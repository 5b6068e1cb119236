/*
 * pointwise_conv.c: GroupConvolution with a kernel of 1 and no pads, by vectors of pixels.
 *
 * Without strides, output pixel o reads data pixel o and nothing else: the data of a group is the
 * column matrix, whatever its spatial axes are, and they count as one. With strides the column
 * matrix is the pixels that they leave, and these are gathered for each panel. A panel is a few
 * vectors of pixels by all input channels, a block is a few output channels, and a register tile
 * computes the sums of one block and one panel (pointwise.h). Both pixels and channels are split
 * evenly, so that 58 channels are tiles of 8 and 7, not seven of 8 and a rest of 2. Panels that are
 * gathered for several items are gathered before, by items of their own. One of the others
 * computes some panels of one image, for some blocks of some groups:
 *
 *     for each panel:
 *         for each block of input channels:      the panel stays in the nearest caches
 *             for each block of output channels: add to the sums
 *
 * All blocks of input channels but the last keep their sums in the workspace; the last one writes
 * the output.
 */
#include "methods/pointwise/pointwise_layout.h"

#include "base/checked.h"
#include "post_ops/epilogue.h"
#include "post_ops/post_ops.h"

#include <string.h>

/* Groups, in each blocks of input channels, in each blocks of output channels, in each
 * [c][channels of the block]. */
static void pointwise_pack(const gops_plan *plan, const void *weights, const int32_t *zero_points,
                           void *packed)
{
    (void)zero_points; /* serves no quantized plan */
    const gops_pointwise_layout *p = gops_pointwise_layout_of(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const gops_type_row *type = plan->filter_type;
    const int64_t bytes = gops_compute_bytes(type->compute);
    const int64_t row = conv->channels_in * type->bytes;
    const unsigned char *group = weights;
    unsigned char *to = packed;
    memset(packed, 0, (size_t)plan->filter_bytes); /* also what follows the last weights */
    for (int64_t g = 0; g < conv->groups; g++, group += conv->channels_out * row) {
        for (int64_t c0 = 0; c0 < conv->channels_in; c0 += p->depth_block) {
            const int64_t depth = gops_min(p->depth_block, conv->channels_in - c0);
            for (int64_t b = 0; b < p->blocks.count; b++) {
                const int64_t channels = gops_even_size(&p->blocks, b);
                const unsigned char *from =
                    group + gops_even_begin(&p->blocks, b) * row + c0 * type->bytes;
                for (int64_t c = 0; c < depth; c++, from += type->bytes) {
                    for (int64_t i = 0; i < channels; i++, to += bytes) {
                        type->load(to, from + i * row, 1);
                    }
                }
            }
        }
    }
}

/* A work item in execution. */
typedef struct pointwise_item {
    const gops_plan *plan;
    const gops_job *job;
    const gops_epilogue *epilogue;
    const gops_job *rest;                /* the job less the epilogue */
    const unsigned char *data, *weights; /* of the group */
    int64_t channel;                     /* the group's first */
    int64_t element;                     /* of the output: the group's first */
    gops_range blocks;
    unsigned char *workspace;
    int64_t image_group;
    bool first_pass; /* of its worker over the panels of these groups */
} pointwise_item;

/* Neighbouring panels, mostly one: the first pixel, how many each has, the tile for them, and where copies go. A
 * call of a kernel changes some of `work`, one by one: a copy of all of it would read in one piece what was
 * written in several, which waits until all outputs before it are in the cache. */
typedef struct pointwise_panel {
    int64_t index, panels, pixel, count, vectors, tail;
    bool large; /* takes a tile of large outputs */
    unsigned char *copy;
    const unsigned char *weights; /* of the input channels at a time */
    gops_pointwise_work work;
} pointwise_panel;

/* The units of a panel. Counted from the end: so where panels are of an odd number, the first of two items has fewer of
 * them, but larger ones. */
static gops_range panel_units(const gops_pointwise_layout *p, int64_t index)
{
    const gops_even_split *panels = &p->panels;
    const int64_t units = panels->count * panels->size + panels->larger;
    const gops_range from_end = gops_part(units, panels->count, panels->count - 1 - index);
    return (gops_range){units - from_end.end, units - from_end.begin};
}

/* Sets the pixels and the tile for them. Where outputs are large, these are the pixels of up to `max` panels that
 * are whole and have the most vectors. */
static void set_panel(const gops_plan *plan, int64_t index, int64_t max, pointwise_panel *panel)
{
    const gops_pointwise_layout *p = gops_pointwise_layout_of(plan);
    const gops_pointwise *kernels = plan->kernels->pointwise[plan->type->compute];
    const gops_range units = panel_units(p, index);
    const int64_t size = units.end - units.begin;
    panel->index = index;
    panel->pixel = units.begin * p->unit;
    panel->count = gops_min(size * p->unit, plan->conv.output_pixels - panel->pixel);
    panel->vectors = p->unit > 1 ? size : kernels->vectors;
    panel->tail = p->unit > 1 ? 0 : size - kernels->vectors * kernels->lanes;
    panel->large =
        plan->workers <= p->large_workers && panel->count == kernels->vectors * kernels->lanes;
    panel->panels = 1;
    while (panel->large && panel->panels < max &&
           panel_units(p, index + panel->panels).end == units.begin + (panel->panels + 1) * size &&
           panel->pixel + (panel->panels + 1) * panel->count <= plan->conv.output_pixels) {
        panel->panels++;
    }
}

/* From one k to the next in a copy of the panel. */
static int64_t copy_ld(const gops_plan *plan, const pointwise_panel *panel)
{
    return (panel->vectors + (panel->tail > 0)) *
           plan->kernels->pointwise[plan->type->compute]->lanes;
}

/* Gathers or copies `depth` input channels of the panel from c on. */
static void copy_panel(const pointwise_item *item, const pointwise_panel *panel, int64_t c,
                       int64_t depth, void *to)
{
    const gops_plan *plan = item->plan;
    const gops_pointwise_layout *p = gops_pointwise_layout_of(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const gops_pointwise *kernels = plan->kernels->pointwise[plan->type->compute];
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const unsigned char *channel = item->data + c * plan->data_plane * bytes;
    if (p->gathers) {
        gops_pointwise_row rows[GOPS_POINTWISE_MAX_PIXELS];
        const gops_pointwise_gather gather = {
            .rows = rows,
            .row_count = gops_pointwise_list_rows(conv, panel->pixel, panel->count, rows),
            .stride = conv->axis[conv->axes - 1].stride,
            .ld = copy_ld(plan, panel),
        };
        kernels->gather_panel(to, &gather, channel, plan->data_plane, depth);
    } else {
        kernels->copy_panel(to, panel->vectors, channel + panel->pixel * bytes, plan->data_plane,
                            depth, panel->count);
    }
}

/* Where the shared workspace has the panel. */
static unsigned char *shared_panel(const pointwise_item *item, const pointwise_panel *panel)
{
    const gops_pointwise_layout *p = gops_pointwise_layout_of(item->plan);
    return (unsigned char *)item->job->shared +
           (item->image_group * p->panels.count + panel->index) * p->panel_bytes;
}

/* A panel of `depth` input channels from c on, and its ld: where it lies, or a copy if its pixels do
 * not lie together or its vectors would reach beyond the data. */
static const void *find_panel(const pointwise_item *item, const pointwise_panel *panel, int64_t c,
                              int64_t depth, int64_t *ld)
{
    const gops_plan *plan = item->plan;
    const gops_pointwise_layout *p = gops_pointwise_layout_of(plan);
    const gops_pointwise *kernels = plan->kernels->pointwise[plan->type->compute];
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    *ld = copy_ld(plan, panel);
    if (p->shared_panels) {
        return shared_panel(item, panel) + c * *ld * bytes;
    }
    if (p->gathers || panel->count < panel->vectors * kernels->lanes) {
        copy_panel(item, panel, c, depth, panel->copy);
        return panel->copy;
    }
    *ld = plan->data_plane;
    return item->data + (c * plan->data_plane + panel->pixel) * bytes;
}

/* Has the kernel apply the epilogue to channels of the group from `channel` on. */
static void set_epilogue(const pointwise_item *item, int64_t channel, int64_t element,
                         gops_pointwise_work *work)
{
    static const gops_epilogue_values zeros;
    const int64_t bytes = gops_compute_bytes(item->plan->type->compute);
    work->bounds = &item->epilogue->bounds;
    work->bias = &zeros;
    if (item->job->bias != NULL) {
        work->bias = (const unsigned char *)item->job->bias + (item->channel + channel) * bytes;
        work->bias_step = 1;
    }
    if (item->job->residual != NULL) {
        work->residual = gops_residual_at(item->plan, item->job, element);
    }
}

/* Computes blocks `first` to end - 1, all with the same number of channels. */
static void run_blocks(const pointwise_item *item, pointwise_panel *panel, int64_t first,
                       int64_t end, bool last_depth)
{
    const gops_plan *plan = item->plan;
    const gops_pointwise_layout *p = gops_pointwise_layout_of(plan);
    const gops_pointwise *kernels = plan->kernels->pointwise[plan->type->compute];
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t channels = gops_even_size(&p->blocks, first);
    const int64_t vector_sums = panel->vectors * kernels->lanes,
                  tail_sums = panel->tail * kernels->mr;
    const int64_t block_sums = channels * vector_sums + tail_sums;
    /* The blocks before `first` may be larger ones. */
    const int64_t first_sums =
        (first - item->blocks.begin) * (gops_even_size(&p->blocks, 0) * vector_sums + tail_sums);
    const bool stores = last_depth && item->rest->fused;
    const int64_t step = stores ? GOPS_POINTWISE_STORE_CHANNELS / channels : end - first;
    gops_pointwise_tile_fn *const tile =
        panel->large ? kernels->large_tiles[channels - 1]
                     : kernels->tiles[(channels - 1) * (kernels->vectors + kernels->max_tail) +
                                      panel->vectors + panel->tail - 1];
    gops_pointwise_work *work = &panel->work;
    for (int64_t b = first; b < end; b += step) {
        const int64_t channel = gops_even_begin(&p->blocks, b);
        const int64_t element = item->element + channel * plan->output_plane + panel->pixel;
        work->blocks = gops_min(step, end - b);
        work->weights = panel->weights + channel * work->depth * bytes;
        work->sums =
            item->workspace + p->sums_from + (first_sums + (b - first) * block_sums) * bytes;
        work->output = NULL;
        if (stores) {
            work->output = item->workspace + p->outputs_from;
            work->output_ld = panel->panels * copy_ld(plan, panel);
        } else if (last_depth) {
            work->output = gops_output_at(plan, item->rest, element);
            work->output_ld = plan->output_plane;
        }
        work->bounds = NULL;
        if (last_depth && item->epilogue->applies) {
            set_epilogue(item, channel, element, work);
        }
        tile(work);
        if (work->copy != NULL) {
            work->data = work->copy;
            work->data_ld = copy_ld(plan, panel);
            work->data_step = work->copy_step;
            work->copy = NULL;
        }
        if (stores) {
            gops_store_rows(plan, item->rest, item->epilogue, item->channel + channel, element,
                            &(gops_store_values){.values = work->output,
                                                 .ld = work->output_ld,
                                                 .rows = work->blocks * channels,
                                                 .count = panel->panels * work->count});
        }
    }
}

static void run_panel(const pointwise_item *item, pointwise_panel *panel)
{
    const gops_plan *plan = item->plan;
    const gops_pointwise_layout *p = gops_pointwise_layout_of(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t larger = gops_clamp(p->blocks.larger, item->blocks.begin, item->blocks.end);
    /* With other threads half of the data is in the caches of their cores, until a pass has read it. */
    const bool far = p->data_beyond_l2 || panel->large || (plan->workers > 1 && item->first_pass);
    const bool prefetches = far && !p->gathers && !p->shared_panels;
    gops_pointwise_work *work = &panel->work;
    work->panels = panel->panels;
    work->count = panel->count;
    /* Without them 3072 -> 768 on 7x7 took 1.3 times as long, 1024 -> 256 on 14x14 1.05 times, where weights come from
     * memory as in a network (Zen 5). */
    work->far_weights = p->weights_beyond_l2;
    for (int64_t c = 0; c < conv->channels_in; c += p->depth_block) {
        const bool last_depth = c + p->depth_block >= conv->channels_in;
        work->depth = gops_min(p->depth_block, conv->channels_in - c);
        work->data = find_panel(item, panel, c, work->depth, &work->data_ld);
        work->data_step = panel->count;
        work->copy = (panel->large ? p->copies_large : p->copies) && work->data != panel->copy
                         ? panel->copy
                         : NULL;
        work->copy_step = p->copy_bytes / bytes;
        work->next = NULL;
        if (prefetches && (!last_depth || panel->index + panel->panels < p->panels.count)) {
            const int64_t next = last_depth
                                     ? panel->pixel + panel->panels * panel->count
                                     : (c + p->depth_block) * plan->data_plane + panel->pixel;
            work->next = item->data + next * bytes;
            work->next_ld = plan->data_plane;
        }
        panel->weights = item->weights + c * conv->channels_out * bytes;
        work->accumulate = c > 0;
        if (item->blocks.begin < larger) {
            run_blocks(item, panel, item->blocks.begin, larger, last_depth);
        }
        if (larger < item->blocks.end) {
            run_blocks(item, panel, larger, item->blocks.end, last_depth);
        }
    }
}

/* Sets the image and group, counted over all images. */
static void set_group(pointwise_item *item, int64_t image_group)
{
    const gops_conv_geometry *conv = &item->plan->conv;
    item->image_group = image_group;
    item->data = gops_data_at(item->plan, item->job, image_group / conv->groups,
                              image_group * conv->channels_in * item->plan->data_plane);
}

/* An item before the barrier: a panel for the items after it. */
static void run_copy(const gops_plan *plan, const gops_job *job, int64_t index)
{
    const gops_pointwise_layout *p = gops_pointwise_layout_of(plan);
    pointwise_item item = {.plan = plan, .job = job};
    pointwise_panel panel;
    set_group(&item, index / p->panels.count);
    set_panel(plan, index % p->panels.count, 1, &panel);
    copy_panel(&item, &panel, 0, plan->conv.channels_in, shared_panel(&item, &panel));
}

/* Whether the worker does each panel of the item's groups for the first time: others may have begun with these. */
static bool is_first_pass(const gops_pointwise_layout *p, const gops_job *job, int64_t index)
{
    const int64_t group_items = p->items.panels * p->items.blocks;
    if (*job->kept < 0 || *job->kept / group_items != index / group_items) {
        *job->kept = index;
    }
    return p->items.blocks == 1 || (index >= *job->kept && index - *job->kept < p->items.panels);
}

static void pointwise_run(const gops_plan *plan, const gops_job *job, int64_t index,
                          void *workspace)
{
    if (index < plan->barrier) {
        run_copy(plan, job, index);
        return;
    }
    index -= plan->barrier;
    const gops_pointwise_layout *p = gops_pointwise_layout_of(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const gops_item of = gops_find_item(
        &p->items, &(gops_items){conv->groups, p->blocks.count, p->panels.count}, index);
    /* Kernels look for a residual where the output is, which sums that are kept are not. */
    const gops_epilogue epilogue = gops_epilogue_read_most(plan, job, GOPS_EPILOGUE_ANY_RESIDUAL);
    pointwise_item item = {
        .plan = plan,
        .job = job,
        .epilogue = &epilogue,
        .rest = epilogue.applies ? &epilogue.rest : job,
        .blocks = of.blocks,
        .workspace = workspace,
        .first_pass = is_first_pass(p, job, index),
    };
    pointwise_panel panel = {.copy = workspace};
    for (int64_t group = of.groups.begin; group < of.groups.end; group++) {
        const int64_t image_group = of.image * conv->groups + group;
        set_group(&item, image_group);
        item.weights = (const unsigned char *)job->filter +
                       group * conv->channels_out * conv->channels_in * bytes;
        item.channel = group * conv->channels_out;
        item.element = image_group * conv->channels_out * plan->output_plane;
        for (int64_t i = of.panels.begin; i < of.panels.end; i += panel.panels) {
            set_panel(plan, i, gops_min(p->max_panels, of.panels.end - i), &panel);
            run_panel(&item, &panel);
        }
    }
}

const gops_method gops_pointwise_conv = {
    .name = "pointwise/pixels",
    .operation = GOPS_OPERATION_CONV,
    .prepare = gops_pointwise_prepare,
    .pack = pointwise_pack,
    .run = pointwise_run,
};
