/* depthwise_axes.c: the spatial axes of `depthwise`, as depthwise_method.h derives them. */
#include "methods/depthwise/depthwise_method.h"

#include "base/checked.h"
#include "base/error.h"

enum {
    /* Each work item fills in the tables of all sub-convolutions. */
    MAX_SUBCONVS = 256,
};

static gops_depthwise_axis make_axis(const gops_axis *from, bool transposed)
{
    const int64_t stride = from->stride, pad = from->pad_begin;
    const int64_t distance = (from->kernel - 1) * from->dilation;
    gops_depthwise_axis axis = {
        .data = from->data,
        .kernel = from->kernel,
        .output = from->output,
        .stride = stride,
        .dilation = from->dilation,
        .pad = pad,
        .transposed = transposed,
        .subconvs = 1,
        .count = from->output,
        .blocks = 1,
        .step = stride,
        .shift = pad,
        .reach = distance,
        .spacing = from->dilation,
        .every = 1,
    };
    if (transposed) {
        axis.subconvs = stride;
        axis.count = (from->output - 1) / stride + 1;
        axis.step = 1;
        axis.shift = gops_floor_div(distance - pad, stride);
        axis.reach = axis.shift - gops_floor_div(-pad, stride);
        const int64_t gcd = gops_gcd(stride, from->dilation);
        axis.spacing = from->dilation / gcd;
        axis.every = stride / gcd;
    }
    axis.block = axis.count;
    return axis;
}

static gops_status axes_check(const gops_plan *plan, gops_error *error)
{
    const gops_conv_geometry *conv = &plan->conv;
    if (conv->channels_in != 1) {
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "depthwise serves groups of one input channel; C_IN is %lld",
                         (long long)conv->channels_in);
    }
    if (conv->axes > 3) {
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "depthwise serves up to 3 spatial axes; there are %d", (int)conv->axes);
    }
    int64_t subconvs = 1;
    for (int a = 0; plan->operation == GOPS_OPERATION_DECONV && a < conv->axes; a++) {
        subconvs = gops_mul_saturate(subconvs, conv->axis[a].stride);
    }
    if (subconvs > MAX_SUBCONVS) {
        return gops_fail(
            error, GOPS_UNSUPPORTED,
            "depthwise serves strides of a transposed convolution up to a product of %d; "
            "it is %lld",
            MAX_SUBCONVS, (long long)subconvs);
    }
    return GOPS_OK;
}

gops_status gops_depthwise_axes(const gops_plan *plan, gops_depthwise_axis axis[3],
                                gops_error *error)
{
    const gops_status status = axes_check(plan, error);
    for (int a = 0; a < 3 && status == GOPS_OK; a++) {
        const gops_axis from = gops_zyx_axis(&plan->conv, a);
        axis[a] = make_axis(&from, plan->operation == GOPS_OPERATION_DECONV);
    }
    return status;
}

gops_depthwise_taps gops_depthwise_find_taps(const gops_depthwise_axis *axis,
                                             gops_depthwise_range block, int64_t residue)
{
    const int64_t stride = axis->stride, dilation = axis->dilation;
    if (!axis->transposed) {
        return (gops_depthwise_taps){.outputs = block.count, .count = axis->kernel, .step = 1};
    }
    const int64_t end = gops_floor_div(axis->output - 1 - residue, stride) + 1;
    gops_depthwise_taps found = {residue, gops_clamp(end - block.first, 0, block.count), .step = 1};
    /* The taps are the solutions k of k * d = residue + p modulo s: the first one, and from there
     * on every s / gcd(s, d)-th tap. */
    const int64_t every = axis->every;
    const int64_t distance = (residue + axis->pad % stride) % stride;
    const int64_t step = dilation % stride;
    int64_t first = 0;
    for (int64_t reached = 0; first < every && reached != distance; first++) {
        reached += reached + step < stride ? step : step - stride;
    }
    if (first < every && first < axis->kernel) {
        /* In the order of the data, the last tap comes first. */
        found.count = (axis->kernel - 1 - first) / every + 1;
        found.first = first + (found.count - 1) * every;
        found.step = -every;
        found.position = axis->shift - gops_floor_div(found.first * dilation - axis->pad, stride);
    }
    return found;
}
