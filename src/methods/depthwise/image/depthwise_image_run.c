/* depthwise_image_run.c: runs an item of the forms that read the image where it lies (depthwise_image.c). */
#include "methods/depthwise/depthwise_method.h"

#include "base/checked.h"
#include "methods/depthwise/depthwise.h"
#include "post_ops/epilogue.h"
#include "post_ops/post_ops.h"

/* Applies what post-ops are left and stores the sums. An activation alone is the same for all
 * channels. */
static void image_store(const gops_plan *plan, const gops_job *job,
                        const gops_depthwise_image *image, bool activates_alone, int64_t channel,
                        int64_t start, unsigned char *sums)
{
    const int64_t rows = image->rows * image->columns;
    if ((!job->fused || activates_alone) && rows == plan->output_plane) {
        gops_store(plan, job, channel, start, image->filters * rows, sums);
        return;
    }
    gops_store_channels(plan, job, channel, start,
                        &(gops_store_values){sums, image->output_plane, image->filters, rows});
}

/* What all calls of an item have in common. */
static gops_depthwise_image image_of(const gops_plan *plan, const gops_epilogue *epilogue,
                                     const gops_epilogue_values *bias, int64_t item)
{
    const gops_depthwise_image_plan *p = gops_read_parameters(plan);
    const gops_depthwise_axis *y = &p->axis[1], *x = &p->axis[2];
    const int64_t first_row = item % p->row_blocks * p->row_block;
    return (gops_depthwise_image){
        .filters_per_group = plan->conv.channels_out,
        .height = y->data,
        .width = x->data,
        .first_row = first_row,
        .rows = gops_min(p->row_block, y->output - first_row),
        .columns = x->output,
        .data_plane = p->converts ? plan->conv.data_pixels : plan->data_plane,
        .output_plane = p->converts ? plan->conv.output_pixels : plan->output_plane,
        .kernel_y = y->kernel,
        .kernel_x = x->kernel,
        .pad_y = y->pad,
        .pad_x = x->pad,
        .dilation_y = y->dilation,
        .dilation_x = x->dilation,
        .stride = x->stride,
        .bounds = epilogue->applies ? &epilogue->bounds : NULL,
        .bias = bias,
    };
}

void gops_depthwise_image_run(const gops_plan *plan, const gops_job *job, int64_t item,
                              void *workspace)
{
    const gops_depthwise_image_plan *p = gops_read_parameters(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const gops_epilogue epilogue = gops_epilogue_read_most(plan, job, GOPS_EPILOGUE_NO_RESIDUAL);
    const gops_job *rest = epilogue.applies ? &epilogue.rest : job;
    const bool activates_alone = epilogue.applies && rest->fused;
    const bool to_workspace = gops_adds_in_place(job) || p->converts;
    const int64_t size = gops_compute_bytes(plan->type->compute);
    unsigned char *sums = (unsigned char *)workspace + p->copy_bytes;
    gops_epilogue_values bias;
    gops_depthwise_image image = image_of(plan, &epilogue, &bias, item);
    const int64_t channels = conv->groups * conv->channels_out;
    /* Few filters a call where post-ops are left, which then find the outputs in the cache. */
    const int64_t cached =
        activates_alone ? plan->machine.l1_bytes / 4 / (image.rows * image.columns * size) : 1;
    const int64_t call_filters =
        rest->fused && !p->converts ? gops_clamp(cached, 1, p->call_filters) : p->call_filters;
    int64_t filter = item / p->row_blocks * p->filter_block;
    const int64_t end = gops_min(filter + p->filter_block, p->filters);
    for (; filter < end; filter += image.filters) {
        const int64_t plane = filter / conv->channels_out;
        const int64_t channel = filter % channels;
        const int64_t start = filter * plan->output_plane + image.first_row * image.columns;
        /* Only the filters of one image of the batch follow each other in memory. */
        image.filters = gops_min(gops_min(end - filter, call_filters), channels - channel);
        image.filter_in_group = filter % conv->channels_out;
        image.data = gops_data_at(plan, job, plane / conv->groups, plane * plan->data_plane);
        image.weights = (const char *)job->filter + channel * conv->taps * size;
        if (epilogue.applies) {
            gops_epilogue_bias(plan, job, channel, 1, image.filters, image.filters, &bias);
        }
        if (p->converts) {
            const int64_t planes =
                gops_ceil_div(image.filter_in_group + image.filters, conv->channels_out);
            gops_depthwise_load(plan, workspace, image.data, planes);
            image.data = workspace;
        }
        image.output = to_workspace ? sums : gops_output_at(plan, job, start);
        p->kernel(&image);
        if (rest->fused || p->converts) {
            image_store(plan, rest, &image, activates_alone, channel, start, image.output);
        }
    }
}
