/* picture.c: the planes of a picture, and the errors of the demo. */
#include "png/picture.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

gops_status gops_picture_fail(gops_error *error, gops_status status, const char *format, ...)
{
    va_list arguments;

    error->status = status;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return status;
}

gops_status gops_planes_create(int64_t channels, int64_t height, int64_t width, gops_planes *planes,
                               gops_error *error)
{
    gops_tensor tensor = {GOPS_F32, 3, {channels, height, width}};
    size_t bytes;

    *planes = (gops_planes){0};
    gops_status status = gops_tensor_bytes(&tensor, &bytes, error);
    if (status != GOPS_OK) {
        return status;
    }
    float *values = malloc(bytes);
    if (values == NULL) {
        return gops_picture_fail(error, GOPS_OUT_OF_MEMORY,
                                 "no memory for %lld planes of %lld x %lld pixels",
                                 (long long)channels, (long long)width, (long long)height);
    }
    *planes = (gops_planes){channels, height, width, values};
    return GOPS_OK;
}

void gops_planes_release(gops_planes *planes)
{
    free(planes->values);
    *planes = (gops_planes){0};
}

float *gops_planes_channel(const gops_planes *planes, int64_t channel)
{
    return planes->values + channel * planes->height * planes->width;
}
