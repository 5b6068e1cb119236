/* test_demo_sheet.c: the contact sheet's subbands and difference, pixel by pixel. */
#include "demo/contact_sheet.h"
#include "harness.h"
#include "random_numbers.h"

#include <math.h>
#include <string.h>

enum {
    HEIGHT = 401,
    WIDTH = 643,
    LEFT = 2 * GOPS_SHEET_MARGIN + WIDTH, /* of the right column of panels */
    TOP = GOPS_SHEET_MARGIN + GOPS_SHEET_LABEL,
    /* What a subband's name may cover from its corner; nothing but lines of one pixel beyond. */
    NAME_HEIGHT = 13,
    NAME_WIDTH = 23,
};

typedef struct material {
    gops_planes original, reconstruction, fine, coarse;
    gops_sheet sheet;
} material;

/* Values from a little below 0 to a little above 1, as normalized subbands have them. */
static gops_planes random_planes(int64_t channels, int64_t height, int64_t width, uint64_t stream)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), stream);
    gops_planes planes;
    gops_error error;
    if (gops_planes_create(channels, height, width, &planes, &error) != GOPS_OK)
        gops_test_skip("%s", error.message);
    for (int64_t i = 0; i < channels * height * width; i++)
        planes.values[i] = (float)(0.5 + 0.7 * gops_test_random_real(&random));
    return planes;
}

static material prepare(int64_t colours)
{
    material m = {
        .original = random_planes(colours, HEIGHT, WIDTH, 1),
        .reconstruction = random_planes(colours, HEIGHT, WIDTH, 2),
        .fine = random_planes(4 * colours, 203, 324, 3),
        .coarse = random_planes(4 * colours, 104, 164, 4),
    };
    return m;
}

static void release(material *m)
{
    gops_planes_release(&m->original);
    gops_planes_release(&m->reconstruction);
    gops_planes_release(&m->fine);
    gops_planes_release(&m->coarse);
    gops_sheet_release(&m->sheet);
}

static int draw(material *m, double psnr)
{
    gops_error error;
    const gops_sheet_content content = {
        &m->original, &m->reconstruction, 2, {&m->fine, &m->coarse}, psnr};
    const gops_status status = gops_sheet_create(&content, &m->sheet, &error);
    return gops_test_check(status == GOPS_OK, "%s", error.message) &&
           gops_test_check(m->sheet.width == LEFT + WIDTH + GOPS_SHEET_MARGIN &&
                               m->sheet.height == 2 * (TOP + HEIGHT) + GOPS_SHEET_MARGIN,
                           "the sheet is %lldx%lld", (long long)m->sheet.width,
                           (long long)m->sheet.height);
}

/* Whether the sheet's pixel has the shades of the values, a rounding apart. */
static int has_shade(const gops_sheet *sheet, int64_t y, int64_t x, int channel, double value)
{
    const double shade = sheet->rgb[(y * sheet->width + x) * 3 + channel];
    const double expected = 255 * (value < 0 ? 0 : value > 1 ? 1 : value);
    return fabs(shade - expected) <= 0.501;
}

/* The subband of `height` x `width` pixels at (top, left) of the panel shows channels band,
 * band + 4, ... of the planes, from their row and column `first` on. */
static void check_band(const material *m, const gops_planes *planes, int band, int first,
                       const int64_t place[4], const char *name)
{
    const int64_t top = place[0], left = place[1], height = place[2], width = place[3];
    int wrong = 0;
    for (int64_t y = 1; y < height; y++) {
        for (int64_t x = y < NAME_HEIGHT ? NAME_WIDTH : 1; x < width; x++) {
            for (int channel = 0; channel < 3; channel++) {
                const int64_t plane = band + (planes->channels == 12 ? 4 * channel : 0);
                const float value =
                    gops_planes_channel(planes, plane)[(first + y) * planes->width + first + x];
                wrong += !has_shade(&m->sheet, TOP + top + y, LEFT + left + x, channel, value);
            }
        }
    }
    gops_test_check(wrong == 0, "%s: %d shades are wrong", name, wrong);
}

static void check_bands(int64_t colours)
{
    /* Halves of 643: 322 and 321; of 322: 161 twice. Of 401: 201 and 200; of 201: 101 and 100. */
    static const struct {
        const char *name;
        int64_t place[4]; /* top, left, height, width */
        int coarse;
        int band;
    } bands[] = {
        {"LL2", {0, 0, 101, 161}, 1, 0},     {"HL2", {0, 161, 101, 161}, 1, 1},
        {"LH2", {101, 0, 100, 161}, 1, 2},   {"HH2", {101, 161, 100, 161}, 1, 3},
        {"HL1", {0, 322, 201, 321}, 0, 1},   {"LH1", {201, 0, 200, 322}, 0, 2},
        {"HH1", {201, 322, 200, 321}, 0, 3},
    };
    material m = prepare(colours);
    if (draw(&m, 130))
        for (size_t i = 0; i < sizeof bands / sizeof bands[0]; i++)
            check_band(&m, bands[i].coarse ? &m.coarse : &m.fine, bands[i].band,
                       bands[i].coarse ? 2 : 1, bands[i].place, bands[i].name);
    release(&m);
}

static void subbands_in_colour(void)
{
    check_bands(3);
}

static void subbands_in_grey(void)
{
    check_bands(1);
}

/* The difference around grey, amplified by the largest of 1, 2, 5, ... that keeps four times its
 * root mean square within the shades. */
static void difference(void)
{
    /* 10^(-psnr / 20) is the root mean square, and 0.125 of its reciprocal the most. */
    static const struct {
        double psnr, gain;
    } cases[] = {{10, 1}, {28, 2}, {40, 10}, {54.1, 50}, {138, 500000}, {INFINITY, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        material m = prepare(3);
        int wrong = 0;
        for (int64_t k = 0; k < 3 * HEIGHT * WIDTH; k++)
            m.reconstruction.values[k] =
                m.original.values[k] + m.reconstruction.values[k] / (float)cases[i].gain / 4;
        const int drawn = draw(&m, cases[i].psnr);
        for (int64_t k = 0; drawn && k < 3 * HEIGHT * WIDTH; k++) {
            const int channel = (int)(k / (HEIGHT * WIDTH));
            const double value = (double)m.reconstruction.values[k] - m.original.values[k];
            wrong += !has_shade(&m.sheet, 2 * TOP + HEIGHT + k / WIDTH % HEIGHT, LEFT + k % WIDTH,
                                channel, 0.5 + cases[i].gain * value);
        }
        gops_test_check(wrong == 0, "PSNR %g: %d shades are wrong", cases[i].psnr, wrong);
        release(&m);
    }
}

/* Only what has no difference at all is said to be exact. */
static void labels(void)
{
    static const double psnrs[] = {INFINITY, NAN, -INFINITY, 90};
    enum { SHEETS = sizeof psnrs / sizeof psnrs[0], LABEL_ROWS = TOP };
    material m = prepare(1);
    gops_sheet sheets[SHEETS] = {{0}};
    for (int i = 0; i < SHEETS; i++) {
        if (!draw(&m, psnrs[i]))
            break;
        sheets[i] = m.sheet;
        m.sheet = (gops_sheet){0};
        const size_t bytes = (size_t)(LABEL_ROWS * sheets[i].width * 3);
        const size_t first = (size_t)((TOP + HEIGHT) * sheets[i].width * 3);
        gops_test_check(i == 0 || memcmp(sheets[0].rgb + first, sheets[i].rgb + first, bytes) != 0,
                        "PSNR %g has the label of an exact one", psnrs[i]);
    }
    for (int i = 0; i < SHEETS; i++)
        gops_sheet_release(&sheets[i]);
    release(&m);
}

/* Two letters, of which the second is cut off at the edge. */
static void text(void)
{
    enum { TEXT_WIDTH = 9, TEXT_HEIGHT = 7 };
    static const char *const rows[TEXT_HEIGHT] = {
        "#.....###", "#.......#", "#.......#", "#.......#", "#.......#", "#.......#", "#####...#"};
    unsigned char rgb[TEXT_HEIGHT * TEXT_WIDTH * 3] = {0};
    gops_sheet sheet = {TEXT_WIDTH, TEXT_HEIGHT, rgb};
    gops_sheet_text(&sheet, 0, 0, 1, "LT");
    for (int i = 0; i < TEXT_HEIGHT * TEXT_WIDTH; i++)
        gops_test_check((rgb[3 * i] != 0) == (rows[i / TEXT_WIDTH][i % TEXT_WIDTH] == '#'),
                        "the pixel at row %d, column %d is wrong", i / TEXT_WIDTH, i % TEXT_WIDTH);
    gops_test_check(gops_sheet_text_width(2, "LT") == 22 && gops_sheet_text_height(2) == 14,
                    "at scale 2 it is %lldx%lld", (long long)gops_sheet_text_width(2, "LT"),
                    (long long)gops_sheet_text_height(2));
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"subbands_in_colour", subbands_in_colour},
        {"subbands_in_grey", subbands_in_grey},
        {"difference", difference},
        {"labels", labels},
        {"text", text},
        {0},
    };
    return gops_test_main("demo_sheet", cases);
}
