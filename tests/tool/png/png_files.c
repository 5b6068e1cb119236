/* png_files.c: PNG files of every kind with known pixels. */
#include "png_files.h"

#include "guarded_memory.h"

#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COLOURS = 211, MAX_SAMPLES = 4, WHITE = 255 };

#define KIND(colour, depth, transparent)                                                           \
    {                                                                                              \
#colour " " #depth " " #transparent, PNG_COLOR_TYPE_##colour, depth, transparent           \
    }

const png_file_kind png_file_kinds[] = {
    KIND(GRAY, 1, 0),
    KIND(GRAY, 2, 0),
    KIND(GRAY, 4, 0),
    KIND(GRAY, 8, 0),
    KIND(GRAY, 16, 0),
    KIND(GRAY, 2, 1),
    KIND(GRAY, 8, 1),
    KIND(GRAY, 16, 1),
    KIND(RGB, 8, 0),
    KIND(RGB, 16, 0),
    KIND(RGB, 8, 1),
    KIND(RGB, 16, 1),
    KIND(PALETTE, 1, 0),
    KIND(PALETTE, 2, 0),
    KIND(PALETTE, 4, 0),
    KIND(PALETTE, 8, 0),
    KIND(PALETTE, 4, 1),
    KIND(PALETTE, 8, 1),
    KIND(GRAY_ALPHA, 8, 0),
    KIND(GRAY_ALPHA, 16, 0),
    KIND(RGB_ALPHA, 8, 0),
    KIND(RGB_ALPHA, 16, 0),
    {0},
};

typedef struct canvas {
    const png_file_kind *kind;
    uint32_t width, height;
    int samples; /* of a pixel, as stored */
    int colours; /* of the palette */
    png_color palette[MAX_COLOURS];
    png_byte alpha[MAX_COLOURS];
} canvas;

static uint32_t stored_sample(const canvas *c, uint32_t x, uint32_t y, int sample)
{
    uint32_t mix = x * 37 + y * 101 + (uint32_t)sample * 57 + x * y * 13 + 5;
    if (c->kind->colour_type == PNG_COLOR_TYPE_PALETTE)
        return mix % (uint32_t)c->colours;
    return mix * (c->kind->bit_depth == 16 ? 7919 : 1) & ((1U << c->kind->bit_depth) - 1);
}

static void make_palette(canvas *c)
{
    c->colours = 1 << c->kind->bit_depth;
    if (c->colours > MAX_COLOURS)
        c->colours = MAX_COLOURS;
    for (int i = 0; i < c->colours; i++) {
        c->palette[i] =
            (png_color){(png_byte)(i * 29 + 3), (png_byte)(i * 83 + 7), (png_byte)(i * 151 + 90)};
        c->alpha[i] = (png_byte)(i * 61 + 11);
    }
}

/* Whether the pixel has the colour that tRNS calls transparent: that of the first pixel. */
static int is_key(const canvas *c, uint32_t x, uint32_t y)
{
    for (int sample = 0; sample < c->samples; sample++)
        if (stored_sample(c, x, y, sample) != stored_sample(c, 0, 0, sample))
            return 0;
    return 1;
}

static double expected_value(const canvas *c, uint32_t x, uint32_t y, int channel)
{
    const int type = c->kind->colour_type;
    const double top = (1U << c->kind->bit_depth) - 1;
    double value, alpha = 1;
    if (type == PNG_COLOR_TYPE_PALETTE) {
        const uint32_t i = stored_sample(c, x, y, 0);
        const png_color *colour = &c->palette[i];
        value = (channel == 0 ? colour->red : channel == 1 ? colour->green : colour->blue) / 255.0;
        if (c->kind->transparent)
            alpha = c->alpha[i] / 255.0;
    } else {
        value = stored_sample(c, x, y, channel) / top;
        if (type & PNG_COLOR_MASK_ALPHA)
            alpha = stored_sample(c, x, y, c->samples - 1) / top;
        else if (c->kind->transparent && is_key(c, x, y))
            alpha = 0;
    }
    return alpha * value + (1 - alpha);
}

static double *expected_values(const canvas *c)
{
    const int channels = c->kind->colour_type & PNG_COLOR_MASK_COLOR ? 3 : 1;
    double *values = gops_test_allocate((size_t)channels * c->height * c->width * sizeof *values);
    double *value = values;
    for (int channel = 0; channel < channels; channel++)
        for (uint32_t y = 0; y < c->height; y++)
            for (uint32_t x = 0; x < c->width; x++)
                *value++ = expected_value(c, x, y, channel);
    return values;
}

static void set_transparency(png_structp png, png_infop info, const canvas *c)
{
    png_color_16 key = {0};
    if (c->kind->colour_type == PNG_COLOR_TYPE_PALETTE) {
        png_set_tRNS(png, info, c->alpha, c->colours, NULL);
        return;
    }
    key.gray = (png_uint_16)stored_sample(c, 0, 0, 0);
    key.red = key.gray;
    key.green = (png_uint_16)stored_sample(c, 0, 0, 1);
    key.blue = (png_uint_16)stored_sample(c, 0, 0, 2);
    png_set_tRNS(png, info, NULL, 0, &key);
}

/* One sample after another, a byte each, or two with the high one first. */
static png_bytep make_rows(const canvas *c, png_bytep *rows)
{
    const size_t bytes = c->kind->bit_depth == 16 ? 2 : 1;
    const size_t row_bytes = c->width * (size_t)c->samples * bytes;
    png_bytep memory = gops_test_allocate(c->height * row_bytes);
    png_bytep at = memory;
    for (uint32_t y = 0; y < c->height; y++) {
        rows[y] = at;
        for (uint32_t x = 0; x < c->width; x++) {
            for (int sample = 0; sample < c->samples; sample++) {
                const uint32_t value = stored_sample(c, x, y, sample);
                if (bytes == 2)
                    *at++ = (png_byte)(value >> 8);
                *at++ = (png_byte)value;
            }
        }
    }
    return memory;
}

/* Errors end the program: libpng's default without a setjmp is abort(). */
static png_structp start(FILE **file, const char *path, png_infop *info)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    *info = png_create_info_struct(png);
    *file = fopen(path, "wb");
    if (*info == NULL || *file == NULL) {
        perror(path);
        exit(EXIT_FAILURE);
    }
    png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_init_io(png, *file);
    return png;
}

double *png_file_make(const char *path, const png_file_kind *kind, int interlaced, uint32_t width,
                      uint32_t height)
{
    canvas c = {.kind = kind, .width = width, .height = height, .samples = 1};
    if (kind->colour_type == PNG_COLOR_TYPE_PALETTE)
        make_palette(&c);
    else
        c.samples = (kind->colour_type & PNG_COLOR_MASK_COLOR ? 3 : 1) +
                    (kind->colour_type & PNG_COLOR_MASK_ALPHA ? 1 : 0);
    png_bytep *rows = gops_test_allocate(height * sizeof *rows);
    png_bytep memory = make_rows(&c, rows);

    FILE *file;
    png_infop info;
    png_structp png = start(&file, path, &info);
    png_set_IHDR(png, info, width, height, kind->bit_depth, kind->colour_type,
                 interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (kind->colour_type == PNG_COLOR_TYPE_PALETTE)
        png_set_PLTE(png, info, c.palette, c.colours);
    if (kind->transparent)
        set_transparency(png, info, &c);
    png_write_info(png, info);
    png_set_packing(png);
    png_write_image(png, rows);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    fclose(file);
    free(memory);
    free(rows);
    return expected_values(&c);
}

void png_file_make_header(const char *path, uint32_t width, uint32_t height)
{
    FILE *file;
    png_infop info;
    png_structp png = start(&file, path, &info);
    png_set_IHDR(png, info, width, height, 8, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    png_write_chunk(png, (png_const_bytep) "IDAT", (png_const_bytep) "x", 1);
    png_destroy_write_struct(&png, &info);
    fclose(file);
}

png_file_pixels png_file_load(const char *path)
{
    png_file_pixels pixels = {0};
    png_image image = {.version = PNG_IMAGE_VERSION};
    if (!png_image_begin_read_from_file(&image, path) || image.format != PNG_FORMAT_RGB) {
        png_image_free(&image);
        return pixels;
    }
    uint8_t *rgb = gops_test_allocate(PNG_IMAGE_SIZE(image));
    if (!png_image_finish_read(&image, NULL, rgb, 0, NULL)) {
        free(rgb);
        return pixels;
    }
    pixels = (png_file_pixels){image.width, image.height, rgb};
    return pixels;
}
