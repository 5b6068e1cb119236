/*
 * models.c: ONNX files in ONNX Runtime, without the provider and with it, in turns.
 *
 *     models --threads=1,2 --rounds=5 [--claim=all] NAME FILE SHAPE ...
 *
 * prints a line of Markdown for each file and number of threads: the least time of a run without and
 * with the provider, the first over the second, how many nodes the provider took, and how far the
 * outputs differ, over the largest value. Several threads have three times as many rounds. With
 * --claim=all it takes what loses by the estimate too. A file has an input "x" of SHAPE, as 1,3,224,224, and
 * an output "y". With GROUPOPS_ORT_PROFILE=PREFIX the runtime writes profiles of its nodes.
 */
#include "common/tool_error.h"
#include "numbers.h"
#include "ort_turns.h"

#include "elements.h"
#include "guarded_memory.h"
#include "harness.h"
#include "random_numbers.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: models [--threads=N,...] [--rounds=N] [--claim=all] NAME FILE SHAPE...\n";

static struct {
    gops_numbers threads, rounds;
    const char *claim;
    int count;
    char **words; /* NAME FILE SHAPE, and so on */
} arguments = {.threads = {2, {1, 2}}, .rounds = {1, {5}}};

static bool read_file(const char *path, gops_onnx_buffer *model)
{
    FILE *file = fopen(path, "rb");
    *model = (gops_onnx_buffer){0};
    if (!gops_test_check(file != NULL, "%s cannot be read", path)) {
        return false;
    }
    fseek(file, 0, SEEK_END);
    model->size = (size_t)ftell(file);
    rewind(file);
    model->bytes = gops_test_allocate(model->size + 1);
    const bool whole = fread(model->bytes, 1, model->size, file) == model->size;
    fclose(file);
    return gops_test_check(whole, "%s was not read to its end", path);
}

static double difference(ort_session *const *sessions, const gops_ort_tensor *input)
{
    ort_value *outputs[2] = {NULL, NULL};
    gops_tensor tensors[2];
    double largest = 0, worst = INFINITY;
    if (gops_ort_works(gops_ort_run(sessions[0], input, 1, &outputs[0]), "without") &&
        gops_ort_works(gops_ort_run(sessions[1], input, 1, &outputs[1]), "with")) {
        const float *expected = gops_ort_values(outputs[0], &tensors[0]);
        const float *got = gops_ort_values(outputs[1], &tensors[1]);
        worst = 0;
        for (int64_t i = 0; i < gops_test_elements(&tensors[0]); i++) {
            const double error = fabs((double)got[i] - (double)expected[i]);
            largest = fmax(largest, fabs((double)expected[i]));
            worst = error <= worst ? worst : error; /* NaN too */
        }
    }
    gops_ort_load()->release_value(outputs[0]);
    gops_ort_load()->release_value(outputs[1]);
    return worst / largest;
}

static void compare(const char *name, const gops_onnx_buffer *model, const gops_ort_tensor *input,
                    int threads, int rounds)
{
    ort_session *sessions[2] = {NULL, NULL};
    double least[2];
    bool works = true;
    for (int with = 0; with < 2 && works; with++) {
        const gops_ort_session_settings settings = {with ? GROUPOPS_ORT_PROVIDER : NULL,
                                                    ORT_OPTIMIZE_ALL, threads, false};
        works = gops_ort_works(gops_ort_open(model, &settings, &sessions[with]), name);
    }
    if (works) {
        const double error = difference(sessions, input);
        gops_ort_take_turns(sessions, input, threads, rounds, least);
        printf("| %s | %d | %.2f | %.2f | %.2f | %d | %.1g |\n", name, threads, least[0], least[1],
               least[0] / least[1], gops_ort_claimed(sessions[1], false), error);
        fflush(stdout);
    }
    gops_ort_load()->release_session(sessions[0]);
    gops_ort_load()->release_session(sessions[1]);
}

static void compare_file(const char *name, const char *path, const char *text)
{
    gops_numbers shape;
    int64_t count = 1;
    if (!gops_test_check(gops_numbers_read(text, GOPS_MAX_NUMBERS, 1, INT64_MAX, &shape),
                         "%s is no shape", text)) {
        return;
    }
    for (int i = 0; i < shape.count; i++) {
        count *= shape.values[i];
    }
    gops_test_random random = gops_test_random_start(1, 1);
    float *data = gops_test_allocate((size_t)count * sizeof *data);
    gops_onnx_buffer model;
    gops_test_random_fill(&random, GOPS_F32, data, count);
    const gops_ort_tensor input = {"x", ORT_FLOAT, shape.count, shape.values, data};
    if (read_file(path, &model)) {
        for (int i = 0; i < arguments.threads.count; i++) {
            compare(name, &model, &input, (int)arguments.threads.values[i],
                    (int)arguments.rounds.values[0]);
        }
    }
    free(model.bytes);
    free(data);
}

static void models(void)
{
    gops_ort_set_claim(arguments.claim);
    gops_ort_load();
    printf("\n| network | threads | without, ms | with, ms | ratio | nodes taken | difference |\n"
           "|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < arguments.count; i += 3) {
        compare_file(arguments.words[i], arguments.words[i + 1], arguments.words[i + 2]);
    }
}

static bool read_flag(const char *word)
{
    enum { MAX_ROUNDS = 1000 };
    if (strncmp(word, "--threads=", 10) == 0) {
        return gops_numbers_read(word + 10, GOPS_MAX_NUMBERS, 1, INT_MAX, &arguments.threads);
    }
    if (strncmp(word, "--rounds=", 9) == 0) {
        return gops_numbers_read(word + 9, 1, 1, MAX_ROUNDS, &arguments.rounds);
    }
    arguments.claim = "all";
    return strcmp(word, "--claim=all") == 0;
}

int main(int count, char **words)
{
    const gops_test_case cases[] = {{"models", models}, {NULL, NULL}};
    int word = 1;
    for (; word < count && strncmp(words[word], "--", 2) == 0; word++) {
        if (!read_flag(words[word])) {
            fprintf(stderr, "models: %s is no flag of models, or not with that value\n",
                    words[word]);
            return GOPS_EXIT_USAGE;
        }
    }
    arguments.count = count - word;
    arguments.words = words + word;
    if (arguments.count == 0 || arguments.count % 3 != 0) {
        fputs(usage, stderr);
        return GOPS_EXIT_USAGE;
    }
    const int status = gops_test_main("networks in ONNX files", cases);
    gops_ort_unload();
    return status;
}
