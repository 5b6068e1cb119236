/* geometry/deconv_geometry.c: GroupConvolutionBackpropData-1. */
#include "base/checked.h"
#include "base/error.h"
#include "geometry/checks.h"

static const gops_conv_rules rules = {"GroupConvolutionBackpropData", GOPS_MAX_SPATIAL, 1, 2};

static gops_status resolve_attributes(const gops_deconv_attributes *given,
                                      gops_conv_geometry *geometry, gops_error *error)
{
    const gops_conv_attributes common = {given->strides, given->pads_begin, given->pads_end,
                                         given->dilations, given->auto_pad};
    /* Pads follow from output_shape if it is given, except by the rule openvino. */
    const bool follow =
        given->output_shape.count != 0 && given->output_shape_rule != GOPS_OUTPUT_SHAPE_OPENVINO;
    if ((unsigned)given->output_shape_rule > GOPS_OUTPUT_SHAPE_ONNX) {
        return gops_fail(error, GOPS_INVALID,
                         "output_shape_rule is %d; it must be 0 (spec), 1 "
                         "(openvino) or 2 (onnx)",
                         (int)given->output_shape_rule);
    }
    GOPS_TRY(gops_resolve_attributes(&common, follow, geometry, error));
    GOPS_TRY(gops_resolve_list("output_padding", &given->output_padding, 0, geometry,
                               offsetof(gops_axis, output_padding), error));
    return gops_resolve_list("output_shape", &given->output_shape, 1, geometry,
                             offsetof(gops_axis, output), error);
}

static bool is_same(gops_auto_pad auto_pad)
{
    return auto_pad == GOPS_AUTO_PAD_SAME_UPPER || auto_pad == GOPS_AUTO_PAD_SAME_LOWER;
}

/* stride * (data - 1) + extent + output_padding: the whole scatter result with output_padding. */
static gops_status grown_size(const gops_axis *axis, int index, int64_t *grown, gops_error *error)
{
    int64_t extent, steps;
    GOPS_TRY(gops_kernel_extent(axis, index, &extent, error));
    if (!gops_mul(axis->data - 1, axis->stride, &steps) || !gops_add(steps, extent, grown) ||
        !gops_add(*grown, axis->output_padding, grown)) {
        return gops_fail(error, GOPS_TOO_LARGE,
                         "strides[%d] is %lld, data size %lld, the kernel's extent %lld, "
                         "output_padding[%d] %lld: the unpadded output is above %lld",
                         index, (long long)axis->stride, (long long)axis->data, (long long)extent,
                         index, (long long)axis->output_padding, (long long)INT64_MAX);
    }
    return GOPS_OK;
}

/* Outputs count from pads_begin on in the scatter result, where explicit pads may be anything. */
static gops_status check_end(const gops_axis *axis, int index, gops_error *error)
{
    int64_t end;
    return gops_add(axis->output, axis->pad_begin, &end)
               ? GOPS_OK
               : gops_fail(error, GOPS_TOO_LARGE,
                           "output_shape[%d] is %lld and pads_begin[%d] is %lld; their sum is "
                           "above %lld",
                           index, (long long)axis->output, index, (long long)axis->pad_begin,
                           (long long)INT64_MAX);
}

static gops_status resolve_axis(gops_axis *axis, int index, const gops_deconv_attributes *given,
                                gops_error *error)
{
    const bool same_upper = given->auto_pad == GOPS_AUTO_PAD_SAME_UPPER;
    const bool onnx = given->output_shape_rule == GOPS_OUTPUT_SHAPE_ONNX;
    int64_t grown = 0;
    GOPS_TRY(grown_size(axis, index, &grown, error));
    if (given->output_shape.count != 0) {
        /* By the rule openvino explicit pads stay as given, and those of valid are 0 already. */
        if (given->output_shape_rule != GOPS_OUTPUT_SHAPE_OPENVINO || is_same(given->auto_pad)) {
            gops_divide_pads(axis, grown - axis->output, same_upper != onnx);
        }
        return check_end(axis, index, error);
    }
    if (onnx && is_same(given->auto_pad)) {
        /* data * stride outputs, or fewer if the kernel is smaller than the stride. */
        gops_divide_pads(axis, grown - gops_mul_saturate(axis->data, axis->stride), !same_upper);
    }
    /* Both terms are at least 0: the difference cannot overflow. */
    axis->output = grown - gops_add_saturate(axis->pad_begin, axis->pad_end);
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
    const gops_deconv_attributes *given = attributes != NULL ? attributes : &defaults;
    GOPS_TRY(gops_resolve_tensors(&rules, data, filter, output_type, geometry, error));
    GOPS_TRY(resolve_attributes(given, geometry, error));
    for (int i = 0; i < geometry->axes; i++) {
        gops_axis *axis = &geometry->axis[i];
        GOPS_TRY(resolve_axis(axis, i, given, error));
        /* A stride or dilation that is never applied may be huge; here it becomes a small one. */
        axis->dilation = axis->kernel > 1 ? axis->dilation : 1;
        /* Not 1: packed filters depend on the stride and serve other data sizes too. */
        axis->stride = axis->data > 1 ? axis->stride : gops_min(axis->stride, INT32_MAX);
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
