/* demo_png.h: PNG files of every kind with known pixels, and the pixels of an RGB one. It shares
 * nothing with the tool but libpng. */
#ifndef GROUPOPS_TEST_DEMO_PNG_H
#define GROUPOPS_TEST_DEMO_PNG_H

#include <stdint.h>

typedef struct demo_png_kind {
    const char *name;
    int colour_type; /* libpng's numbers: PNG_COLOR_TYPE_... */
    int bit_depth;
    int transparent; /* a tRNS chunk: one transparent colour, or alpha for the palette */
} demo_png_kind;

/* All that the format allows; a name that is NULL ends them. */
extern const demo_png_kind demo_png_kinds[];

/* Samples made from the place in the picture, so that no two rows, columns or colours are alike.
 * Writes the file and returns what a reader is to find, on white where it is transparent: values
 * [channels][height][width] from 0 to 1, channels being 1 for grey and 3 else. Free with free. */
double *demo_png_make(const char *path, const demo_png_kind *kind, int interlaced, uint32_t width,
                      uint32_t height);

/* A file that ends with the first byte of the pixels, of which its header promises `width` x
 * `height`. */
void demo_png_make_header(const char *path, uint32_t width, uint32_t height);

typedef struct demo_png_pixels {
    uint32_t width;
    uint32_t height;
    uint8_t *rgb; /* NULL where the file is not a valid PNG of 8-bit RGB */
} demo_png_pixels;

demo_png_pixels demo_png_load(const char *path);

#endif
