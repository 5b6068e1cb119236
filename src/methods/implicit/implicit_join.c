/*
 * implicit_join.c: which taps share a position of the padded input of AMX; lanes.h.
 *
 * Where channels are few, blocks of 64 bytes hold several taps instead of zeros, and so K has fewer of them. And
 * rows of outputs lie side by side, without padding between them that tiles compute and the store leaves out
 * again: that pays for blocks of 64 bytes that channels fill. With more channels, a copy of as many times the bytes
 * as the last axis has taps costs more than it saves.
 */
#include "methods/implicit/implicit_layout.h"

#include "base/checked.h"

enum { MAX_REACH = 1 << 20 }; /* of the joined taps, in pixels */

static bool is_near(const gops_axis *axis)
{
    return gops_mul_saturate(axis->kernel, axis->dilation) <= MAX_REACH;
}

/* How many of the axis's taps share a position that has room for `most`. Numbers of bf16 must not meet a tap that
 * is none, as 0 times infinity is no number. */
static int64_t rows_of(const gops_plan *plan, const gops_axis *axis, int64_t most)
{
    int64_t rows = gops_clamp(most, 1, axis->kernel);
    while (!plan->quantized && axis->kernel % rows != 0) {
        rows--;
    }
    return gops_ceil_div(axis->kernel, gops_ceil_div(axis->kernel, rows));
}

gops_lanes_join gops_implicit_join(const gops_plan *plan)
{
    const gops_conv_geometry *conv = &plan->conv;
    const gops_axis *last = &conv->axis[conv->axes - 1];
    const int64_t planes = gops_ceil_div(conv->channels_in, gops_plan_tiles(plan)->lane_channels);
    const int64_t each = gops_mul_saturate(planes, last->kernel);
    gops_lanes_join join = {
        .taps = last->kernel,
        .rows = 1,
        .planes = planes,
        .data = last->data,
        .stride = last->stride,
        .dilation = last->dilation,
        .pad = last->pad_begin,
    };
    if (conv->axes > 1) {
        join.rows = rows_of(plan, &last[-1], GOPS_LANES_BLOCK / each);
        join.row_dilation = last[-1].dilation;
    }
    return join;
}

bool gops_implicit_may_join(const gops_plan *plan)
{
    const gops_lanes_join join = gops_implicit_join(plan);
    const gops_axis *last = &plan->conv.axis[plan->conv.axes - 1];
    return is_near(last) && (plan->conv.axes == 1 || is_near(&last[-1])) &&
           join.planes <= GOPS_LANES_BLOCK && join.taps * join.rows > 1;
}

gops_implicit_tap gops_implicit_find_tap(const gops_plan *plan, int64_t tap)
{
    const gops_conv_geometry *conv = &plan->conv;
    if (gops_implicit_read(plan)->form != GOPS_TILE_WIDE_JOINED) {
        return (gops_implicit_tap){tap, 0};
    }
    const gops_lanes_join join = gops_implicit_join(plan);
    const int64_t kernel = conv->axes > 1 ? conv->axis[conv->axes - 2].kernel : 1;
    const int64_t line = tap / join.taps, y = line % kernel;
    return (gops_implicit_tap){
        .tap = line / kernel * gops_ceil_div(kernel, join.rows) + y / join.rows,
        .plane = (y % join.rows * join.taps + tap % join.taps) * join.planes,
    };
}
