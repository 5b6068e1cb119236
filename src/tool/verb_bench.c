/* verb_bench.c: times one layer, or the layers of a suite. */
#include "bench_report.h"
#include "flags.h"
#include "suite.h"
#include "verbs.h"

#include <stdio.h>
#include <unistd.h>

/* On a terminal, what is being measured; wiped out again before the result's line. */
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
    gops_bench_report_begin(settings->json, settings->bare_gemm);
    return gops_bench_report(settings->json, &layer, &result, error);
}

/* What the command line says counts for every layer, above what its line says. */
static void apply_command(gops_bench_layer *layer, const gops_settings *settings)
{
    gops_flags_override(&layer->settings, settings);
    layer->settings.reps = settings->reps;
    layer->settings.seconds = settings->seconds;
    layer->settings.given |= settings->given;
    /* A normalization has no matrix products. */
    layer->settings.bare_gemm = layer->settings.bare_gemm && layer->operation->bit != GOPS_OF_NORM;
}

static bool bench_suite(const gops_command *command, gops_suite *suite, gops_tool_error *error)
{
    const bool json = command->settings.json;
    bool bare_gemm = false;
    for (size_t i = 0; i < suite->count; i++) {
        apply_command(&suite->layers[i], &command->settings);
        bare_gemm = bare_gemm || suite->layers[i].settings.bare_gemm;
    }
    gops_bench_report_begin(json, bare_gemm);
    fflush(stdout);
    for (size_t i = 0; i < suite->count; i++) {
        const gops_bench_layer *layer = &suite->layers[i];
        gops_bench_result result;
        show_progress(i, suite->count, layer->name);
        const bool done = gops_bench_measure(layer, &result, error);
        wipe_progress();
        if (!done) {
            const gops_tool_error reason = *error;
            return gops_tool_refuse(error, reason.exit_code, "%s: %s", layer->name, reason.message);
        }
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
