/* demo.c: groupops demo: its command line, its steps and what it prints. */
#include "demo/demo.h"

#include "common/whole_file.h"
#include "demo/contact_sheet.h"
#include "demo/demo_psnr.h"
#include "demo/demo_zone_plate.h"
#include "demo/wavelet.h"
#include "png/png_picture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS = GOPS_SHEET_MAX_LEVELS, ZONE_PLATE_HEIGHT = 480, ZONE_PLATE_WIDTH = 640 };

/* Rounding in f32 leaves errors of some 1e-7, 140 dB; a wrong border or tap far larger ones. */
#define MIN_PSNR 120.0

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

static gops_status load_picture(const char *path, gops_planes *picture, gops_error *error)
{
    if (path != NULL) {
        return gops_png_read(path, picture, error);
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
    if (d->psnr == (double)INFINITY) {
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

static bool run_demo(const char *path, const char *output, int32_t threads, work *w,
                     gops_tool_error *error)
{
    gops_error reason;
    const char *subject = path != NULL ? path : "zone plate";

    if (load_picture(path, &w->original, &reason) != GOPS_OK) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s: %s", subject, reason.message);
    }
    printf("%s: %lld x %lld pixels, %s; f32, strides 2,2, %d levels\n\n", subject,
           (long long)w->original.width, (long long)w->original.height,
           w->original.channels == 1 ? "grey" : "3 colours", LEVELS);
    if (compute_levels(w, threads, &reason) != GOPS_OK) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s: %s", subject, reason.message);
    }
    gops_demo_difference difference = gops_demo_compare(&w->original, &w->reconstruction);
    print_difference(&difference);
    if (draw_sheet(w, &difference, &reason) != GOPS_OK) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s: %s", subject, reason.message);
    }
    if (!write_sheet(&w->sheet, output, error)) {
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

bool gops_demo_show(const char *path, const char *output, int32_t threads, gops_tool_error *error)
{
    work w = {0};
    const char *const sheet = output != NULL ? output : "groupops-demo.png";
    const bool done =
        gops_whole_file_try(sheet, error) && run_demo(path, sheet, threads, &w, error);
    release_work(&w);
    return done;
}
