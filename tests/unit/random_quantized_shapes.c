/* random_quantized_shapes.c: draws shapes and attributes of quantized problems. */
#include <string.h>

#include "elements.h"
#include "layout_sizes.h"
#include "random_quantized.h"

/* Of the reference, for each shape. */
static const int64_t max_products[] = {24000, 24000, 5000000, 900000};
enum { MAX_ELEMENTS = 8000 };

static int64_t range(gops_test_random *random, int64_t low, int64_t high)
{
    return gops_test_random_range(random, low, high);
}

static int chance(gops_test_random *random, int percent)
{
    return gops_test_random_chance(random, percent);
}

typedef struct sizes {
    int32_t axes;
    int64_t groups, in, out;
    int64_t width, height,
        kernel; /* the most of the last axis, of the others, of each kernel axis */
    int dense; /* every kernel axis has that size, no strides; transposed: twice the stride. No dilations */
} sizes;

/* What Winograd's algorithm serves. */
static sizes draw_3x3(gops_test_random *random, int64_t most, int64_t width, int64_t height)
{
    return (sizes){.axes = 2,
                   .groups = chance(random, 80) ? 1 : range(random, 2, 4),
                   .in = range(random, 1, most),
                   .out = range(random, 1, most),
                   .width = range(random, 1, width),
                   .height = height,
                   .kernel = 3,
                   .dense = 1};
}

/* One of the sizes runs through more than every vector and tile has, the others stay small. */
static sizes draw_sizes(gops_problem_operation operation, gops_test_random *random)
{
    enum { MOST = 40, WIDTH = 37, HEIGHT = 7 };
    sizes s = {.axes = (int32_t)range(random, 1, 3), .groups = 1, .height = 5, .kernel = 3};
    if (chance(random, 20))
        return draw_3x3(random, chance(random, 50) ? MOST : 5, WIDTH, HEIGHT);
    if (operation == GOPS_PROBLEM_DECONV && chance(random, 8))
        s.axes = (int32_t)range(random, 4, 6);
    s.in = range(random, 1, 9);
    s.out = range(random, 1, 9);
    s.width = range(random, 1, 13);
    switch (range(random, 0, 4)) {
    case 0:
        s.in = range(random, 1, 70);
        break;
    case 1:
        s.out = range(random, 1, 70);
        break;
    case 2:
        s.width = range(random, 1, 70);
        s.kernel = range(random, 1, 7);
        break;
    case 3:
        *(chance(random, 50) ? &s.in : &s.out) =
            gops_layout_size(range(random, 0, GOPS_LAYOUT_SIZES - 1));
        break;
    default:
        s.groups = range(random, 2, 11);
    }
    if (chance(random, 25))
        s.kernel = 1;
    return s;
}

static sizes draw_depthwise(gops_test_random *random)
{
    return (sizes){.axes = chance(random, 70) ? 2 : (int32_t)range(random, 1, 3),
                   .groups = chance(random, 5) ? gops_layout_size(range(random, 0, 32))
                                               : range(random, 1, chance(random, 60) ? 20 : 70),
                   .in = 1,
                   .out = chance(random, 80) ? 1 : range(random, 2, 4),
                   .width = range(random, 1, 70),
                   .height = 9,
                   .kernel = chance(random, 50) ? 3 : range(random, 1, 7)};
}

static sizes draw_large(gops_test_random *random)
{
    enum { MOST = 150, WIDTH = 40, HEIGHT = 20 };
    const int64_t groups = chance(random, 70) ? 1 : range(random, 2, 5);
    if (chance(random, 25))
        return draw_3x3(random, MOST, WIDTH, HEIGHT);
    return (sizes){.axes = 2,
                   .groups = groups,
                   .in = range(random, 16, groups == 1 ? 260 : 70),
                   .out = range(random, 16, groups == 1 ? 260 : 70),
                   .width = range(random, 5, 40),
                   .height = 20,
                   .kernel = range(random, 1, 4)};
}

/* 255 * 255 times 66052 is above 2^32, 128 * 128 times 131072 is 2^31. */
static sizes draw_deep(gops_test_random *random)
{
    const int64_t taps = chance(random, 50) ? 1 : range(random, 2, 9);
    return (sizes){.axes = 1,
                   .groups = 1,
                   .in = range(random, 65537, chance(random, 50) ? 66100 : 140000) / taps + 1,
                   .out = range(random, 1, 3),
                   .width = taps + range(random, 0, 1),
                   .kernel = taps};
}

static void set_shape(gops_problem *p, const sizes *s, int is_deep, gops_test_random *random)
{
    const int deconv = p->operation == GOPS_PROBLEM_DECONV;
    const int64_t batch = chance(random, 60) ? 1 : range(random, 2, 3);
    p->data.rank = 2 + s->axes;
    p->data.dims[0] = is_deep ? 1 : batch;
    p->data.dims[1] = s->groups * s->in;
    p->filter.rank = 3 + s->axes;
    p->filter.dims[0] = s->groups;
    p->filter.dims[deconv ? 1 : 2] = s->in;
    p->filter.dims[deconv ? 2 : 1] = s->out;
    for (int32_t i = 0; i < s->axes; i++) {
        const int last = i == s->axes - 1;
        p->data.dims[2 + i] = last ? s->width : range(random, 1, s->height);
        p->filter.dims[3 + i] = is_deep || s->dense ? s->kernel : range(random, 1, s->kernel);
        if (s->axes > 3 && !last) {
            p->data.dims[2 + i] = range(random, 1, 2);
            p->filter.dims[3 + i] = range(random, 1, 2);
        }
    }
}

static gops_list draw_list(gops_test_random *random, int32_t axes, int64_t low, int64_t high,
                           int left_out_percent)
{
    gops_list list = {0};
    list.count = chance(random, left_out_percent) ? 0 : axes;
    for (int32_t i = 0; i < list.count; i++)
        list.values[i] = range(random, low, high);
    return list;
}

static void set_attributes(gops_problem *p, const sizes *s, gops_test_random *random)
{
    const int32_t axes = s->axes;
    gops_deconv_attributes *d = &p->deconv;
    d->strides = draw_list(random, axes, 1, s->dense ? 1 : axes < 4 ? 3 : 2, 40);
    d->dilations = draw_list(random, axes, 1, s->dense ? 1 : 3, 60);
    d->pads_begin = draw_list(random, axes, 0, 3, 35);
    d->pads_end = draw_list(random, axes, 0, 3, 35);
    if (s->dense && p->operation == GOPS_PROBLEM_DECONV) {
        d->strides = draw_list(random, axes, 1, 4, 0);
        for (int32_t i = 0; i < axes; i++) {
            if (chance(random, 80))
                d->strides.values[i] = 2;
            p->filter.dims[3 + i] = 2 * d->strides.values[i];
        }
    }
    d->auto_pad = chance(random, 60) ? GOPS_AUTO_PAD_EXPLICIT : (gops_auto_pad)range(random, 1, 3);
    p->conv =
        (gops_conv_attributes){d->strides, d->pads_begin, d->pads_end, d->dilations, d->auto_pad};
    d->output_padding = draw_list(random, axes, 0, 2, 60);
    d->output_shape_rule = (gops_output_shape_rule)range(random, 0, 2);
    if (chance(random, 75))
        return;
    d->output_shape.count = axes;
    for (int32_t i = 0; i < axes; i++) {
        const int64_t stride = d->strides.count == 0 ? 1 : d->strides.values[i];
        const int64_t dilation = d->dilations.count == 0 ? 1 : d->dilations.values[i];
        const int64_t full =
            stride * (p->data.dims[2 + i] - 1) + (p->filter.dims[3 + i] - 1) * dilation + 1;
        d->output_shape.values[i] = range(random, full > 4 ? full - 4 : 1, full + 2);
    }
}

static int is_small(const gops_problem *p, gops_random_shape shape)
{
    gops_reference_geometry g;
    gops_tensor output;
    if (!gops_problem_reference_shape(p, &g, &output))
        return 0;
    const int conv = p->operation == GOPS_PROBLEM_CONV;
    const int64_t elements = gops_test_elements(&output), data = gops_test_elements(&p->data);
    const int64_t products =
        conv ? elements * gops_random_depth(p) : data * gops_random_depth(p) / g.c_in * g.c_out;
    const int few = data <= MAX_ELEMENTS && elements <= MAX_ELEMENTS;
    return products <= max_products[shape] && (few || shape >= GOPS_RANDOM_LARGE);
}

gops_problem gops_random_quantized_shape(gops_problem_operation operation, gops_random_shape shape,
                                         gops_test_random *random)
{
    const int deep = shape == GOPS_RANDOM_DEEP;
    gops_problem p;
    do {
        const sizes s = deep                             ? draw_deep(random)
                        : shape == GOPS_RANDOM_LARGE     ? draw_large(random)
                        : shape == GOPS_RANDOM_DEPTHWISE ? draw_depthwise(random)
                                                         : draw_sizes(operation, random);
        memset(&p, 0, sizeof p);
        p.operation = operation;
        p.data.type = chance(random, 50) ? GOPS_U8 : GOPS_I8;
        p.filter.type = p.data.type;
        set_shape(&p, &s, deep, random);
        if (!deep)
            set_attributes(&p, &s, random);
    } while (!is_small(&p, shape));
    return p;
}
