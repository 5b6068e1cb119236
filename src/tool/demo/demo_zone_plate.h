/* demo_zone_plate.h: the picture that the demo makes when it is given none. */
#ifndef GOPS_DEMO_ZONE_PLATE_H
#define GOPS_DEMO_ZONE_PLATE_H

#include "png/picture.h"

/* The zone plate in three colours, a test chart that holds every frequency in every direction:
 * rings whose frequency grows in proportion to their radius. */
gops_status gops_demo_zone_plate(int64_t height, int64_t width, gops_planes *picture,
                                 gops_error *error);

#endif
