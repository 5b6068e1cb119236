/* verb_bench.c: times one layer, or the layers of a suite. */
#include "bench/bench_bars.h"
#include "bench/bench_report.h"
#include "bench/suite.h"
#include "common/clock.h"
#include "common/flags.h"
#include "common/terminal.h"
#include "common/whole_file.h"
#include "verbs/verbs.h"

#include <groupops/version.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is left, from how long the first `index` layers took. */
static void print_left(double ms, size_t index, size_t count)
{
    const double seconds = ms / 1e3 / (double)index * (double)(count - index);
    if (seconds < 99.5) {
        fprintf(stderr, ", %.0f s left", seconds);
    } else {
        fprintf(stderr, ", %.0f min left", seconds / 60);
    }
}

/* On a terminal: names the layer that is being measured. wipe_progress erases it. */
static void show_progress(size_t index, size_t count, const char *name, double begin)
{
    if (gops_terminal_is(stderr)) {
        fprintf(stderr, "\r\033[K[%zu/%zu] %s", index + 1, count, name);
        if (index > 0) {
            print_left(gops_clock_ms() - begin, index, count);
        }
    }
}

static void wipe_progress(void)
{
    if (gops_terminal_is(stderr)) {
        fputs("\r\033[K", stderr);
    }
}

static void keep_bar(gops_bench_bar *bar, const gops_bench_layer *layer,
                     const gops_bench_result *result)
{
    *bar = (gops_bench_bar){layer->name, result->algorithm, result->ms_min, result->gflops};
}

/* Bars for a terminal, if there is something to compare, and the picture that was asked for. */
static bool draw_bars(const gops_settings *settings, const char *subject,
                      const gops_bench_bar *bars, size_t count, gops_tool_error *error)
{
    char title[256];
    if (!settings->json && count > 1 && gops_terminal_is(stdout)) {
        gops_bench_bars_print(bars, count);
    }
    snprintf(title, sizeof title, "groupops %s, %s, %s: time of a layer", gops_version(),
             gops_isa(), subject);
    return settings->plot_file == NULL ||
           gops_bench_bars_write(settings->plot_file, title, bars, count, error);
}

static bool bench_one(const gops_command *command, gops_tool_error *error)
{
    const gops_settings *settings = &command->settings;
    const gops_bench_layer layer = {command->operation->name, command->operation, *settings};
    const gops_bench_table table = {settings->json, settings->bare_gemm, false};
    gops_bench_result result;
    gops_bench_bar bar;
    show_progress(0, 1, layer.name, 0);
    const bool done = gops_bench_measure(&layer, &result, error);
    wipe_progress();
    if (!done) {
        return false;
    }
    keep_bar(&bar, &layer, &result);
    gops_bench_report_begin(&table);
    return gops_bench_report(&table, &layer, &result, error) &&
           draw_bars(settings, layer.name, &bar, 1, error);
}

/* The command line's flags apply to every layer and override those of the layer's line. A type
 * there is that of data, filter and output: with --type=f32 no layer is quantized. */
static void apply_command(gops_bench_layer *layer, const gops_settings *settings)
{
    if (settings->type != 0) {
        const bool was_quantized = layer->settings.output_type != 0;
        const bool is_integer = settings->type > GOPS_F8E5M2;
        layer->settings.filter_type = 0;
        layer->settings.output_type = 0;
        if (settings->output_type == 0) {
            gops_flags_forget_quantized(&layer->settings);
            if (was_quantized || is_integer) { /* filters of floats have scales, too */
                layer->settings.filter_scales = NULL;
            }
        }
    }
    gops_flags_override(&layer->settings, settings);
    layer->settings.choices = settings->choices;
    layer->settings.reps = settings->reps;
    layer->settings.seconds = settings->seconds;
    layer->settings.given |= settings->given;
    /* A normalization has no matrix products. */
    layer->settings.bare_gemm = layer->settings.bare_gemm && layer->operation->bit != GOPS_OF_NORM;
}

/* A suite that runs one layer in several types names it KIND/TYPE and begins with f32. */
typedef struct baseline {
    const char *name; /* of the last KIND/f32 */
    double ms_min;
} baseline;

static bool is_baseline(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash != NULL && strcmp(slash, "/f32") == 0;
}

static double times_f32(baseline *f32, const char *name, double ms_min)
{
    const char *slash = strrchr(name, '/');
    if (is_baseline(name)) {
        *f32 = (baseline){name, ms_min};
    }
    if (slash == NULL || f32->name == NULL ||
        strncmp(name, f32->name, (size_t)(slash - name) + 1) != 0) {
        return 0;
    }
    return ms_min / f32->ms_min;
}

static bool bench_layers(const gops_command *command, const gops_suite *suite,
                         const gops_bench_table *table, gops_bench_bar *bars,
                         gops_tool_error *error)
{
    const double begin = gops_clock_ms();
    baseline f32 = {NULL, 0};
    for (size_t i = 0; i < suite->count; i++) {
        const gops_bench_layer *layer = &suite->layers[i];
        gops_bench_result result;
        show_progress(i, suite->count, layer->name, begin);
        const bool done = gops_bench_measure(layer, &result, error);
        wipe_progress();
        if (!done) {
            return gops_tool_prefix(error, "%s", layer->name);
        }
        result.times_f32 = times_f32(&f32, layer->name, result.ms_min);
        keep_bar(&bars[i], layer, &result);
        if (!gops_bench_report(table, layer, &result, error)) {
            return false;
        }
    }
    return draw_bars(&command->settings, command->settings.suite, bars, suite->count, error);
}

static bool bench_suite(const gops_command *command, gops_suite *suite, gops_tool_error *error)
{
    gops_bench_table table = {.json = command->settings.json};
    for (size_t i = 0; i < suite->count; i++) {
        apply_command(&suite->layers[i], &command->settings);
        table.bare_gemm = table.bare_gemm || suite->layers[i].settings.bare_gemm;
        table.times_f32 = table.times_f32 || is_baseline(suite->layers[i].name);
    }
    gops_bench_bar *bars = calloc(suite->count, sizeof *bars);
    if (bars == NULL) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "there is no memory for the suite");
    }
    gops_bench_report_begin(&table);
    fflush(stdout);
    const bool done = bench_layers(command, suite, &table, bars, error);
    free(bars);
    return done;
}

bool gops_verb_bench(const gops_command *command, gops_tool_error *error)
{
    gops_suite suite;
    const char *const picture = command->settings.plot_file;
    if (picture != NULL && !gops_whole_file_try(picture, error)) {
        return false;
    }
    if (command->operation != NULL) {
        return bench_one(command, error);
    }
    if (!gops_suite_read(command->settings.suite, &suite, error)) {
        return false;
    }
    const bool done = bench_suite(command, &suite, error);
    gops_suite_release(&suite);
    return done;
}
