/* contact_sheet.c: draws the four panels of the contact sheet. */
#include "demo/contact_sheet.h"

#include "demo/wavelet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BACKGROUND = 0x28, COLUMNS = 2, ROWS = 2, LABEL_SCALE = 2, LABEL_BYTES = 64 };

/* A rectangle of planes, and how its values become shades: offset + gain * value, 0 to 1. */
typedef struct view {
    const gops_planes *planes;
    const gops_planes *minus; /* NULL, or planes of the same size to subtract */
    int64_t first;            /* channel of the first colour */
    int64_t step;             /* channels from one colour to the next */
    int64_t colours;
    int64_t top, left, height, width;
    double gain, offset;
} view;

/* The whole number by which a picture is enlarged: the largest with which its longer side stays
 * within GOPS_SHEET_MIN_PANEL, and at least 1. */
static int64_t find_zoom(const gops_planes *picture)
{
    const int64_t side = picture->height > picture->width ? picture->height : picture->width;
    return side < GOPS_SHEET_MIN_PANEL ? GOPS_SHEET_MIN_PANEL / side : 1;
}

static unsigned char shade(double value)
{
    if (!(value > 0.0)) { /* also if it is not a number */
        return 0;
    }
    return value < 1.0 ? (unsigned char)lround(value * 255.0) : 255;
}

/* The RGB of the view's pixel (row, column). */
static void view_pixel(const view *v, int64_t row, int64_t column, unsigned char rgb[3])
{
    for (int64_t i = 0; i < 3; i++) {
        int64_t channel = v->first + (v->colours == 3 ? i : 0) * v->step;
        int64_t at =
            (channel * v->planes->height + v->top + row) * v->planes->width + v->left + column;
        double value = v->planes->values[at];
        if (v->minus != NULL) {
            value -= v->minus->values[at];
        }
        rgb[i] = shade(v->offset + v->gain * value);
    }
}

static void draw_view(gops_sheet *sheet, int64_t x, int64_t y, int64_t zoom, const view *v)
{
    for (int64_t row = 0; row < v->height; row++) {
        unsigned char *line = sheet->rgb + ((y + row * zoom) * sheet->width + x) * 3;
        unsigned char *pixel = line;
        for (int64_t column = 0; column < v->width; column++) {
            unsigned char rgb[3];
            view_pixel(v, row, column, rgb);
            for (int64_t copy = 0; copy < zoom; copy++, pixel += 3) {
                memcpy(pixel, rgb, sizeof rgb);
            }
        }
        for (int64_t copy = 1; copy < zoom; copy++) {
            memcpy(line + copy * sheet->width * 3, line, (size_t)(v->width * zoom * 3));
        }
    }
}

static void darken(gops_sheet *sheet, int64_t x, int64_t y, int64_t height, int64_t width)
{
    for (int64_t row = y; row < y + height; row++) {
        memset(sheet->rgb + (row * sheet->width + x) * 3, BACKGROUND, (size_t)width * 3);
    }
}

/* Draws a subband's name on a dark ground in its corner, and lines along the two edges that meet
 * there, if there is room. */
static void draw_band_frame(gops_sheet *sheet, int64_t x, int64_t y, int64_t height, int64_t width,
                            const char *name)
{
    enum { SPACE = 3, SCALE = 1 };
    int64_t name_width = gops_sheet_text_width(SCALE, name) + 2 * SPACE;
    int64_t name_height = gops_sheet_text_height(SCALE) + 2 * SPACE;

    /* In a smaller subband the name would hide too much. */
    if (width < 2 * name_width || height < 2 * name_height) {
        return;
    }
    darken(sheet, x, y, height, 1);
    darken(sheet, x, y, 1, width);
    darken(sheet, x, y, name_height, name_width);
    gops_sheet_text(sheet, x + SPACE, y + SPACE, SCALE, name);
}

/* Draws all subbands. A level has a rectangle of `height` x `width` pixels; when a size is odd, the
 * low half is the larger one; the next level has the low-low quarter. The subbands themselves are
 * larger than their part of it, because they extend over the picture's edge: with six taps by 2
 * pixels at the first level and 3 at the second, of which 1 and 2 lie before the first pixel. */
static void draw_bands(gops_sheet *sheet, int64_t x, int64_t y, int64_t zoom,
                       const gops_sheet_content *content)
{
    static const char *const names[GOPS_WAVELET_BANDS] = {"LL", "HL", "LH", "HH"};
    int64_t height = content->original->height;
    int64_t width = content->original->width;

    for (int level = 0; level < content->levels; level++) {
        int64_t low_height = (height + 1) / 2;
        int64_t low_width = (width + 1) / 2;
        int first = level == content->levels - 1 ? 0 : 1; /* is the LL at its end? */
        for (int band = first; band < GOPS_WAVELET_BANDS; band++) {
            int below = band / 2;
            int right = band % 2;
            view v = {.planes = content->bands[level], .first = band, .step = GOPS_WAVELET_BANDS};
            v.colours = content->original->channels;
            v.top = v.left = level + 1;
            v.height = below ? height - low_height : low_height;
            v.width = right ? width - low_width : low_width;
            v.gain = 1.0;
            int64_t band_x = x + right * low_width * zoom;
            int64_t band_y = y + below * low_height * zoom;
            char name[16]; /* room for any level, as -O0 wants it */
            snprintf(name, sizeof name, "%s%d", names[band], level + 1);
            draw_view(sheet, band_x, band_y, zoom, &v);
            draw_band_frame(sheet, band_x, band_y, v.height * zoom, v.width * zoom, name);
        }
        height = low_height;
        width = low_width;
    }
}

static view whole_view(const gops_planes *planes)
{
    return (view){.planes = planes,
                  .step = 1,
                  .colours = planes->channels,
                  .height = planes->height,
                  .width = planes->width,
                  .gain = 1.0};
}

/* The largest gain of 1, 2, 5, 10, ... with which four times the root mean square of the difference
 * still is a shade around grey; larger differences are clipped. */
static double difference_gain(double psnr)
{
    static const double steps[3] = {5.0, 2.0, 1.0};

    if (!isfinite(psnr)) {
        return 1.0;
    }
    double most = 0.5 / (4.0 * pow(10.0, -psnr / 20.0));
    double decade = pow(10.0, floor(log10(most)));
    for (int i = 0; i < 3; i++) {
        if (steps[i] * decade <= most) {
            return steps[i] * decade > 1.0 ? steps[i] * decade : 1.0;
        }
    }
    return decade > 1.0 ? decade : 1.0;
}

static void label_psnr(double psnr, char label[LABEL_BYTES])
{
    if (psnr == (double)INFINITY) {
        snprintf(label, LABEL_BYTES, "RECONSTRUCTION EXACT");
    } else {
        snprintf(label, LABEL_BYTES, "RECONSTRUCTION %.1F DB", psnr);
    }
}

static void draw_panels(gops_sheet *sheet, int64_t zoom, int64_t panel_width, int64_t panel_height,
                        const gops_sheet_content *content)
{
    double gain = difference_gain(content->psnr);
    char labels[ROWS * COLUMNS][LABEL_BYTES];
    snprintf(labels[0], LABEL_BYTES, "ORIGINAL %lldx%lld", (long long)content->original->width,
             (long long)content->original->height);
    snprintf(labels[1], LABEL_BYTES, "SUBBANDS NORMALIZED");
    label_psnr(content->psnr, labels[2]);
    snprintf(labels[3], LABEL_BYTES, "DIFFERENCE x%.0f", gain);

    for (int panel = 0; panel < ROWS * COLUMNS; panel++) {
        int64_t x = GOPS_SHEET_MARGIN + panel % COLUMNS * (panel_width + GOPS_SHEET_MARGIN);
        int64_t y = GOPS_SHEET_MARGIN +
                    panel / COLUMNS * (GOPS_SHEET_LABEL + panel_height + GOPS_SHEET_MARGIN);
        gops_sheet_text(sheet, x, y, LABEL_SCALE, labels[panel]);
        y += GOPS_SHEET_LABEL;
        if (panel == 1) {
            draw_bands(sheet, x, y, zoom, content);
            continue;
        }
        view v = whole_view(panel == 0 ? content->original : content->reconstruction);
        if (panel == 3) {
            v.minus = content->original;
            v.gain = gain;
            v.offset = 0.5;
        }
        draw_view(sheet, x, y, zoom, &v);
    }
}

gops_status gops_sheet_create(const gops_sheet_content *content, gops_sheet *sheet,
                              gops_error *error)
{
    int64_t zoom = find_zoom(content->original);
    int64_t panel_width = content->original->width * zoom;
    int64_t panel_height = content->original->height * zoom;

    *sheet = (gops_sheet){0};
    if (panel_width < GOPS_SHEET_MIN_PANEL) {
        panel_width = GOPS_SHEET_MIN_PANEL;
    }
    int64_t width = GOPS_SHEET_MARGIN + COLUMNS * (panel_width + GOPS_SHEET_MARGIN);
    int64_t height =
        GOPS_SHEET_MARGIN + ROWS * (GOPS_SHEET_LABEL + panel_height + GOPS_SHEET_MARGIN);
    size_t bytes = (size_t)width * (size_t)height * 3;
    unsigned char *rgb = malloc(bytes);
    if (rgb == NULL) {
        return gops_picture_fail(error, GOPS_OUT_OF_MEMORY, "no memory for the contact sheet");
    }
    memset(rgb, BACKGROUND, bytes);
    *sheet = (gops_sheet){width, height, rgb};
    draw_panels(sheet, zoom, panel_width, panel_height, content);
    return GOPS_OK;
}

void gops_sheet_release(gops_sheet *sheet)
{
    free(sheet->rgb);
    *sheet = (gops_sheet){0};
}
