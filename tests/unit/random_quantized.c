/* random_quantized.c: draws shapes, types, scales, zero points and values of quantized problems. */
#include "random_quantized.h"

#include <math.h>
#include <string.h>

#include "elements.h"
#include "problem_quantization.h"

enum { MAX_PRODUCTS = 24000, MAX_DEEP_PRODUCTS = 900000, MAX_ELEMENTS = 8000 };

static int64_t range(gops_test_random *random, int64_t low, int64_t high)
{
    return gops_test_random_range(random, low, high);
}

static int chance(gops_test_random *random, int percent)
{
    return gops_test_random_chance(random, percent);
}

/* 2 to a power between the two. */
static double power(gops_test_random *random, double low, double high)
{
    return exp2((low + high) / 2 + gops_test_random_real(random) * (high - low) / 2);
}

typedef struct sizes {
    int32_t axes;
    int64_t groups, in, out;
    int64_t width, height,
        kernel; /* the most of the last axis, of the others, of each kernel axis */
} sizes;

/* One of the sizes runs through more than every vector and tile has, the others stay small. */
static sizes draw_sizes(gops_problem_operation operation, gops_test_random *random)
{
    sizes s = {.axes = (int32_t)range(random, 1, 3), .groups = 1, .height = 5, .kernel = 3};
    if (operation == GOPS_PROBLEM_DECONV && chance(random, 8))
        s.axes = (int32_t)range(random, 4, 6);
    s.in = range(random, 1, 9);
    s.out = range(random, 1, 9);
    s.width = range(random, 1, 13);
    switch (range(random, 0, 3)) {
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
                   .groups = chance(random, 60) ? range(random, 1, 20) : range(random, 1, 70),
                   .in = 1,
                   .out = chance(random, 80) ? 1 : range(random, 2, 4),
                   .width = range(random, 1, 70),
                   .height = 9,
                   .kernel = chance(random, 50) ? 3 : range(random, 1, 7)};
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
        p->filter.dims[3 + i] = is_deep ? s->kernel : range(random, 1, s->kernel);
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

static void set_attributes(gops_problem *p, int32_t axes, gops_test_random *random)
{
    gops_deconv_attributes *d = &p->deconv;
    d->strides = draw_list(random, axes, 1, axes < 4 ? 3 : 2, 40);
    d->dilations = draw_list(random, axes, 1, 3, 60);
    d->pads_begin = draw_list(random, axes, 0, 3, 35);
    d->pads_end = draw_list(random, axes, 0, 3, 35);
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

/* The products of one output element. */
static int64_t depth(const gops_problem *p)
{
    int64_t products = p->filter.dims[p->operation == GOPS_PROBLEM_DECONV ? 1 : 2];
    for (int32_t i = 3; i < p->filter.rank; i++)
        products *= p->filter.dims[i];
    return products;
}

static int is_small(const gops_problem *p, int64_t most)
{
    gops_reference_geometry g;
    gops_tensor output;
    if (!gops_problem_reference_shape(p, &g, &output))
        return 0;
    const int conv = p->operation == GOPS_PROBLEM_CONV;
    const int64_t elements = gops_test_elements(&output), data = gops_test_elements(&p->data);
    const int64_t products = conv ? elements * depth(p) : data * depth(p) / g.c_in * g.c_out;
    return products <= most && elements <= MAX_ELEMENTS &&
           (most > MAX_PRODUCTS || data <= MAX_ELEMENTS);
}

/* An end of the type, 0, or anything. */
static int64_t draw_zero_point(gops_type type, gops_test_random *random)
{
    const int64_t low = gops_test_type_is_signed(type) ? -128 : 0;
    const int64_t any = range(random, low, low + 255);
    const int64_t picks[] = {low, low + 255, 0, low + 128, any, any};
    return picks[range(random, 0, 5)];
}

static void draw_zero_points(gops_problem *p, int64_t channels, gops_random_quantization *m,
                             gops_test_random *random)
{
    gops_quantization *q = &p->quantization;
    const gops_type residual = p->residual_type != 0 ? p->residual_type : p->output_type;
    const int64_t counts[] = {0, 1, channels};
    m->data_zero_point = draw_zero_point(p->data.type, random);
    p->data_zero_point = chance(random, 30) ? &m->data_zero_point : NULL;
    q->data_zero_point = (int32_t)draw_zero_point(p->data.type, random);
    p->filter_zero_points = m->filter_zero_points;
    p->filter_zero_point_count = counts[range(random, 0, 2)];
    for (int64_t i = 0; i < p->filter_zero_point_count; i++)
        m->filter_zero_points[i] = draw_zero_point(p->filter.type, random);
    q->output_zero_point = (int32_t)draw_zero_point(p->output_type, random);
    q->residual_zero_point = (int32_t)draw_zero_point(residual, random);
}

/* Scales from 1e-6 to 1e3, mostly such that the outputs have all the values of their type; some are
 * powers of two, whose results often lie in the middle of two integers. */
static void draw_scales(gops_problem *p, int64_t channels, gops_random_quantization *m,
                        gops_test_random *random)
{
    gops_quantization *q = &p->quantization;
    const int64_t counts[] = {0, 1, channels};
    const int powers_of_two = chance(random, 25);
    const double least = log2(1e-6), most = log2(1e3);
    const double filter =
        powers_of_two ? exp2((double)range(random, -12, 3)) : power(random, least, most);
    const double data = chance(random, 10) ? 1
                        : powers_of_two    ? exp2((double)range(random, -12, 3))
                                           : power(random, least, most);
    q->filter_scales_count = counts[range(random, 0, 2)];
    q->filter_scales = q->filter_scales_count == 0 ? NULL : m->filter_scales;
    for (int64_t i = 0; i < q->filter_scales_count; i++)
        m->filter_scales[i] = (float)(powers_of_two ? filter : filter * power(random, -2, 2));
    m->unit = data * (q->filter_scales_count == 0 ? 1 : filter) * sqrt((double)depth(p)) * 5000;
    q->data_scale = data == 1 && chance(random, 50) ? 0 : (float)data;
    const double fit = m->unit / 64 * power(random, -3, 3);
    q->output_scale = (float)(powers_of_two        ? exp2(round(log2(fit)))
                              : chance(random, 70) ? fit
                                                   : power(random, least, most));
    if (chance(random, 5))
        q->output_scale = 0;
    q->residual_scale = chance(random, 5) ? 0 : (float)(m->unit / 64 * power(random, -3, 3));
}

/* What is not read may hold anything. */
static void spoil_unread(gops_problem *p, gops_test_random *random)
{
    gops_quantization *q = &p->quantization;
    const int is_8_bit = gops_test_type_bytes(p->output_type) == 1;
    const int adds_8_bit = p->residual_type != 0 || is_8_bit;
    if (!adds_8_bit)
        q->residual_zero_point = (int32_t)range(random, INT32_MIN, INT32_MAX);
    if (!is_8_bit) {
        q->output_zero_point = (int32_t)range(random, INT32_MIN, INT32_MAX);
        q->output_scale = chance(random, 50) ? NAN : -INFINITY;
    }
    if (p->output_type == GOPS_I32)
        q->data_scale = q->residual_scale = q->sum_scale = chance(random, 50) ? NAN : -1;
}

static void draw_types(gops_problem *p, gops_test_random *random)
{
    static const gops_type outputs[] = {GOPS_U8,  GOPS_I8,  GOPS_U8,   GOPS_I8,
                                        GOPS_I32, GOPS_F32, GOPS_BF16, GOPS_F16};
    p->output_type = outputs[range(random, 0, 7)];
    p->filter.type = chance(random, 50) ? GOPS_I8 : GOPS_U8;
    p->with_bias = chance(random, 50);
    p->with_residual = chance(random, 30);
    if (p->with_residual && p->output_type != GOPS_I32 && chance(random, 60))
        p->residual_type = chance(random, 50) ? GOPS_I8 : GOPS_U8;
}

/* As relu and relu6, mostly; every other one too. */
static void draw_activation(gops_problem *p, double unit, gops_test_random *random)
{
    static const double slopes[] = {0.3, 0.01, 1.7, -2};
    gops_activation *a = &p->activation;
    const int last = p->output_type == GOPS_I32 ? GOPS_ACTIVATION_CLAMP : GOPS_ACTIVATION_GELU;
    if (chance(random, 40))
        return;
    a->kind = chance(random, 50) ? (gops_activation_kind)range(random, 1, 2)
                                 : (gops_activation_kind)range(random, 1, last);
    if (a->kind == GOPS_ACTIVATION_LEAKY_RELU)
        a->alpha = slopes[range(random, 0, 3)];
    else if (a->kind == GOPS_ACTIVATION_SWISH)
        a->alpha = slopes[range(random, 0, 2)];
    else if (p->output_type == GOPS_I32) {
        a->alpha = (double)range(random, -100000, 50000);
        a->beta = a->alpha + (double)range(random, 0, 200000);
    } else {
        a->alpha = chance(random, 30) ? 0 : unit * 2 * gops_test_random_real(random);
        a->beta = a->alpha + unit * fabs(gops_test_random_real(random));
    }
}

/* QLinearConv and QLinearAdd in one, where the types and the activation admit it. */
static void draw_sum(gops_problem *p, double unit, gops_test_random *random)
{
    gops_quantization *q = &p->quantization;
    const int alike = p->residual_type == 0 || p->residual_type == p->output_type;
    if (!p->with_residual || !alike || gops_test_type_bytes(p->output_type) != 1 ||
        p->activation.kind > GOPS_ACTIVATION_RELU || chance(random, 50))
        return;
    q->sum_scale = (float)(unit / 64 * power(random, -3, 3));
    q->sum_zero_point = (int32_t)draw_zero_point(p->output_type, random);
    q->residual_first = chance(random, 50);
}

void gops_random_quantize(gops_problem *problem, gops_random_quantization *memory,
                          gops_test_random *random)
{
    const int out = problem->operation == GOPS_PROBLEM_DECONV ? 2 : 1;
    const int64_t channels = problem->filter.dims[0] * problem->filter.dims[out];
    if (channels > GOPS_RANDOM_MAX_CHANNELS)
        return;
    draw_types(problem, random);
    draw_scales(problem, channels, memory, random);
    draw_zero_points(problem, channels, memory, random);
    draw_activation(problem, memory->unit, random);
    draw_sum(problem, memory->unit, random);
    spoil_unread(problem, random);
    problem->quantization.size = sizeof problem->quantization;
    problem->update = chance(random, 20);
    problem->accuracy = chance(random, 20) ? GOPS_ACCURACY_RELAXED : GOPS_ACCURACY_EXACT;
}

gops_problem gops_random_quantized(gops_problem_operation operation, gops_random_shape shape,
                                   gops_random_quantization *memory, gops_test_random *random)
{
    const int deep = shape == GOPS_RANDOM_DEEP;
    gops_problem p;
    do {
        const sizes s = deep                             ? draw_deep(random)
                        : shape == GOPS_RANDOM_DEPTHWISE ? draw_depthwise(random)
                                                         : draw_sizes(operation, random);
        memset(&p, 0, sizeof p);
        p.operation = operation;
        p.data.type = chance(random, 50) ? GOPS_U8 : GOPS_I8;
        p.filter.type = p.data.type;
        set_shape(&p, &s, deep, random);
        if (!deep)
            set_attributes(&p, s.axes, random);
    } while (!is_small(&p, deep ? MAX_DEEP_PRODUCTS : MAX_PRODUCTS));
    gops_random_quantize(&p, memory, random);
    gops_random_view(&p, random);
    p.residual_in_place = p.residual_in_place && gops_problem_fits_in_place(&p);
    return p;
}

/* Random bits; the two ends of the type; one of them everywhere; close to one number. */
static void fill(const gops_tensor *tensor, void *elements, gops_test_random *random)
{
    const int64_t low = gops_test_type_is_signed(tensor->type) ? -128 : 0;
    const int64_t how = range(random, 0, 7), at = draw_zero_point(tensor->type, random);
    for (int64_t i = 0; i < gops_test_elements(tensor); i++) {
        int64_t value = range(random, low, low + 255);
        if (how == 0)
            value = at;
        else if (how <= 2)
            value = chance(random, 50) ? low : low + 255;
        else if (how == 3)
            value = at + value % 3;
        gops_test_set_integer(tensor->type, elements, i, (uint64_t)value);
    }
}

void gops_random_quantized_values(const gops_problem *problem,
                                  const gops_random_quantization *memory, const gops_tensor *output,
                                  const gops_problem_buffers *buffers, gops_test_random *random)
{
    const gops_tensor residual = gops_problem_residual(problem, output);
    const int64_t bits = chance(random, 30) ? 0 : range(random, 33, 55);
    fill(&problem->data, buffers->data.memory, random);
    fill(&problem->filter, buffers->weights.memory, random);
    for (int64_t i = 0; problem->with_bias && i < output->dims[1]; i++) {
        const int64_t any = (int64_t)gops_test_random_bits(random);
        gops_test_set_integer(GOPS_I32, buffers->bias.memory, i,
                              (uint64_t)(any / (INT64_C(1) << bits)));
    }
    if (!problem->with_residual || !gops_test_type_is_real(residual.type))
        return;
    const double most = residual.type == GOPS_F16 && memory->unit > 30000 ? 30000 : memory->unit;
    for (int64_t i = 0; i < gops_test_elements(&residual); i++)
        gops_test_set_real(residual.type, buffers->residual.memory, i,
                           (long double)(most * gops_test_random_real(random)));
}

/* The divisor that makes it so for a value; 0 where there is no such integer in the type. */
static float tie_divisor(gops_type type, int64_t zero_point, long double value,
                         gops_test_random *random)
{
    const int64_t least = gops_test_type_is_signed(type) ? -128 : 0;
    const int64_t room = value > 0 ? least + 255 - zero_point : zero_point - least;
    const float aim = room < 1 ? INFINITY : (float)range(random, 0, room - 1) + 0.5F;
    const float divisor = (float)fabsl(value) / aim;
    return chance(random, 50) ? divisor : nextafterf(divisor, chance(random, 50) ? 0 : INFINITY);
}

void gops_random_tie(gops_problem *problem, const gops_problem_buffers *buffers,
                     gops_test_random *random)
{
    gops_quantization *q = &problem->quantization;
    const int sums = q->sum_scale != 0;
    gops_problem real = *problem;
    gops_problem_buffers given = *buffers;
    gops_reference_result result;
    if (gops_test_type_bytes(problem->output_type) != 1)
        return;
    real.output_type = GOPS_F32;
    real.residual_type =
        problem->residual_type != 0 ? problem->residual_type : problem->output_type;
    if (sums) {
        real.quantization.sum_scale = 0;
        real.activation.kind = GOPS_ACTIVATION_NONE;
        given.residual.memory = NULL;
    }
    gops_problem_reference(&real, &given, &result);
    const int64_t count = gops_test_elements(&result.tensor);
    float divisor = 0;
    for (int i = 0; count > 0 && i < 8 && !(divisor > 1e-20F && divisor < 1e20F); i++)
        divisor = tie_divisor(problem->output_type, sums ? q->sum_zero_point : q->output_zero_point,
                              result.value[range(random, 0, count - 1)], random);
    if (divisor > 1e-20F && divisor < 1e20F)
        *(sums ? &q->sum_scale : &q->output_scale) = divisor;
    gops_reference_result_destroy(&result);
}
