/* picture.h: pictures as the operations take them: f32 planes, one for each channel, black 0 and
 * white 1. */
#ifndef GOPS_PICTURE_H
#define GOPS_PICTURE_H

#include <groupops/groupops.h>

#include <stdint.h>

/* Values [channels, height, width], row-major. A struct of zeros is empty and may be released. */
typedef struct gops_planes {
    int64_t channels;
    int64_t height;
    int64_t width;
    float *values;
} gops_planes;

/* Uninitialised planes of a size above 0 in *planes, which is left empty after a failure. */
gops_status gops_planes_create(int64_t channels, int64_t height, int64_t width, gops_planes *planes,
                               gops_error *error);

/* Leaves *planes empty. */
void gops_planes_release(gops_planes *planes);

/* Where a channel begins. */
float *gops_planes_channel(const gops_planes *planes, int64_t channel);

/* Writes status and message to *error, as the library does; returns the status. */
gops_status gops_picture_fail(gops_error *error, gops_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
