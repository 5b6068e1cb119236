/*
 * reference_geometry.h: what the attributes of the convolutions mean, written a second time.
 *
 * Straight from the pages of the specification and, where they are silent, what attributes.h says, one formula
 * after another in 128-bit integers, so that nothing can overflow. Shares no code with the library.
 */
#ifndef GROUPOPS_REFERENCE_GEOMETRY_H
#define GROUPOPS_REFERENCE_GEOMETRY_H

#include <groupops/attributes.h>

typedef struct gops_reference_geometry {
    gops_tensor output;
    int32_t spatial; /* spatial axes */
    int64_t batch;
    int64_t groups;
    int64_t c_in, c_out;            /* of one group */
    int64_t data[GOPS_MAX_SPATIAL]; /* all of these by spatial axis */
    int64_t kernel[GOPS_MAX_SPATIAL];
    int64_t result[GOPS_MAX_SPATIAL];
    int64_t stride[GOPS_MAX_SPATIAL];
    int64_t dilation[GOPS_MAX_SPATIAL];
    int64_t pads_begin[GOPS_MAX_SPATIAL];
    int64_t pads_end[GOPS_MAX_SPATIAL];
} gops_reference_geometry;

/* Both return 1, or 0 where the shape is to be refused because a kernel is larger than the padded
 * input or an output axis would be empty. All other attributes must be legal. */
int gops_reference_conv_geometry(const gops_tensor *data, const gops_tensor *filter,
                                 const gops_conv_attributes *attributes,
                                 gops_reference_geometry *geometry);
int gops_reference_deconv_geometry(const gops_tensor *data, const gops_tensor *filter,
                                   const gops_deconv_attributes *attributes,
                                   gops_reference_geometry *geometry);

#endif
