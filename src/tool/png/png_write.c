/* png_write.c: encodes RGB pixels as a PNG in memory. */
#include "png/png_picture.h"

#include <png.h>
#include <stdlib.h>
#include <string.h>

/* What changes after setjmp, as in png_read.c. */
typedef struct writer {
    png_structp png;
    png_infop info;
    unsigned char *bytes;
    size_t count;
    size_t capacity;
    gops_error *error;
} writer;

_Noreturn static void on_write_error(png_structp png, png_const_charp message)
{
    writer *w = png_get_error_ptr(png);

    gops_picture_fail(w->error, GOPS_OUT_OF_MEMORY, "the PNG cannot be made (libpng: %s)", message);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

static void on_write(png_structp png, png_bytep bytes, size_t count)
{
    writer *w = png_get_io_ptr(png);

    if (count > w->capacity - w->count) {
        size_t capacity = 2 * (w->capacity + count);
        unsigned char *larger = realloc(w->bytes, capacity);
        if (larger == NULL) {
            png_error(png, "out of memory");
        }
        w->bytes = larger;
        w->capacity = capacity;
    }
    memcpy(w->bytes + w->count, bytes, count);
    w->count += count;
}

static void on_flush(png_structp png)
{
    (void)png;
}

static gops_status encode_rows(writer *w, int64_t width, int64_t height, const unsigned char *rgb)
{
    if (setjmp(png_jmpbuf(w->png))) {
        return w->error->status;
    }
    png_set_write_fn(w->png, w, on_write, on_flush);
    png_set_IHDR(w->png, w->info, (png_uint_32)width, (png_uint_32)height, 8, PNG_COLOR_TYPE_RGB,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(w->png, w->info);
    for (int64_t y = 0; y < height; y++) {
        png_write_row(w->png, rgb + y * width * 3);
    }
    png_write_end(w->png, w->info);
    return GOPS_OK;
}

gops_status gops_png_encode(int64_t width, int64_t height, const unsigned char *rgb,
                            unsigned char **bytes, size_t *count, gops_error *error)
{
    writer w = {.error = error};
    gops_status status;

    w.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &w, on_write_error, on_warning);
    w.info = w.png != NULL ? png_create_info_struct(w.png) : NULL;
    if (w.info == NULL) {
        status = gops_picture_fail(error, GOPS_OUT_OF_MEMORY, "no memory for libpng");
    } else {
        status = encode_rows(&w, width, height, rgb);
    }
    png_destroy_write_struct(&w.png, &w.info);
    if (status != GOPS_OK) {
        free(w.bytes);
        w.bytes = NULL;
        w.count = 0;
    }
    *bytes = w.bytes;
    *count = w.count;
    return status;
}
