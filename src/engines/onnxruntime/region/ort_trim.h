/* ort_trim.h: a convolution's axis without the taps that meet padding alone. */
#ifndef GROUPOPS_ENGINES_ORT_TRIM_H
#define GROUPOPS_ENGINES_ORT_TRIM_H

#include "geometry/geometry.h"

/* Leaves out taps at both ends of the axis that meet padding at every output, as far as no pad falls below 0: kernel
 * and pads become smaller, the outputs stay. Returns the first tap that is kept. */
int64_t gops_ort_trim(gops_axis *axis);

#endif
