/* mpi_axis.c: what a range of outputs reads. */
#include "mpi_axis.h"

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Rounded down and up; b is above 0. */
static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return a / b + (a % b > 0);
}

/* A transposed convolution: output o is element o + pad of the whole scatter result, to which data i
 * adds at i * stride to i * stride + reach. The pads cut that of the range. */
static void cut_scatter(const gops_mpi_axis *axis, gops_mpi_range *range)
{
    const int64_t origin = range->data_begin * axis->stride;
    const int64_t full = axis->stride * (range->data_end - 1 - range->data_begin) + axis->reach + 1;
    const int64_t wanted = range->output_end + axis->pad - origin;
    range->pads_begin = range->output_begin + axis->pad - origin;
    range->pads_end = most(0, full - wanted);
    range->output_padding = most(0, wanted - full);
}

static gops_mpi_range transposed_read(const gops_mpi_axis *axis, int64_t begin, int64_t end,
                                      bool aligned)
{
    gops_mpi_range range = {.output_begin = aligned ? begin - begin % axis->stride : begin,
                            .output_end = end};
    const int64_t from = range.output_begin + axis->pad, to = end + axis->pad;
    const int64_t last = least((to - 1) / axis->stride, axis->data - 1);
    const int64_t first = most(0, ceil_div(from - axis->reach, axis->stride));
    /* Not behind the first output, where strides leave gaps between the windows. */
    range.data_begin = least(least(first, from / axis->stride), last);
    range.data_end = last + 1;
    cut_scatter(axis, &range);
    return range;
}

gops_mpi_range gops_mpi_axis_read(const gops_mpi_axis *axis, int64_t begin, int64_t end,
                                  bool aligned)
{
    if (axis->transposed) {
        return transposed_read(axis, begin, end, aligned);
    }
    gops_mpi_range range = {.output_begin = begin, .output_end = end};
    /* The first output at most reads the last row, the last one at least the first row. */
    const int64_t before = floor_div(axis->data - 1 + axis->pad, axis->stride);
    const int64_t behind = ceil_div(axis->pad - axis->reach, axis->stride);
    range.output_begin = most(0, least(begin, before));
    range.output_end = least(axis->output, most(end, behind + 1));
    const int64_t from = range.output_begin * axis->stride - axis->pad;
    const int64_t to = (range.output_end - 1) * axis->stride - axis->pad + axis->reach + 1;
    range.data_begin = most(0, from);
    /* Of a layer whose every output reads only padding: less than a stride behind the last window. */
    range.data_end = most(range.data_begin + 1, least(axis->data, to));
    range.pads_begin = range.data_begin - from;
    range.pads_end = most(0, to - range.data_end);
    return range;
}

static bool transposed_confine(const gops_mpi_axis *axis, gops_mpi_range *range,
                               gops_mpi_range *right)
{
    cut_scatter(axis, range);
    *right = *range;
    if (range->data_begin > 0) {
        right->output_begin = most(range->output_begin, (range->data_begin - 1) * axis->stride +
                                                            axis->reach + 1 - axis->pad);
    }
    if (range->data_end < axis->data) {
        right->output_end = least(range->output_end, range->data_end * axis->stride - axis->pad);
    }
    return range->pads_begin >= 0;
}

bool gops_mpi_axis_confine(const gops_mpi_axis *axis, gops_mpi_range *range, gops_mpi_range *right)
{
    if (axis->transposed) {
        return transposed_confine(axis, range, right);
    }
    const int64_t from = range->output_begin * axis->stride - axis->pad;
    const int64_t to = (range->output_end - 1) * axis->stride - axis->pad + axis->reach + 1;
    range->pads_begin = range->data_begin - from;
    range->pads_end = most(0, to - range->data_end);
    range->output_padding = 0;
    *right = *range;
    if (range->data_begin > 0) {
        right->output_begin =
            most(range->output_begin, ceil_div(range->data_begin + axis->pad, axis->stride));
    }
    if (range->data_end < axis->data) {
        right->output_end =
            least(range->output_end,
                  floor_div(range->data_end + axis->pad - axis->reach - 1, axis->stride) + 1);
    }
    /* Rows behind the last window, fewer than a stride, are no output of their own. */
    return range->pads_begin >= 0 && range->data_end - to < axis->stride;
}
