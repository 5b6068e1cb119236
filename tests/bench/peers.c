/* peers.c: compares the library with others, layer by layer, and writes what it measured as CSV. */
#include "measure.h"
#include "numbers.h"

#include "common/blas_threads.h"
#include "bench/suite.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXIT_WRONG = 3, /* all was measured; a result is wrong */
    MAX_ROUNDS = 1000,
    MAX_TENSOR_BYTES = 512 << 20, /* so that twenty of them fit into the memory of a desktop */
};

typedef struct arguments {
    gops_measure_options measure;
    gops_numbers batches; /* 0: as the suite has it */
    gops_numbers threads;
    bool quantized;
    const char *only;   /* names of contestants with commas between; NULL: all */
    const char *layers; /* a part of their names; NULL: all */
    int measured_layers;
    int wrong_results;
} arguments;

static const char usage[] =
    "usage: peers [--batch=N,...] [--threads=N,...] [--rounds=N] [--turn-ms=T]\n"
    "             [--only=CONTESTANT,...] [--layers=PART-OF-NAME] [--onnxruntime=LIBRARY]\n"
    "             [--python=PROGRAM --torch-worker=torch_worker.py] [--quantized] SUITE.txt...\n"
    "--quantized: in u8 with a filter of i8. Writes CSV on standard output. Exit status 3 when all "
    "was measured and a result is wrong.\n";

static bool read_flag(const char *word, arguments *read)
{
    const char *value = strchr(word, '=');
    gops_numbers one = {0, {0}};
    char *end;
    if (strcmp(word, "--quantized") == 0) {
        read->quantized = true;
        return true;
    }
    if (value++ == NULL) {
        return false;
    }
    const size_t length = (size_t)(value - word);
    if (strncmp(word, "--batch=", length) == 0) {
        return gops_numbers_read(value, GOPS_MAX_NUMBERS, 0, INT64_MAX, &read->batches);
    }
    if (strncmp(word, "--threads=", length) == 0) {
        return gops_numbers_read(value, GOPS_MAX_NUMBERS, 1, INT_MAX, &read->threads);
    }
    if (strncmp(word, "--rounds=", length) == 0) {
        const bool done = gops_numbers_read(value, 1, 1, MAX_ROUNDS, &one);
        read->measure.rounds = (int)one.values[0];
        return done;
    }
    if (strncmp(word, "--turn-ms=", length) == 0) {
        read->measure.turn_ms = strtod(value, &end);
        return *end == '\0' && read->measure.turn_ms > 0;
    }
    struct {
        const char *name;
        const char **text;
    } texts[] = {
        {"--only=", &read->only},
        {"--layers=", &read->layers},
        {"--onnxruntime=", &gops_places.onnxruntime},
        {"--python=", &gops_places.python},
        {"--torch-worker=", &gops_places.torch_worker},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (strlen(texts[i].name) == length && strncmp(word, texts[i].name, length) == 0) {
            *texts[i].text = value;
            return true;
        }
    }
    return false;
}

static bool find_wanted(arguments *asked, gops_tool_error *error)
{
    const gops_contestant *const *list =
        asked->quantized ? gops_quantized_contestants : gops_contestants;
    asked->measure.wanted = asked->only == NULL ? ~0U : 0;
    for (const char *name = asked->only; name != NULL; name = strchr(name, ',')) {
        name += *name == ',';
        const int length = (int)strcspn(name, ",");
        int i = 0;
        while (list[i] != NULL && ((int)strlen(list[i]->name) != length ||
                                   strncmp(list[i]->name, name, (size_t)length) != 0)) {
            i++;
        }
        if (list[i] == NULL) {
            return gops_tool_refuse(
                error, GOPS_EXIT_USAGE,
                "--only: \"%.*s\" is no contestant here; tests/bench/run --help names them", length,
                name);
        }
        asked->measure.wanted |= 1U << i;
    }
    return true;
}

static void print_dims(const gops_tensor *tensor)
{
    for (int i = 0; i < tensor->rank; i++) {
        printf("%s%" PRId64, i == 0 ? "" : "x", tensor->dims[i]);
    }
}

/* " s2x2" where one of them is not `usual`. */
static void print_list(const char *name, const gops_list *list, int64_t usual)
{
    bool is_usual = true;
    for (int i = 0; i < list->count; i++) {
        is_usual = is_usual && list->values[i] == usual;
    }
    for (int i = 0; !is_usual && i < list->count; i++) {
        printf("%s%" PRId64, i == 0 ? name : "x", list->values[i]);
    }
}

static void print_shapes(const gops_peer_problem *problem)
{
    print_dims(&problem->inputs[0]);
    if (problem->operation->bit == GOPS_OF_NORM) {
        printf(" g%" PRId64, problem->groups);
        return;
    }
    printf(" * ");
    print_dims(&problem->inputs[1]);
    print_list(" s", &problem->strides, 1);
    print_list(" d", &problem->dilations, 1);
    print_list(" p", &problem->pads_begin, 0);
}

/* The network is what stands before the '/' in a layer's name. */
static void print_row(const gops_peer_problem *problem, const gops_measured *row)
{
    const char *slash = strchr(problem->name, '/');
    printf("%s,%.*s,%s,%s,", problem->name, slash != NULL ? (int)(slash - problem->name) : 0,
           problem->name, gops_peer_problem_kind(problem), problem->operation->name);
    print_shapes(problem);
    printf(",%.6f,%d,%s,", (double)problem->flops * 1e-9, problem->threads, row->contestant->name);
    if (row->present) {
        printf("%.6f,%.6f,", row->ms_min, row->ms_median);
    } else {
        printf(",,");
    }
    if (row->error >= 0) {
        printf("%.3g", row->error);
    }
    printf(",%s\n", row->note.text);
}

/* Every contestant has tensors of its own. */
static bool is_too_large(const gops_bench_layer *layer, int64_t batch)
{
    const gops_tool_dims *data = &layer->settings.data;
    double bytes = sizeof(float) * (batch != 0 ? (double)batch : (double)data->dims[0]);
    for (int i = 1; i < data->rank; i++) {
        bytes *= (double)data->dims[i];
    }
    return bytes > MAX_TENSOR_BYTES;
}

static bool measure_layer(const gops_bench_layer *layer, int64_t batch, arguments *asked,
                          gops_tool_error *error)
{
    gops_measured measured[GOPS_MAX_CONTESTANTS];
    gops_peer_problem problem;
    if (!gops_peer_problem_create(layer, batch, asked->quantized, &problem, error)) {
        return false;
    }
    for (int i = 0; i < asked->threads.count; i++) {
        problem.settings.threads = problem.threads = (int)asked->threads.values[i];
        const int count = gops_measure(&problem, &asked->measure, measured);
        for (int row = 0; row < count; row++) {
            print_row(&problem, &measured[row]);
            asked->wrong_results += !(measured[row].error <= 1); /* NaN is wrong, too */
        }
        fflush(stdout);
    }
    gops_peer_problem_destroy(&problem);
    return true;
}

static bool measure_suite(const char *path, arguments *asked, gops_tool_error *error)
{
    gops_suite suite;
    bool done = gops_suite_read(path, &suite, error);
    for (size_t i = 0; done && i < suite.count; i++) {
        const gops_bench_layer *layer = &suite.layers[i];
        if (asked->layers != NULL && strstr(layer->name, asked->layers) == NULL) {
            continue;
        }
        asked->measured_layers++;
        for (int batch = 0; done && batch < asked->batches.count; batch++) {
            if (is_too_large(layer, asked->batches.values[batch])) {
                fprintf(stderr, "%s: left out, too large\n", layer->name);
                continue;
            }
            fprintf(stderr, "[%zu/%zu] %s\n", i + 1, suite.count, layer->name);
            done = measure_layer(layer, asked->batches.values[batch], asked, error);
        }
    }
    gops_suite_release(&suite);
    return done;
}

int main(int count, char **words)
{
    arguments asked = {
        .measure = {.rounds = 5, .turn_ms = 10},
        .batches = {1, {0}},
        .threads = {2, {1, 2}},
    };
    gops_tool_error error;
    int word = 1;
    bool done = true;
    for (; done && word < count && strncmp(words[word], "--", 2) == 0; word++) {
        done = read_flag(words[word], &asked) ||
               gops_tool_refuse(&error, GOPS_EXIT_USAGE,
                                "%s is no flag of peers, or not with that value", words[word]);
    }
    if (done && word == count) {
        fputs(usage, stderr);
        return GOPS_EXIT_USAGE;
    }
    done = done && find_wanted(&asked, &error);
    signal(SIGPIPE, SIG_IGN); /* a worker that ends is an answer, too */
    gops_blas_one_thread();
    printf("layer,network,kind,op,shapes,gflop,threads,contestant,ms_min,ms_median,error,note\n");
    for (; done && word < count; word++) {
        done = measure_suite(words[word], &asked, &error);
    }
    if (done && asked.measured_layers == 0) {
        done = gops_tool_refuse(&error, GOPS_EXIT_USAGE,
                                "no layer of the suites has \"%s\" in its name",
                                asked.layers != NULL ? asked.layers : "");
    }
    gops_torch_shut_down();
    gops_ort_shut_down();
    if (!done) {
        gops_tool_print_error("peers", &error);
        return error.exit_code;
    }
    return asked.wrong_results == 0 ? GOPS_EXIT_DONE : EXIT_WRONG;
}
