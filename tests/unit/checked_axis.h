/* checked_axis.h: what shape inference must make of one spatial axis. */
#ifndef GROUPOPS_TEST_CHECKED_AXIS_H
#define GROUPOPS_TEST_CHECKED_AXIS_H

#include "problem.h"

/* What a case expects. */
typedef struct gops_checked_axis {
    int64_t output, begin, end;
} gops_checked_axis;

static inline gops_list gops_one(int64_t value)
{
    return (gops_list){1, {value}};
}

/* Of case `number`; says what differs. */
bool gops_check_axis(const gops_shape *shape, int axis, gops_checked_axis expected, int number);

/* The same of a call for one axis, with a batch of 2 and 5 groups of 7 output channels, f32. */
void gops_check_only_axis(gops_status status, const gops_error *error, const gops_shape *shape,
                          gops_checked_axis expected, int number);

#endif
