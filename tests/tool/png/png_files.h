/* png_files.h: PNG files of every kind with known pixels, and the pixels of an RGB one. It shares
 * nothing with the tool but libpng. */
#ifndef GROUPOPS_TEST_PNG_FILES_H
#define GROUPOPS_TEST_PNG_FILES_H

#include <stdint.h>

typedef struct png_file_kind {
    const char *name;
    int colour_type; /* libpng's numbers: PNG_COLOR_TYPE_... */
    int bit_depth;
    int transparent; /* a tRNS chunk: one transparent colour, or alpha for the palette */
} png_file_kind;

/* All that the format allows; a name that is NULL ends them. */
extern const png_file_kind png_file_kinds[];

/* Samples made from the place in the picture, so that no two rows, columns or colours are alike.
 * Writes the file and returns what a reader is to find, on white where it is transparent: values
 * [channels][height][width] from 0 to 1, channels being 1 for grey and 3 else. Free with free. */
double *png_file_make(const char *path, const png_file_kind *kind, int interlaced, uint32_t width,
                      uint32_t height);

/* A file that ends with the first byte of the pixels, of which its header promises `width` x
 * `height`. */
void png_file_make_header(const char *path, uint32_t width, uint32_t height);

typedef struct png_file_pixels {
    uint32_t width;
    uint32_t height;
    uint8_t *rgb; /* NULL where the file is not a valid PNG of 8-bit RGB */
} png_file_pixels;

png_file_pixels png_file_load(const char *path);

#endif
