/*
 * geometry/geometry.h: computes the numbers of an operation from its attributes. Pure functions on
 * integers. Only this folder knows what auto_pad, output_shape and output_padding mean.
 */
#ifndef GOPS_GEOMETRY_GEOMETRY_H
#define GOPS_GEOMETRY_GEOMETRY_H

#include <groupops/attributes.h>

#include "base/checked.h"

/* One spatial axis of a convolution or of its transposed form, all attributes resolved. */
typedef struct gops_axis {
    int64_t data;   /* X, the data's size */
    int64_t kernel; /* K */
    int64_t output; /* Y, the output's size */
    int64_t stride;
    int64_t dilation;
    int64_t pad_begin;
    int64_t pad_end;
    int64_t output_padding; /* of a transposed convolution */
} gops_axis;

/* A convolution: output pixel o reads data pixel o * stride + k * dilation - pad_begin.
 * A transposed one: data pixel i adds to output pixel i * stride + k * dilation - pad_begin.
 * Pixels outside the data or the output are skipped. */
typedef struct gops_conv_geometry {
    int32_t axes;
    gops_axis axis[GOPS_MAX_SPATIAL];
    int64_t batch;
    int64_t groups;
    int64_t channels_in;  /* C_IN, of one group */
    int64_t channels_out; /* C_OUT, of one group */
    int64_t data_pixels;  /* the product of axis[].data */
    int64_t output_pixels;
    int64_t taps; /* the product of axis[].kernel */
    int64_t k;    /* C_IN * taps; saturated where the filter is empty */
    /* The product, over the axes, of the pixels that windows touch, with the padding, or with the
     * whole scatter result of a transposed convolution; saturated. */
    int64_t span;
    int64_t flops; /* saturated */
} gops_conv_geometry;

typedef struct gops_norm_geometry {
    int64_t batch;
    int64_t groups;
    int64_t channels; /* of one group */
    int64_t pixels;   /* of one channel */
    double epsilon;
    int64_t flops; /* saturated */
} gops_norm_geometry;

/* `output_type` is 0 where the output has the type of data and filter.
 *
 * Each checks everything that the specification says about its arguments, fills in the geometry,
 * and the shape unless that is NULL. Every size of a tensor in elements and bytes fits in an
 * int64_t and a size_t afterwards. Errors as groupops/attributes.h lists them. */
gops_status gops_conv_resolve(const gops_tensor *data, const gops_tensor *filter,
                              const gops_conv_attributes *attributes, gops_type output_type,
                              gops_conv_geometry *geometry, gops_shape *shape, gops_error *error);
gops_status gops_deconv_resolve(const gops_tensor *data, const gops_tensor *filter,
                                const gops_deconv_attributes *attributes, gops_type output_type,
                                gops_conv_geometry *geometry, gops_shape *shape, gops_error *error);
gops_status gops_norm_resolve(const gops_tensor *data, const gops_tensor *scale,
                              const gops_tensor *bias, const gops_norm_attributes *attributes,
                              gops_norm_geometry *geometry, gops_shape *shape, gops_error *error);

/* Leaves out taps at both ends of a convolution's axis that meet padding at every output, as far as no pad falls below
 * 0: kernel and pads become smaller, the outputs stay. Returns the first tap that is kept. */
int64_t gops_conv_trim(gops_axis *axis);

/* How many taps lie before a distance. */
static inline int64_t gops_taps_before(int64_t distance, int64_t dilation)
{
    return distance <= 0 ? 0 : dilation == 1 ? distance : gops_ceil_div(distance, dilation);
}

/* The taps along an axis of a convolution that read data for an output. The others lie on padding and add nothing. It
 * is asked for each row, so without a division where dilation is 1 or no edge is near: small images would notice. */
static inline gops_range gops_taps_inside(const gops_axis *axis, int64_t output)
{
    const int64_t at = output * axis->stride - axis->pad_begin, left = axis->data - at;
    const int64_t end = (axis->kernel - 1) * axis->dilation < left
                            ? axis->kernel
                            : gops_min(gops_taps_before(left, axis->dilation), axis->kernel);
    return (gops_range){gops_min(gops_taps_before(-at, axis->dilation), end), end};
}

#endif
