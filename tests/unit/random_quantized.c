/* random_quantized.c: draws shapes, types, scales, zero points and values of quantized problems. */
#include "random_quantized.h"

#include <math.h>
#include <string.h>

#include "elements.h"
#include "problem_quantization.h"

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

int64_t gops_random_depth(const gops_problem *p)
{
    int64_t products = p->filter.dims[p->operation == GOPS_PROBLEM_DECONV ? 1 : 2];
    for (int32_t i = 3; i < p->filter.rank; i++)
        products *= p->filter.dims[i];
    return products;
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
 * powers of two, whose results often lie in the middle of two integers. A few products of f32 are denormal, or zeros
 * with the sum's sign. */
static void draw_scales(gops_problem *p, int64_t channels, gops_random_quantization *m,
                        gops_test_random *random)
{
    gops_quantization *q = &p->quantization;
    const int64_t counts[] = {0, 1, channels};
    const int powers_of_two = chance(random, 25);
    const double least = log2(1e-6), most = log2(1e3);
    const double tiny = p->output_type == GOPS_F32 && chance(random, 10) ? 0x1p-70 : 1;
    const double filter =
        tiny * (powers_of_two ? exp2((double)range(random, -12, 3)) : power(random, least, most));
    const double data = chance(random, 10) ? 1
                        : powers_of_two    ? exp2((double)range(random, -12, 3)) * tiny
                                           : power(random, least, most) * tiny;
    q->filter_scales_count = counts[range(random, 0, 2)];
    q->filter_scales = q->filter_scales_count == 0 ? NULL : m->filter_scales;
    for (int64_t i = 0; i < q->filter_scales_count; i++)
        m->filter_scales[i] = (float)(powers_of_two ? filter : filter * power(random, -2, 2));
    m->unit = data * (q->filter_scales_count == 0 ? 1 : filter) *
              sqrt((double)gops_random_depth(p)) * 5000;
    q->data_scale = data == 1 && chance(random, 50) ? 0 : (float)data;
    const double fit = m->unit / 64 * power(random, -3, 3);
    q->output_scale = (float)(powers_of_two        ? exp2(round(log2(fit)))
                              : chance(random, 70) ? fit
                                                   : power(random, least, most));
    if (chance(random, 5))
        q->output_scale = 0;
    q->residual_scale = chance(random, 5) ? 0 : (float)(m->unit / 64 * power(random, -3, 3));
    q->divides = chance(random, 20);
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
    const int last = p->output_type == GOPS_I32 ? GOPS_ACTIVATION_CLAMP : GOPS_ACTIVATION_LAST;
    if (chance(random, 40))
        return;
    a->kind = chance(random, 50) ? (gops_activation_kind)range(random, 1, 2)
                                 : (gops_activation_kind)range(random, 1, last);
    if (a->kind == GOPS_ACTIVATION_PRELU) /* is for other plans */
        a->kind = GOPS_ACTIVATION_HARD_SIGMOID;
    if (a->kind == GOPS_ACTIVATION_LEAKY_RELU)
        a->alpha = slopes[range(random, 0, 3)];
    else if (a->kind == GOPS_ACTIVATION_SWISH)
        a->alpha = slopes[range(random, 0, 2)];
    else if (p->output_type == GOPS_I32) {
        a->alpha = (double)range(random, -100000, 50000);
        a->beta = a->alpha + (double)range(random, 0, 200000);
    } else {
        const double zero = p->with_bias ? -0.0 : 0.0;
        a->alpha = chance(random, 30) ? zero : unit * 2 * gops_test_random_real(random);
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
    gops_problem p = gops_random_quantized_shape(operation, shape, random);
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
