/*
 * Integers where exactness is hardest: the largest products of a type, and sums of few and of very
 * many of them, against exact integers. By every algorithm, on every instruction set, with
 * unlimited, usual and the least workspace.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "problem.h"
#include "elements.h"
#include "harness.h"

/* What data and filter are made of. */
typedef enum pattern {
    LOWEST,    /* both at the type's lowest value: the largest product of a signed type */
    HIGHEST,   /* both at the highest: the largest product of an unsigned type */
    OPPOSITE,  /* data at the highest, filter at the lowest: the most negative product */
    ALTERNATE, /* extremes of either sign: large sums that cancel and come back */
    ANY,       /* random bits */
    PATTERNS
} pattern;

static uint64_t lowest(gops_type type)
{
    return gops_test_type_is_signed(type) ? UINT64_C(1) << (8 * gops_test_type_bytes(type) - 1) : 0;
}

static void fill(gops_type type, void *elements, int64_t count, pattern kind, int is_filter,
                 gops_test_random *random)
{
    if (kind == ANY) {
        gops_test_random_fill(random, type, elements, count);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        int low = kind == LOWEST || (kind == OPPOSITE && is_filter);
        if (kind == ALTERNATE) {
            low = is_filter ? i / 700 % 2 == 0 : i % 11 < 6;
        }
        gops_test_set_integer(type, elements, i, low ? lowest(type) : lowest(type) - 1);
    }
}

/* The least max_workspace, to a factor of 2, that the problem can be planned with; any where it is refused for
 * another reason, which no workspace changes. */
static int64_t least_workspace(const gops_problem *problem)
{
    gops_problem trial = *problem;
    for (trial.max_workspace = 256;; trial.max_workspace *= 2) {
        gops_plan *plan;
        gops_error error;
        gops_status status = gops_problem_plan(&trial, &plan, &error);
        gops_plan_destroy(plan);
        if (status != GOPS_INVALID || trial.max_workspace > INT32_MAX) {
            return trial.max_workspace;
        }
    }
}

/* Only gemm, and the choice between all, take every shape in every workspace. */
static int may_refuse(const gops_problem *problem)
{
    return problem->algorithm != NULL && strcmp(problem->algorithm, "gemm") != 0;
}

/* Returns whether the workspace was enough, and the problem is one that the algorithm serves. */
static bool run_one(gops_problem *problem, const gops_problem_buffers *buffers,
                    const gops_reference_result *result, const char *isa)
{
    gops_error error = {GOPS_OK, ""};
    const size_t bytes =
        (size_t)gops_test_elements(&result->tensor) * gops_test_type_bytes(result->tensor.type);
    memset(buffers->output.memory, 0xa5, bytes);
    const gops_status status = gops_problem_run(problem, buffers, &error);
    if (may_refuse(problem) &&
        (status == GOPS_UNSUPPORTED || strstr(error.message, "max_workspace") != NULL)) {
        return false;
    }
    if (gops_test_check(status == GOPS_OK, "%s: %s", isa, error.message)) {
        gops_test_check(gops_problem_compare(problem, result, buffers->output.memory),
                        "wrong on %s", isa);
    }
    return true;
}

/* In unlimited, usual and the least workspace. */
static void run_workspaces(gops_problem *problem, const gops_problem_buffers *buffers,
                           const gops_reference_result *result, const char *isa)
{
    problem->max_workspace = GOPS_UNLIMITED;
    const bool served = run_one(problem, buffers, result, isa);
    problem->max_workspace = 0;
    if (served) {
        run_one(problem, buffers, result, isa);
        problem->max_workspace = least_workspace(problem);
        run_one(problem, buffers, result, isa);
        problem->max_workspace = 0;
    }
}

/* Every instruction set, algorithm and workspace; the buffers are filled. */
static void run_all(gops_problem *problem, const gops_problem_buffers *buffers)
{
    gops_reference_result result;
    bool runs;
    /* Sums of 2^18 products take their time: in the usual workspace only. */
    const int huge = gops_test_elements(&problem->filter) > 1 << 17;
    gops_problem_reference(problem, buffers, &result);
    for (int i = 0; gops_isa_name(i, &runs) != NULL; i++) {
        setenv("GROUPOPS_ISA", gops_isa_name(i, NULL), 1);
        for (int a = 0; runs && (a == 0 || gops_algorithm_name(a - 1) != NULL); a++) {
            problem->algorithm = a == 0 ? NULL : gops_algorithm_name(a - 1);
            if (huge) {
                run_one(problem, buffers, &result, gops_isa_name(i, NULL));
            } else {
                run_workspaces(problem, buffers, &result, gops_isa_name(i, NULL));
            }
        }
    }
    unsetenv("GROUPOPS_ISA");
    problem->algorithm = NULL;
    gops_reference_result_destroy(&result);
}

static void run_patterns(gops_problem problem, unsigned patterns)
{
    gops_reference_geometry geometry;
    gops_tensor output;
    gops_test_random random = gops_test_random_start(gops_test_seed(), 81);
    gops_test_check(gops_problem_reference_shape(&problem, &geometry, &output), "refused");
    gops_problem_buffers buffers = gops_problem_buffers_create(&problem, &output, &random);
    for (int p = 0; p < PATTERNS; p++) {
        if ((patterns >> p & 1) != 0) {
            fill(problem.data.type, buffers.data.memory, gops_test_elements(&problem.data),
                 (pattern)p, 0, &random);
            fill(problem.filter.type, buffers.weights.memory, gops_test_elements(&problem.filter),
                 (pattern)p, 1, &random);
            run_all(&problem, &buffers);
        }
    }
    gops_problem_buffers_destroy(&buffers);
}

enum { ALL = (1 << PATTERNS) - 1, FEW = 1 << LOWEST | 1 << HIGHEST | 1 << ANY };

/* Three outputs to a channel, of sums of K = c_in * taps products. */
static gops_problem conv_of(gops_type type, int64_t groups, int64_t c_in, int64_t c_out,
                            int64_t taps)
{
    return (gops_problem){
        .operation = GOPS_PROBLEM_CONV,
        .data = GOPS_TEST_TENSOR(type, 1, groups * c_in, taps + 2),
        .filter = GOPS_TEST_TENSOR(type, groups, c_out, c_in, taps),
    };
}

/* The output in the middle gets the products of all taps. */
static gops_problem deconv_of(gops_type type, int64_t groups, int64_t c_in, int64_t c_out,
                              int64_t taps)
{
    return (gops_problem){
        .operation = GOPS_PROBLEM_DECONV,
        .data = GOPS_TEST_TENSOR(type, 1, groups * c_in, taps),
        .filter = GOPS_TEST_TENSOR(type, groups, c_in, c_out, taps),
    };
}

/* A sum of K products, as K channels, as K taps, and as both. */
static void with_k(gops_type type, int64_t k, unsigned patterns)
{
    run_patterns(conv_of(type, 2, k, 3, 1), patterns);
    run_patterns(conv_of(type, 1, 1, 2, k), patterns);
    run_patterns(conv_of(type, 1, (k + 6) / 7, 5, 7), patterns);
    run_patterns(deconv_of(type, 2, k, 3, 1), patterns);
    run_patterns(deconv_of(type, 1, (k + 6) / 7, 2, 7), patterns);
}

static void deconv_with_k_taps(void)
{
    run_patterns(deconv_of(GOPS_I8, 1, 1, 1, 1025), FEW);
    run_patterns(deconv_of(GOPS_U8, 1, 2, 3, 261), FEW);
}

static void every_type(void)
{
    static const gops_type types[] = {GOPS_I8,  GOPS_U8,  GOPS_I16, GOPS_U16,
                                      GOPS_I32, GOPS_U32, GOPS_I64, GOPS_U64};
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        with_k(types[t], 17, ALL);
        with_k(types[t], 259, ALL);
        with_k(types[t], 1031, ALL);
        /* So many products of -128 and -128 are beyond 2^32. */
        run_patterns(conv_of(types[t], 1, 1, 1, 262147), FEW);
        run_patterns(deconv_of(types[t], 1, 262147, 1, 1), FEW);
    }
}

/* Matrices of every shape that the integer kernel's tiles and edges tell apart: M rows of filter, N
 * output pixels. */
static void tile_edges(void)
{
    static const gops_type types[] = {GOPS_I16, GOPS_U32, GOPS_I64};
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        for (int64_t m = 1; m <= 19; m++) {
            for (int64_t n = 1; n <= 131; n += m % 3 == 0 ? 1 : 5) {
                gops_problem p = conv_of(types[t], 1, 3, m, 5);
                p.data.dims[2] = n + 4;
                run_patterns(p, 1 << ANY);
            }
        }
    }
}

/* Zero points as ONNX ConvInteger has them. */
static void with_zero_points(gops_problem problem, gops_type filter_type, int64_t channels)
{
    int64_t zeros[64];
    const int64_t low = problem.data.type == GOPS_I8 ? -128 : 0;
    const int64_t filter_low = filter_type == GOPS_I8 ? -128 : 0;
    const int64_t data_zeros[] = {low, low + 255, low + 131};
    problem.filter.type = filter_type;
    problem.output_type = GOPS_I32;
    run_patterns(problem, FEW);
    for (int i = 0; i < 3; i++) {
        problem.data_zero_point = &data_zeros[i];
        problem.filter_zero_points = NULL;
        problem.filter_zero_point_count = 0;
        run_patterns(problem, FEW);
        problem.filter_zero_points = zeros;
        problem.filter_zero_point_count = 1;
        zeros[0] = filter_low + (i == 1 ? 255 : 3 * i);
        run_patterns(problem, FEW | 1 << OPPOSITE);
        for (int64_t c = 0; c < channels; c++) {
            zeros[c] = filter_low + (c * 101 + (i == 0 ? 255 : 0)) % 256;
        }
        problem.filter_zero_point_count = channels;
        run_patterns(problem, FEW | 1 << OPPOSITE);
    }
}

static void quantized_of(gops_type data, gops_type filter)
{
    gops_problem p = conv_of(data, 3, 5, 2, 3);
    p.data = GOPS_TEST_TENSOR(data, 2, 15, 11, 13);
    p.filter = GOPS_TEST_TENSOR(data, 3, 2, 5, 3, 5);
    p.conv.pads_begin = p.conv.pads_end = (gops_list){2, {2, 1}};
    p.conv.strides = (gops_list){2, {1, 2}};
    with_zero_points(p, filter, 6);
    p = deconv_of(data, 3, 5, 2, 3);
    p.data = GOPS_TEST_TENSOR(data, 2, 15, 7, 5);
    p.filter = GOPS_TEST_TENSOR(data, 3, 5, 2, 3, 4);
    p.deconv.strides = (gops_list){2, {2, 1}};
    p.deconv.pads_begin = p.deconv.pads_end = (gops_list){2, {1, 2}};
    with_zero_points(p, filter, 6);
}

static void quantized(void)
{
    quantized_of(GOPS_I8, GOPS_I8);
    quantized_of(GOPS_U8, GOPS_I8);
    quantized_of(GOPS_I8, GOPS_U8);
    quantized_of(GOPS_U8, GOPS_U8);
}

/* Differences of 255 and -255, up to where the i32 itself wraps. */
static void quantized_around_k(void)
{
    static const int64_t ks[] = {259, 1291, 33027};
    for (size_t i = 0; i < sizeof ks / sizeof ks[0]; i++) {
        const int64_t data_zero = 127, filter_zero = -128;
        for (int deconv = 0; deconv <= 1; deconv++) {
            gops_problem p =
                deconv ? deconv_of(GOPS_I8, 1, ks[i], 2, 1) : conv_of(GOPS_I8, 1, 1, 2, ks[i]);
            p.output_type = GOPS_I32;
            p.data_zero_point = &data_zero;
            p.filter_zero_points = &filter_zero;
            p.filter_zero_point_count = 1;
            run_patterns(p, ALL);
        }
    }
}

int main(void)
{
    static const gops_test_case cases[] = {{"every_type", every_type},
                                           {"deconv_with_k_taps", deconv_with_k_taps},
                                           {"tile_edges", tile_edges},
                                           {"quantized", quantized},
                                           {"quantized_around_k", quantized_around_k},
                                           {NULL, NULL}};
    return gops_test_main("integers", cases);
}
