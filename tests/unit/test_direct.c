/*
 * Direct convolution, beside every other algorithm and on every instruction set: images about the
 * sizes of register tiles, so that edges cut a tap's range at either end, by more than one output,
 * or leave a tile without rows; channels about the sizes of vectors; depths that are cut into blocks.
 */

#include <string.h>

#include "problem.h"
#include "every_plan.h"
#include "harness.h"

static gops_problem image(int i, int64_t in, int64_t out, int64_t height, int64_t width)
{
    return (gops_problem){
        .operation = GOPS_PROBLEM_CONV,
        .threads = 1,
        .data = {i % 2 ? GOPS_F64 : GOPS_F32, 4, {2, 3 * in, height, width}},
        .filter = {i % 2 ? GOPS_F64 : GOPS_F32, 5, {3, out, in, 3, 3}},
        .conv = {.pads_begin = {2, {1, 1}}, .pads_end = {2, {1, 1}}},
    };
}

static void sizes(void)
{
    gops_test_tally tally = {0};
    static const int64_t widths[] = {7, 13, 14, 15, 28};
    gops_test_random random = gops_test_random_start(gops_test_seed(), 1);
    for (int i = 0; i < 5 * 9; i++) {
        gops_problem problem = image(i, 5, 13 + 3 * (i % 4), 1 + i / 5, widths[i % 5]);
        problem.with_bias = i % 3 == 0;
        problem.activation.kind = i % 3 == 1 ? GOPS_ACTIVATION_SIGMOID : GOPS_ACTIVATION_RELU;
        gops_test_check(gops_test_every_result(&problem, NULL, &random, &tally), "not legal");
    }
    /* Three and four vectors of AVX-512, by widths for their tiles of 9 and 6 pixels. */
    for (int i = 0; i < 8; i++) {
        gops_problem problem = image(i, 5, i % 4 < 2 ? 45 : 61, 3, i < 4 ? 17 : 12);
        gops_test_check(gops_test_every_result(&problem, NULL, &random, &tally), "not legal");
    }
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "direct");
}

/* Pads that differ, strides, dilations, kernels of several sizes. */
static void edges(void)
{
    gops_test_tally tallies[4]; /* by the stride of the rows and the type */
    static const int64_t kernels[] = {1, 2, 3, 5, 7};
    gops_test_random random = gops_test_random_start(gops_test_seed(), 2);
    memset(tallies, 0, sizeof tallies);
    for (int i = 0; i < 5 * 5 * 4; i++) {
        gops_problem problem = image(i, 3, i % 7 == 0 ? 29 : 16, 5 + i % 7, 7 + i % 11);
        problem.filter.dims[3] = kernels[i % 5];
        problem.filter.dims[4] = kernels[i / 5 % 5];
        problem.conv = (gops_conv_attributes){
            .strides = {2, {1 + i / 25 % 2, 1 + i / 50}},
            .dilations = {2, {1 + i % 3 / 2, 1 + i % 4 / 3}},
            .pads_begin = {2, {i % 4, i / 3 % 4}},
            .pads_end = {2, {i / 2 % 4, i / 5 % 4}},
        };
        gops_test_every_result(&problem, NULL, &random,
                               &tallies[i / 50 * 2 + i % 2]); /* not legal where no window fits */
    }
    for (int i = 0; i < 4; i++)
        gops_test_check_tally(&tallies[i], GOPS_PROBLEM_CONV, "direct");
}

/* Rows of several tiles, which divide what is behind the left ones; of every length. */
static void rows(void)
{
    gops_test_tally tally = {0};
    enum { SHORTEST = 8, LONGEST = 75 };
    gops_test_random random = gops_test_random_start(gops_test_seed(), 6);
    for (int width = SHORTEST; width <= LONGEST; width++) {
        const int i = width - SHORTEST;
        gops_problem problem = image(i, 3, i % 3 == 0 ? 33 : 17, 3, width);
        problem.filter.dims[4] = 1 + i % 4;
        problem.conv.strides = (gops_list){2, {1, 1 + i / 2 % 2}};
        problem.conv.dilations = (gops_list){2, {1, 1 + i % 5 / 4}};
        problem.conv.pads_begin.values[1] = i / 4 % 4;
        problem.conv.pads_end.values[1] = i / 3 % 4;
        problem.with_bias = i % 3 == 1;
        gops_test_check(gops_test_every_result(&problem, "direct", &random, &tally), "not legal");
    }
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "direct");
}

/* Neighbouring outputs share a vector, as channels do not fill it. */
static void joined(void)
{
    gops_test_tally tally = {0};
    enum { CASES = 120 };
    static const int64_t channels[] = {8, 24, 7, 56, 16, 23, 50, 9}, widths[] = {14, 28, 56};
    gops_test_random random = gops_test_random_start(gops_test_seed(), 4);
    for (int i = 0; i < CASES; i++) {
        const int64_t stride = 1 + i % 2, width = widths[i % 3] - i / 3 % 3, pad = i / 8 % 4;
        const int64_t kernel = 1 + i % 5 + pad;
        gops_problem problem = image(0, 3 + i % 7, channels[i % 8], stride * (1 + i % 11) + kernel,
                                     (width - 1) * stride + kernel - pad - 1);
        problem.filter.dims[3] = 1 + i / 2 % 4;
        problem.filter.dims[4] = kernel;
        problem.conv = (gops_conv_attributes){
            .strides = {2, {stride, stride}},
            .pads_begin = {2, {0, pad}},
            .pads_end = {2, {i / 4 % 2, 1}},
        };
        problem.with_bias = i % 3 == 0;
        problem.with_residual = i % 5 == 0;
        problem.activation.kind = i % 3 == 1 ? GOPS_ACTIVATION_RELU : GOPS_ACTIVATION_NONE;
        gops_test_check(gops_test_every_result(&problem, NULL, &random, &tally), "not legal");
    }
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "direct");
}

/* Sums are kept between blocks of input channels; volumes. */
static void deep(void)
{
    gops_test_tally tally = {0};
    gops_test_random random = gops_test_random_start(gops_test_seed(), 3);
    for (int i = 0; i < 4; i++) {
        gops_problem problem = image(i, 331, 16 * (1 + i / 2), 7, 7);
        problem.data.dims[0] = 1;
        problem.data.dims[1] = 331;
        problem.filter.dims[0] = 1;
        problem.with_residual = 1;
        gops_test_check(gops_test_every_result(&problem, NULL, &random, &tally), "not legal");
        problem.data = (gops_tensor){problem.data.type, 5, {1, 10, 3, 5, 7 * (1 + i / 2)}};
        problem.filter = (gops_tensor){problem.data.type, 6, {2, 16, 5, 3, 3, 3}};
        problem.conv =
            (gops_conv_attributes){.pads_begin = {3, {1, 1, 1}}, .pads_end = {3, {1, 1, 1}}};
        gops_test_check(gops_test_every_result(&problem, NULL, &random, &tally), "not legal");
    }
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "direct");
}

/* Filters packed by plans for rows of one length, executed by plans for another, whose tile may differ. */
static void reshaped(void)
{
    static const int64_t channels[] = {16, 23, 32, 43, 48, 64, 80}, widths[] = {7, 14, 28, 56};
    gops_test_random random = gops_test_random_start(gops_test_seed(), 5);
    int count = 0;
    for (int i = 0; i < 7 * 4 * 4; i++) {
        gops_problem problem = image(i / 16 % 3 == 1, 3, channels[i / 16], 5, 7);
        problem.algorithm = "direct";
        gops_problem packed = problem;
        packed.data.dims[3] = widths[i % 4];
        problem.data.dims[3] = widths[i / 4 % 4];
        count += gops_test_reshaped_result(packed, problem, &random);
    }
    gops_test_check(count > 0 || gops_isa() == NULL, "no plan was reshaped");
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"sizes", sizes}, {"edges", edges},       {"rows", rows}, {"joined", joined},
        {"deep", deep},   {"reshaped", reshaped}, {NULL, NULL}};
    return gops_test_main("direct", cases);
}
