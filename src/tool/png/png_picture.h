/* png_picture.h: pictures in PNG files, by libpng. */
#ifndef GOPS_PNG_PICTURE_H
#define GOPS_PNG_PICTURE_H

#include "png/picture.h"

#include <stddef.h>

/* The largest picture that is read. The demo keeps about 60 bytes for each pixel at its peak, so
 * that 100 million pixels (a camera's largest) still fit into 6 GB. */
#define GOPS_PNG_MAX_SIDE 100000
#define GOPS_PNG_MAX_PIXELS 100000000

/* Reads any kind of PNG into planes: 1 for grey, 3 for red, green and blue. Samples of 8 or 16 bits
 * are scaled to 0 to 1 as they are stored (no gamma is undone), a palette is looked up, and
 * transparent pixels are blended with white.
 * GOPS_INVALID: no such file, not a PNG, damaged or cut off. GOPS_TOO_LARGE: beyond the limits
 * above. GOPS_OUT_OF_MEMORY. The message does not name the file. */
gops_status gops_png_read(const char *path, gops_planes *picture, gops_error *error);

/* Writes a PNG of 8-bit RGB, 3 bytes for each pixel, row by row, into memory: *count bytes at
 * *bytes, which the caller frees. NULL and 0 after a failure, which is GOPS_OUT_OF_MEMORY. */
gops_status gops_png_encode(int64_t width, int64_t height, const unsigned char *rgb,
                            unsigned char **bytes, size_t *count, gops_error *error);

#endif
