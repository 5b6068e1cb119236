/**
 * @file
 * groupops/attributes.h: the attributes of the three operations, with the specification's names,
 * and shape inference from them.
 *
 * A convolution's attributes filled with zeros hold defaults, also of those that the specification
 * requires: strides and dilations 1, pads and output_padding 0, auto_pad explicit, no output_shape. A
 * normalization's have none. So a caller writes
 *
 *     gops_conv_attributes attributes = {0};
 *     attributes.strides = (gops_list){2, {2, 2}};
 *
 * The structs belong to the versions of the operations in their comments and never grow; what is
 * added later goes into gops_options (groupops/options.h).
 */
#ifndef GROUPOPS_ATTRIBUTES_H
#define GROUPOPS_ATTRIBUTES_H

#include <groupops/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One number for each spatial axis, outermost (Z, then Y, then X) first. A count of 0 means that
 * the attribute is left out and has its default; any other count must be that of the spatial axes.
 */
typedef struct gops_list {
    int32_t count;
    int64_t values[GOPS_MAX_SPATIAL];
} gops_list;

typedef enum gops_auto_pad {
    GOPS_AUTO_PAD_EXPLICIT = 0, /**< pads_begin and pads_end count; the others never read them */
    GOPS_AUTO_PAD_SAME_UPPER = 1,
    GOPS_AUTO_PAD_SAME_LOWER = 2,
    GOPS_AUTO_PAD_VALID = 3
} gops_auto_pad;

/**
 * How GroupConvolutionBackpropData finds its pads when output_shape is given. With X and K the sizes of an
 * axis of data and kernel,
 *     full  = stride * (X - 1) + (K - 1) * dilation + 1       what all data add to, without pads
 *     total = max(0, full - output_shape + output_padding)    what must be cut off
 * output element o is full[o + pads_begin], and 0 beyond the end of full, as where output_shape is larger.
 * pads_end is total - pads_begin. Where the pads follow from output_shape, the attributes pads_begin and
 * pads_end are never read. X 10, K 3, stride 2, dilation 1 and output_shape 20: full is 21, total 1, and the
 * pads are 0 and 1 by the specification's rule, 1 and 0 by ONNX's.
 */
typedef enum gops_output_shape_rule {
    /** The formulas of the specification's text, for every auto_pad: pads_begin = total / 2 rounded
     * down; for same_upper rounded up. */
    GOPS_OUTPUT_SHAPE_SPEC = 0,
    /** What the OpenVINO code does: explicit keeps the given pads, valid uses 0, the same_* two as
     * in the text. */
    GOPS_OUTPUT_SHAPE_OPENVINO = 1,
    /** ONNX ConvTranspose (opset 11 on) and ONNX Runtime: pads_begin = total / 2 rounded up; for
     * same_upper rounded down. Without output_shape, same_* divides total = max(0, full +
     * output_padding - stride * X) in the same way, which leaves the smaller of stride * X and
     * full + output_padding. */
    GOPS_OUTPUT_SHAPE_ONNX = 2
} gops_output_shape_rule;

/** GroupConvolution-1.
 * data [N, G*C_IN, X...], filter [G, C_OUT, C_IN, K...], output [N, G*C_OUT, Y...];
 * 1 to 3 spatial axes. Per axis, with the pads that auto_pad leads to:
 *     Y = (pads_begin + X + pads_end - (K - 1) * dilation - 1) / stride + 1, rounded down,
 * and Y = X / stride rounded up for same_upper and same_lower. */
typedef struct gops_conv_attributes {
    gops_list strides;    /**< at least 1 */
    gops_list pads_begin; /**< at least 0 */
    gops_list pads_end;   /**< at least 0 */
    gops_list dilations;  /**< at least 1 */
    gops_auto_pad auto_pad;
} gops_conv_attributes;

/** GroupConvolutionBackpropData-1, the transposed convolution.
 * data [N, G*C_IN, X...], filter [G, C_IN, C_OUT, K...], output [N, G*C_OUT, Y...];
 * 1 to 6 spatial axes. Without output_shape, per axis:
 *     Y = stride * (X - 1) + (K - 1) * dilation + 1 - pads_begin - pads_end + output_padding,
 * where any auto_pad but explicit makes the pads 0 (rule onnx: see above). */
typedef struct gops_deconv_attributes {
    gops_list strides;        /**< at least 1 */
    gops_list pads_begin;     /**< at least 0 */
    gops_list pads_end;       /**< at least 0 */
    gops_list dilations;      /**< at least 1 */
    gops_list output_padding; /**< at least 0; enlarges the output at its high end */
    gops_list output_shape;   /**< the specification's third input; count 0: not given */
    gops_auto_pad auto_pad;
    gops_output_shape_rule output_shape_rule;
} gops_deconv_attributes;

/** GroupNormalization-12, of floating point types.
 * data [N, C, X...] of rank 2 to 8, scale [C], bias [C], output as data:
 *     output = scale * (data - mean) / sqrt(variance + epsilon) + bias
 * with the mean and the population variance of each image's group of C / num_groups channels. */
typedef struct gops_norm_attributes {
    int64_t num_groups; /**< divides C; required: the 0 of an empty struct is refused */
    double epsilon;     /**< above 0 and finite; required */
} gops_norm_attributes;

/** What shape inference finds. */
typedef struct gops_shape {
    gops_tensor output;
    /** As resolved from auto_pad and output_shape; count 0 for a normalization. */
    gops_list pads_begin;
    gops_list pads_end;
    int64_t groups;
} gops_shape;

/** Shape inference: pure, allocates nothing, may be called by any thread at any time, makes no plan.
 * `attributes` NULL stands for all defaults (a normalization has required ones and refuses it). The
 * output has the data's type. A quantized convolution has the same shape as any other, but these
 * functions refuse data and filter of two types: for u8 data and an i8 filter, set filter.type to
 * GOPS_U8 before the call.
 *
 * GOPS_INVALID: an argument is NULL; data, filter, scale and bias differ in type or do not fit
 * together; an attribute's count is not that of the spatial axes or a value is out of its range;
 * C, C_IN, G or a kernel or spatial axis is 0; a normalization of integers; the kernel is larger than
 * the padded input; the output would have no elements along an axis. Batch 0 and C_OUT 0 are legal and
 * give an empty output, for which a filter's weights may be NULL.
 * GOPS_UNSUPPORTED: a rank beyond those above. GOPS_TOO_LARGE: a size beyond 2^63 - 1. */
GOPS_API gops_status gops_conv_shape(const gops_tensor *data, const gops_tensor *filter,
                                     const gops_conv_attributes *attributes, gops_shape *shape,
                                     gops_error *error);
GOPS_API gops_status gops_deconv_shape(const gops_tensor *data, const gops_tensor *filter,
                                       const gops_deconv_attributes *attributes, gops_shape *shape,
                                       gops_error *error);
GOPS_API gops_status gops_norm_shape(const gops_tensor *data, const gops_tensor *scale,
                                     const gops_tensor *bias,
                                     const gops_norm_attributes *attributes, gops_shape *shape,
                                     gops_error *error);

#ifdef __cplusplus
}
#endif

#endif
