/* demo_psnr.c: the difference of two pictures. */
#include "demo/demo_psnr.h"

#include <math.h>

gops_demo_difference gops_demo_compare(const gops_planes *expected, const gops_planes *actual)
{
    int64_t plane = expected->height * expected->width;
    gops_demo_difference difference = {.values = expected->channels * plane};
    double squares = 0.0;
    int64_t worst = 0;

    for (int64_t i = 0; i < difference.values; i++) {
        double error = fabs((double)actual->values[i] - expected->values[i]);
        squares += error * error;
        if (!(error <= difference.largest) && !isnan(difference.largest)) {
            difference.largest = error;
            worst = i;
        }
    }
    difference.psnr = -10.0 * log10(squares / (double)difference.values);
    difference.channel = worst / plane;
    difference.row = worst % plane / expected->width;
    difference.column = worst % expected->width;
    return difference;
}
