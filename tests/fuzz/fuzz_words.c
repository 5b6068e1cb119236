/*
 * fuzz_words.c: the tool's command line. An input is the words, one a line; what follows a line
 * "#suite" is the file words.txt, a suite.
 *
 * The verbs run in this process, in a folder of its own with some .npy files in it; words with a
 * '/' are left out, so that nothing outside of it is touched. Plans of much work are refused by
 * __wrap_gops_operation_plan, which stands in front of the tool's own, before algorithm=fastest
 * would execute them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "fuzz_files.h"

/* The tool, whose main() becomes a function like others. */
int gops_fuzz_main(int argc, char **argv);
#define main gops_fuzz_main
#include "main.c"
#undef main

#include "npy/npy.h"
#include "common/operation.h"

enum { MAX_WORDS = 24, MAX_BYTES = 2048 };
static const int64_t most_flops = 1000000;
static const size_t most_memory = 4 << 20;

bool __real_gops_operation_plan(const gops_tool_operation *operation, const gops_settings *settings,
                                const gops_tensor *inputs, const gops_host *host, gops_plan **plan,
                                gops_plan_info *info, gops_tool_error *error);
bool __wrap_gops_operation_plan(const gops_tool_operation *operation, const gops_settings *settings,
                                const gops_tensor *inputs, const gops_host *host, gops_plan **plan,
                                gops_plan_info *info, gops_tool_error *error);

static bool executes; /* the verb is one that executes what it plans */

static int is_small(const gops_tool_operation *operation, const gops_tensor *inputs,
                    const gops_plan_info *info)
{
    size_t bytes = info->workspace_bytes + info->filter_bytes, tensor;
    for (int i = 0; i < operation->inputs; i++)
        if (gops_tensor_bytes(&inputs[i], &tensor, NULL) == GOPS_OK)
            bytes += tensor <= most_memory ? tensor : most_memory + 1;
    if (gops_tensor_bytes(&info->shape.output, &tensor, NULL) == GOPS_OK)
        bytes += tensor <= most_memory ? tensor : most_memory + 1;
    return info->flops <= most_flops && bytes <= most_memory;
}

bool __wrap_gops_operation_plan(const gops_tool_operation *operation, const gops_settings *settings,
                                const gops_tensor *inputs, const gops_host *host, gops_plan **plan,
                                gops_plan_info *info, gops_tool_error *error)
{
    const int measures = settings->algorithm != NULL && strcmp(settings->algorithm, "fastest") == 0;
    gops_settings estimated = *settings;
    if (measures)
        estimated.algorithm = NULL;
    if (!__real_gops_operation_plan(operation, &estimated, inputs, host, plan, info, error))
        return false;
    const int small = is_small(operation, inputs, info);
    if (!measures && (small || !executes))
        return true;
    gops_plan_destroy(*plan);
    *plan = NULL;
    return small ? __real_gops_operation_plan(operation, settings, inputs, host, plan, info, error)
                 : gops_tool_refuse(error, GOPS_EXIT_FAILED, "too much for a fuzzer");
}

/* Small arrays for the words to name. */
static void write_arrays(void)
{
    static const struct {
        const char *name;
        gops_tensor tensor;
    } arrays[] = {
        {"keep-x.npy", {GOPS_F32, 4, {1, 6, 5, 7}}},
        {"keep-w.npy", {GOPS_F32, 5, {2, 1, 3, 3, 2}}},
        {"keep-v.npy", {GOPS_F32, 5, {2, 3, 2, 3, 2}}},
        {"keep-c.npy", {GOPS_F32, 1, {6}}},
        {"keep-h.npy", {GOPS_U16, 3, {1, 4, 9}}},
        {"keep-g.npy", {GOPS_U16, 4, {2, 3, 2, 3}}},
        {"keep-q.npy", {GOPS_U8, 3, {1, 4, 9}}},
        {"keep-p.npy", {GOPS_I8, 4, {2, 3, 2, 3}}},
        {"keep-b.npy", {GOPS_I32, 1, {6}}},
    };
    static const float elements[6 * 5 * 7] = {1, 2, 0.5F};
    gops_tool_error error;
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        gops_fuzz_require(gops_npy_write(arrays[i].name, &arrays[i].tensor, arrays[i].tensor.type,
                                         elements, &error),
                          "%s", error.message);
}

static void start(void)
{
    static int started;
    if (started++)
        return;
    gops_fuzz_require(chdir(gops_fuzz_folder()) == 0, "the folder cannot be entered");
    write_arrays();
    if (freopen("/dev/null", "w", stdout) == NULL)
        abort();
}

/* Cuts the text into words; the count. */
static int cut(char *text, char **words)
{
    int count = 0;
    for (char *word = strtok(text, "\n"); word != NULL && count < MAX_WORDS;
         word = strtok(NULL, "\n"))
        words[count++] = word;
    return count;
}

/* The demo reads and writes pictures, a subject of its own, and takes seconds. */
static int is_left_out(char **words, int count)
{
    for (int i = 1; i < count; i++)
        if (strchr(words[i], '/') != NULL)
            return 1;
    return count > 1 && strcmp(words[1], "demo") == 0;
}

/* `bench` measures for half a second, unless told otherwise. */
static int add_reps(char **words, int count)
{
    static char once[] = "--reps=1", at_once[] = "--seconds=0";
    int reps = 0, seconds = 0;
    if (count < 2 || strcmp(words[1], "bench") != 0)
        return count;
    for (int i = 2; i < count; i++) {
        reps |= strncmp(words[i], "--reps=", 7) == 0;
        seconds |= strncmp(words[i], "--seconds=", 10) == 0;
    }
    if (!reps)
        words[count++] = once;
    if (!seconds)
        words[count++] = at_once;
    return count;
}

/* More repetitions or seconds than a fuzzer has time for. */
static int takes_long(char **words, int count)
{
    for (int i = 2; i < count; i++) {
        const char *equals = strchr(words[i], '=');
        if ((strncmp(words[i], "--reps=", 7) == 0 && strlen(words[i]) > 8) ||
            (strncmp(words[i], "--seconds=", 10) == 0 && strtod(equals + 1, NULL) > 0))
            return 1;
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    static const char suite_mark[] = "\n#suite\n";
    static char program[] = "groupops";
    char text[MAX_BYTES + 1], *words[MAX_WORDS + 4] = {program};
    start();
    if (count > MAX_BYTES || memchr(bytes, 0, count) != NULL)
        return 0;
    memcpy(text, bytes, count);
    text[count] = '\0';
    char *suite = strstr(text, suite_mark);
    if (suite != NULL) {
        *suite = '\0';
        suite += sizeof suite_mark - 1;
        gops_fuzz_folder_write("words.txt", suite, strlen(suite));
    }
    int used = 1 + cut(text, words + 1);
    if (is_left_out(words, used))
        return 0;
    used = add_reps(words, used);
    if (takes_long(words, used))
        return 0;
    executes = used > 1 && strcmp(words[1], "plan") != 0;
    words[used] = NULL;
    const int status = gops_fuzz_main(used, words);
    gops_fuzz_require(status >= GOPS_EXIT_DONE && status <= GOPS_EXIT_USAGE, "exit %d", status);
    gops_fuzz_folder_clean("keep-");
    return 0;
}
