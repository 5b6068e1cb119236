/*
 * Kernels of 1 without pads, in every algorithm and instruction set: numbers of pixels and channels
 * about the sizes of tiles, more input channels than are taken at a time, strides, planes that are
 * a page apart, what is fused into the store, residuals that lie where the output goes.
 */

#include <string.h>

#include "problem.h"
#include "every_plan.h"
#include "harness.h"

static gops_test_tally tally;

/* Each is one that both forms of `pointwise` serve. */
static void check(gops_problem *problem, gops_test_random *random)
{
    memset(&tally, 0, sizeof tally);
    gops_test_check(gops_test_every_result(problem, NULL, random, &tally), "not legal");
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "pointwise/pixels");
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "pointwise/channels");
}

static gops_problem shape(gops_type type, int64_t batch, int64_t groups, int64_t in, int64_t out,
                          int64_t height, int64_t width)
{
    return (gops_problem){
        .operation = GOPS_PROBLEM_CONV,
        .threads = 1,
        .data = {type, 4, {batch, groups * in, height, width}},
        .filter = {type, 5, {groups, out, in, 1, 1}},
    };
}

/* A panel, a panel with 1 and 2 pixels more, several, and what is left over; the vectors of other
 * instruction sets are parts of those. */
static void sizes(void)
{
    static const int64_t widths[] = {1, 5, 24, 26, 47, 49, 50, 51, 97, 103, 196};
    static const int64_t channels[][2] = {{3, 5}, {7, 13}, {11, 58}, {19, 8}};
    gops_test_random random = gops_test_random_start(gops_test_seed(), 1);
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
        for (size_t c = 0; c < sizeof channels / sizeof channels[0]; c++) {
            gops_problem problem = shape(c % 2 ? GOPS_F64 : GOPS_F32, 2, 3, channels[c][0],
                                         channels[c][1], 1, widths[w]);
            check(&problem, &random);
        }
    }
}

/* Sums are kept between blocks of input channels; items for parts of the output channels; more
 * smaller blocks of these than are stored at a time. */
static void deep(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 2);
    for (int64_t width = 7; width <= 11; width++) {
        gops_problem problem = shape(width % 2 ? GOPS_F32 : GOPS_F64, 1, 1, 1031, 61, 7, width);
        problem.with_bias = 1;
        problem.with_residual = 1;
        problem.activation.kind = GOPS_ACTIVATION_RELU;
        check(&problem, &random);
        problem.filter.dims[1] = 131;
        problem.activation.kind = GOPS_ACTIVATION_TANH;
        check(&problem, &random);
    }
}

/* Panels that begin and end within rows, that have rows of one output, in planes and volumes; rows
 * that end with the last output, or after it. */
static void strides(void)
{
    static const int64_t widths[] = {1, 2, 13, 14, 27, 33, 63, 65, 127};
    gops_test_random random = gops_test_random_start(gops_test_seed(), 4);
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
        for (int64_t stride = 1; stride <= 3; stride++) {
            gops_problem problem =
                shape(w % 2 ? GOPS_F64 : GOPS_F32, 2, 2, w == 4 ? 523 : 7, 37, 11, widths[w]);
            problem.conv.strides.count = 2;
            problem.conv.strides.values[0] = stride == 1 ? 2 : 3;
            problem.conv.strides.values[1] = stride;
            problem.with_bias = w % 3 == 0;
            problem.with_residual = w % 3 == 1;
            check(&problem, &random);
        }
    }
}

/* Panels that several items read are gathered before, each by an item; the last one has a tail. */
static void shared_panels(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 7);
    for (int64_t stride = 2; stride <= 3; stride++) {
        for (int64_t batch = 1; batch <= 2; batch++) {
            gops_problem problem =
                shape(stride == 2 ? GOPS_F32 : GOPS_F64, batch, batch, 131, 263, 14, 13);
            problem.conv.strides.count = 2;
            problem.conv.strides.values[0] = problem.conv.strides.values[1] = stride;
            problem.threads = 3;
            problem.with_bias = batch == 1;
            check(&problem, &random);
        }
    }
}

/* Planes whose lines fall on each other in the cache are copied; blocks of the last size too, panels
 * with and without a tail, sums that are kept and post-ops that the store applies. */
static void pages(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 5);
    for (int64_t width = 31; width <= 33; width++) {
        gops_problem problem = shape(width % 2 ? GOPS_F64 : GOPS_F32, 1, 1, 137, 131, 32, width);
        check(&problem, &random);
        problem.data.dims[1] = problem.filter.dims[2] = 523;
        problem.data.dims[2] = 8;
        problem.data.dims[3] = 4 * width;
        problem.activation.kind = GOPS_ACTIVATION_SIGMOID;
        check(&problem, &random);
    }
}

/* Outputs that leave a second level cache of 2 MB, and of so few input channels that they count as large behind
 * smaller ones too. Several panels are computed at a time where they are shallow; the last one is cut off; blocks so
 * few that panels are not copied. */
static void beyond_the_cache(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 8);
    gops_problem problem = shape(GOPS_F64, 1, 1, 31, 67, 89, 93);
    problem.with_bias = 1;
    problem.with_residual = 1;
    problem.activation.kind = GOPS_ACTIVATION_RELU;
    memset(&tally, 0, sizeof tally);
    gops_test_check(gops_test_every_result(&problem, "pointwise/pixels", &random, &tally),
                    "not legal");
    problem = shape(GOPS_F32, 1, 1, 29, 149, 1, 48 * 149 + 2);
    problem.threads = 2;
    problem.activation.kind = GOPS_ACTIVATION_SIGMOID;
    gops_test_check(gops_test_every_result(&problem, "pointwise/pixels", &random, &tally),
                    "not legal");
    problem = shape(GOPS_F32, 1, 1, 32, 29, 1, 48 * 307 + 1);
    problem.with_bias = 1;
    problem.with_residual = 1;
    gops_test_check(gops_test_every_result(&problem, "pointwise/pixels", &random, &tally),
                    "not legal");
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "pointwise/pixels");
}

/* Images of one pixel, which share tiles: a tile, several, more than a chunk of them; channels that
 * fill a block, that leave lanes empty, that are more than a block; input channels about the number
 * whose sums are kept apart. */
static void one_pixel(void)
{
    static const int64_t batches[] = {1, 2, 5, 7, 13, 61};
    static const int64_t channels[][2] = {{1, 5}, {3, 17}, {6, 37}, {13, 53}, {35, 131}};
    static const gops_activation activations[] = {
        {.kind = GOPS_ACTIVATION_NONE},
        {.kind = GOPS_ACTIVATION_CLAMP, .alpha = -0.25, .beta = 0.5},
        {.kind = GOPS_ACTIVATION_SIGMOID},
        {.kind = GOPS_ACTIVATION_HARD_SWISH},
        {.kind = GOPS_ACTIVATION_PRELU},
    };
    gops_test_random random = gops_test_random_start(gops_test_seed(), 6);
    int i = 0;
    for (size_t b = 0; b < sizeof batches / sizeof batches[0]; b++) {
        for (size_t c = 0; c < sizeof channels / sizeof channels[0]; c++, i++) {
            gops_problem problem = shape(i % 3 ? GOPS_F32 : GOPS_F64, batches[b], 1 + i % 2,
                                         channels[c][0], channels[c][1], 1, 1);
            problem.activation = activations[(i + i / 5) % 5];
            problem.with_bias = i % 5 != 1;
            problem.with_residual = i % 3 != 1;
            problem.residual_after = i % 4 == 3;
            problem.residual_in_place = problem.with_residual && i % 2 == 0;
            check(&problem, &random);
        }
    }
}

static void fused(void)
{
    static const gops_activation activations[] = {
        {.kind = GOPS_ACTIVATION_NONE},
        {.kind = GOPS_ACTIVATION_RELU},
        {.kind = GOPS_ACTIVATION_CLAMP, .alpha = -0.25, .beta = 0.5},
        {.kind = GOPS_ACTIVATION_SIGMOID},
    };
    gops_test_random random = gops_test_random_start(gops_test_seed(), 3);
    for (int i = 0; i < 4 * 2 * 3 * 3; i++) {
        static const int64_t widths[] = {7, 11, 17};
        gops_problem problem =
            shape(i % 2 ? GOPS_F64 : GOPS_F32, 2, 2, 13, 37, 7, widths[i / 8 % 3]);
        problem.activation = activations[i / 2 % 4];
        problem.with_bias = i / 24 != 1;
        problem.with_residual = i / 24 != 0;
        problem.residual_in_place = problem.with_residual && i % 3 == 0;
        check(&problem, &random);
    }
}

int main(void)
{
    static const gops_test_case cases[] = {{"sizes", sizes},
                                           {"deep", deep},
                                           {"strides", strides},
                                           {"pages", pages},
                                           {"shared_panels", shared_panels},
                                           {"beyond_the_cache", beyond_the_cache},
                                           {"fused", fused},
                                           {"one_pixel", one_pixel},
                                           {NULL, NULL}};
    return gops_test_main("kernels of 1", cases);
}
