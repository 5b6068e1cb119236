/* The examples of the three pages of the specification: their shapes, and their values in full
 * against the reference (the 3D convolution at 224^3: shapes alone here, values on a smaller cube).
 */
#include <string.h>

#include "problem.h"
#include "elements.h"
#include "harness.h"

#define PADS(n, value) ((gops_list){(n), {(value), (value), (value)}})

static gops_problem conv_example(int32_t axes, int64_t size)
{
    gops_problem p = {.operation = GOPS_PROBLEM_CONV,
                      .data = {GOPS_F32, 2 + axes, {1, 12, size, size, size}},
                      .filter = {GOPS_F32, 3 + axes, {4, 1, 3, 5, 5, 5}}};
    p.conv.strides = p.conv.dilations = PADS(axes, 1);
    p.conv.pads_begin = p.conv.pads_end = PADS(axes, 2);
    return p;
}

static void check_shape(const gops_problem *problem, const int64_t *dims)
{
    gops_problem_text text;
    gops_test_text got;
    gops_shape shape = {.groups = 0};
    gops_error error = {GOPS_OK, ""};
    const char *what = gops_problem_describe(problem, &text);
    gops_test_check(gops_problem_shape(problem, &shape, &error) == GOPS_OK, "%s: %s", what,
                    error.message);
    gops_test_check(
        shape.output.rank == problem->data.rank &&
            memcmp(shape.output.dims, dims, (size_t)problem->data.rank * sizeof *dims) == 0,
        "%s gives %s", what, gops_test_describe(&shape.output, &got));
}

static void check_values(gops_problem problem)
{
    static const gops_type types[] = {GOPS_F32, GOPS_F64};
    gops_test_random random = gops_test_random_start(gops_test_seed(), 1);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        problem.data.type = problem.filter.type = types[i];
        gops_problem_check(&problem, &random);
    }
}

static void conv_1d(void)
{
    gops_problem p = conv_example(1, 224);
    check_shape(&p, (const int64_t[]){1, 4, 224});
    check_values(p);
}

static void conv_2d(void)
{
    gops_problem p = conv_example(2, 224);
    check_shape(&p, (const int64_t[]){1, 4, 224, 224});
    check_values(p);
}

static void conv_3d(void)
{
    gops_problem p = conv_example(3, 224);
    check_shape(&p, (const int64_t[]){1, 4, 224, 224, 224});
    p = conv_example(3, 19);
    p.data.dims[3] = 17;
    p.data.dims[4] = 23;
    check_shape(&p, (const int64_t[]){1, 4, 19, 17, 23});
    check_values(p);
}

static void backprop(void)
{
    gops_problem p = {.operation = GOPS_PROBLEM_DECONV,
                      .data = GOPS_TEST_TENSOR(GOPS_F32, 1, 20, 224, 224),
                      .filter = GOPS_TEST_TENSOR(GOPS_F32, 4, 5, 2, 3, 3)};
    p.deconv.dilations = PADS(2, 1);
    p.deconv.strides = PADS(2, 2);
    p.deconv.pads_begin = p.deconv.pads_end = PADS(2, 1);
    check_shape(&p, (const int64_t[]){1, 8, 447, 447});
    check_values(p);
}

static void normalization(void)
{
    gops_problem p = {.operation = GOPS_PROBLEM_NORM,
                      .data = GOPS_TEST_TENSOR(GOPS_F32, 3, 12, 100, 100),
                      .norm = {.num_groups = 4, .epsilon = 1e-5}};
    check_shape(&p, (const int64_t[]){3, 12, 100, 100});
    check_values(p);
}

int main(void)
{
    static const gops_test_case cases[] = {{"conv_1d", conv_1d},
                                           {"conv_2d", conv_2d},
                                           {"conv_3d", conv_3d},
                                           {"backprop", backprop},
                                           {"normalization", normalization},
                                           {NULL, NULL}};
    return gops_test_main("the specification's examples", cases);
}
