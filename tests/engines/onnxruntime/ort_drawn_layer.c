#include "ort_drawn_layer.h"

#include <string.h>

void gops_ort_draw_numbers(gops_test_random *random, int axes, int percent, int64_t low,
                           int64_t high, gops_ort_numbers *numbers)
{
    numbers->given = gops_test_random_chance(random, percent);
    for (int i = 0; i < axes; i++) {
        numbers->values[i] = numbers->given ? gops_test_random_range(random, low, high) : low;
    }
}

void gops_ort_draw_pads(gops_test_random *random, int64_t most, gops_ort_layer *layer)
{
    static const char *const auto_pads[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
    if (gops_test_random_chance(random, 50)) {
        layer->auto_pad = auto_pads[gops_test_random_range(random, 0, 3)];
    }
    if (layer->auto_pad == NULL || strcmp(layer->auto_pad, "NOTSET") == 0) {
        gops_ort_draw_numbers(random, layer->axes, 70, 0, most, &layer->pads_begin);
        gops_ort_draw_numbers(random, layer->axes, 100, 0, most, &layer->pads_end);
        layer->pads_end.given = layer->pads_begin.given;
    }
}

gops_ort_layer gops_ort_draw_conv(gops_test_random *random, const char *type)
{
    static const int opsets[] = {8, 11, 21};
    gops_ort_layer layer = {
        .type = type,
        .opset = opsets[gops_test_random_range(random, 0, 2)],
        .element = GOPS_F32,
        .axes = (int)gops_test_random_range(random, 1, 3),
        .batch = gops_test_random_range(random, 1, 3),
        .groups = gops_test_random_range(random, 1, 5),
        .channels_in = gops_test_random_range(random, 1, 5),
        .channels_out = gops_test_random_range(random, 1, 5),
        .says_kernel = gops_test_random_chance(random, 50),
        .bias = gops_test_random_chance(random, 50),
        .fed_weights = gops_test_random_chance(random, 25),
        .open = gops_test_random_chance(random, 25),
    };
    for (int i = 0; i < layer.axes; i++) {
        layer.kernel[i] = gops_test_random_range(random, 1, 4);
        layer.data[i] = gops_test_random_range(random, 7, 13);
    }
    gops_ort_draw_numbers(random, layer.axes, 60, 1, 3, &layer.strides);
    gops_ort_draw_numbers(random, layer.axes, 40, 1, 2, &layer.dilations);
    gops_ort_draw_pads(random, 2, &layer);
    if (layer.auto_pad != NULL && layer.auto_pad[0] == 'S') {
        /* The oracle refuses the two together. */
        layer.dilations = (gops_ort_numbers){false, {1, 1, 1}};
    }
    return layer;
}

gops_ort_layer gops_ort_draw_deconv(gops_test_random *random)
{
    gops_ort_layer layer = gops_ort_draw_conv(random, "ConvTranspose");
    if (gops_test_random_chance(random, 30)) {
        /* Smaller than the stride or the dilation, as the operator wants it. */
        layer.output_padding.given = layer.strides.given;
        for (int i = 0; i < layer.axes; i++) {
            layer.output_padding.values[i] =
                gops_test_random_range(random, 0, layer.strides.values[i] - 1);
        }
    }
    if (gops_test_random_chance(random, 30)) {
        layer.output_shape.given = true;
        for (int i = 0; i < layer.axes; i++) {
            const int64_t full = layer.strides.values[i] * (layer.data[i] - 1) +
                                 (layer.kernel[i] - 1) * layer.dilations.values[i] + 1;
            layer.output_shape.values[i] = full - gops_test_random_range(random, 0, 3);
        }
        layer.pads_begin.given = layer.pads_end.given = false;
    }
    return layer;
}

gops_ort_layer gops_ort_draw_norm(gops_test_random *random)
{
    gops_ort_layer layer = {
        .type = "GroupNormalization",
        .opset = gops_test_random_chance(random, 50) ? 18 : 21,
        .element = GOPS_F32,
        .axes = (int)gops_test_random_range(random, 1, 3),
        .batch = gops_test_random_range(random, 1, 3),
        .groups = gops_test_random_range(random, 1, 5),
        .channels_in = gops_test_random_range(random, 1, 7),
        .bias = true,
        .fed_weights = gops_test_random_chance(random, 25),
        .open = gops_test_random_chance(random, 25),
        .strides = {gops_test_random_chance(random, 50), {0}},
    };
    layer.channels_out = layer.channels_in;
    for (int i = 0; i < layer.axes; i++) {
        layer.data[i] = gops_test_random_range(random, 3, 11);
    }
    return layer;
}
