/* Scales of the output channels that floating point filters are packed with: the same bits as
 * weights that were multiplied before. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elements.h"
#include "harness.h"
#include "problem.h"
#include "refusal.h"

enum { GROUPS = 3, C_IN = 5, C_OUT = 7, CHANNELS = GROUPS * C_OUT, TAPS = 6 };

static gops_problem problem_of(gops_problem_operation operation, gops_type type)
{
    gops_problem p = {.operation = operation,
                      .data = GOPS_TEST_TENSOR(type, 2, GROUPS * C_IN, 11, 13),
                      .conv = {.strides = LIST(1, 2)},
                      .deconv = {.strides = LIST(1, 2)},
                      .threads = 1};
    p.filter = operation == GOPS_PROBLEM_CONV ? GOPS_TEST_TENSOR(type, GROUPS, C_OUT, C_IN, 3, 2)
                                              : GOPS_TEST_TENSOR(type, GROUPS, C_IN, C_OUT, 3, 2);
    return p;
}

/* Scales of both signs and a zero, as floats or, for f64, as doubles. */
typedef struct scales {
    float f32[CHANNELS];
    _Alignas(8) double f64[CHANNELS]; /* 4 suffice to a double by itself in the i386 ABI */
    gops_quantization quantization;
} scales;

static void draw_scales(scales *s, gops_type type, int64_t count, gops_test_random *random)
{
    for (int i = 0; i < CHANNELS; i++) {
        s->f64[i] = i == 4 ? 0 : 3 * gops_test_random_real(random);
        s->f32[i] = (float)s->f64[i];
    }
    s->quantization = (gops_quantization)GOPS_QUANTIZATION_INIT;
    s->quantization.filter_scales = type == GOPS_F64 ? (const void *)s->f64 : (const void *)s->f32;
    s->quantization.filter_scales_count = count;
}

/* What the specification's order of weights has at element i. */
static int64_t channel_of(gops_problem_operation operation, int64_t i)
{
    return operation == GOPS_PROBLEM_CONV ? i / (C_IN * TAPS)
                                          : i / (C_IN * C_OUT * TAPS) * C_OUT + i / TAPS % C_OUT;
}

static void multiply(const gops_problem *p, const scales *s, void *weights)
{
    const gops_type type = p->filter.type;
    for (int64_t i = 0; i < gops_test_elements(&p->filter); i++) {
        const int64_t channel =
            s->quantization.filter_scales_count == 1 ? 0 : channel_of(p->operation, i);
        const long double weight = gops_test_get_real(type, weights, i);
        if (type == GOPS_F64) {
            const double product = (double)weight * s->f64[channel];
            gops_test_set_real(type, weights, i, product);
        } else {
            /* A product of floats is exact in double. */
            const float product = (float)((double)weight * (double)s->f32[channel]);
            gops_test_set_real(type, weights, i, product);
        }
    }
}

static void execute(const gops_plan *plan, const gops_packed_filter *filter,
                    const gops_problem_buffers *buffers)
{
    gops_arguments arguments = GOPS_ARGUMENTS_INIT;
    gops_error error = gops_fresh_error();
    arguments.data = buffers->data.memory;
    arguments.filter = filter;
    arguments.output = buffers->output.memory;
    gops_test_check(gops_execute(plan, &arguments, &error) == GOPS_OK, "%s", error.message);
}

/* Packs and updates with scales, and compares with weights that were multiplied. */
static int try_plan(const gops_problem *p, const gops_plan *plan, const scales *s,
                    const gops_tensor *output, gops_test_random *random)
{
    gops_problem_buffers buffers = gops_problem_buffers_create(p, output, random);
    gops_packed_filter *scaled = NULL, *updated = NULL, *plain = NULL;
    gops_error error = gops_fresh_error();
    const size_t bytes = (size_t)gops_test_elements(output) * gops_test_type_bytes(output->type);
    void *expected = gops_test_allocate(bytes);
    const void *weights = buffers.weights.memory;
    int held = gops_test_check(
        gops_filter_create(plan, weights, &s->quantization, &scaled, &error) == GOPS_OK &&
            gops_filter_create(plan, weights, NULL, &updated, &error) == GOPS_OK &&
            gops_filter_update(plan, updated, weights, &s->quantization, &error) == GOPS_OK,
        "%s", error.message);
    multiply(p, s, buffers.weights.memory);
    held =
        held && gops_test_check(gops_filter_create(plan, weights, NULL, &plain, &error) == GOPS_OK,
                                "%s", error.message);
    if (held) {
        gops_problem_text text;
        gops_packed_filter *const filters[] = {scaled, updated};
        execute(plan, plain, &buffers);
        memcpy(expected, buffers.output.memory, bytes);
        for (int i = 0; i < 2; i++) {
            memset(buffers.output.memory, 0, bytes);
            execute(plan, filters[i], &buffers);
            held &=
                gops_test_check(memcmp(expected, buffers.output.memory, bytes) == 0,
                                "%s: other bits from a filter that was %s",
                                gops_problem_describe(p, &text), i == 0 ? "created" : "updated");
        }
    }
    gops_filter_destroy(scaled);
    gops_filter_destroy(updated);
    gops_filter_destroy(plain);
    gops_problem_buffers_destroy(&buffers);
    free(expected);
    return held;
}

static void same_bits(void)
{
    static const gops_type types[] = {GOPS_F64, GOPS_F32, GOPS_F16, GOPS_BF16, GOPS_F8E5M2};
    gops_test_random random = gops_test_random_start(gops_test_seed(), 77);
    int plans = 0;
    for (int t = 0; t < 5; t++)
        for (int operation = GOPS_PROBLEM_CONV; operation <= GOPS_PROBLEM_DECONV; operation++)
            for (int a = 0; gops_algorithm_name(a) != NULL; a++) {
                gops_problem p = problem_of((gops_problem_operation)operation, types[t]);
                gops_plan *plan;
                gops_plan_info info = GOPS_PLAN_INFO_INIT;
                scales s;
                p.algorithm = gops_algorithm_name(a);
                if (gops_problem_plan(&p, &plan, NULL) != GOPS_OK)
                    continue;
                gops_plan_get_info(plan, &info, NULL);
                draw_scales(&s, types[t], plans % 3 == 0 ? 1 : CHANNELS, &random);
                try_plan(&p, plan, &s, &info.shape.output, &random);
                gops_plan_destroy(plan);
                plans++;
            }
    printf("%d plans: ", plans);
    gops_test_check(plans >= 20, "only %d plans", plans);
}

static void refuse(gops_type type, const gops_quantization *quantization, const char *message)
{
    const gops_problem p = problem_of(GOPS_PROBLEM_DECONV, type);
    static const double weights[GROUPS * C_IN * C_OUT * TAPS];
    gops_error error = gops_fresh_error();
    gops_packed_filter *filter;
    gops_plan *plan;
    if (!gops_test_check(gops_problem_plan(&p, &plan, &error) == GOPS_OK, "%s", error.message))
        return;
    gops_check_refusal("scales", gops_filter_create(plan, weights, quantization, &filter, &error),
                       &error, GOPS_INVALID, message);
    gops_filter_destroy(filter);
    gops_plan_destroy(plan);
}

static void refusals(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 78);
    scales s;
    draw_scales(&s, GOPS_F32, CHANNELS, &random);
    s.f32[19] = INFINITY;
    refuse(GOPS_F32, &s.quantization, "quantization.filter_scales[19] is inf; it must be finite");
    draw_scales(&s, GOPS_F64, 1, &random);
    s.f64[0] = INFINITY;
    refuse(GOPS_F64, &s.quantization, "quantization.filter_scales[0] is inf; it must be finite");
    draw_scales(&s, GOPS_F32, CHANNELS - 1, &random);
    refuse(GOPS_F32, &s.quantization,
           "quantization.filter_scales is given and its count is 20; it must be none, 1 or the 21 "
           "output channels");
    draw_scales(&s, GOPS_F64, CHANNELS, &random);
    s.quantization.filter_scales = (const unsigned char *)s.f64 + 4;
    refuse(GOPS_F64, &s.quantization,
           "quantization.filter_scales is not aligned to its elements' 8 bytes");
    draw_scales(&s, GOPS_F32, CHANNELS, &random);
    refuse(GOPS_I32, &s.quantization,
           "quantization is given; the plan is not quantized: it has no output_type");
    s.quantization.data_scale = 0.5f;
    refuse(GOPS_F32, &s.quantization,
           "quantization.data_scale is given; a f32 plan takes filter_scales alone");
    draw_scales(&s, GOPS_F32, CHANNELS, &random);
    s.quantization.residual_zero_point = 1;
    refuse(GOPS_F32, &s.quantization,
           "quantization.residual_zero_point is given; a f32 plan takes filter_scales alone");
    draw_scales(&s, GOPS_F32, CHANNELS, &random);
    s.quantization.divides = true;
    refuse(GOPS_F32, &s.quantization,
           "quantization.divides is given; a f32 plan takes filter_scales alone");
}

/* Products beyond the range of an 8-bit float are rounded as the plan says that packs them. */
static void saturation(void)
{
    static const unsigned char ones[GROUPS * C_IN * C_OUT * TAPS],
        data[2 * GROUPS * C_IN * 11 * 13];
    unsigned char output[2 * GROUPS * C_OUT * 11 * 13];
    gops_error error = gops_fresh_error();
    gops_plan *plans[2] = {NULL, NULL};
    gops_packed_filter *filter = NULL;
    for (int i = 0; i < 2; i++) {
        gops_problem p = problem_of(GOPS_PROBLEM_CONV, GOPS_F8E5M2);
        p.saturate = i != 0;
        gops_test_check(gops_problem_plan(&p, &plans[i], &error) == GOPS_OK, "%s", error.message);
    }
    gops_test_check(gops_filter_create(plans[0], ones, NULL, &filter, &error) == GOPS_OK, "%s",
                    error.message);
    const gops_arguments arguments = {
        .size = sizeof arguments, .data = data, .filter = filter, .output = output};
    gops_check_refusal("saturate", gops_execute(plans[1], &arguments, &error), &error, GOPS_INVALID,
                       "arguments.filter was packed with saturate false; the plan's is true");
    gops_filter_destroy(filter);
    gops_plan_destroy(plans[0]);
    gops_plan_destroy(plans[1]);
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"same_bits", same_bits}, {"refusals", refusals}, {"saturation", saturation}, {NULL, NULL}};
    return gops_test_main("filter scales", cases);
}
