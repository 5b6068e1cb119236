/* demo_psnr.h: the difference of two pictures. */
#ifndef GOPS_DEMO_PSNR_H
#define GOPS_DEMO_PSNR_H

#include "png/picture.h"

typedef struct gops_demo_difference {
    int64_t values;
    /* Peak signal-to-noise ratio in dB: -10 log10 of the mean square error, for a peak of 1.
     * INFINITY without any error, NAN if a value is not a number. */
    double psnr;
    double largest;               /* the largest absolute error; NAN counts as the largest */
    int64_t channel, row, column; /* of the largest error */
} gops_demo_difference;

/* Of planes of the same size; computed in double. */
gops_demo_difference gops_demo_compare(const gops_planes *expected, const gops_planes *actual);

#endif
