/* demo_zone_plate.c: the zone plate. */
#include "demo/demo_zone_plate.h"

#include <math.h>

#define PI 3.14159265358979323846

enum { COLOURS = 3 };

/* With the phase pi r^2 / size, the frequency at radius r is 2 pi r / size radians a pixel: 0 in
 * the middle, and pi, the highest that pixels can carry, half the picture's longer side away. */
gops_status gops_demo_zone_plate(int64_t height, int64_t width, gops_planes *picture,
                                 gops_error *error)
{
    gops_status status = gops_planes_create(COLOURS, height, width, picture, error);
    if (status != GOPS_OK) {
        return status;
    }

    double size = (double)(height > width ? height : width);
    for (int64_t colour = 0; colour < COLOURS; colour++) {
        /* The phases of the colours are a third of a turn apart, which makes the rings rainbows. */
        double turn = 2.0 * PI * (double)colour / COLOURS;
        float *value = gops_planes_channel(picture, colour);
        for (int64_t row = 0; row < height; row++) {
            double y = (double)row - 0.5 * (double)(height - 1);
            for (int64_t column = 0; column < width; column++) {
                double x = (double)column - 0.5 * (double)(width - 1);
                *value++ = (float)(0.5 + 0.5 * cos(PI * (x * x + y * y) / size + turn));
            }
        }
    }
    return GOPS_OK;
}
