/* gemm_deconv_run.c: one work item of GEMM and col2im; gemm_deconv.c. */
#include "methods/gemm/gemm_deconv.h"

#include "base/checked.h"
#include "methods/gemm/gemm.h"
#include "post_ops/post_ops.h"

#include <string.h>

/* A work item. */
typedef struct work_item {
    const gops_job *job;
    int64_t channel;             /* the first output channel, counted over all groups */
    int64_t first_channel;       /* the same, over all images and groups */
    gops_scatter scatter;        /* with the item's boxes */
    const unsigned char *data;   /* of the group, in T */
    const unsigned char *filter; /* of those channels, in C */
    unsigned char *output;       /* of those channels, in T */
    int64_t channels;
    int64_t pixels; /* in the data box */
    unsigned char *workspace;
} work_item;

/* Sets the data box to the pixels that contribute to outputs output0 to output1 - 1 by some tap. */
static void set_data_box(gops_scatter_axis *axis, int64_t size)
{
    const int64_t reach = (axis->kernel - 1) * axis->dilation;
    axis->data0 =
        gops_clamp(gops_ceil_div(axis->output0 + axis->pad - reach, axis->stride), 0, size);
    axis->data1 = gops_clamp(gops_floor_div(axis->output1 - 1 + axis->pad, axis->stride) + 1,
                             axis->data0, size);
}

/* Sets the boxes to those of an output tile. */
static void set_tile(const gops_conv_geometry *conv, const gops_gemm_deconv_parameters *p,
                     int64_t tile, gops_scatter *scatter)
{
    const int64_t along = gops_ceil_div(conv->axis[p->cut].output, p->tile_length);
    gops_scatter_axis *cut = &scatter->axis[p->cut];
    cut->output0 = tile % along * p->tile_length;
    cut->output1 = gops_min(cut->output0 + p->tile_length, conv->axis[p->cut].output);
    tile /= along;
    for (int a = p->cut - 1; a >= 0; a--) {
        scatter->axis[a].output0 = tile % conv->axis[a].output;
        scatter->axis[a].output1 = scatter->axis[a].output0 + 1;
        tile /= conv->axis[a].output;
    }
    for (int a = 0; a <= p->cut; a++) {
        set_data_box(&scatter->axis[a], conv->axis[a].data);
    }
}

/* Converts pixels first to first + count - 1 of the data box of one channel. Pixels that are
 * neighbours along the last axis are neighbours in memory. */
static void load_box(const gops_plan *plan, const work_item *at, const unsigned char *channel,
                     int64_t first, int64_t count, unsigned char *to)
{
    const gops_scatter *scatter = &at->scatter;
    const gops_scatter_axis *last = &scatter->axis[scatter->axes - 1];
    const int64_t size = plan->type->bytes;
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t width = last->data1 - last->data0;
    while (count > 0) {
        int64_t run = gops_min(count, width - first % width);
        int64_t row = first / width, offset = 0, step = plan->conv.axis[scatter->axes - 1].data;
        for (int a = scatter->axes - 2; a >= 0; a--) {
            const gops_scatter_axis *axis = &scatter->axis[a];
            offset += (axis->data0 + row % (axis->data1 - axis->data0)) * step;
            row /= axis->data1 - axis->data0;
            step *= plan->conv.axis[a].data;
        }
        offset += last->data0 + first % width;
        plan->type->load(to, channel + offset * size, run);
        if (at->job->data_zero != 0) {
            plan->type->subtract_zero(to, run, at->job->data_zero);
        }
        to += run * bytes;
        first += run;
        count -= run;
    }
}

/* columns = filter^T x data, or += if c > 0, for pixels first to first + count - 1 of the data box
 * and input channels c to c + depth - 1. */
static void multiply(const gops_plan *plan, const work_item *at, int64_t first, int64_t count,
                     int64_t c, int64_t depth)
{
    const gops_gemm_deconv_parameters *p = gops_gemm_deconv_read(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t size = plan->type->bytes;
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const unsigned char *data = at->data + c * plan->data_plane * size;
    gops_product product = {
        .m = (int32_t)(at->channels * conv->taps),
        .n = (int32_t)count,
        .k = (int32_t)depth,
        .a = at->filter + c * bytes,
        .lda = (int32_t)conv->channels_in,
        .b = data + first * size,
        .ldb = (int32_t)plan->data_plane,
        .accumulate = c > 0,
        .c = at->workspace,
        .ldc = (int32_t)count,
    };
    if (!p->in_place) {
        unsigned char *box = at->workspace + p->data_from;
        for (int64_t i = 0; i < depth; i++) {
            load_box(plan, at, data + i * plan->data_plane * size, first, count,
                     box + i * count * bytes);
        }
        product.b = box;
        product.ldb = (int32_t)count;
    }
    gops_gemm_run(&plan->gemm, plan->kernels, plan->type->compute, &product);
}

/* Adds the products of pixels first to first + count - 1 of the data box to the sums, whose channels are
 * `ld` apart. */
static void add_block(const gops_plan *plan, const work_item *at, int64_t first, int64_t count,
                      unsigned char *sums, int64_t ld)
{
    const gops_gemm_deconv_parameters *p = gops_gemm_deconv_read(plan);
    const int64_t channels_in = plan->conv.channels_in;
    const gops_scatter_block block = {at->channels, first, first + count};
    for (int64_t c = 0; c < channels_in; c += p->depth) {
        multiply(plan, at, first, count, c, gops_min(p->depth, channels_in - c));
    }
    plan->kernels->gemm->col2im[plan->type->compute](&at->scatter, &block, at->workspace, sums, ld);
}

/* Applies the post-ops to the tile, whose pixels of one channel are neighbours in memory, and
 * stores it. */
static void gemm_deconv_store(const gops_plan *plan, const work_item *at, unsigned char *sums,
                              int64_t ld, int64_t pixels)
{
    int64_t offset = 0;
    for (int a = 0; a < plan->conv.axes; a++) {
        offset = offset * plan->conv.axis[a].output + at->scatter.axis[a].output0;
    }
    gops_store_channels(plan, at->job, at->channel, at->first_channel * plan->output_plane + offset,
                        &(gops_store_values){sums, ld, at->channels, pixels});
}

static void run_item(const gops_plan *plan, const work_item *at)
{
    const gops_gemm_deconv_parameters *p = gops_gemm_deconv_read(plan);
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    int64_t pixels = 1;
    for (int a = 0; a < plan->conv.axes; a++) {
        pixels *= at->scatter.axis[a].output1 - at->scatter.axis[a].output0;
    }
    unsigned char *sums = p->in_place ? at->output : at->workspace + p->sums_from;
    const int64_t ld = p->in_place ? plan->output_plane : pixels;
    const bool adds = p->in_place && gops_adds_in_place(at->job);
    for (int64_t c = 0; c < at->channels && !adds; c++) {
        memset(sums + c * ld * bytes, 0, (size_t)(pixels * bytes));
    }
    for (int64_t first = 0; first < at->pixels; first += p->columns) {
        const int64_t count = gops_min(p->columns, at->pixels - first);
        add_block(plan, at, first, count, sums, ld);
    }
    if (!p->in_place || at->job->fused) {
        gops_job rest = *at->job;
        work_item after = *at;
        rest.residual = adds ? NULL : rest.residual;
        after.job = &rest;
        gemm_deconv_store(plan, &after, sums, ld, pixels);
    }
}

void gops_gemm_deconv_run(const gops_plan *plan, const gops_job *job, int64_t item, void *workspace)
{
    const gops_gemm_deconv_parameters *p = gops_gemm_deconv_read(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t tile = item % p->tiles;
    const int64_t channel = item / p->tiles % p->channel_blocks * p->channels;
    const int64_t image_group = item / p->tiles / p->channel_blocks;
    const int64_t group = image_group % conv->groups;
    const int64_t first_channel = image_group * conv->channels_out + channel;
    work_item at = {
        .job = job,
        .channel = group * conv->channels_out + channel,
        .first_channel = first_channel,
        .scatter = p->scatter,
        .data = gops_data_at(plan, job, image_group / conv->groups,
                             image_group * conv->channels_in * plan->data_plane),
        .filter = (const unsigned char *)job->filter +
                  (group * conv->channels_out + channel) * conv->taps * conv->channels_in * bytes,
        .output = gops_output_at(plan, job, first_channel * plan->output_plane),
        .channels = gops_min(p->channels, conv->channels_out - channel),
        .pixels = 1,
        .workspace = workspace,
    };
    if (p->tiles > 1) {
        set_tile(conv, p, tile, &at.scatter);
    }
    for (int a = 0; a < conv->axes; a++) {
        at.pixels *= at.scatter.axis[a].data1 - at.scatter.axis[a].data0;
    }
    run_item(plan, &at);
}
