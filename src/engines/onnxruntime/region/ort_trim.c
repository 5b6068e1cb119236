/* ort_trim.c: which taps of an axis meet data. */
#include "engines/onnxruntime/region/ort_trim.h"

#include <stdbool.h>

static bool meets_data(const gops_axis *axis, int64_t tap)
{
    const int64_t begin = tap * axis->dilation - axis->pad_begin;
    return begin < axis->data && begin + (axis->output - 1) * axis->stride >= 0;
}

int64_t gops_ort_trim(gops_axis *axis)
{
    int64_t first = 0, last = axis->kernel - 1;
    while (first < last && !meets_data(axis, first) &&
           (first + 1) * axis->dilation <= axis->pad_begin) {
        first++;
    }
    while (last > first && !meets_data(axis, last)) {
        last--;
    }
    const int64_t pad_begin = axis->pad_begin - first * axis->dilation;
    const int64_t reach = (axis->output - 1) * axis->stride + (last - first) * axis->dilation + 1;
    const int64_t pad_end = reach - axis->data - pad_begin;
    /* The last pixels may be left out: fewer than a stride. */
    if (axis->output == 0 || pad_end <= -axis->stride) {
        return 0;
    }
    axis->kernel = last - first + 1;
    axis->pad_begin = pad_begin;
    axis->pad_end = pad_end > 0 ? pad_end : 0;
    return first;
}
