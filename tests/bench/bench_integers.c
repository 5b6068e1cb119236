/*
 * bench_integers: how fast 32- and 64-bit integers are, each pair of ways in one run, in turns, the
 * least time of each.
 *
 * First the two exact ways to multiply matrices of them: the library's own kernel, and the DGEMMs
 * that numbers cut into limbs of 16 bits would need (3 for 32 bits, 10 for 64; cutting and joining
 * would come on top). Then whole convolutions beside the plain loops of tests/reference.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/host_default.h"
#include "common/clock.h"
#include "methods/gemm/gemm.h"
#include "problem.h"
#include "elements.h"
#include "guarded_memory.h"

typedef struct shape {
    const char *name;
    int32_t m, n, k;
} shape;

/* One group of a ResNet layer, a dense layer's block of columns, one channel of a depthwise one. */
static const shape shapes[] = {
    {"dense", 128, 784, 1152}, {"grouped", 8, 784, 72}, {"depthwise", 1, 3136, 9}};

static void *random_matrix(int32_t rows, int32_t columns, gops_type type, gops_test_random *random)
{
    const int64_t count = (int64_t)rows * columns;
    void *memory = gops_test_allocate((size_t)count * gops_test_type_bytes(type));
    gops_test_random_fill(random, type, memory, count);
    return memory;
}

typedef struct matrices {
    gops_product product;
    void *a, *b, *c;
} matrices;

static matrices matrices_of(const shape *s, gops_type type, gops_test_random *random)
{
    matrices x = {.a = random_matrix(s->m, s->k, type, random),
                  .b = random_matrix(s->k, s->n, type, random),
                  .c = random_matrix(s->m, s->n, type, random)};
    x.product = (gops_product){s->m, s->n, s->k, x.a, s->k, x.b, s->n, 0, x.c, s->n};
    return x;
}

static void matrices_free(matrices *x)
{
    free(x->a);
    free(x->b);
    free(x->c);
}

static double time_product(const gops_kernels *kernels, gops_compute compute, const matrices *x,
                           int times)
{
    const double start = gops_clock_ms();
    for (int i = 0; i < times; i++) {
        gops_gemm_run(&gops_cblas, kernels, compute, &x->product);
    }
    return gops_clock_ms() - start;
}

static void compare_products(const shape *s, gops_test_random *random)
{
    static const struct {
        gops_type type;
        gops_compute compute;
        int dgemms;
    } ways[] = {{GOPS_I32, GOPS_COMPUTE_U32, 3}, {GOPS_I64, GOPS_COMPUTE_U64, 10}};
    const gops_kernels *kernels = gops_kernels_select();
    const double work = (double)s->m * s->n * s->k;
    const int times = work < 1e7 ? 20 : 1;
    for (int w = 0; w < 2; w++) {
        double own = INFINITY, limbs = INFINITY;
        matrices integers = matrices_of(s, ways[w].type, random);
        matrices doubles = matrices_of(s, GOPS_F64, random);
        for (int round = 0; round < 60; round++) {
            own = fmin(own, time_product(kernels, ways[w].compute, &integers, times) / times);
            limbs = fmin(limbs, time_product(kernels, GOPS_COMPUTE_F64, &doubles, times) / times *
                                    ways[w].dgemms);
        }
        printf("%-10s %4d x %4d x %4d  %s  own kernel %8.4f ms  %2d DGEMMs %8.4f ms  %5.2f\n",
               s->name, (int)s->m, (int)s->n, (int)s->k, gops_type_name(ways[w].type), own,
               ways[w].dgemms, limbs, limbs / own);
        matrices_free(&integers);
        matrices_free(&doubles);
    }
}

static double time_library(const gops_problem *problem, const gops_plan *plan,
                           const gops_problem_buffers *buffers)
{
    gops_error error = {GOPS_OK, ""};
    const double start = gops_clock_ms();
    if (gops_problem_execute(problem, plan, buffers, NULL, 0, &error) != GOPS_OK) {
        printf("%s\n", error.message);
    }
    return gops_clock_ms() - start;
}

static double time_reference(const gops_problem *problem, const gops_problem_buffers *buffers)
{
    gops_reference_result result;
    const double start = gops_clock_ms();
    gops_problem_reference(problem, buffers, &result);
    const double milliseconds = gops_clock_ms() - start;
    if (!gops_problem_compare(problem, &result, buffers->output.memory)) {
        printf("other results\n");
    }
    gops_reference_result_destroy(&result);
    return milliseconds;
}

static void compare_with_reference(const char *name, gops_problem problem, gops_test_random *random)
{
    gops_reference_geometry geometry;
    gops_tensor output;
    gops_plan *plan;
    gops_error error;
    double ours = INFINITY, naive = INFINITY;
    problem.threads = 1;
    if (!gops_problem_reference_shape(&problem, &geometry, &output) ||
        gops_problem_plan(&problem, &plan, &error) != GOPS_OK) {
        return;
    }
    gops_problem_buffers buffers = gops_problem_buffers_create(&problem, &output, random);
    for (int round = 0; round < 40; round++) {
        ours = fmin(ours, time_library(&problem, plan, &buffers));
        if (round % 20 == 0) {
            naive = fmin(naive, time_reference(&problem, &buffers));
        }
    }
    printf("%-10s %s  library %8.4f ms (packing included)  plain loops %9.3f ms  %6.1f\n", name,
           gops_type_name(problem.data.type), ours, naive, naive / ours);
    gops_problem_buffers_destroy(&buffers);
    gops_plan_destroy(plan);
}

static void convolutions(gops_type type, gops_test_random *random)
{
    const gops_list ones = {2, {1, 1}};
    gops_problem p = {.operation = GOPS_PROBLEM_CONV,
                      .conv = {.pads_begin = ones, .pads_end = ones}};
    p.data = GOPS_TEST_TENSOR(type, 1, 256, 28, 28);
    p.filter = GOPS_TEST_TENSOR(type, 32, 8, 8, 3, 3);
    compare_with_reference("grouped", p, random);
    p.data = GOPS_TEST_TENSOR(type, 1, 128, 28, 28);
    p.filter = GOPS_TEST_TENSOR(type, 1, 128, 128, 3, 3);
    compare_with_reference("dense", p, random);
    p.data = GOPS_TEST_TENSOR(type, 1, 64, 56, 56);
    p.filter = GOPS_TEST_TENSOR(type, 64, 1, 1, 3, 3);
    compare_with_reference("depthwise", p, random);
    p = (gops_problem){.operation = GOPS_PROBLEM_DECONV,
                       .data = GOPS_TEST_TENSOR(type, 1, 64, 28, 28),
                       .filter = GOPS_TEST_TENSOR(type, 4, 16, 16, 4, 4),
                       .deconv = {.strides = {2, {2, 2}}, .pads_begin = ones, .pads_end = ones}};
    compare_with_reference("transposed", p, random);
}

int main(void)
{
    gops_test_random random = gops_test_random_start(1, 91);
    printf("%s, %s\n", gops_isa(), gops_blas());
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        compare_products(&shapes[i], &random);
    }
    convolutions(GOPS_I32, &random);
    convolutions(GOPS_I64, &random);
    return 0;
}
