/* geometry/checks.h: checks that the operations share. */
#ifndef GOPS_GEOMETRY_CHECKS_H
#define GOPS_GEOMETRY_CHECKS_H

#include "geometry/geometry.h"

#include <stdbool.h>

/* What differs between the checks of the two convolutions. */
typedef struct gops_conv_rules {
    const char *name; /* of the operation, for messages */
    int32_t max_axes; /* spatial */
    int filter_in;    /* which axis of the filter is C_IN */
    int filter_out;   /* which is C_OUT */
} gops_conv_rules;

/* GOPS_INVALID for an unknown type, a rank outside 1 to GOPS_MAX_RANK, a negative dimension. */
gops_status gops_check_tensor(const char *name, const gops_tensor *tensor, gops_error *error);

/* Checks data and filter against each other and fills in batch, groups, channels,
 * axis[].data and axis[].kernel. */
gops_status gops_resolve_tensors(const gops_conv_rules *rules, const gops_tensor *data,
                                 const gops_tensor *filter, gops_type output_type,
                                 gops_conv_geometry *geometry, gops_error *error);

/* Checks an attribute that has one number for each axis and writes its values, or `otherwise` if it
 * is left out. Values below `min` are refused. */
gops_status gops_resolve_list(const char *name, const gops_list *list, int32_t axes, int64_t min,
                              int64_t otherwise, int64_t values[GOPS_MAX_SPATIAL],
                              gops_error *error);

/* GOPS_INVALID for a number that is not in gops_auto_pad. */
gops_status gops_check_auto_pad(gops_auto_pad auto_pad, gops_error *error);

/* Checks and writes the explicit pads; zeros if auto_pad has another value, which ignores them. */
gops_status gops_resolve_pads(gops_auto_pad auto_pad, const gops_list *pads_begin,
                              const gops_list *pads_end, int32_t axes,
                              int64_t begin[GOPS_MAX_SPATIAL], int64_t end[GOPS_MAX_SPATIAL],
                              gops_error *error);

/* (kernel - 1) * dilation + 1 of an axis. */
gops_status gops_kernel_extent(const gops_axis *axis, int index, int64_t *extent,
                               gops_error *error);

/* Fills in taps, pixels and flops from the axes, and the shape (unless NULL) from the geometry, and
 * checks every product. A transposed convolution multiplies once for each data pixel, an ordinary
 * one once for each output pixel. */
gops_status gops_finish(gops_conv_geometry *geometry, gops_type type, bool transposed,
                        gops_shape *shape, gops_error *error);

#endif
