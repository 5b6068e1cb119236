/* png_read.c: decodes a PNG file into planes. */
#include "png/png_picture.h"

#include <errno.h>
#include <png.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIGNATURE_BYTES = 8 };

/* libpng reports errors by longjmp, after which local variables that changed since setjmp are
 * undefined. So everything that changes is kept in this struct, outside of the function
 * that calls setjmp. */
typedef struct reader {
    FILE *file;
    png_structp png;
    png_infop info;
    png_uint_32 width;
    png_uint_32 height;
    int samples; /* of a pixel: colours, and alpha where there is one */
    int sample_bytes;
    png_bytep bytes;
    png_bytepp rows;
    gops_error *error;
} reader;

_Noreturn static void fail_read(reader *r, gops_status status, const char *message)
{
    gops_picture_fail(r->error, status, "%s", message);
    png_longjmp(r->png, 1);
}

_Noreturn static void on_read_error(png_structp png, png_const_charp message)
{
    reader *r = png_get_error_ptr(png);

    gops_picture_fail(r->error, GOPS_INVALID, "a damaged PNG file (libpng: %s)", message);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

static void on_read(png_structp png, png_bytep bytes, size_t count)
{
    reader *r = png_get_io_ptr(png);

    if (fread(bytes, 1, count, r->file) == count) {
        return;
    }
    if (ferror(r->file)) {
        fail_read(r, GOPS_INVALID, strerror(errno));
    }
    fail_read(r, GOPS_INVALID, "a PNG file that is cut off: it ends too early");
}

static void read_header(reader *r)
{
    png_set_sig_bytes(r->png, SIGNATURE_BYTES);
    /* libpng's own limits are lifted: those below are refused with the numbers. */
    png_set_user_limits(r->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_read_info(r->png, r->info);
    r->width = png_get_image_width(r->png, r->info);
    r->height = png_get_image_height(r->png, r->info);
    if (r->width > GOPS_PNG_MAX_SIDE || r->height > GOPS_PNG_MAX_SIDE ||
        (uint64_t)r->width * r->height > GOPS_PNG_MAX_PIXELS) {
        gops_picture_fail(
            r->error, GOPS_TOO_LARGE,
            "the picture has %lu x %lu pixels; at most %d a side and %d in all are read",
            (unsigned long)r->width, (unsigned long)r->height, GOPS_PNG_MAX_SIDE,
            GOPS_PNG_MAX_PIXELS);
        png_longjmp(r->png, 1);
    }

    png_set_expand(r->png); /* palettes, fewer than 8 bits, transparent colours */
    png_set_interlace_handling(r->png);
    png_read_update_info(r->png, r->info);
    r->samples = png_get_channels(r->png, r->info);
    r->sample_bytes = png_get_bit_depth(r->png, r->info) / 8;
}

static void read_rows(reader *r)
{
    size_t row_bytes = png_get_rowbytes(r->png, r->info);

    r->bytes = malloc(r->height * row_bytes);
    r->rows = malloc(r->height * sizeof *r->rows);
    if (r->bytes == NULL || r->rows == NULL) {
        fail_read(r, GOPS_OUT_OF_MEMORY, "no memory for the picture");
    }
    for (png_uint_32 y = 0; y < r->height; y++) {
        r->rows[y] = r->bytes + y * row_bytes;
    }
    png_read_image(r->png, r->rows);
    png_read_end(r->png, NULL);
}

static gops_status decode_file(reader *r)
{
    if (setjmp(png_jmpbuf(r->png))) {
        return r->error->status;
    }
    png_set_read_fn(r->png, r, on_read);
    read_header(r);
    read_rows(r);
    return GOPS_OK;
}

/* Sample `index` of those in a row, 0 to 1; PNG stores the high byte first. */
static double sample(const reader *r, png_const_bytep row, size_t index)
{
    if (r->sample_bytes == 1) {
        return row[index] / 255.0;
    }
    return (row[2 * index] * 256 + row[2 * index + 1]) / 65535.0;
}

static gops_status convert_samples(const reader *r, gops_planes *picture, gops_error *error)
{
    int colours = r->samples < 3 ? 1 : 3;
    bool has_alpha = r->samples > colours;
    gops_status status = gops_planes_create(colours, r->height, r->width, picture, error);
    if (status != GOPS_OK) {
        return status;
    }

    float *value = picture->values;
    for (int colour = 0; colour < colours; colour++) {
        for (png_uint_32 y = 0; y < r->height; y++) {
            for (png_uint_32 x = 0; x < r->width; x++) {
                size_t pixel = (size_t)x * (size_t)r->samples;
                double v = sample(r, r->rows[y], pixel + (size_t)colour);
                double alpha =
                    has_alpha ? sample(r, r->rows[y], pixel + (size_t)r->samples - 1) : 1.0;
                *value++ = (float)(alpha * v + (1.0 - alpha));
            }
        }
    }
    return GOPS_OK;
}

static gops_status read_file(reader *r, gops_planes *picture)
{
    unsigned char signature[SIGNATURE_BYTES];

    size_t count = fread(signature, 1, sizeof signature, r->file);
    if (ferror(r->file)) {
        return gops_picture_fail(r->error, GOPS_INVALID, "%s", strerror(errno));
    }
    if (count < sizeof signature || png_sig_cmp(signature, 0, sizeof signature) != 0) {
        return gops_picture_fail(r->error, GOPS_INVALID, "not a PNG file");
    }

    r->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, r, on_read_error, on_warning);
    r->info = r->png != NULL ? png_create_info_struct(r->png) : NULL;
    gops_status status = GOPS_OK;
    if (r->info == NULL) {
        status = gops_picture_fail(r->error, GOPS_OUT_OF_MEMORY, "no memory for libpng");
    }
    if (status == GOPS_OK) {
        status = decode_file(r);
    }
    if (status == GOPS_OK) {
        status = convert_samples(r, picture, r->error);
    }
    png_destroy_read_struct(&r->png, &r->info, NULL);
    free(r->rows);
    free(r->bytes);
    return status;
}

gops_status gops_png_read(const char *path, gops_planes *picture, gops_error *error)
{
    reader r = {.error = error};

    *picture = (gops_planes){0};
    r.file = fopen(path, "rb");
    if (r.file == NULL) {
        return gops_picture_fail(error, GOPS_INVALID, "%s", strerror(errno));
    }
    gops_status status = read_file(&r, picture);
    fclose(r.file);
    return status;
}
