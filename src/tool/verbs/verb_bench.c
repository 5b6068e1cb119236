/* verb_bench.c: times one layer, or the layers of a suite. */
#include "bench/bench_report.h"
#include "common/flags.h"
#include "bench/suite.h"
#include "verbs/verbs.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* On a terminal: names the layer that is being measured. wipe_progress erases it. */
static void show_progress(size_t index, size_t count, const char *name)
{
    if (isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r\033[K[%zu/%zu] %s", index + 1, count, name);
    }
}

static void wipe_progress(void)
{
    if (isatty(STDERR_FILENO)) {
        fputs("\r\033[K", stderr);
    }
}

static bool bench_one(const gops_command *command, gops_tool_error *error)
{
    const gops_settings *settings = &command->settings;
    const gops_bench_layer layer = {command->operation->name, command->operation, *settings};
    gops_bench_result result;
    show_progress(0, 1, layer.name);
    const bool done = gops_bench_measure(&layer, &result, error);
    wipe_progress();
    if (!done) {
        return false;
    }
    gops_bench_report_begin(settings->json, settings->bare_gemm, false);
    return gops_bench_report(settings->json, &layer, &result, error);
}

/* The command line's flags apply to every layer and override those of the layer's line. A type
 * there is that of data, filter and output: with --type=f32 no layer is quantized. */
static void apply_command(gops_bench_layer *layer, const gops_settings *settings)
{
    if (settings->type != 0) {
        layer->settings.filter_type = 0;
        layer->settings.output_type = 0;
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

static bool bench_suite(const gops_command *command, gops_suite *suite, gops_tool_error *error)
{
    const bool json = command->settings.json;
    bool bare_gemm = false, has_f32 = false;
    baseline f32 = {NULL, 0};
    for (size_t i = 0; i < suite->count; i++) {
        apply_command(&suite->layers[i], &command->settings);
        bare_gemm = bare_gemm || suite->layers[i].settings.bare_gemm;
        has_f32 = has_f32 || is_baseline(suite->layers[i].name);
    }
    gops_bench_report_begin(json, bare_gemm, has_f32);
    fflush(stdout);
    for (size_t i = 0; i < suite->count; i++) {
        const gops_bench_layer *layer = &suite->layers[i];
        gops_bench_result result;
        show_progress(i, suite->count, layer->name);
        const bool done = gops_bench_measure(layer, &result, error);
        wipe_progress();
        if (!done) {
            return gops_tool_prefix(error, "%s", layer->name);
        }
        result.times_f32 = times_f32(&f32, layer->name, result.ms_min);
        if (!gops_bench_report(json, layer, &result, error)) {
            return false;
        }
    }
    return true;
}

bool gops_verb_bench(const gops_command *command, gops_tool_error *error)
{
    gops_suite suite;
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
