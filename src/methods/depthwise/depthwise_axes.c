/* depthwise_axes.c: the spatial axes of `depthwise`, as depthwise_method.h derives them. */
#include "methods/depthwise/depthwise_method.h"

#include "base/checked.h"
#include "base/error.h"

enum {
    /* Each work item fills in the tables of all sub-convolutions. */
    MAX_SUBCONVS = 256,
};

static int64_t common_divisor(int64_t a, int64_t b)
{
    return b == 0 ? a : common_divisor(b, a % b);
}

static void fill_axis(const gops_axis *from, bool transposed, gops_depthwise_axis *to)
{
    const int64_t stride = from->stride, pad = from->pad_begin;
    const int64_t distance = (from->kernel - 1) * from->dilation;
    *to = (gops_depthwise_axis){.data = from->data,
                                .kernel = from->kernel,
                                .output = from->output,
                                .stride = stride,
                                .dilation = from->dilation,
                                .pad = pad};
    if (transposed) {
        to->subconvs = stride;
        to->count = (from->output - 1) / stride + 1;
        to->step = 1;
        to->max_shift = gops_floor_div(distance - pad, stride);
        to->reach = to->max_shift - gops_floor_div(-pad, stride);
        to->spacing = from->dilation / common_divisor(stride, from->dilation);
    } else {
        to->subconvs = 1;
        to->count = from->output;
        to->step = stride;
        to->reach = distance;
        to->spacing = from->dilation;
    }
    to->block = to->count;
    to->blocks = 1;
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
        const gops_axis *axis = &conv->axis[a];
        int64_t end;
        subconvs = gops_mul_saturate(subconvs, axis->stride);
        if (!gops_add(axis->output, axis->pad_begin, &end)) {
            return gops_fail(
                error, GOPS_UNSUPPORTED,
                "depthwise serves outputs up to %lld with the pad before it; axis %d has "
                "%lld and %lld",
                (long long)INT64_MAX, a, (long long)axis->output, (long long)axis->pad_begin);
        }
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
        fill_axis(from >= 0 ? &conv->axis[from] : &missing,
                  plan->operation == GOPS_OPERATION_DECONV, &axis[a]);
    }
    return status;
}

gops_depthwise_taps gops_depthwise_subconv_taps(const gops_depthwise_axis *axis, bool transposed,
                                                int64_t residue)
{
    if (!transposed) {
        return (gops_depthwise_taps){axis->kernel, 0, 1, 0};
    }
    /* The taps are the solutions k of k * d = residue + p modulo s: the first one, and from there
     * on every s / gcd(s, d)-th tap. */
    const int64_t every = axis->stride / common_divisor(axis->stride, axis->dilation);
    const int64_t distance = (residue + axis->pad % axis->stride) % axis->stride;
    int64_t first = 0;
    while (first < every && first * (axis->dilation % axis->stride) % axis->stride != distance) {
        first++;
    }
    if (first == every || first >= axis->kernel) {
        return (gops_depthwise_taps){0, 0, 1, 0};
    }
    /* In the order of the data, the last tap comes first. */
    const int64_t count = (axis->kernel - 1 - first) / every + 1;
    const int64_t last = first + (count - 1) * every;
    return (gops_depthwise_taps){
        count, last, -every,
        axis->max_shift - gops_floor_div(last * axis->dilation - axis->pad, axis->stride)};
}

int64_t gops_depthwise_subconv_outputs(const gops_depthwise_axis *axis, bool transposed,
                                       int64_t residue, int64_t first, int64_t count)
{
    if (!transposed) {
        return count;
    }
    const int64_t end = gops_floor_div(axis->output - 1 - residue, axis->stride) + 1;
    return gops_clamp(end - first, 0, count);
}
