/* depthwise_layer.h: layers that the tests of depthwise share. */
#ifndef GROUPOPS_TEST_DEPTHWISE_LAYER_H
#define GROUPOPS_TEST_DEPTHWISE_LAYER_H

#include "problem.h"

static inline gops_list both(int64_t y, int64_t x)
{
    return (gops_list){.count = 2, .values = {y, x}};
}

/* `groups` images of height x width, `taps` along each axis; pads of half the kernel, with stride 2
 * less one in front where `early`, as auto_pad=same_upper has it for even sizes. */
static inline gops_problem layer(gops_type type, int64_t groups, int64_t height, int64_t width,
                                 int64_t taps, int64_t stride, int early)
{
    const int64_t half = taps / 2;
    return (gops_problem){
        .operation = GOPS_PROBLEM_CONV,
        .threads = 1,
        .data = {type, 4, {1, groups, height, width}},
        .filter = {type, 5, {groups, 1, 1, taps, taps}},
        .conv = {.strides = both(stride, stride),
                 .pads_begin = both(half - early, half - early),
                 .pads_end = both(half, half)},
    };
}

#endif
