/* test_demo_command.c: `groupops demo`, run as its users run it. */
#include "png_files.h"
#include "harness.h"
#include "guarded_memory.h"
#include "tool_process.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The layout of the contact sheet: a margin around and between four panels with a label each; small
 * pictures are enlarged up to the least width of a panel. */
enum { MARGIN = 16, LABEL = 24, MIN_PANEL = 320 };

typedef struct layout {
    uint32_t zoom, width, height;
    uint32_t left, top;          /* of the original */
    uint32_t reconstruction_top; /* whose left is the same */
} layout;

static layout lay_out(uint32_t width, uint32_t height)
{
    const uint32_t side = width > height ? width : height;
    layout l = {.zoom = side < MIN_PANEL ? MIN_PANEL / side : 1};
    const uint32_t panel = width * l.zoom < MIN_PANEL ? MIN_PANEL : width * l.zoom;
    l.width = 3 * MARGIN + 2 * panel;
    l.height = 3 * MARGIN + 2 * (LABEL + height * l.zoom);
    l.left = MARGIN;
    l.top = MARGIN + LABEL;
    l.reconstruction_top = l.top + height * l.zoom + MARGIN + LABEL;
    return l;
}

static double printed_psnr(const char *out)
{
    const char *psnr = strstr(out, "PSNR ");
    return psnr != NULL ? strtod(psnr + strlen("PSNR "), NULL) : NAN;
}

/* Runs it and checks all that is so of every run that ends well. */
static png_file_pixels run_well(tool_result *result, const char *line, const char *output,
                                uint32_t width, uint32_t height)
{
    const layout l = lay_out(width, height);
    char wrote[256];
    tool_run(result, line, NULL);
    gops_test_check(result->exit_code == 0 && result->err[0] == '\0',
                    "groupops %s: exit code %d, %s", line, result->exit_code, result->err);
    gops_test_check(printed_psnr(result->out) > 120, "groupops %s: PSNR %g dB\n%s", line,
                    printed_psnr(result->out), result->out);
    snprintf(wrote, sizeof wrote, "\nwrote %s, %u x %u pixels\n", output, l.width, l.height);
    gops_test_check(strstr(result->out, wrote) != NULL, "groupops %s: no line%sin\n%s", line, wrote,
                    result->out);
    png_file_pixels sheet = png_file_load(output);
    gops_test_check(sheet.rgb != NULL && sheet.width == l.width && sheet.height == l.height,
                    "groupops %s: %s is no PNG of %ux%u", line, output, l.width, l.height);
    return sheet;
}

/* Where a pixel of the sheet's panel at `top` should show the shade of the value, within one: a
 * value may lie on the edge between two shades, where rounding decides. */
static int shows(const png_file_pixels *sheet, const layout *l, uint32_t top, uint32_t x,
                 uint32_t y, int channel, double value)
{
    const uint32_t row = top + y * l->zoom + l->zoom / 2;
    const uint32_t column = l->left + x * l->zoom + l->zoom / 2;
    const int shade = sheet->rgb[((size_t)row * sheet->width + column) * 3 + (size_t)channel];
    return fabs(shade - 255 * value) <= 0.501;
}

static void check_panels(const png_file_pixels *sheet, const double *expected, int grey,
                         uint32_t width, uint32_t height, const char *what)
{
    const layout l = lay_out(width, height);
    int wrong = 0;
    for (uint32_t i = 0; i < width * height * 3; i++) {
        const int channel = (int)(i / (width * height));
        const uint32_t y = i / width % height, x = i % width;
        const double value =
            expected[(grey ? 0 : (size_t)channel) * width * height + y * width + x];
        wrong += !shows(sheet, &l, l.top, x, y, channel, value);
        wrong += !shows(sheet, &l, l.reconstruction_top, x, y, channel, value);
    }
    gops_test_check(wrong == 0, "%s: %d shades of the original and the reconstruction are wrong",
                    what, wrong);
}

static void zone_plate(void)
{
    static const char *const shapes[] = {
        "zone plate: 640 x 480 pixels",
        "GroupConvolution              1,3,488,648       3,4,1,6,6    1,12,242,322 ",
        "GroupConvolution              1,3,250,330       3,4,1,6,6    1,12,123,163 ",
        "GroupConvolutionBackpropData  1,12,123,163      3,4,1,6,6    1,3,242,322 ",
        "GroupConvolutionBackpropData  1,12,242,322      3,4,1,6,6    1,3,480,640 ",
        "GroupNormalization            1,12,242,322      12           1,12,242,322 ",
        "GroupNormalization            1,12,123,163      12           1,12,123,163 ",
    };
    tool_result result;
    png_file_pixels sheet = run_well(&result, "demo", "groupops-demo.png", 640, 480);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        gops_test_check(strstr(result.out, shapes[i]) != NULL, "no line\n%sin\n%s", shapes[i],
                        result.out);
    free(sheet.rgb);
}

static void every_kind(void)
{
    static const uint32_t sizes[][2] = {{37, 23}, {1, 1}, {2, 431}};
    for (size_t size = 0; size < sizeof sizes / sizeof sizes[0]; size++) {
        const uint32_t width = sizes[size][0], height = sizes[size][1];
        for (const png_file_kind *kind = png_file_kinds; kind->name != NULL; kind++) {
            tool_result result;
            double *expected = png_file_make("picture.png", kind, size == 0, width, height);
            png_file_pixels sheet =
                run_well(&result, "demo picture.png --output=sheet.png --threads=1", "sheet.png",
                         width, height);
            if (sheet.rgb != NULL)
                check_panels(&sheet, expected, kind->name[0] == 'G', width, height, kind->name);
            free(sheet.rgb);
            free(expected);
        }
    }
}

/* The result has the same bits for every number of threads, and so has the sheet. */
static void threads(void)
{
    static const char *const lines[] = {
        "demo --output=sheet.png --threads=1", "demo --output=sheet.png --threads=2",
        "demo --output=sheet.png --threads=3", "demo --threads=8 --output=sheet.png"};
    png_file_pixels first = {0};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        tool_result result;
        png_file_pixels sheet = run_well(&result, lines[i], "sheet.png", 640, 480);
        if (i == 0) {
            first = sheet;
            continue;
        }
        gops_test_check(first.rgb != NULL && sheet.rgb != NULL &&
                            memcmp(first.rgb, sheet.rgb, (size_t)3 * sheet.width * sheet.height) ==
                                0,
                        "groupops %s: another picture than with one thread", lines[i]);
        free(sheet.rgb);
    }
    free(first.rgb);
}

static void refused_words(void)
{
    tool_expect("demo --levels=3", 2, "groupops: --levels is no flag of demo\n");
    tool_expect("demo -", 2, "groupops: \"-\" is not expected after demo\n");
    tool_expect("demo --output", 2, "groupops: --output needs a value: --output=FILE.png\n");
    tool_expect("demo --output=", 2, "groupops: --output= is empty\n");
    tool_expect("demo --output=a.png --output=a.png", 2, "groupops: --output is given twice\n");
    tool_expect("demo --threads=1 --threads=1", 2, "groupops: --threads is given twice\n");
    tool_expect("demo a.png b.png", 2, "groupops: \"b.png\" is not expected after demo\n");
    tool_expect("demo --threads=", 2, "groupops: --threads= is not made of integers\n");
    tool_expect("demo --threads=-1", 2, "groupops: --threads=-1 is below 0\n");
    tool_expect("demo --threads=2147483648", 2,
                "groupops: --threads=2147483648 is beyond 32 bits\n");
}

static void refused_files(void)
{
    const int files = tool_folder_count();
    tool_expect("demo missing.png", 1, "groupops: missing.png: No such file or directory\n");
    tool_expect("demo /", 1, "groupops: /: Is a directory\n");
    /* Before anything is computed and printed. */
    tool_expect_refusal("demo --output=missing/sheet.png", 1,
                        "missing/sheet.png: it cannot be written: No such file or directory");
    gops_test_check(tool_folder_count() == files, "a refused run has left a file");

    FILE *text = fopen("text.png", "w");
    if (text == NULL || fputs("not what its name says\n", text) < 0 || fclose(text) != 0)
        gops_test_skip("text.png cannot be written");
    tool_expect("demo text.png", 1, "groupops: text.png: not a PNG file\n");
    free(png_file_make("cut.png", &png_file_kinds[0], 0, 11, 7));
    if (truncate("cut.png", 50) != 0)
        gops_test_skip("cut.png cannot be cut off");
    tool_expect("demo cut.png", 1,
                "groupops: cut.png: a PNG file that is cut off: it ends too early\n");
    gops_test_check(tool_folder_count() == files + 2, "a refused run has left a file");
}

/* When the new sheet does not fit on the disk, the old one stays as it was. */
static void full_disk(void)
{
    const tool_surroundings small = {.most_file_bytes = 5000};
    tool_result result;
    free(png_file_make("kept.png", &png_file_kinds[8], 0, 17, 19));
    const int files = tool_folder_count();
    tool_run(&result, "demo --output=kept.png", &small);
    gops_test_check(result.exit_code == 1, "exit code %d", result.exit_code);
    gops_test_check(
        strcmp(result.err, "groupops: kept.png: it cannot be written: File too large\n") == 0,
        "standard error is\n%s", result.err);
    png_file_pixels kept = png_file_load("kept.png");
    gops_test_check(kept.width == 17 && kept.height == 19, "the old file is gone");
    gops_test_check(tool_folder_count() == files, "a file is left over");
    free(kept.rgb);
}

static void help(void)
{
    static const char *const words[] = {"PICTURE.png", "--output=FILE.png", "--threads=N",
                                        "groupops-demo.png", "GroupConvolutionBackpropData"};
    static const char *const lines[] = {"demo --help", "demo -h", "demo missing.png --help"};
    const int files = tool_folder_count();
    for (size_t line = 0; line < sizeof lines / sizeof lines[0]; line++) {
        tool_result result;
        tool_run(&result, lines[line], NULL);
        gops_test_check(result.exit_code == 0 && result.err[0] == '\0', "%s: exit code %d",
                        lines[line], result.exit_code);
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
            gops_test_check(strstr(result.out, words[i]) != NULL, "%s: no \"%s\" in\n%s",
                            lines[line], words[i], result.out);
    }
    gops_test_check(tool_folder_count() == files, "the help has written a file");
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"zone_plate", zone_plate},
        {"every_kind", every_kind},
        {"threads", threads},
        {"refused_words", refused_words},
        {"refused_files", refused_files},
        {"full_disk", full_disk},
        {"help", help},
        {0},
    };
    tool_folder_enter();
    const int exit_code = gops_test_main("demo_command", cases);
    tool_folder_leave();
    return exit_code;
}
