/*
 * accuracy=relaxed of bf16 (of f32 and f64: test_winograd.c): within the bound of groupops/plan.h on
 * every instruction set and algorithm, with denormals too; where nothing is relaxed, the bits of
 * exact.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "elements.h"
#include "every_plan.h"
#include "harness.h"
#include "random_problem.h"

enum { COUNT = 120 };

/* One problem in execution by all plans. */
typedef struct trial {
    gops_problem *problem;
    gops_problem_buffers buffers;
    gops_reference_result expected;
    int64_t with_bf16; /* plans that multiply pairs */
} trial;

static bool takes_bf16(const gops_plan *plan)
{
    gops_plan_info info = {.size = sizeof info};
    gops_plan_get_info(plan, &info, NULL);
    return strstr(info.why, "relaxed") != NULL;
}

static int one_plan(void *context, const gops_plan *plan)
{
    trial *t = context;
    t->with_bf16 += takes_bf16(plan);
    return gops_test_one_result(t->problem, plan, &t->buffers, &t->expected);
}

/* Numbers of all sizes, the denormal ones included, whose sums of products neither outgrow an f32
 * nor lose all to one. */
static void fill_wide(gops_test_random *random, void *values, int64_t count, int low, int high)
{
    for (int64_t i = 0; i < count; i++) {
        const double real = gops_test_random_real(random);
        const int exponent = (int)gops_test_random_range(random, low, high);
        gops_test_set_real(GOPS_BF16, values, i, (long double)ldexp(real, exponent));
    }
}

/* A few of the values become infinite or NaN. */
static void fill_nonfinite(gops_test_random *random, void *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (gops_test_random_chance(random, 1))
            gops_test_set_real(GOPS_BF16, values, i,
                               gops_test_random_chance(random, 50) ? (long double)INFINITY
                                                                   : (long double)NAN);
}

/* Whether an instruction set in use multiplies pairs. */
static bool has_bf16(void)
{
    static const char *const with[] = {"avx512bf16", "amx", "amx_emulated"};
    const char *held = getenv("GROUPOPS_ISA");
    bool found = false;
    for (size_t n = 0; n < sizeof with / sizeof with[0]; n++)
        found |= gops_test_isa_runs(with[n]) && (held == NULL || strcmp(held, with[n]) == 0);
    return found;
}

typedef enum values { USUAL, WIDE, NONFINITE, KINDS } values;

static void try_values(gops_problem_operation operation, values kind)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), operation * KINDS + kind);
    int64_t with_bf16 = 0;
    for (int i = 0; i < COUNT; i++) {
        gops_problem p = gops_random_problem(operation, GOPS_BF16, &random);
        gops_reference_geometry g;
        gops_tensor output;
        p.accuracy = GOPS_ACCURACY_RELAXED;
        p.threads = 2;
        p.max_workspace = gops_random_budget(&random);
        if (kind == USUAL)
            gops_random_fusion(&p, &random);
        gops_random_channel_gaps(&p, &random);
        gops_problem_reference_shape(&p, &g, &output);
        trial t = {.problem = &p, .buffers = gops_problem_buffers_create(&p, &output, &random)};
        const int64_t elements = gops_test_elements(&p.data);
        if (kind == WIDE) {
            const int low = gops_test_random_chance(&random, 50) ? -136 : -90;
            fill_wide(&random, t.buffers.data.memory, elements, low, low + 110);
            fill_wide(&random, t.buffers.weights.memory, gops_test_elements(&p.filter), -136 - low,
                      10);
        }
        if (kind == NONFINITE)
            fill_nonfinite(&random, t.buffers.data.memory, elements);
        gops_problem_reference(&p, &t.buffers, &t.expected);
        gops_test_every_plan(&p, one_plan, &t);
        with_bf16 += t.with_bf16;
        gops_reference_result_destroy(&t.expected);
        gops_problem_buffers_destroy(&t.buffers);
    }
    gops_test_check(with_bf16 > COUNT / 2 || !has_bf16(), "%lld plans multiplied pairs of bf16",
                    (long long)with_bf16);
}

static void convolutions(void)
{
    try_values(GOPS_PROBLEM_CONV, USUAL);
}

static void transposed(void)
{
    try_values(GOPS_PROBLEM_DECONV, USUAL);
}

static void denormals(void)
{
    try_values(GOPS_PROBLEM_CONV, WIDE);
    try_values(GOPS_PROBLEM_DECONV, WIDE);
}

static void nonfinite(void)
{
    try_values(GOPS_PROBLEM_CONV, NONFINITE);
    try_values(GOPS_PROBLEM_DECONV, NONFINITE);
}

/* Runs the problem with the accuracy; returns the output, to be freed, of `bytes` bytes. */
static void *output_of(gops_problem p, gops_accuracy accuracy, const gops_problem_buffers *buffers,
                       size_t bytes)
{
    p.accuracy = accuracy;
    gops_test_check(gops_problem_run(&p, buffers, NULL) == GOPS_OK, "not executed");
    return memcpy(gops_test_allocate(bytes), buffers->output.memory, bytes);
}

/* The bits are those of exact where the plan does not say otherwise: for all other types, and where
 * the instruction set has no bf16. */
static void exact_elsewhere(void)
{
    static const gops_type types[] = {GOPS_F32, GOPS_F16, GOPS_F64, GOPS_I8, GOPS_BF16};
    gops_test_random random = gops_test_random_start(gops_test_seed(), 90);
    setenv("GROUPOPS_ISA", "portable", 1);
    for (int i = 0; i < 100; i++) {
        const gops_type type = types[i % 5];
        const bool winograd = type == GOPS_F32 || type == GOPS_F64; /* of convolutions */
        gops_problem p = gops_random_problem(
            i % 2 == 0 && !winograd ? GOPS_PROBLEM_CONV : GOPS_PROBLEM_DECONV, type, &random);
        gops_reference_geometry g;
        gops_tensor output;
        gops_problem_reference_shape(&p, &g, &output);
        gops_problem_buffers buffers = gops_problem_buffers_create(&p, &output, &random);
        const size_t bytes = (size_t)gops_test_elements(&output) * gops_test_type_bytes(type);
        void *exact = output_of(p, GOPS_ACCURACY_EXACT, &buffers, bytes);
        void *relaxed = output_of(p, GOPS_ACCURACY_RELAXED, &buffers, bytes);
        gops_test_check(gops_test_compare_bytes("relaxed", &output, relaxed, exact),
                        "other bits in %s", gops_test_type_name(type));
        free(exact);
        free(relaxed);
        gops_problem_buffers_destroy(&buffers);
    }
    unsetenv("GROUPOPS_ISA");
}

static const gops_tensor weights = {GOPS_BF16, 5, {1, 19, 7, 3, 2}};

static gops_plan *emulated_plan(gops_accuracy accuracy, int64_t width)
{
    const gops_tensor data = {GOPS_BF16, 4, {1, 7, 11, width}};
    const gops_options options = {
        .size = sizeof options, .algorithm = "implicit", .accuracy = accuracy, .threads = 1};
    gops_plan *plan = NULL;
    setenv("GROUPOPS_ISA", "amx_emulated", 1);
    gops_test_check(gops_conv_plan_create(&data, &weights, NULL, &options, &plan, NULL) == GOPS_OK,
                    "no plan");
    unsetenv("GROUPOPS_ISA");
    return plan;
}

/* A reshape keeps the accuracy; a filter is packed for one or the other. */
static void plans(void)
{
    static const uint16_t zeros[19 * 7 * 3 * 2];
    if (!gops_test_isa_runs("amx_emulated"))
        gops_test_skip("the library is built without the emulation of AMX");
    gops_plan *relaxed = emulated_plan(GOPS_ACCURACY_RELAXED, 13);
    gops_plan *exact = emulated_plan(GOPS_ACCURACY_EXACT, 13), *reshaped = NULL;
    const gops_tensor data = {GOPS_BF16, 4, {1, 7, 11, 17}};
    gops_packed_filter *filter = NULL;
    gops_plan_reshape(relaxed, &data, NULL, &reshaped, NULL);
    gops_test_check(takes_bf16(relaxed) && !takes_bf16(exact) && takes_bf16(reshaped),
                    "relaxed %d, exact %d, reshaped %d", takes_bf16(relaxed), takes_bf16(exact),
                    takes_bf16(reshaped));
    gops_test_check(gops_filter_create(relaxed, zeros, NULL, &filter, NULL) == GOPS_OK,
                    "no filter");
    gops_test_check(gops_filter_update(exact, filter, zeros, NULL, NULL) == GOPS_INVALID,
                    "a filter of the other accuracy is taken");
    gops_filter_destroy(filter);
    gops_plan_destroy(relaxed);
    gops_plan_destroy(exact);
    gops_plan_destroy(reshaped);
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"convolutions", convolutions},
        {"transposed", transposed},
        {"denormals", denormals},
        {"nonfinite", nonfinite},
        {"exact_elsewhere", exact_elsewhere},
        {"plans", plans},
        {NULL, NULL},
    };
    return gops_test_main("accuracy relaxed", cases);
}
