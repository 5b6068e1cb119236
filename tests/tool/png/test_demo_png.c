/* test_demo_png.c: what the demo's PNG reader makes of every kind of file, and of what is none. */
#include "png_files.h"
#include "png/png_picture.h"
#include "harness.h"
#include "guarded_memory.h"
#include "tool_process.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const uint32_t sizes[][2] = {{1, 1}, {1, 7}, {13, 1}, {37, 23}};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* Values are at most 1 and rounded once, from a double that is itself off by far less. */
#define BOUND 0x1p-24

static void check_picture(const gops_planes *picture, const double *expected, const char *what)
{
    const int64_t count = picture->channels * picture->height * picture->width;
    int64_t worst = 0;
    for (int64_t i = 1; i < count; i++)
        if (!(fabs(picture->values[i] - expected[i]) <=
              fabs(picture->values[worst] - expected[worst])))
            worst = i;
    gops_test_check(fabs(picture->values[worst] - expected[worst]) <= BOUND,
                    "%s: value %lld is %.9g instead of %.9g", what, (long long)worst,
                    (double)picture->values[worst], expected[worst]);
}

static void check_kind(const png_file_kind *kind, int interlaced, const uint32_t size[2])
{
    char what[96];
    gops_planes picture;
    gops_error error;
    snprintf(what, sizeof what, "%s%s %ux%u", kind->name, interlaced ? " interlaced" : "", size[0],
             size[1]);
    double *expected = png_file_make("kind.png", kind, interlaced, size[0], size[1]);
    const gops_status status = gops_png_read("kind.png", &picture, &error);
    if (gops_test_check(status == GOPS_OK, "%s: %s", what, error.message)) {
        const int64_t channels = kind->name[0] == 'G' ? 1 : 3;
        if (gops_test_check(picture.channels == channels && picture.width == size[0] &&
                                picture.height == size[1],
                            "%s: read as %lld channels of %lldx%lld", what,
                            (long long)picture.channels, (long long)picture.width,
                            (long long)picture.height))
            check_picture(&picture, expected, what);
        gops_planes_release(&picture);
    }
    free(expected);
}

static void kinds(void)
{
    for (const png_file_kind *kind = png_file_kinds; kind->name != NULL; kind++)
        for (int interlaced = 0; interlaced < 2; interlaced++)
            for (int size = 0; size < SIZES; size++)
                check_kind(kind, interlaced, sizes[size]);
}

static size_t load(const char *path, unsigned char *bytes, size_t most)
{
    FILE *file = fopen(path, "rb");
    const size_t count = file != NULL ? fread(bytes, 1, most, file) : 0;
    if (count == 0 || count == most || fclose(file) != 0) {
        perror(path);
        exit(EXIT_FAILURE);
    }
    return count;
}

static void store(const char *path, const unsigned char *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(bytes, 1, count, file) != count || fclose(file) != 0) {
        perror(path);
        exit(EXIT_FAILURE);
    }
}

static void check_refused(const char *path, gops_status expected, const char *message)
{
    gops_planes picture = {1, 1, 1, NULL};
    gops_error error = {0};
    const gops_status status = gops_png_read(path, &picture, &error);
    gops_test_check(status == expected && error.status == expected,
                    "%s: status %d, in the error %d", message, (int)status, (int)error.status);
    gops_test_check(strcmp(error.message, message) == 0, "\"%s\" instead of \"%s\"", error.message,
                    message);
    gops_test_check(picture.values == NULL && picture.channels == 0, "%s: a picture is left",
                    message);
}

static void refusals(void)
{
    static const unsigned char text[] = "P6 1 1 255 and so on";
    check_refused("missing.png", GOPS_INVALID, "No such file or directory");
    check_refused("missing/missing.png", GOPS_INVALID, "No such file or directory");
    if (gops_test_check(mkdir("folder.png", 0777) == 0, "no folder could be made"))
        check_refused("folder.png", GOPS_INVALID, "Is a directory");
    store("text.png", text, sizeof text);
    check_refused("text.png", GOPS_INVALID, "not a PNG file");
    store("empty.png", text, 0);
    check_refused("empty.png", GOPS_INVALID, "not a PNG file");
    png_file_make_header("wide.png", 100003, 2);
    check_refused("wide.png", GOPS_TOO_LARGE,
                  "the picture has 100003 x 2 pixels; at most 100000 a side and 100000000 in all "
                  "are read");
    png_file_make_header("area.png", 10007, 10009);
    check_refused(
        "area.png", GOPS_TOO_LARGE,
        "the picture has 10007 x 10009 pixels; at most 100000 a side and 100000000 in all "
        "are read");
    png_file_make_header("header.png", 100000, 1000);
    check_refused("header.png", GOPS_INVALID, "a PNG file that is cut off: it ends too early");
}

enum { SMALL_BYTES = 4096 };

/* Every beginning of a file but the whole is refused. */
static void cut_off(void)
{
    unsigned char bytes[SMALL_BYTES];
    const png_file_kind *kind = &png_file_kinds[0];
    while (strcmp(kind->name, "PALETTE 4 1") != 0)
        kind++;
    free(png_file_make("small.png", kind, 1, 11, 7));
    const size_t count = load("small.png", bytes, sizeof bytes);
    for (size_t length = 0; length < count; length++) {
        store("small.png", bytes, length);
        check_refused("small.png", GOPS_INVALID,
                      length < 8 ? "not a PNG file"
                                 : "a PNG file that is cut off: it ends too early");
    }
}

/* With one byte wrong, a checksum or a rule of the format does not hold, wherever it is. */
static void damaged(void)
{
    unsigned char bytes[SMALL_BYTES];
    const png_file_kind *kind = &png_file_kinds[0];
    while (strcmp(kind->name, "RGB 8 0") != 0)
        kind++;
    free(png_file_make("damaged.png", kind, 0, 5, 3));
    const size_t count = load("damaged.png", bytes, sizeof bytes);
    for (size_t i = 0; i < count; i++) {
        gops_planes picture;
        gops_error error = {0};
        bytes[i] ^= 0x15;
        store("damaged.png", bytes, count);
        const gops_status status = gops_png_read("damaged.png", &picture, &error);
        gops_test_check(status == GOPS_INVALID, "byte %zu wrong: status %d", i, (int)status);
        gops_test_check(error.message[0] != '\0' && strchr(error.message, '\n') == NULL,
                        "byte %zu wrong: \"%s\"", i, error.message);
        gops_planes_release(&picture);
        bytes[i] ^= 0x15;
    }
}

/* What is encoded, another reader finds again. */
static void encoding(void)
{
    enum { WIDTH = 23, HEIGHT = 41 };
    unsigned char rgb[HEIGHT * WIDTH * 3];
    unsigned char *bytes;
    size_t count;
    gops_error error;
    for (size_t i = 0; i < sizeof rgb; i++)
        rgb[i] = (unsigned char)(i * i % 251);
    const gops_status status = gops_png_encode(WIDTH, HEIGHT, rgb, &bytes, &count, &error);
    if (!gops_test_check(status == GOPS_OK, "%s", error.message))
        return;
    store("encoded.png", bytes, count);
    free(bytes);
    png_file_pixels pixels = png_file_load("encoded.png");
    gops_test_check(pixels.width == WIDTH && pixels.height == HEIGHT &&
                        memcmp(pixels.rgb, rgb, sizeof rgb) == 0,
                    "the pixels read differ from those encoded");
    free(pixels.rgb);
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"kinds", kinds},     {"refusals", refusals}, {"cut_off", cut_off},
        {"damaged", damaged}, {"encoding", encoding}, {0},
    };
    tool_folder_enter();
    const int exit_code = gops_test_main("demo_png", cases);
    tool_folder_leave();
    return exit_code;
}
