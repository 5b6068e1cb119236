/* ort_drawn_layer.h: layers with random attributes. */
#ifndef GROUPOPS_TESTS_ORT_DRAWN_LAYER_H
#define GROUPOPS_TESTS_ORT_DRAWN_LAYER_H

#include "ort_layer.h"

/* An attribute that is given in `percent` of all cases, with numbers from low to high; else `low`. */
void gops_ort_draw_numbers(gops_test_random *random, int axes, int percent, int64_t low,
                           int64_t high, gops_ort_numbers *numbers);
/* auto_pad, or pads up to `most`, or neither. */
void gops_ort_draw_pads(gops_test_random *random, int64_t most, gops_ort_layer *layer);

/* Layers whose data and weights fit each other, without what may follow. */
gops_ort_layer gops_ort_draw_conv(gops_test_random *random, const char *type);
gops_ort_layer gops_ort_draw_deconv(gops_test_random *random);
gops_ort_layer gops_ort_draw_norm(gops_test_random *random);

#endif
