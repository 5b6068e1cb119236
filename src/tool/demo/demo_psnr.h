/* How far two pictures are apart. */
#ifndef GOPS_DEMO_PSNR_H
#define GOPS_DEMO_PSNR_H

#include "png/picture.h"

typedef struct gops_demo_difference {
    int64_t values;
    /* Peak signal-to-noise ratio in dB, -10 log10 of the mean square error, the peak being 1;
     * INFINITY where there is no error, NAN where a value is none. */
    double psnr;
    double largest; /* absolute, and where it is; NAN counts as the largest */
    int64_t channel, row, column;
} gops_demo_difference;

/* Of planes of the same size; computed in double. */
gops_demo_difference gops_demo_compare(const gops_planes *expected, const gops_planes *actual);

#endif
