/* Algorithms that are measured, and choices that are saved, read again, and refused. */
#include <groupops/choices.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "refusal.h"
#include "test_elements.h"
#include "test_main.h"

static const char header[] = "groupops-choices 1 lines=";

static gops_problem grouped(void)
{
    return (gops_problem){.operation = GOPS_PROBLEM_CONV,
                          .data = GOPS_TEST_TENSOR(GOPS_F32, 2, 15, 13, 11),
                          .filter = GOPS_TEST_TENSOR(GOPS_F32, 3, 7, 5, 3, 2)};
}

static gops_problem depthwise(void)
{
    return (gops_problem){.operation = GOPS_PROBLEM_CONV,
                          .data = GOPS_TEST_TENSOR(GOPS_BF16, 1, 37, 13, 11),
                          .filter = GOPS_TEST_TENSOR(GOPS_BF16, 37, 1, 1, 3, 2)};
}

static gops_problem transposed(void)
{
    return (gops_problem){.operation = GOPS_PROBLEM_DECONV,
                          .data = GOPS_TEST_TENSOR(GOPS_F64, 1, 6, 7, 5),
                          .filter = GOPS_TEST_TENSOR(GOPS_F64, 2, 3, 5, 3, 2),
                          .deconv.strides = {2, {2, 3}}};
}

static gops_problem norm(void)
{
    return (gops_problem){.operation = GOPS_PROBLEM_NORM,
                          .data = GOPS_TEST_TENSOR(GOPS_F32, 2, 15, 13, 11),
                          .norm = {.num_groups = 3, .epsilon = 1e-3}};
}

static gops_choices *create(void)
{
    gops_choices *choices = NULL;
    gops_error error;
    if (gops_choices_create(NULL, &choices, &error) != GOPS_OK) {
        fprintf(stderr, "%s\n", error.message);
        exit(EXIT_FAILURE);
    }
    return choices;
}

/* The text, with a 0 behind it; to be freed. */
static char *write_text(const gops_choices *choices, size_t *bytes)
{
    gops_error error = gops_fresh_error();
    gops_status status = gops_choices_write(choices, NULL, 0, bytes, &error);
    char *text = gops_test_allocate(*bytes + 1);
    size_t again = 0;
    memset(text, '?', *bytes + 1);
    if (status == GOPS_OK)
        status = gops_choices_write(choices, text, *bytes - 1, &again, &error);
    gops_test_check(status == GOPS_OK && again == *bytes && text[0] == '?',
                    "with too little room: %s", error.message);
    status = gops_choices_write(choices, text, *bytes, &again, &error);
    gops_test_check(status == GOPS_OK && again == *bytes && text[*bytes] == '?', "writing: %s",
                    error.message);
    text[*bytes] = '\0';
    return text;
}

/* What a plan with these options says of itself; 0 where it is refused. */
static int plan_info(const gops_problem *problem, char algorithm[32], char why[512])
{
    gops_plan *plan;
    gops_plan_info info = {.size = sizeof info};
    gops_error error = gops_fresh_error();
    const gops_status status = gops_problem_plan(problem, &plan, &error);
    if (!gops_test_check(status == GOPS_OK, "no plan: %s", error.message))
        return 0;
    gops_plan_get_info(plan, &info, NULL);
    snprintf(algorithm, 32, "%s", info.algorithm);
    snprintf(why, 512, "%s", info.why);
    gops_plan_destroy(plan);
    return 1;
}

/* The reference's values come out, by an algorithm that can be had by its name too. */
static void measured_is_right(gops_problem problem, gops_test_random *random)
{
    char algorithm[32], why[512];
    problem.algorithm = "fastest";
    gops_problem_check(&problem, random);
    if (!plan_info(&problem, algorithm, why))
        return;
    /* Where there is one algorithm only, nothing is measured. */
    if (problem.operation != GOPS_PROBLEM_NORM && problem.output_type == 0) {
        gops_test_check(strstr(why, " measured 0.") != NULL && strstr(why, algorithm) != NULL &&
                            strstr(why, "gemm measured ") != NULL,
                        "why: %s", why);
    }
    problem.algorithm = algorithm;
    gops_problem_check(&problem, random);
}

static void measured(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 91);
    gops_problem problems[] = {grouped(), depthwise(), transposed(), norm(), grouped()};
    problems[4].data = GOPS_TEST_TENSOR(GOPS_U8, 1, 15, 13, 11);
    problems[4].filter = GOPS_TEST_TENSOR(GOPS_U8, 3, 7, 5, 3, 2);
    problems[4].output_type = GOPS_I32;
    problems[4].threads = 2;
    for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++)
        measured_is_right(problems[i], &random);
    problems[0].data.dims[0] = 0; /* nothing to measure on */
    problems[0].algorithm = "fastest";
    gops_problem_check(&problems[0], &random);
}

/* FNV-1a, 32 bits. */
static unsigned sum_of(const char *text, size_t bytes)
{
    unsigned sum = 2166136261u;
    for (size_t i = 0; i < bytes; i++)
        sum = (sum ^ (unsigned char)text[i]) * 16777619u;
    return sum;
}

/* The text of choices that hold one, with another algorithm and the sum that goes with it. */
static void replace_algorithm(const char *text, const char *algorithm, char *result, size_t bytes)
{
    const char *line = strchr(text, '\n') + 1;
    const int key = (int)(strstr(line, " algorithm=") - line);
    char content[1024];
    const int length = snprintf(content, sizeof content, "%.*s algorithm=%s", key, line, algorithm);
    snprintf(result, bytes, "%s1\n%s sum=%08x\n", header, content, sum_of(content, (size_t)length));
}

/* A choice that neither the estimate nor a measurement would make is taken all the same, by "auto"
 * and "fastest"; so they do look it up. */
static void saved_is_taken(void)
{
    gops_problem problem = grouped();
    char estimated[32], algorithm[32], why[512], text[2048];
    gops_error error = gops_fresh_error();
    size_t bytes;
    plan_info(&problem, estimated, why);
    const char *other = strcmp(estimated, "gemm") == 0 ? "implicit" : "gemm";
    problem.algorithm = "fastest";
    problem.choices = create();
    plan_info(&problem, algorithm, why);
    char *written = write_text(problem.choices, &bytes);
    gops_choices_destroy(problem.choices);
    replace_algorithm(written, other, text, sizeof text);
    for (int fastest = 0; fastest < 2; fastest++) {
        problem.choices = create();
        problem.algorithm = fastest ? "fastest" : "auto";
        gops_test_check(gops_choices_read(problem.choices, text, strlen(text), &error) == GOPS_OK,
                        "reading: %s", error.message);
        plan_info(&problem, algorithm, why);
        gops_test_check(strcmp(algorithm, other) == 0 &&
                            strstr(why, "the fastest when it was measured; ") == why,
                        "%s: %s, because %s", problem.algorithm, algorithm, why);
        gops_test_check(gops_choices_count(problem.choices) == 1, "a choice was added");
        problem.algorithm = estimated; /* asked for by name */
        plan_info(&problem, algorithm, why);
        gops_test_check(strcmp(algorithm, estimated) == 0, "%s for %s", algorithm, estimated);
        gops_choices_destroy(problem.choices);
    }
    free(written);
}

/* Without measuring there is one allocation, the plan's. */
static void saved_is_not_measured(void)
{
    gops_problem problem = depthwise();
    char algorithm[32], again[32], why[512];
    gops_test_heap heap;
    problem.choices = create();
    problem.algorithm = "fastest";
    for (int i = 0; i < 2; i++) {
        gops_test_heap_start(&heap);
        const gops_host host = gops_test_heap_host(&heap);
        problem.host = &host;
        plan_info(&problem, i == 0 ? algorithm : again, why);
        gops_test_check(i == 0 ? heap.calls > 3 : heap.calls == 1, "%lld allocations",
                        (long long)heap.calls);
        gops_test_check(heap.live == 0 && heap.misuses == 0, "%lld left", (long long)heap.live);
    }
    gops_test_check(strcmp(algorithm, again) == 0, "%s, then %s", algorithm, again);
    gops_choices_destroy(problem.choices);
}

static void expect_another(gops_problem problem, const char *what)
{
    char algorithm[32], why[512];
    const int64_t before = gops_choices_count(problem.choices);
    problem.algorithm = "fastest";
    plan_info(&problem, algorithm, why);
    gops_test_check(gops_choices_count(problem.choices) == before + 1, "%s made no difference",
                    what);
    plan_info(&problem, algorithm, why);
    gops_test_check(gops_choices_count(problem.choices) == before + 1, "%s twice", what);
}

/* Each part of a problem makes a choice of its own. */
static void problems_differ(void)
{
    gops_problem p = grouped();
    p.threads = 1;
    p.choices = create();
    expect_another(p, "the first");
#define WITH(change)                                                                               \
    {                                                                                              \
        gops_problem problem = p;                                                                  \
        problem.change;                                                                            \
        expect_another(problem, #change);                                                          \
    }
    WITH(data.dims[0] = 3)
    WITH(data.dims[2] = 14)
    WITH(data.dims[3] = 12)
    WITH(filter.dims[1] = 8)
    WITH(filter.dims[3] = 2)
    WITH(conv.strides = ((gops_list){2, {2, 1}}))
    WITH(conv.strides = ((gops_list){2, {1, 2}}))
    WITH(conv.dilations = ((gops_list){2, {1, 2}}))
    WITH(conv.pads_begin = ((gops_list){2, {1, 0}}))
    WITH(conv.pads_end = ((gops_list){2, {1, 0}}))
    WITH(data.type = problem.filter.type = GOPS_F64)
    WITH(threads = 2)
    WITH(max_workspace = 1000000)
#undef WITH
    gops_problem problem = p;
    problem.data.dims[1] = 5 * (problem.filter.dims[0] = 5);
    problem.filter.dims[2] = 5;
    expect_another(problem, "groups");
    problem = p;
    problem.data.type = problem.filter.type = GOPS_I8;
    expect_another(problem, "the type");
    problem.output_type = GOPS_I32;
    expect_another(problem, "the output's type");
    expect_another((gops_problem){.operation = GOPS_PROBLEM_DECONV,
                                  .data = p.data,
                                  .filter = GOPS_TEST_TENSOR(GOPS_F32, 3, 5, 7, 3, 2),
                                  .threads = 1,
                                  .choices = p.choices},
                   "the operation");
    gops_choices_destroy(p.choices);
}

/* Another instruction set, where this processor has one. */
static void instruction_sets_differ(void)
{
    const char *isa = gops_isa();
    char *before = getenv("GROUPOPS_ISA") != NULL ? strdup(getenv("GROUPOPS_ISA")) : NULL;
    gops_problem problem = grouped();
    problem.choices = create();
    int runs = 0;
    for (int i = 0; gops_isa_name(i, NULL) != NULL; i++) {
        gops_isa_name(i, &runs);
        if (runs && isa != NULL) {
            setenv("GROUPOPS_ISA", gops_isa_name(i, NULL), 1);
            expect_another(problem, gops_isa_name(i, NULL));
        }
    }
    if (before != NULL)
        setenv("GROUPOPS_ISA", before, 1);
    else
        unsetenv("GROUPOPS_ISA");
    free(before);
    gops_choices_destroy(problem.choices);
}

/* Choices for several problems, as text. */
static char *some_text(size_t *bytes)
{
    gops_problem problems[] = {transposed(), grouped(), norm(), depthwise()};
    gops_choices *choices = create();
    char algorithm[32], why[512];
    for (size_t i = 0; i < 4; i++) {
        problems[i].choices = choices;
        problems[i].algorithm = "fastest";
        plan_info(&problems[i], algorithm, why);
    }
    char *text = write_text(choices, bytes);
    gops_choices_destroy(choices);
    return text;
}

static void text_comes_back(void)
{
    size_t bytes, bytes_again;
    char *text = some_text(&bytes);
    gops_choices *choices = create();
    gops_error error = gops_fresh_error();
    gops_test_check(gops_choices_read(choices, text, bytes, &error) == GOPS_OK, "reading: %s",
                    error.message);
    gops_test_check(gops_choices_read(choices, text, bytes, &error) == GOPS_OK, "once more: %s",
                    error.message);
    gops_test_check(gops_choices_count(choices) == 4, "%lld choices",
                    (long long)gops_choices_count(choices));
    char *again = write_text(choices, &bytes_again);
    gops_test_check(bytes == bytes_again && memcmp(text, again, bytes) == 0,
                    "what was read is written as\n%sinstead of\n%s", again, text);
    free(again);
    free(text);
    gops_choices_destroy(choices);
    choices = create();
    text = write_text(choices, &bytes);
    gops_test_check(strcmp(text, "groupops-choices 1 lines=0\n") == 0, "no choices are \"%s\"",
                    text);
    gops_test_check(gops_choices_read(choices, text, bytes, &error) == GOPS_OK, "none: %s",
                    error.message);
    free(text);
    gops_choices_destroy(choices);
}

/* Refused, with that line's number where it is not 0, and without an effect. */
static void refuse(const char *what, const char *text, size_t bytes, int line)
{
    gops_choices *choices = create();
    gops_error error = gops_fresh_error();
    char begin[32];
    snprintf(begin, sizeof begin, "line %d of the choices ", line);
    const gops_status status = gops_choices_read(choices, text, bytes, &error);
    gops_test_check(status == GOPS_INVALID && error.status == status &&
                        (line == 0 || strncmp(error.message, begin, strlen(begin)) == 0),
                    "%s, line %d: status \"%s\": %s", what, line, gops_status_name(status),
                    error.message);
    gops_test_check(gops_choices_count(choices) == 0, "%s: %lld choices came in", what,
                    (long long)gops_choices_count(choices));
    gops_choices_destroy(choices);
}

static int line_at(const char *text, size_t place)
{
    int line = 1;
    for (size_t i = 0; i < place; i++)
        line += text[i] == '\n';
    return line;
}

/* Every byte missing from the end, every bit the other way round. A damaged end of a line shows in
 * that line or in what follows. */
static void damage_is_refused(void)
{
    size_t bytes;
    char *text = some_text(&bytes);
    char *copy = gops_test_allocate(bytes + 1);
    for (size_t length = 0; length < bytes; length++) {
        memcpy(copy, text, length); /* in memory of its own, where a byte too many is noticed */
        refuse("cut off", copy, length, line_at(text, length));
    }
    for (size_t place = 0; place < bytes; place++) {
        for (int bit = 0; bit < 8; bit++) {
            memcpy(copy, text, bytes);
            copy[place] = (char)(copy[place] ^ 1 << bit);
            const int whole =
                text[place] != '\n' && copy[place] != '\n' && line_at(text, place) > 1;
            refuse("a bit", copy, bytes, whole ? line_at(text, place) : 0);
        }
    }
    memcpy(copy, text, bytes);
    copy[bytes] = '\n';
    refuse("one line too many", copy, bytes + 1, 6);
    free(copy);
    free(text);
}

static void foreign_is_refused(void)
{
    static const char *const texts[] = {"",
                                        "\n",
                                        "{\"conv\": 1}\n",
                                        "groupops-choices 1\n",
                                        "groupops-choices 2 lines=0\n",
                                        "groupops-choices 1 lines=-1\n",
                                        "groupops-choices 1 lines=00\n",
                                        "groupops-choices 1 lines=0 \n",
                                        "groupops-choices 1 lines=9999999999999999999999\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        refuse(texts[i], texts[i], strlen(texts[i]), 1);
    refuse("a 0", "groupops-choices 1 lines=0\0\n", 28, 1);
    gops_problem problem = grouped();
    char algorithm[32], why[512], text[2048];
    size_t bytes;
    problem.choices = create();
    problem.algorithm = "fastest";
    plan_info(&problem, algorithm, why);
    char *written = write_text(problem.choices, &bytes);
    gops_choices_destroy(problem.choices);
    static const char *const names[] = {"winograd", "", "gemm ", "direct/", "twopass", "gemm/rows"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        replace_algorithm(written, names[i], text, sizeof text);
        refuse(names[i], text, strlen(text), 2);
    }
    free(written);
    char *endless = gops_test_allocate(100000);
    memset(endless, 'x', 100000);
    memcpy(endless, "groupops-choices 1 lines=1\n", 27);
    endless[99999] = '\n';
    refuse("a long line", endless, 100000, 2);
    free(endless);
}

static void arguments(void)
{
    gops_choices *choices = create();
    gops_error error;
    size_t bytes;
    char byte;
#define REFUSED(call, text)                                                                        \
    error = gops_fresh_error();                                                                    \
    gops_check_refusal(#call, call, &error, GOPS_INVALID, text)
    REFUSED(gops_choices_create(NULL, NULL, &error), "choices is NULL");
    REFUSED(gops_choices_read(NULL, "", 0, &error), "choices is NULL");
    REFUSED(gops_choices_read(choices, NULL, 1, &error), "text is NULL");
    REFUSED(gops_choices_write(NULL, &byte, 1, &bytes, &error), "choices is NULL");
    REFUSED(gops_choices_write(choices, &byte, 1, NULL, &error), "bytes is NULL");
    REFUSED(gops_choices_write(choices, NULL, 1000, &bytes, &error), "text is NULL");
#undef REFUSED
    gops_test_check(gops_choices_count(NULL) == 0, "NULL holds choices");
    gops_choices_destroy(NULL);
    gops_choices_destroy(choices);
}

/* A plan by measuring, and choices that are written and read, with every allocation failing in
 * turn. */
static void out_of_memory(void)
{
    gops_test_heap heap;
    size_t bytes;
    char *text = some_text(&bytes);
    int64_t failures = 0;
    for (int64_t fail_at = 1;; fail_at++) {
        gops_error error = gops_fresh_error();
        gops_choices *choices;
        gops_plan *plan = NULL;
        gops_test_heap_start(&heap);
        heap.fail_at = fail_at;
        const gops_host host = gops_test_heap_host(&heap);
        gops_problem problem = grouped();
        gops_status status = gops_choices_create(&host, &choices, &error);
        problem.host = &host;
        problem.choices = choices;
        problem.algorithm = "fastest";
        problem.threads = 2;
        if (status == GOPS_OK)
            status = gops_problem_plan(&problem, &plan, &error);
        const int64_t before = gops_choices_count(choices);
        if (status == GOPS_OK)
            status = gops_choices_read(choices, text, bytes, &error);
        gops_test_check(status == GOPS_OK || gops_choices_count(choices) == before,
                        "call %lld: some were added", (long long)fail_at);
        gops_plan_destroy(plan);
        gops_choices_destroy(choices);
        gops_test_check(heap.live == 0 && heap.misuses == 0, "call %lld failed: %lld left",
                        (long long)fail_at, (long long)heap.live);
        if (heap.calls < fail_at) {
            gops_test_check(status == GOPS_OK, "nothing failed, and yet: %s", error.message);
            break;
        }
        failures++;
        if (!gops_test_check(status == GOPS_OUT_OF_MEMORY && error.status == status,
                             "call %lld failed, status \"%s\"", (long long)fail_at,
                             gops_status_name(status)))
            break;
    }
    gops_test_check(failures > 10, "%lld allocations", (long long)failures);
    free(text);
}

static int no_parallel(void *context, void (*task)(void *argument, int64_t index), void *argument,
                       int64_t count)
{
    (void)context;
    (void)task;
    (void)argument;
    (void)count;
    return 7;
}

static void host_that_fails(void)
{
    gops_test_heap heap;
    gops_test_heap_start(&heap);
    gops_host host = gops_test_heap_host(&heap);
    gops_problem problem = grouped();
    gops_plan *plan;
    gops_error error = gops_fresh_error();
    host.parallel_for = no_parallel;
    problem.data = GOPS_TEST_TENSOR(GOPS_F32, 2, 15, 41, 43);
    problem.host = &host;
    problem.threads = 2;
    problem.algorithm = "fastest";
    gops_check_refusal("fastest", gops_problem_plan(&problem, &plan, &error), &error,
                       GOPS_HOST_FAILED, "host.parallel_for returned 7");
    gops_test_check(plan == NULL && heap.live == 0, "%lld allocations left", (long long)heap.live);
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"measured", measured},
        {"saved_is_taken", saved_is_taken},
        {"saved_is_not_measured", saved_is_not_measured},
        {"problems_differ", problems_differ},
        {"instruction_sets_differ", instruction_sets_differ},
        {"text_comes_back", text_comes_back},
        {"damage_is_refused", damage_is_refused},
        {"foreign_is_refused", foreign_is_refused},
        {"arguments", arguments},
        {"out_of_memory", out_of_memory},
        {"host_that_fails", host_that_fails},
        {NULL, NULL},
    };
    return gops_test_main("choices", cases);
}
