/* geometry/deconv_geometry.c: GroupConvolutionBackpropData-1. */
#include "base/checked.h"
#include "base/error.h"
#include "geometry/checks.h"

static const gops_conv_rules rules = {"GroupConvolutionBackpropData", GOPS_MAX_SPATIAL, 1, 2};

typedef struct deconv_lists {
    int64_t strides[GOPS_MAX_SPATIAL];
    int64_t dilations[GOPS_MAX_SPATIAL];
    int64_t pads_begin[GOPS_MAX_SPATIAL];
    int64_t pads_end[GOPS_MAX_SPATIAL];
    int64_t output_padding[GOPS_MAX_SPATIAL];
    int64_t output_shape[GOPS_MAX_SPATIAL];
} deconv_lists;

static gops_status resolve_lists(const gops_deconv_attributes *given, int32_t axes,
                                 deconv_lists *lists, gops_error *error)
{
    gops_status status;
    if ((status = gops_check_auto_pad(given->auto_pad, error)) != GOPS_OK) {
        return status;
    }
    if ((unsigned)given->output_shape_rule > GOPS_OUTPUT_SHAPE_ONNX) {
        return gops_fail(error, GOPS_INVALID,
                         "output_shape_rule is %d; it must be 0 (spec), 1 "
                         "(openvino) or 2 (onnx)",
                         (int)given->output_shape_rule);
    }
    if ((status = gops_resolve_list("strides", &given->strides, axes, 1, 1, lists->strides,
                                    error)) != GOPS_OK ||
        (status = gops_resolve_list("dilations", &given->dilations, axes, 1, 1, lists->dilations,
                                    error)) != GOPS_OK ||
        (status = gops_resolve_list("output_padding", &given->output_padding, axes, 0, 0,
                                    lists->output_padding, error)) != GOPS_OK ||
        (status = gops_resolve_list("output_shape", &given->output_shape, axes, 1, 1,
                                    lists->output_shape, error)) != GOPS_OK) {
        return status;
    }
    /* Pads follow from output_shape if it is given, except by the rule openvino. */
    gops_auto_pad pads_count = given->auto_pad;
    if (given->output_shape.count != 0 && given->output_shape_rule != GOPS_OUTPUT_SHAPE_OPENVINO) {
        pads_count = GOPS_AUTO_PAD_VALID;
    }
    return gops_resolve_pads(pads_count, &given->pads_begin, &given->pads_end, axes,
                             lists->pads_begin, lists->pads_end, error);
}

/* Divides `total` into the two pads; an odd pixel goes to the beginning or to the end. */
static void distribute(gops_axis *axis, int64_t total, bool odd_at_begin)
{
    total = gops_max(0, total);
    axis->pad_begin = odd_at_begin ? total - total / 2 : total / 2;
    axis->pad_end = total - axis->pad_begin;
}

/* The pads that leave axis->output of `grown` pixels, which are full + output_padding. */
static void pads_from_output(gops_axis *axis, int64_t grown, const gops_deconv_attributes *given)
{
    const bool same_upper = given->auto_pad == GOPS_AUTO_PAD_SAME_UPPER;
    const bool same = same_upper || given->auto_pad == GOPS_AUTO_PAD_SAME_LOWER;
    int64_t total = grown - axis->output;
    switch (given->output_shape_rule) {
    case GOPS_OUTPUT_SHAPE_OPENVINO:
        /* Explicit pads stay as given, and those of valid are 0 already. */
        if (same) {
            distribute(axis, total, same_upper);
        }
        break;
    case GOPS_OUTPUT_SHAPE_ONNX:
        distribute(axis, total, !same_upper);
        break;
    case GOPS_OUTPUT_SHAPE_SPEC:
        distribute(axis, total, same_upper);
        break;
    }
}

/* The rule onnx without output_shape: with same_* the output has data * stride pixels, or fewer if
 * the kernel is smaller than the stride. */
static void pads_for_onnx_same(gops_axis *axis, int64_t grown, gops_auto_pad auto_pad)
{
    int64_t aim;
    if (!gops_mul(axis->data, axis->stride, &aim)) {
        aim = INT64_MAX;
    }
    distribute(axis, grown - aim, auto_pad != GOPS_AUTO_PAD_SAME_UPPER);
}

/* stride * (data - 1) + extent + output_padding: the whole scatter result with output_padding. */
static gops_status grown_size(const gops_axis *axis, int index, int64_t output_padding,
                              int64_t *grown, gops_error *error)
{
    int64_t extent, steps;
    gops_status status = gops_kernel_extent(axis, index, &extent, error);
    if (status != GOPS_OK) {
        return status;
    }
    if (!gops_mul(axis->data - 1, axis->stride, &steps) || !gops_add(steps, extent, grown) ||
        !gops_add(*grown, output_padding, grown)) {
        return gops_fail(error, GOPS_TOO_LARGE,
                         "strides[%d] is %lld, data size %lld, the kernel's extent %lld, "
                         "output_padding[%d] %lld: the unpadded output is above %lld",
                         index, (long long)axis->stride, (long long)axis->data, (long long)extent,
                         index, (long long)output_padding, (long long)INT64_MAX);
    }
    return GOPS_OK;
}

static gops_status resolve_axis(gops_axis *axis, int index, const gops_deconv_attributes *given,
                                const deconv_lists *lists, gops_error *error)
{
    int64_t grown = 0, pads;
    gops_status status = grown_size(axis, index, lists->output_padding[index], &grown, error);
    if (status != GOPS_OK) {
        return status;
    }
    if (given->output_shape.count != 0) {
        axis->output = lists->output_shape[index];
        pads_from_output(axis, grown, given);
        return GOPS_OK;
    }
    if (given->output_shape_rule == GOPS_OUTPUT_SHAPE_ONNX &&
        (given->auto_pad == GOPS_AUTO_PAD_SAME_UPPER ||
         given->auto_pad == GOPS_AUTO_PAD_SAME_LOWER)) {
        pads_for_onnx_same(axis, grown, given->auto_pad);
    }
    if (!gops_add(axis->pad_begin, axis->pad_end, &pads)) {
        pads = INT64_MAX;
    }
    /* Both terms are at least 0: the difference cannot overflow. */
    axis->output = grown - pads;
    if (axis->output < 1) {
        return gops_fail(error, GOPS_INVALID,
                         "pads_begin[%d] is %lld and pads_end[%d] is %lld; they leave %lld of %lld "
                         "elements on spatial axis %d; at least 1 is needed",
                         index, (long long)axis->pad_begin, index, (long long)axis->pad_end,
                         (long long)axis->output, (long long)grown, index);
    }
    return GOPS_OK;
}

gops_status gops_deconv_resolve(const gops_tensor *data, const gops_tensor *filter,
                                const gops_deconv_attributes *attributes, gops_type output_type,
                                gops_conv_geometry *geometry, gops_shape *shape, gops_error *error)
{
    static const gops_deconv_attributes defaults = {0};
    deconv_lists lists;
    gops_status status = gops_resolve_tensors(&rules, data, filter, output_type, geometry, error);
    if (status != GOPS_OK) {
        return status;
    }
    const gops_deconv_attributes *given = attributes != NULL ? attributes : &defaults;
    status = resolve_lists(given, geometry->axes, &lists, error);
    for (int i = 0; i < geometry->axes && status == GOPS_OK; i++) {
        gops_axis *axis = &geometry->axis[i];
        axis->stride = lists.strides[i];
        axis->dilation = lists.dilations[i];
        axis->pad_begin = lists.pads_begin[i];
        axis->pad_end = lists.pads_end[i];
        status = resolve_axis(axis, i, given, &lists, error);
        /* A stride or dilation that is never applied may be huge; here it becomes a small one. */
        axis->dilation = axis->kernel > 1 ? axis->dilation : 1;
        /* Not 1: packed filters depend on the stride and serve other data sizes too. */
        axis->stride = axis->data > 1 ? axis->stride : gops_min(axis->stride, INT32_MAX);
    }
    if (status != GOPS_OK) {
        return status;
    }
    return gops_finish(geometry, output_type != 0 ? output_type : data->type, true, shape, error);
}

gops_status gops_deconv_shape(const gops_tensor *data, const gops_tensor *filter,
                              const gops_deconv_attributes *attributes, gops_shape *shape,
                              gops_error *error)
{
    gops_conv_geometry geometry;
    if (shape == NULL) {
        return gops_fail(error, GOPS_INVALID, "shape is NULL");
    }
    return gops_deconv_resolve(data, filter, attributes, (gops_type)0, &geometry, shape, error);
}
