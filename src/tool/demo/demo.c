/* demo.c: groupops demo: its command line, its steps and what it prints. */
#include "demo/demo.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demo/contact_sheet.h"
#include "demo/demo_psnr.h"
#include "demo/demo_zone_plate.h"
#include "png/png_picture.h"
#include "common/tool_error.h"
#include "demo/wavelet.h"
#include "common/whole_file.h"

enum { LEVELS = GOPS_SHEET_MAX_LEVELS, ZONE_PLATE_HEIGHT = 480, ZONE_PLATE_WIDTH = 640 };

/* Rounding in f32 leaves errors of some 1e-7, 140 dB; a wrong border or tap far larger ones. */
#define MIN_PSNR 120.0

static const char help_text[] =
    "groupops demo [PICTURE.png] [--output=FILE.png] [--threads=N]\n"
    "    takes a picture apart with the three operations and puts it together again\n"
    "\n"
    "  GroupConvolution splits each colour into four subbands with an orthogonal wavelet filter\n"
    "  bank, twice over; GroupConvolutionBackpropData joins them again with the same filter;\n"
    "  GroupNormalization makes the subbands fit to look at. Shapes, times and the PSNR of the\n"
    "  reconstruction are printed, and the pictures written as one contact sheet.\n"
    "\n"
    "  PICTURE.png        any PNG; left out: a zone plate, the test chart that holds every\n"
    "                     frequency in every direction\n"
    "  --output=FILE.png  the contact sheet; left out: groupops-demo.png\n"
    "  --threads=N        threads for each operation; left out or 0: as many as OpenMP would use\n"
    "\n"
    "Exit status: 0 done, and the PSNR is above 120 dB; 2 the words on the command line are "
    "wrong;\n"
    "1 anything else.\n";

typedef struct settings {
    const char *input; /* NULL: the zone plate */
    const char *output;
    int32_t threads; /* below 0 while it is not given */
    bool help;
} settings;

/* All that is computed. A struct of zeros may be released. */
typedef struct work {
    gops_planes original;
    gops_planes bands[LEVELS];
    gops_planes reconstruction;
    gops_planes normalized[LEVELS];
    gops_sheet sheet;
} work;

static void release_work(work *w)
{
    gops_planes_release(&w->original);
    gops_planes_release(&w->reconstruction);
    for (int level = 0; level < LEVELS; level++) {
        gops_planes_release(&w->bands[level]);
        gops_planes_release(&w->normalized[level]);
    }
    gops_sheet_release(&w->sheet);
}

/* What follows "--name=" in the word; NULL where that is not how it begins. */
static const char *value_of(const char *word, const char *name)
{
    size_t length = strlen(name);

    return strncmp(word, name, length) == 0 ? word + length : NULL;
}

static bool read_threads(const char *text, int32_t *threads)
{
    int64_t number = 0;

    for (const char *c = text; *c != '\0'; c++) {
        if (*c < '0' || *c > '9') {
            return false;
        }
        number = 10 * number + (*c - '0');
        if (number > INT32_MAX) {
            return false;
        }
    }
    *threads = (int32_t)number;
    return text[0] != '\0';
}

static bool read_flag(const char *word, settings *s, gops_tool_error *error)
{
    const char *value;

    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        s->help = true;
    } else if ((value = value_of(word, "--output=")) != NULL) {
        if (s->output != NULL) {
            return gops_tool_refuse(error, GOPS_EXIT_USAGE, "--output is given twice");
        }
        if (value[0] == '\0') {
            return gops_tool_refuse(error, GOPS_EXIT_USAGE, "--output= is empty");
        }
        s->output = value;
    } else if ((value = value_of(word, "--threads=")) != NULL) {
        if (s->threads >= 0) {
            return gops_tool_refuse(error, GOPS_EXIT_USAGE, "--threads is given twice");
        }
        if (!read_threads(value, &s->threads)) {
            return gops_tool_refuse(error, GOPS_EXIT_USAGE, "%s is not an integer from 0 to %d",
                                    word, INT32_MAX);
        }
    } else {
        return gops_tool_refuse(error, GOPS_EXIT_USAGE,
                                "%s is no flag of demo [PICTURE.png] [--output=FILE.png] "
                                "[--threads=N]",
                                word);
    }
    return true;
}

static bool read_words(int count, char **words, settings *s, gops_tool_error *error)
{
    *s = (settings){.threads = -1};
    for (int i = 0; i < count; i++) {
        if (words[i][0] == '-') {
            if (!read_flag(words[i], s, error)) {
                return false;
            }
        } else if (s->input != NULL) {
            return gops_tool_refuse(error, GOPS_EXIT_USAGE,
                                    "demo takes one picture, not both \"%s\" and \"%s\"", s->input,
                                    words[i]);
        } else {
            s->input = words[i];
        }
    }
    if (s->output == NULL) {
        s->output = "groupops-demo.png";
    }
    if (s->threads < 0) {
        s->threads = 0;
    }
    return true;
}

static gops_status load_picture(const settings *s, gops_planes *picture, gops_error *error)
{
    if (s->input != NULL) {
        return gops_png_read(s->input, picture, error);
    }
    return gops_demo_zone_plate(ZONE_PLATE_HEIGHT, ZONE_PLATE_WIDTH, picture, error);
}

static void print_step(const gops_demo_step *step)
{
    printf("%-28s  %-16s  %-11s  %-16s  %-17s  %9.3f\n", step->operation, step->data, step->filter,
           step->output, step->algorithm, step->milliseconds);
}

/* Moves each colour's LL out of the subbands. Not a number takes its place until put_low, so that
 * a reconstruction that is right has come through every level. */
static void take_low(const gops_planes *bands, const gops_planes *low)
{
    int64_t plane = low->height * low->width;

    for (int64_t colour = 0; colour < low->channels; colour++) {
        float *band = gops_planes_channel(bands, GOPS_WAVELET_BANDS * colour);
        memcpy(gops_planes_channel(low, colour), band, (size_t)plane * sizeof *band);
        for (int64_t i = 0; i < plane; i++) {
            band[i] = NAN;
        }
    }
}

static void put_low(const gops_planes *bands, const gops_planes *low)
{
    size_t bytes = (size_t)(low->height * low->width) * sizeof *low->values;

    for (int64_t colour = 0; colour < low->channels; colour++) {
        memcpy(gops_planes_channel(bands, GOPS_WAVELET_BANDS * colour),
               gops_planes_channel(low, colour), bytes);
    }
}

static gops_status split_levels(work *w, int32_t threads, gops_error *error)
{
    gops_planes low = {0};
    gops_status status = GOPS_OK;

    for (int level = 0; level < LEVELS && status == GOPS_OK; level++) {
        gops_planes *bands = &w->bands[level];
        gops_demo_step step;
        status = gops_wavelet_split(level == 0 ? &w->original : &low, threads, bands, &step, error);
        gops_planes_release(&low);
        if (status == GOPS_OK) {
            print_step(&step);
        }
        if (status == GOPS_OK && level + 1 < LEVELS) {
            status =
                gops_planes_create(w->original.channels, bands->height, bands->width, &low, error);
            if (status == GOPS_OK) {
                take_low(bands, &low);
            }
        }
    }
    gops_planes_release(&low);
    return status;
}

/* From the coarsest level: what is joined takes the place of the next finer level's LL. */
static gops_status join_levels(work *w, int32_t threads, gops_error *error)
{
    for (int level = LEVELS - 1; level >= 0; level--) {
        const gops_planes *finer = level > 0 ? &w->bands[level - 1] : &w->original;
        gops_planes joined;
        gops_demo_step step;
        gops_status status = gops_wavelet_join(&w->bands[level], finer->height, finer->width,
                                               threads, &joined, &step, error);
        if (status != GOPS_OK) {
            return status;
        }
        print_step(&step);
        if (level > 0) {
            put_low(finer, &joined);
            gops_planes_release(&joined);
        } else {
            w->reconstruction = joined;
        }
    }
    return GOPS_OK;
}

static gops_status normalize_levels(work *w, int32_t threads, gops_error *error)
{
    for (int level = 0; level < LEVELS; level++) {
        gops_demo_step step;
        gops_status status =
            gops_wavelet_normalize(&w->bands[level], threads, &w->normalized[level], &step, error);
        if (status != GOPS_OK) {
            return status;
        }
        print_step(&step);
        gops_planes_release(&w->bands[level]);
    }
    return GOPS_OK;
}

static gops_status compute_levels(work *w, int32_t threads, gops_error *error)
{
    printf("%-28s  %-16s  %-11s  %-16s  %-17s  %9s\n", "", "data", "filter", "output", "algorithm",
           "ms");
    gops_status status = split_levels(w, threads, error);
    if (status == GOPS_OK) {
        status = join_levels(w, threads, error);
    }
    if (status == GOPS_OK) {
        status = normalize_levels(w, threads, error);
    }
    return status;
}

static void print_difference(const gops_demo_difference *d)
{
    if (isinf(d->psnr)) {
        printf("\nreconstruction: exact, PSNR inf dB, all of %lld values equal\n",
               (long long)d->values);
        return;
    }
    printf("\nreconstruction: PSNR %.1f dB over %lld values; largest error %.2g at channel %lld, "
           "row %lld, column %lld\n",
           d->psnr, (long long)d->values, d->largest, (long long)d->channel, (long long)d->row,
           (long long)d->column);
}

static gops_status draw_sheet(work *w, const gops_demo_difference *d, gops_error *error)
{
    gops_sheet_content content = {&w->original, &w->reconstruction, LEVELS, {NULL}, d->psnr};
    for (int level = 0; level < LEVELS; level++) {
        content.bands[level] = &w->normalized[level];
    }
    return gops_sheet_create(&content, &w->sheet, error);
}

static bool write_sheet(const gops_sheet *sheet, const char *path, gops_tool_error *error)
{
    unsigned char *bytes;
    size_t count;
    gops_error reason;
    gops_whole_file file;

    if (gops_png_encode(sheet->width, sheet->height, sheet->rgb, &bytes, &count, &reason) !=
        GOPS_OK) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s: %s", path, reason.message);
    }
    bool done = gops_whole_file_open(path, &file, error) &&
                gops_whole_file_write(&file, bytes, count, error) &&
                gops_whole_file_finish(&file, error);
    free(bytes);
    if (done) {
        printf("wrote %s, %lld x %lld pixels\n", path, (long long)sheet->width,
               (long long)sheet->height);
    }
    return done;
}

static bool run_demo(const settings *s, work *w, gops_tool_error *error)
{
    gops_error reason;
    const char *subject = s->input != NULL ? s->input : "zone plate";

    if (load_picture(s, &w->original, &reason) != GOPS_OK) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s: %s", subject, reason.message);
    }
    printf("%s: %lld x %lld pixels, %s; f32, strides 2,2, %d levels\n\n", subject,
           (long long)w->original.width, (long long)w->original.height,
           w->original.channels == 1 ? "grey" : "3 colours", LEVELS);
    if (compute_levels(w, s->threads, &reason) != GOPS_OK) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s: %s", subject, reason.message);
    }
    gops_demo_difference difference = gops_demo_compare(&w->original, &w->reconstruction);
    print_difference(&difference);
    if (draw_sheet(w, &difference, &reason) != GOPS_OK) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s: %s", subject, reason.message);
    }
    if (!write_sheet(&w->sheet, s->output, error)) {
        return false;
    }
    if (!(difference.psnr > MIN_PSNR)) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                "%s: the PSNR of the reconstruction is %.1f dB; it must be above "
                                "%.0f dB",
                                subject, difference.psnr, MIN_PSNR);
    }
    return true;
}

int gops_tool_demo(int argc, char **argv)
{
    gops_tool_error error = {GOPS_EXIT_DONE, ""};
    settings s;
    work w = {0};

    bool done = read_words(argc, argv, &s, &error);
    if (done && s.help) {
        fputs(help_text, stdout);
    } else if (done) {
        done = run_demo(&s, &w, &error);
        release_work(&w);
    }
    if (!done) {
        gops_tool_print_error(&error);
    }
    return error.exit_code;
}
