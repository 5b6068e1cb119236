/* depthwise_axes.c: what `direct` makes of a spatial axis; depthwise_method.h
 * derives it. */
#include "methods/depthwise/depthwise_method.h"

#include "base/checked.h"
#include "base/error.h"

enum {
    /* Classes of a transposed convolution cost time for each item, needed or not. */
    MAX_CLASSES = 256,
};

static int64_t common_divisor(int64_t a, int64_t b)
{
    return b == 0 ? a : common_divisor(b, a % b);
}

static void fill_axis(const gops_axis *from, int transposed, gops_depthwise_axis *to)
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
        to->classes = stride;
        to->count = (from->output - 1) / stride + 1;
        to->step = 1;
        to->most = gops_floor_div(distance - pad, stride);
        to->reach = to->most - gops_floor_div(-pad, stride);
        to->spacing = from->dilation / common_divisor(stride, from->dilation);
    } else {
        to->classes = 1;
        to->count = from->output;
        to->step = stride;
        to->reach = distance;
        to->spacing = from->dilation;
    }
    to->block = to->count;
    to->blocks = 1;
}

static gops_status check(const gops_plan *plan, gops_error *error)
{
    const gops_conv_geometry *conv = &plan->conv;
    if (conv->channels_in != 1) {
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "direct serves groups of one input channel; C_IN is %lld",
                         (long long)conv->channels_in);
    }
    if (conv->axes > 3) {
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "direct serves up to 3 spatial axes; there are %d", (int)conv->axes);
    }
    int64_t classes = 1;
    for (int a = 0; plan->operation == GOPS_OPERATION_DECONV && a < conv->axes; a++) {
        const gops_axis *axis = &conv->axis[a];
        int64_t end;
        classes = gops_mul_saturate(classes, axis->stride);
        if (!gops_add(axis->output, axis->pad_begin, &end)) {
            return gops_fail(error, GOPS_UNSUPPORTED,
                             "direct serves outputs up to %lld with the pad before it; axis %d has "
                             "%lld and %lld",
                             (long long)INT64_MAX, a, (long long)axis->output,
                             (long long)axis->pad_begin);
        }
    }
    if (classes > MAX_CLASSES) {
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "direct serves strides of a transposed convolution up to a product of %d; "
                         "it is %lld",
                         MAX_CLASSES, (long long)classes);
    }
    return GOPS_OK;
}

gops_status gops_depthwise_axes(const gops_plan *plan, gops_depthwise_axis axis[3],
                                gops_error *error)
{
    static const gops_axis missing = {
        .data = 1, .kernel = 1, .output = 1, .stride = 1, .dilation = 1};
    const gops_conv_geometry *conv = &plan->conv;
    const gops_status status = check(plan, error);
    for (int a = 0; a < 3 && status == GOPS_OK; a++) {
        const int from = a - 3 + conv->axes;
        fill_axis(from >= 0 ? &conv->axis[from] : &missing,
                  plan->operation == GOPS_OPERATION_DECONV, &axis[a]);
    }
    return status;
}

gops_depthwise_taps gops_depthwise_list(const gops_depthwise_axis *axis, int transposed,
                                        int64_t rho)
{
    if (!transposed) {
        return (gops_depthwise_taps){axis->kernel, 0, 1, 0};
    }
    /* k * d = rho + p modulo s: from the first solution on every s / gcd(s, d)-th tap. */
    const int64_t every = axis->stride / common_divisor(axis->stride, axis->dilation);
    const int64_t distance = (rho + axis->pad % axis->stride) % axis->stride;
    int64_t first = 0;
    while (first < every && first * (axis->dilation % axis->stride) % axis->stride != distance) {
        first++;
    }
    if (first == every || first >= axis->kernel) {
        return (gops_depthwise_taps){0, 0, 1, 0};
    }
    /* Later taps meet earlier data: they come first. */
    const int64_t count = (axis->kernel - 1 - first) / every + 1;
    const int64_t last = first + (count - 1) * every;
    return (gops_depthwise_taps){
        count, last, -every,
        axis->most - gops_floor_div(last * axis->dilation - axis->pad, axis->stride)};
}

int64_t gops_depthwise_outputs(const gops_depthwise_axis *axis, int transposed, int64_t rho,
                               int64_t first, int64_t count, int64_t *begin)
{
    if (!transposed) {
        *begin = 0;
        return count;
    }
    const int64_t end = gops_floor_div(axis->output - 1 - rho, axis->stride) + 1;
    *begin = 0;
    return gops_clamp(end - first, 0, count);
}
