#include "checked_axis.h"

#include "harness.h"

bool gops_check_axis(const gops_shape *shape, int axis, gops_checked_axis expected, int number)
{
    const int64_t output = shape->output.dims[2 + axis];
    const int64_t begin = shape->pads_begin.values[axis], end = shape->pads_end.values[axis];
    return gops_test_check(
        output == expected.output && begin == expected.begin && end == expected.end,
        "case %d, axis %d: output %lld with pads %lld %lld, expected %lld with %lld %lld", number,
        axis, (long long)output, (long long)begin, (long long)end, (long long)expected.output,
        (long long)expected.begin, (long long)expected.end);
}

void gops_check_only_axis(gops_status status, const gops_error *error, const gops_shape *shape,
                          gops_checked_axis expected, int number)
{
    if (!gops_test_check(status == GOPS_OK, "axis case %d: %s", number, error->message))
        return;
    const gops_tensor *output = &shape->output;
    gops_test_check(output->rank == 3 && output->type == GOPS_F32 && output->dims[0] == 2 &&
                        output->dims[1] == 35 && shape->groups == 5 &&
                        shape->pads_begin.count == 1 && shape->pads_end.count == 1,
                    "axis case %d: wrong batch, channels, groups or axes", number);
    gops_check_axis(shape, 0, expected, number);
}
