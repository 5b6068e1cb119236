/* geometry/checks.h: checks that the operations share. */
#ifndef GOPS_GEOMETRY_CHECKS_H
#define GOPS_GEOMETRY_CHECKS_H

#include "geometry/geometry.h"

#include <stdbool.h>
#include <stddef.h>

/* What differs between the checks of the two convolutions. */
typedef struct gops_conv_rules {
    const char *name; /* of the operation, for messages */
    int32_t max_axes; /* spatial */
    int filter_in;    /* which axis of the filter is C_IN */
    int filter_out;   /* which is C_OUT */
} gops_conv_rules;

/* GOPS_INVALID for an unknown type, a rank outside 1 to GOPS_MAX_RANK, a negative dimension. */
gops_status gops_check_tensor(const char *name, const gops_tensor *tensor, gops_error *error);

/* The size in bytes of a tensor that gops_check_tensor passed. GOPS_TOO_LARGE: it is above
 * PTRDIFF_MAX. */
gops_status gops_check_bytes(const char *name, const gops_tensor *tensor, int64_t *bytes,
                             gops_error *error);

/* Checks data and filter against each other and fills in batch, groups, channels,
 * axis[].data and axis[].kernel. */
gops_status gops_resolve_tensors(const gops_conv_rules *rules, const gops_tensor *data,
                                 const gops_tensor *filter, gops_type output_type,
                                 gops_conv_geometry *geometry, gops_error *error);

/* Checks an attribute that has one number for each axis and writes it to the axes' member at this
 * offset: values are at least `min`, which is the default too. */
gops_status gops_resolve_list(const char *name, const gops_list *list, int64_t min,
                              gops_conv_geometry *geometry, size_t member, gops_error *error);

/* Checks the attributes that both convolutions have and writes stride, dilation and pads of the
 * axes. Pads are 0 if they are ignored, as they are by any auto_pad but explicit. */
gops_status gops_resolve_attributes(const gops_conv_attributes *given, bool ignores_pads,
                                    gops_conv_geometry *geometry, gops_error *error);

/* Divides `total`, or 0 where it is negative, into the two pads; an odd pixel goes to the beginning
 * or to the end. */
void gops_divide_pads(gops_axis *axis, int64_t total, bool odd_at_begin);

/* (kernel - 1) * dilation + 1 of an axis. */
gops_status gops_kernel_extent(const gops_axis *axis, int index, int64_t *extent,
                               gops_error *error);

/* Fills in taps, pixels and flops from the axes, and the shape (unless NULL) from the geometry, and
 * checks every product. A transposed convolution multiplies once for each data pixel, an ordinary
 * one once for each output pixel. */
gops_status gops_finish(gops_conv_geometry *geometry, gops_type type, bool transposed,
                        gops_shape *shape, gops_error *error);

#endif
