/* geometry/conv_geometry.c: GroupConvolution-1. */
#include "base/checked.h"
#include "base/error.h"
#include "geometry/checks.h"

static const gops_conv_rules rules = {"GroupConvolution", 3, 2, 1};

/* The pads of same_upper and same_lower: the least that give ceil(data / stride) outputs. */
static gops_status same_pads(gops_axis *axis, int index, int64_t extent, bool odd_at_begin,
                             gops_error *error)
{
    int64_t reach;
    axis->output = gops_ceil_div(axis->data, axis->stride);
    /* (output - 1) * stride < data, so the product cannot overflow; the sum can. */
    if (!gops_add((axis->output - 1) * axis->stride, extent, &reach)) {
        return gops_fail(error, GOPS_TOO_LARGE,
                         "dilations[%d] is %lld with kernel size %lld; the last window ends above "
                         "%lld",
                         index, (long long)axis->dilation, (long long)axis->kernel,
                         (long long)INT64_MAX);
    }
    gops_divide_pads(axis, reach - axis->data, odd_at_begin);
    return GOPS_OK;
}

static gops_status explicit_output(gops_axis *axis, int index, int64_t extent, gops_error *error)
{
    int64_t padded;
    if (!gops_add(axis->data, axis->pad_begin, &padded) ||
        !gops_add(padded, axis->pad_end, &padded)) {
        return gops_fail(
            error, GOPS_TOO_LARGE,
            "pads_begin[%d] is %lld and pads_end[%d] is %lld; the padded size is above "
            "%lld",
            index, (long long)axis->pad_begin, index, (long long)axis->pad_end,
            (long long)INT64_MAX);
    }
    if (extent > padded) {
        return gops_fail(
            error, GOPS_INVALID,
            "the kernel spans %lld on spatial axis %d (size %lld, dilations[%d] %lld), "
            "more than the padded data's %lld (%lld + %lld + %lld)",
            (long long)extent, index, (long long)axis->kernel, index, (long long)axis->dilation,
            (long long)padded, (long long)axis->pad_begin, (long long)axis->data,
            (long long)axis->pad_end);
    }
    axis->output = (padded - extent) / axis->stride + 1;
    return GOPS_OK;
}

static gops_status resolve_axis(gops_axis *axis, int index, gops_auto_pad auto_pad,
                                gops_error *error)
{
    int64_t extent;
    GOPS_TRY(gops_kernel_extent(axis, index, &extent, error));
    const bool lower = auto_pad == GOPS_AUTO_PAD_SAME_LOWER;
    return lower || auto_pad == GOPS_AUTO_PAD_SAME_UPPER
               ? same_pads(axis, index, extent, lower, error)
               : explicit_output(axis, index, extent, error);
}

gops_status gops_conv_resolve(const gops_tensor *data, const gops_tensor *filter,
                              const gops_conv_attributes *attributes, gops_type output_type,
                              gops_conv_geometry *geometry, gops_shape *shape, gops_error *error)
{
    static const gops_conv_attributes defaults = {0};
    const gops_conv_attributes *given = attributes != NULL ? attributes : &defaults;
    GOPS_TRY(gops_resolve_tensors(&rules, data, filter, output_type, geometry, error));
    GOPS_TRY(gops_resolve_attributes(given, false, geometry, error));
    for (int i = 0; i < geometry->axes; i++) {
        gops_axis *axis = &geometry->axis[i];
        GOPS_TRY(resolve_axis(axis, i, given->auto_pad, error));
        /* A stride or dilation that is never applied may be huge; here it becomes a small one. */
        axis->stride = gops_min(axis->stride, axis->pad_begin + axis->data + axis->pad_end);
        axis->dilation = axis->kernel > 1 ? axis->dilation : 1;
    }
    return gops_finish(geometry, output_type != 0 ? output_type : data->type, false, shape, error);
}

static bool meets_data(const gops_axis *axis, int64_t tap)
{
    const int64_t begin = tap * axis->dilation - axis->pad_begin;
    return begin < axis->data && begin + (axis->output - 1) * axis->stride >= 0;
}

int64_t gops_conv_trim(gops_axis *axis)
{
    int64_t first = 0, last = axis->kernel - 1;
    while (first < last && !meets_data(axis, first) &&
           (first + 1) * axis->dilation <= axis->pad_begin) {
        first++;
    }
    while (last > first && !meets_data(axis, last)) {
        last--;
    }
    const int64_t pad_begin = axis->pad_begin - first * axis->dilation;
    const int64_t reach = (axis->output - 1) * axis->stride + (last - first) * axis->dilation + 1;
    const int64_t pad_end = reach - axis->data - pad_begin;
    /* The last pixels may be left out: fewer than a stride. */
    if (axis->output == 0 || pad_end <= -axis->stride) {
        return 0;
    }
    axis->kernel = last - first + 1;
    axis->pad_begin = pad_begin;
    axis->pad_end = gops_max(0, pad_end);
    return first;
}

gops_status gops_conv_shape(const gops_tensor *data, const gops_tensor *filter,
                            const gops_conv_attributes *attributes, gops_shape *shape,
                            gops_error *error)
{
    gops_conv_geometry geometry;
    if (shape == NULL) {
        return gops_fail(error, GOPS_INVALID, "shape is NULL");
    }
    return gops_conv_resolve(data, filter, attributes, (gops_type)0, &geometry, shape, error);
}
