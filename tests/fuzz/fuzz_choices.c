/*
 * fuzz_choices.c: choices as text. An input that begins with '=' is the text itself. Any other is
 * its lines without first line and sums, which are added, so that a line is looked at; "@4" stands
 * for what problem 4 below is called on this machine.
 *
 * What is refused leaves no choice behind. What is read is written as the same text that comes from
 * reading that again. Whatever algorithm the text has for a problem, it is planned, and computed
 * right.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <groupops/choices.h>

#include "choice_problems.h"
#include "fuzz.h"
#include "elements.h"

enum { PROBLEMS = 9, MAX_TEXT = 65536 };

typedef struct known {
    gops_problem problem;
    char key[600];
    gops_problem_buffers buffers;
    gops_reference_result expected;
} known;
static known all[PROBLEMS];

static const char begin[] = "groupops-choices 2 lines=";

typedef struct text {
    char bytes[MAX_TEXT];
    size_t count;
} text;

/* With room for a 0 that does not count. */
static void write_text(const gops_choices *choices, text *to)
{
    gops_error error = {GOPS_OK, ""};
    gops_fuzz_require(gops_choices_write(choices, to->bytes, sizeof to->bytes - 1, &to->count,
                                         &error) == GOPS_OK &&
                          to->count < sizeof to->bytes,
                      "writing: %s", error.message);
    to->bytes[to->count] = '\0';
}

static gops_choices *make_choices(void)
{
    gops_error error = {GOPS_OK, ""};
    gops_choices *choices;
    gops_fuzz_require(gops_choices_create(NULL, &choices, &error) == GOPS_OK, "%s", error.message);
    return choices;
}

/* What the library calls the problem stands in front of the algorithm that it measured. */
static void know(known *of, gops_problem problem)
{
    static text written;
    gops_error error = {GOPS_OK, ""};
    gops_reference_geometry geometry;
    gops_tensor output;
    gops_plan *plan;
    gops_test_random random = gops_test_random_start(1, 1);
    of->problem = problem;
    problem.choices = make_choices();
    problem.algorithm = "fastest";
    gops_fuzz_require(gops_problem_plan(&problem, &plan, &error) == GOPS_OK, "%s", error.message);
    gops_plan_destroy(plan);
    write_text(problem.choices, &written);
    gops_choices_destroy(problem.choices);
    const char *line = strchr(written.bytes, '\n') + 1;
    snprintf(of->key, sizeof of->key, "%.*s", (int)(strstr(line, " algorithm=") - line), line);
    gops_fuzz_require(gops_problem_reference_shape(&problem, &geometry, &output), "no shape");
    of->buffers = gops_problem_buffers_create(&problem, &output, &random);
    gops_problem_reference(&problem, &of->buffers, &of->expected);
}

static gops_problem conv_of(gops_type type, int64_t groups, int64_t in, int64_t out, int64_t kernel)
{
    return (gops_problem){.operation = GOPS_PROBLEM_CONV,
                          .data = GOPS_TEST_TENSOR(type, 1, groups * in, 7, 9),
                          .filter = GOPS_TEST_TENSOR(type, groups, out, in, kernel, kernel),
                          .threads = 1};
}

static gops_problem deconv_of(gops_type type, int64_t groups, int64_t in, int64_t out)
{
    return (gops_problem){.operation = GOPS_PROBLEM_DECONV,
                          .data = GOPS_TEST_TENSOR(type, 1, groups * in, 4, 5),
                          .filter = GOPS_TEST_TENSOR(type, groups, in, out, 4, 3),
                          .deconv.strides = {2, {2, 3}},
                          .threads = 1};
}

static void know_all(void)
{
    const gops_problem problems[PROBLEMS] = {
        conv_of(GOPS_F32, 3, 2, 3, 3),
        conv_of(GOPS_F32, 1, 32, 16, 1),
        conv_of(GOPS_F32, 5, 1, 1, 3),
        conv_of(GOPS_F64, 1, 4, 3, 2),
        conv_of(GOPS_F16, 9, 1, 2, 3),
        conv_of(GOPS_I8, 2, 2, 3, 3),
        deconv_of(GOPS_F32, 3, 2, 3),
        deconv_of(GOPS_BF16, 5, 1, 1),
        {.operation = GOPS_PROBLEM_NORM,
         .data = GOPS_TEST_TENSOR(GOPS_F32, 2, 6, 5, 4),
         .norm = {2, 1e-5},
         .threads = 1},
    };
    for (int i = 0; i < PROBLEMS; i++)
        know(&all[i], problems[i]);
}

static void append(text *to, const char *bytes, size_t count)
{
    if (count < sizeof to->bytes - to->count) {
        memcpy(to->bytes + to->count, bytes, count);
        to->count += count;
    }
}

/* A line with its keys in full and its sum behind it. */
static void append_line(text *to, const char *line, size_t count)
{
    const size_t start = to->count;
    char ending[32];
    for (size_t i = 0; i < count; i++) {
        const unsigned digit = i + 1 < count ? (unsigned)line[i + 1] - '0' : PROBLEMS;
        if (line[i] == '@' && digit < PROBLEMS) {
            append(to, all[digit].key, strlen(all[digit].key));
            i++;
        } else {
            append(to, &line[i], 1);
        }
    }
    const unsigned sum = gops_choice_sum(to->bytes + start, to->count - start);
    append(to, ending, (size_t)snprintf(ending, sizeof ending, " sum=%08x\n", sum));
}

static void assemble(text *to, const char *input, size_t count)
{
    char first[64];
    int lines = 0;
    for (size_t i = 0; i < count; i++)
        lines += input[i] == '\n' || i + 1 == count;
    to->count = 0;
    append(to, first, (size_t)snprintf(first, sizeof first, "%s%d\n", begin, lines));
    while (count > 0) {
        const char *newline = memchr(input, '\n', count);
        const size_t length = newline != NULL ? (size_t)(newline - input) : count;
        append_line(to, input, length);
        input += length + (newline != NULL);
        count -= length + (newline != NULL);
    }
}

/* Written, read and written again. */
static void check_text(const gops_choices *choices, text *written)
{
    static text again;
    gops_choices *other = make_choices();
    gops_error error = {GOPS_OK, ""};
    write_text(choices, written);
    gops_fuzz_require(gops_choices_read(other, written->bytes, written->count, &error) == GOPS_OK,
                      "what was written is refused: %s", error.message);
    write_text(other, &again);
    gops_fuzz_require(again.count == written->count &&
                          memcmp(again.bytes, written->bytes, again.count) == 0,
                      "another text comes back");
    gops_choices_destroy(other);
}

static void check_problem(known *of, gops_choices *choices)
{
    gops_problem problem = of->problem;
    gops_error error = {GOPS_OK, ""};
    gops_plan *plan;
    gops_packed_filter *filter = NULL;
    problem.choices = choices;
    gops_status status = gops_problem_plan(&problem, &plan, &error);
    if (status == GOPS_OK && problem.operation != GOPS_PROBLEM_NORM)
        status = gops_filter_create(plan, of->buffers.weights.memory, NULL, &filter, &error);
    const gops_arguments arguments = {.size = sizeof arguments,
                                      .data = of->buffers.data.memory,
                                      .filter = filter,
                                      .scale = of->buffers.scale.memory,
                                      .bias = of->buffers.bias.memory,
                                      .output = of->buffers.output.memory};
    if (status == GOPS_OK)
        status = gops_execute(plan, &arguments, &error);
    gops_fuzz_require(status == GOPS_OK, "%s: %s", of->key, error.message);
    gops_fuzz_require(gops_problem_compare(&problem, &of->expected, of->buffers.output.memory),
                      "%s is computed wrong", of->key);
    gops_filter_destroy(filter);
    gops_plan_destroy(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    static text given, written;
    if (all[0].key[0] == '\0')
        know_all();
    const int whole = count > 0 && bytes[0] == '=';
    if (whole) {
        given.count = 0;
        append(&given, (const char *)bytes + 1, count - 1);
    } else {
        assemble(&given, (const char *)bytes, count);
    }
    /* Memory of its own, where a byte too many is noticed. */
    char *exact = malloc(given.count + (given.count == 0));
    gops_fuzz_require(exact != NULL, "no memory");
    memcpy(exact, given.bytes, given.count);
    gops_choices *choices = make_choices();
    gops_error error = {GOPS_OK, ""};
    const gops_status status = gops_choices_read(choices, exact, given.count, &error);
    free(exact);
    if (status == GOPS_OK) {
        check_text(choices, &written);
        for (int i = 0; i < PROBLEMS; i++)
            if (strstr(written.bytes, all[i].key) != NULL)
                check_problem(&all[i], choices);
    } else {
        gops_fuzz_require(status == GOPS_INVALID && error.status == status &&
                              strncmp(error.message, "line ", 5) == 0 &&
                              gops_choices_count(choices) == 0,
                          "refused with status %d: %s", (int)status, error.message);
    }
    gops_choices_destroy(choices);
    return 0;
}
