/* Algorithms that are measured, and choices that are saved and taken. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choice_problems.h"
#include "refusal.h"
#include "elements.h"
#include "lent_host.h"
#include "harness.h"
#include "wide_numbers.h"

/* The reference's values come out, by an algorithm that can be had by its name too. Measuring
 * allocates what it works on; where there is one algorithm only, nothing is measured. */
static void measured_is_right(gops_problem problem, gops_test_random *random)
{
    char algorithm[32];
    gops_test_heap heap;
    problem.algorithm = "fastest";
    gops_problem_check(&problem, random);
    gops_test_heap_start(&heap);
    const gops_host host = gops_test_heap_host(&heap);
    gops_problem lent = problem;
    lent.host = &host;
    if (!gops_choice_algorithm(&lent, algorithm))
        return;
    gops_test_check(problem.operation == GOPS_PROBLEM_NORM || problem.output_type != 0 ||
                        heap.calls > 3,
                    "%s after %lld allocations", algorithm, (long long)heap.calls);
    problem.algorithm = algorithm;
    gops_problem_check(&problem, random);
}

static void measured(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 91);
    gops_problem problems[] = {gops_choice_grouped(),    gops_choice_depthwise(),
                               gops_choice_transposed(), gops_choice_norm(),
                               gops_choice_grouped(),    gops_choice_grouped()};
    problems[4].data = GOPS_TEST_TENSOR(GOPS_U8, 1, 15, 13, 11);
    problems[4].filter = GOPS_TEST_TENSOR(GOPS_U8, 3, 7, 5, 3, 2);
    problems[4].output_type = GOPS_I32;
    problems[4].threads = 2;
    problems[5] = problems[4];
    problems[5].filter.type = GOPS_I8;
    problems[5].output_type = GOPS_BF16;
    problems[5].residual_type = GOPS_I8;
    problems[5].with_bias = problems[5].with_residual = 1;
    problems[5].quantization.size = sizeof problems[5].quantization;
    problems[5].quantization.data_scale = 0.01F;
    problems[5].quantization.data_zero_point = 131;
    problems[5].activation.kind = GOPS_ACTIVATION_RELU;
    for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++)
        measured_is_right(problems[i], &random);
    problems[0].data.dims[0] = 0; /* nothing to measure on */
    problems[0].algorithm = "fastest";
    gops_problem_check(&problems[0], &random);
}

/* Choices with the algorithm for the problem, whether it serves or not, read from their text. */
static gops_choices *choices_with(gops_problem problem, const char *algorithm)
{
    char measured[32], text[2048];
    gops_error error = gops_fresh_error();
    size_t bytes;
    problem.algorithm = "fastest";
    problem.choices = gops_choice_create();
    gops_choice_algorithm(&problem, measured);
    char *written = gops_choice_write_text(problem.choices, &bytes);
    gops_choices_destroy(problem.choices);
    gops_choice_replace_algorithm(written, algorithm, text, sizeof text);
    free(written);
    gops_choices *choices = gops_choice_create();
    gops_test_check(gops_choices_read(choices, text, strlen(text), &error) == GOPS_OK,
                    "reading: %s", error.message);
    return choices;
}

/* A choice that neither the estimate nor a measurement would make is taken all the same, by "auto"
 * and "fastest"; so they do look it up. */
static void saved_is_taken(void)
{
    gops_problem problem = gops_choice_grouped();
    char estimated[32], algorithm[32];
    gops_choice_algorithm(&problem, estimated);
    const char *other = strcmp(estimated, "gemm") == 0 ? "implicit" : "gemm";
    for (int fastest = 0; fastest < 2; fastest++) {
        problem.choices = choices_with(problem, other);
        problem.algorithm = fastest ? "fastest" : "auto";
        gops_choice_algorithm(&problem, algorithm);
        gops_test_check(strcmp(algorithm, other) == 0, "%s: %s", problem.algorithm, algorithm);
        gops_test_check(gops_choices_count(problem.choices) == 1, "a choice was added");
        problem.algorithm = estimated; /* asked for by name */
        gops_choice_algorithm(&problem, algorithm);
        gops_test_check(strcmp(algorithm, estimated) == 0, "%s for %s", algorithm, estimated);
        gops_choices_destroy(problem.choices);
    }
}

/* A saved choice that this problem cannot be computed by: the estimate decides. */
static void saved_does_not_serve(void)
{
    gops_problem problem = gops_choice_grouped();
    char estimated[32], algorithm[32];
    gops_choice_algorithm(&problem, estimated);
    problem.choices = choices_with(problem, "depthwise/shuffle");
    gops_choice_algorithm(&problem, algorithm);
    gops_test_check(strcmp(algorithm, estimated) == 0, "%s for %s", algorithm, estimated);
    gops_choices_destroy(problem.choices);
}

/* A name without its form, written by hand: the forms are chosen from by their estimates, and the
 * text stays as it is. */
static void saved_without_a_form(void)
{
    gops_problem problem = gops_choice_depthwise();
    char forced[32], algorithm[32];
    size_t bytes;
    problem.algorithm = "depthwise";
    gops_choice_algorithm(&problem, forced);
    problem.algorithm = NULL;
    problem.choices = choices_with(problem, "depthwise");
    gops_choice_algorithm(&problem, algorithm);
    gops_test_check(strncmp(algorithm, "depthwise/", 10) == 0 && strcmp(algorithm, forced) == 0,
                    "%s for %s", algorithm, forced);
    char *text = gops_choice_write_text(problem.choices, &bytes);
    gops_test_check(strstr(text, " algorithm=depthwise sum=") != NULL, "%s", text);
    free(text);
    gops_choices_destroy(problem.choices);
}

/* Without measuring there is one allocation, the plan's. */
static void saved_is_not_measured(void)
{
    gops_problem problem = gops_choice_depthwise();
    char algorithm[32], again[32];
    gops_test_heap heap;
    problem.choices = gops_choice_create();
    problem.algorithm = "fastest";
    for (int i = 0; i < 2; i++) {
        gops_test_heap_start(&heap);
        const gops_host host = gops_test_heap_host(&heap);
        problem.host = &host;
        gops_choice_algorithm(&problem, i == 0 ? algorithm : again);
        gops_test_check(i == 0 ? heap.calls > 3 : heap.calls == 1, "%lld allocations",
                        (long long)heap.calls);
        gops_test_check(heap.live == 0 && heap.misuses == 0, "%lld left", (long long)heap.live);
    }
    gops_test_check(strcmp(algorithm, again) == 0, "%s, then %s", algorithm, again);
    gops_choices_destroy(problem.choices);
}

static void expect_another(gops_problem problem, const char *what)
{
    char algorithm[32];
    const int64_t before = gops_choices_count(problem.choices);
    problem.algorithm = "fastest";
    gops_choice_algorithm(&problem, algorithm);
    gops_test_check(gops_choices_count(problem.choices) == before + 1, "%s made no difference",
                    what);
    gops_choice_algorithm(&problem, algorithm);
    gops_test_check(gops_choices_count(problem.choices) == before + 1, "%s twice", what);
}

/* Each part of a problem makes a choice of its own. */
static void problems_differ(void)
{
    gops_problem p = gops_choice_grouped();
    p.threads = 1;
    p.choices = gops_choice_create();
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
    WITH(accuracy = GOPS_ACCURACY_RELAXED)
    WITH(divisible = true)
    WITH(data_channel_gap = 5)
    WITH(data_channel_gap = 7)
    WITH(output_channel_gap = 5)
    const gops_host host = {.size = sizeof host, .gemm = gops_test_own_gemm()};
    if (gops_test_host_gemm() == NULL)
        WITH(host = &host)
#undef WITH
    gops_problem problem = gops_choice_norm();
    problem.choices = p.choices;
    expect_another(problem, "a normalization");
    problem.output_channel_gap = 3;
    expect_another(problem, "the normalization's channel stride");
    problem = p;
    problem.data.dims[1] = 5 * (problem.filter.dims[0] = 5);
    problem.filter.dims[2] = 5;
    expect_another(problem, "groups");
    problem = p;
    problem.data.type = problem.filter.type = GOPS_I8;
    expect_another(problem, "the type");
    problem.output_type = GOPS_I8;
    expect_another(problem, "quantized, of the same types");
    static const gops_type outputs[] = {GOPS_I32, GOPS_U8, GOPS_F32, GOPS_F16, GOPS_BF16};
    for (int i = 0; i < 5; i++) {
        problem.output_type = outputs[i];
        expect_another(problem, "the output's type");
    }
    problem.residual_type = GOPS_I8;
    expect_another(problem, "the residual's type");
    problem.filter.type = GOPS_U8;
    expect_another(problem, "the filter's type");
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
    gops_problem problem = gops_choice_grouped();
    problem.choices = gops_choice_create();
    bool runs = false;
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

/* A plan by measuring, and choices that are written and read, with every allocation failing in
 * turn. */
static void out_of_memory(void)
{
    gops_test_heap heap;
    size_t bytes;
    char *text = gops_choice_some_text(&bytes);
    int64_t failures = 0;
    for (int64_t fail_at = 1;; fail_at++) {
        gops_error error = gops_fresh_error();
        gops_choices *choices;
        gops_plan *plan = NULL;
        gops_test_heap_start(&heap);
        heap.fail_at = fail_at;
        const gops_host host = gops_test_heap_host(&heap);
        gops_problem problem = gops_choice_grouped();
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

/* Does its tasks, until the calls that it was given are used up. */
static int failing_for(void *context, void (*task)(void *argument, int64_t index), void *argument,
                       int64_t count)
{
    int *left = context;
    for (int64_t i = 0; *left > 0 && i < count; i++)
        task(argument, i);
    return (*left)-- > 0 ? 0 : 7;
}

/* Every call in turn, while the algorithms are tried once and while they are measured; how many
 * there are then depends on the time that they take. */
static void host_that_fails(void)
{
    gops_problem problem = gops_choice_grouped();
    gops_choices *choices = gops_choice_create();
    int calls = 0, done = 0;
    problem.data = GOPS_TEST_TENSOR(GOPS_F32, 2, 15, 41, 43);
    problem.threads = 2;
    problem.algorithm = "fastest";
    problem.choices = choices;
    for (; !done && calls < 40; calls++) {
        gops_plan *plan;
        gops_error error = gops_fresh_error();
        int left = calls;
        const gops_host host = {.size = sizeof host, .parallel_for = failing_for, .context = &left};
        problem.host = &host;
        const gops_status status = gops_problem_plan(&problem, &plan, &error);
        done = status == GOPS_OK;
        gops_test_check(done == (left >= 0), "the failure after %d calls went unnoticed", calls);
        if (!done)
            gops_check_refusal("fastest", status, &error, GOPS_HOST_FAILED,
                               "host.parallel_for returned 7");
        gops_test_check(gops_choices_count(choices) == done && (plan != NULL) == done,
                        "after %d calls: a choice", calls);
        gops_plan_destroy(plan);
    }
    gops_test_check(calls > 6, "%d calls were enough to measure", calls);
    gops_choices_destroy(choices);
}

/* Tensors beyond the machine's memory are refused, not measured: 3 PB. */
static void beyond_memory(void)
{
    gops_problem problem = gops_choice_grouped();
    gops_plan *plan;
    gops_error error = gops_fresh_error();
    gops_test_heap heap;
    gops_test_heap_start(&heap);
    const gops_host host = gops_test_heap_host(&heap);
    problem.data.dims[0] = 1 << 30;
    problem.data.dims[2] = 200;
    problem.data.dims[3] = 100;
    problem.host = &host;
    problem.algorithm = "fastest";
    const gops_status status = gops_problem_plan(&problem, &plan, &error);
    gops_test_check(plan == NULL && heap.live == 0 && heap.calls <= 1 && status == error.status &&
                        (GOPS_TEST_32_BIT
                             ? status == GOPS_TOO_LARGE
                             : status == GOPS_OUT_OF_MEMORY &&
                                   strncmp(error.message, "measuring takes ", 16) == 0),
                    "%lld allocations, \"%s\"", (long long)heap.calls, error.message);
}

/* A plan keeps no choices, and its reshapes neither look them up nor measure: one allocation each. */
static void reshaped_without_choices(void)
{
    gops_problem problem = gops_choice_depthwise();
    gops_test_heap heap;
    gops_plan *plan, *reshaped = NULL;
    gops_error error = {GOPS_OK, ""};
    gops_test_heap_start(&heap);
    const gops_host host = gops_test_heap_host(&heap);
    problem.host = &host;
    problem.choices = gops_choice_create();
    problem.algorithm = "fastest";
    gops_test_check(gops_problem_plan(&problem, &plan, &error) == GOPS_OK, "%s", error.message);
    gops_choices_destroy(problem.choices);
    const int64_t before = heap.calls;
    problem.data.dims[2] += 3;
    gops_test_check(gops_plan_reshape(plan, &problem.data, NULL, &reshaped, &error) == GOPS_OK,
                    "%s", error.message);
    gops_test_check(heap.calls == before + 1, "%lld allocations", (long long)(heap.calls - before));
    gops_plan_destroy(reshaped);
    gops_plan_destroy(plan);
    gops_test_check(heap.live == 0, "%lld left", (long long)heap.live);
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"measured", measured},
        {"saved_is_taken", saved_is_taken},
        {"saved_does_not_serve", saved_does_not_serve},
        {"saved_without_a_form", saved_without_a_form},
        {"saved_is_not_measured", saved_is_not_measured},
        {"reshaped_without_choices", reshaped_without_choices},
        {"problems_differ", problems_differ},
        {"instruction_sets_differ", instruction_sets_differ},
        {"out_of_memory", out_of_memory},
        {"host_that_fails", host_that_fails},
        {"beyond_memory", beyond_memory},
        {NULL, NULL},
    };
    return gops_test_main("choices", cases);
}
