/*
 * pointwise_conv.c: GroupConvolution with a kernel of 1 and no pads; the form of
 * `implicit` for it.
 *
 * Output pixel o then reads data pixel o and nothing else: the data of a group is the column
 * matrix, whatever its spatial axes are, and they count as one. With strides the column matrix is
 * what they leave of the data, copied together for each panel. A panel is a few vectors of pixels
 * by all input channels, a block a few output channels; a register tile makes a block's sums of a
 * panel (pointwise.h). Both the pixels and the channels are cut evenly, so that 58 channels
 * are tiles of 8 and 7, not seven of 8 and a rest of 2. One work item makes some panels of one
 * image, for some blocks of some groups:
 *
 *     for each panel:
 *         for each block of input channels:      the panel stays in the nearest caches
 *             for each block of output channels: add to the sums
 *
 * All blocks of input channels but the last keep their sums in the workspace; the last one writes
 * the output.
 */
#include "methods/methods.h"
#include "methods/pointwise/pointwise_layout.h"

#include "base/checked.h"
#include "post_ops/post_ops.h"
#include "post_ops/epilogue.h"

#include <stdio.h>
#include <string.h>

static gops_status prepare(gops_plan *plan, int64_t slot_limit, gops_error *error)
{
    const gops_pointwise_layout *p = gops_pointwise_layout_of(plan);
    const gops_status status = gops_pointwise_lay_out(plan, slot_limit, error);
    if (status != GOPS_OK) {
        return status;
    }
    snprintf(plan->why, sizeof plan->why,
             "a kernel of 1 on the input%s: tiles of %lld channels by %lld pixels, C_IN "
             "%lld in blocks of %lld, estimated %.3f ms",
             p->picks    ? ", picked together"
             : p->copies ? ", copied by panels"
                         : " where it lies",
             (long long)gops_piece_size(&p->blocks, 0),
             (long long)(gops_piece_size(&p->panels, 0) * p->unit),
             (long long)plan->conv.channels_in, (long long)p->depth_block, plan->cost / 1e6);
    return GOPS_OK;
}

/* Groups, in each blocks of input channels, in each blocks of output channels, in each
 * [c][channels of the block]. */
static void pack(const gops_plan *plan, const void *weights, void *packed)
{
    const gops_pointwise_layout *p = gops_pointwise_layout_of(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const gops_type_row *type = plan->filter_type;
    const int64_t bytes = gops_compute_bytes(type->compute);
    const int64_t row = conv->channels_in * type->bytes;
    const unsigned char *group = weights;
    unsigned char *to = packed;
    memset(packed, 0, (size_t)plan->filter_bytes); /* what lies beyond the weights, too */
    for (int64_t g = 0; g < conv->groups; g++, group += conv->channels_out * row) {
        for (int64_t c0 = 0; c0 < conv->channels_in; c0 += p->depth_block) {
            const int64_t depth = gops_min(p->depth_block, conv->channels_in - c0);
            for (int64_t b = 0; b < p->blocks.pieces; b++) {
                const int64_t channels = gops_piece_size(&p->blocks, b);
                const unsigned char *from =
                    group + gops_piece_begin(&p->blocks, b) * row + c0 * type->bytes;
                for (int64_t c = 0; c < depth; c++, from += type->bytes) {
                    for (int64_t i = 0; i < channels; i++, to += bytes) {
                        type->load(to, from + i * row, 1);
                    }
                }
            }
        }
    }
}

/* What one item works on. */
typedef struct piece {
    const gops_plan *plan;
    const gops_job *job; /* less what the kernel does */
    const gops_job *whole;
    const gops_epilogue *trim;
    const unsigned char *data, *weights; /* of the group */
    int64_t channel;                     /* the group's first */
    int64_t element;                     /* of the output: the group's first */
    int64_t first_block, end_block;
    unsigned char *workspace;
    /* The panel: its first pixel, how many there are, and what holds them. */
    int64_t pixel, count, vectors, odd;
} piece;

/* The runs of data pixels that the panel's output pixels read, each within a row. */
static int64_t list_segments(const piece *at, gops_pointwise_segment *to)
{
    const gops_conv_geometry *conv = &at->plan->conv;
    const gops_axis *x = &conv->axis[conv->axes - 1];
    int64_t segments = 0, count;
    for (int64_t pixel = at->pixel; pixel < at->pixel + at->count; pixel += count) {
        int64_t outer = pixel / x->output, pitch = x->data;
        int64_t from = pixel % x->output * x->stride;
        for (int a = conv->axes - 2; a >= 0; a--) {
            const gops_axis *axis = &conv->axis[a];
            from += outer % axis->output * axis->stride * pitch;
            outer /= axis->output;
            pitch *= axis->data;
        }
        count = gops_min(x->output - pixel % x->output, at->pixel + at->count - pixel);
        to[segments++] = (gops_pointwise_segment){from, count};
    }
    return segments;
}

/* A panel of the data: where it lies, or copied where its pixels do not lie together, where vectors
 * would reach beyond it, or where its lines do not stay in the cache. */
static const void *find_panel(const piece *at, int64_t c, int64_t depth, int64_t *ld)
{
    const gops_plan *plan = at->plan;
    const gops_pointwise_layout *p = gops_pointwise_layout_of(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const gops_pointwise *kernels = plan->kernels->pointwise[plan->type->compute];
    const unsigned char *channel =
        at->data + c * conv->data_pixels * gops_compute_bytes(plan->type->compute);
    const unsigned char *from = channel + at->pixel * gops_compute_bytes(plan->type->compute);
    if (p->picks) {
        gops_pointwise_segment segments[GOPS_POINTWISE_PIXELS];
        const gops_pointwise_panel panel = {segments, list_segments(at, segments),
                                            conv->axis[conv->axes - 1].stride,
                                            (at->vectors + (at->odd > 0)) * kernels->lanes};
        kernels->pick(at->workspace, &panel, channel, conv->data_pixels, depth);
        *ld = panel.ld;
        return at->workspace;
    }
    *ld = conv->data_pixels;
    if (at->count < at->vectors * kernels->lanes || p->copies) {
        kernels->gather(at->workspace, at->vectors, from, conv->data_pixels, depth, at->count);
        *ld = at->vectors * kernels->lanes;
        return at->workspace;
    }
    return from;
}

/* What the kernel does not do. */
static void store(const piece *at, int64_t channel, int64_t channels,
                  const gops_pointwise_work *work)
{
    const gops_plan *plan = at->plan;
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    for (int64_t i = 0; i < channels; i++) {
        gops_store(plan, at->job, at->channel + channel + i,
                   at->element + (channel + i) * plan->conv.output_pixels + at->pixel, work->count,
                   (unsigned char *)work->output + i * work->output_ld * bytes);
    }
}

/* Blocks `first` to end - 1, which have as many channels each. */
static void run_blocks(const piece *at, gops_pointwise_work work, int64_t first, int64_t end,
                       int last)
{
    const gops_plan *plan = at->plan;
    const gops_pointwise_layout *p = gops_pointwise_layout_of(plan);
    const gops_pointwise *kernels = plan->kernels->pointwise[plan->type->compute];
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t channels = gops_piece_size(&p->blocks, first);
    const int64_t block_sums =
        gops_piece_size(&p->blocks, 0) * at->vectors * kernels->lanes + at->odd * kernels->channels;
    const int stores = last && at->job->fused;
    const int64_t most = stores ? GOPS_POINTWISE_STORED / channels : end - first;
    gops_pointwise_run_fn *const tile =
        kernels
            ->tiles[(channels - 1) * (kernels->vectors + kernels->odd) + at->vectors + at->odd - 1];
    static const gops_epilogue_values none; /* zeros */
    for (int64_t b = first; b < end; b += most) {
        const int64_t channel = gops_piece_begin(&p->blocks, b);
        const int64_t element = at->element + channel * plan->conv.output_pixels + at->pixel;
        gops_pointwise_work part = work;
        part.blocks = gops_min(most, end - b);
        part.weights = (const unsigned char *)work.weights + channel * work.depth * bytes;
        part.sums = at->workspace + p->sums_from + (b - at->first_block) * block_sums * bytes;
        if (stores) {
            part.output = at->workspace + p->outputs_from;
            part.output_ld = (at->vectors + (at->odd > 0)) * kernels->lanes;
        } else if (last) {
            part.output = gops_output_at(plan, at->job, element);
            part.output_ld = plan->conv.output_pixels;
        }
        if (last && at->trim->applies) {
            part.bounds = &at->trim->bounds;
            part.bias = &none;
            if (at->whole->bias != NULL) {
                part.bias =
                    (const unsigned char *)at->whole->bias + (at->channel + channel) * bytes;
                part.bias_step = 1;
            }
            if (at->whole->residual != NULL) {
                part.residual = gops_residual_at(plan, at->whole, element);
            }
        }
        tile(&part);
        if (stores) {
            store(at, channel, part.blocks * channels, &part);
        }
    }
}

static void run_panel(piece *at, int64_t panel)
{
    const gops_plan *plan = at->plan;
    const gops_pointwise_layout *p = gops_pointwise_layout_of(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const gops_pointwise *kernels = plan->kernels->pointwise[plan->type->compute];
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t size = gops_piece_size(&p->panels, panel);
    const int64_t larger = gops_clamp(p->blocks.larger, at->first_block, at->end_block);
    at->pixel = gops_piece_begin(&p->panels, panel) * p->unit;
    at->count = gops_min(size * p->unit, conv->output_pixels - at->pixel);
    at->vectors = p->unit > 1 ? size : kernels->vectors;
    at->odd = p->unit > 1 ? 0 : size - kernels->vectors * kernels->lanes;
    gops_pointwise_work work = {.count = at->count};
    for (int64_t c = 0; c < conv->channels_in; c += p->depth_block) {
        const int last = c + p->depth_block >= conv->channels_in;
        work.depth = gops_min(p->depth_block, conv->channels_in - c);
        work.data = find_panel(at, c, work.depth, &work.data_ld);
        work.next = NULL;
        if (p->fetches && work.data_ld == conv->data_pixels && !p->picks) {
            work.next = at->data + (last ? at->pixel + at->count
                                         : (c + p->depth_block) * conv->data_pixels + at->pixel) *
                                       bytes;
        }
        work.weights = at->weights + c * conv->channels_out * bytes;
        work.accumulate = c > 0;
        if (larger > at->first_block) {
            run_blocks(at, work, at->first_block, larger, last);
        }
        if (larger < at->end_block) {
            run_blocks(at, work, larger, at->end_block, last);
        }
    }
}

static void run(const gops_plan *plan, const gops_job *job, int64_t item, void *workspace)
{
    const gops_pointwise_layout *p = gops_pointwise_layout_of(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t band = item % p->bands, part = item / p->bands % p->parts;
    const int64_t shares = gops_ceil_div(conv->groups, p->share);
    const int64_t share = item / p->bands / p->parts % shares;
    const int64_t image = item / p->bands / p->parts / shares;
    const int64_t group_end = gops_min((share + 1) * p->share, conv->groups);
    const int64_t panel_end = gops_min((band + 1) * p->band, p->panels.pieces);
    const gops_epilogue trim = gops_epilogue_read(plan, job, GOPS_EPILOGUE_ANY_RESIDUAL);
    piece at = {
        .plan = plan,
        .job = trim.applies ? &trim.rest : job,
        .whole = job,
        .trim = &trim,
        .first_block = part * p->part,
        .end_block = gops_min((part + 1) * p->part, p->blocks.pieces),
        .workspace = workspace,
    };
    for (int64_t group = share * p->share; group < group_end; group++) {
        const int64_t image_group = image * conv->groups + group;
        at.data =
            gops_data_at(plan, job, image, image_group * conv->channels_in * conv->data_pixels);
        at.weights = (const unsigned char *)job->filter +
                     group * conv->channels_out * conv->channels_in * bytes;
        at.channel = group * conv->channels_out;
        at.element = image_group * conv->channels_out * conv->output_pixels;
        for (int64_t panel = band * p->band; panel < panel_end; panel++) {
            run_panel(&at, panel);
        }
    }
}

const gops_method gops_pointwise_conv = {
    .name = "pointwise",
    .operation = GOPS_OPERATION_CONV,
    .prepare = prepare,
    .pack = pack,
    .run = run,
};
