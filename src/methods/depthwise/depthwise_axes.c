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
    };
    if (transposed) {
        axis.subconvs = stride;
        axis.count = (from->output - 1) / stride + 1;
        axis.step = 1;
        axis.shift = gops_floor_div(distance - pad, stride);
        axis.reach = axis.shift - gops_floor_div(-pad, stride);
        axis.spacing = from->dilation / gops_gcd(stride, from->dilation);
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
    static const gops_axis missing = {
        .data = 1, .kernel = 1, .output = 1, .stride = 1, .dilation = 1};
    const gops_conv_geometry *conv = &plan->conv;
    const gops_status status = axes_check(plan, error);
    for (int a = 0; a < 3 && status == GOPS_OK; a++) {
        const int from = a - 3 + conv->axes;
        axis[a] = make_axis(from >= 0 ? &conv->axis[from] : &missing,
                            plan->operation == GOPS_OPERATION_DECONV);
    }
    return status;
}
