/*
 * NaN, infinities, denormals and signed zeros in data, filter, bias, scale and epsilon: every
 * algorithm and instruction set as the definition has it (groupops/plan.h, "Numbers").
 *
 * The reference skips the taps that meet padding, so that an infinite weight which hangs over the
 * border adds nothing there.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "problem.h"
#include "elements.h"
#include "every_plan.h"
#include "harness.h"

/* What the special values are. */
static const long double specials[] = {NAN, INFINITY, -INFINITY, -0.0L, 0};
enum { NANS = 1, INFINITIES = 3, SPECIALS = 5 };

/* Turns `per_mille` of the elements into special values from the list. */
static void sprinkle(gops_type type, void *elements, int64_t count, int per_mille, int first,
                     int last, gops_test_random *random)
{
    for (int64_t i = 0; i < count; i++) {
        if (gops_test_random_range(random, 0, 999) < per_mille)
            gops_test_set_real(type, elements, i,
                               specials[gops_test_random_range(random, first, last)]);
    }
}

typedef struct state {
    gops_problem *problem;
    gops_problem_buffers buffers;
    gops_reference_result result;
    int64_t checks;
} state;

static int check_one(void *context, const gops_plan *plan)
{
    state *s = context;
    s->checks++;
    return gops_test_one_result(s->problem, plan, &s->buffers, &s->result);
}

/* Shapes whose windows hang over the border, on one side or both, by one tap or all of them. */
static gops_problem shape_of(int index, gops_type type)
{
    const gops_problem shapes[] = {
        {.operation = GOPS_PROBLEM_CONV,
         .data = GOPS_TEST_TENSOR(type, 2, 6, 13, 17),
         .filter = GOPS_TEST_TENSOR(type, 2, 5, 3, 3, 5),
         .conv = {.pads_begin = LIST(1, 4), .pads_end = LIST(2, 3)}},
        {.operation = GOPS_PROBLEM_CONV, /* depthwise */
         .data = GOPS_TEST_TENSOR(type, 1, 17, 11, 19),
         .filter = GOPS_TEST_TENSOR(type, 17, 1, 1, 3, 3),
         .conv = {.auto_pad = GOPS_AUTO_PAD_SAME_UPPER}},
        {.operation = GOPS_PROBLEM_CONV, /* depthwise, strides and two filters */
         .data = GOPS_TEST_TENSOR(type, 1, 3, 31, 29),
         .filter = GOPS_TEST_TENSOR(type, 3, 2, 1, 5, 3),
         .conv = {.strides = LIST(2, 3), .pads_begin = LIST(4, 1), .pads_end = LIST(3, 2)}},
        {.operation = GOPS_PROBLEM_CONV, /* strides and dilations */
         .data = GOPS_TEST_TENSOR(type, 1, 4, 23, 19),
         .filter = GOPS_TEST_TENSOR(type, 1, 7, 4, 3, 2),
         .conv = {.strides = LIST(2, 2),
                  .dilations = LIST(3, 2),
                  .pads_begin = LIST(5, 1),
                  .pads_end = LIST(1, 3)}},
        {.operation = GOPS_PROBLEM_CONV, /* a row longer than a block of methods/nonfinite */
         .data = GOPS_TEST_TENSOR(type, 2, 2, 541),
         .filter = GOPS_TEST_TENSOR(type, 2, 3, 1, 7),
         .conv = {.pads_begin = LIST(3), .pads_end = LIST(3)}},
        {.operation = GOPS_PROBLEM_CONV,
         .data = GOPS_TEST_TENSOR(type, 1, 2, 5, 7, 6),
         .filter = GOPS_TEST_TENSOR(type, 1, 3, 2, 3, 2, 3),
         .conv = {.pads_begin = LIST(1, 0, 2), .pads_end = LIST(2, 1, 0)}},
        {.operation = GOPS_PROBLEM_CONV, /* pointwise, with a window of nothing but padding */
         .data = GOPS_TEST_TENSOR(type, 1, 7, 5, 9),
         .filter = GOPS_TEST_TENSOR(type, 1, 5, 7, 1, 1),
         .conv = {.pads_begin = LIST(0, 1)}},
        {.operation = GOPS_PROBLEM_DECONV,
         .data = GOPS_TEST_TENSOR(type, 2, 6, 7, 11),
         .filter = GOPS_TEST_TENSOR(type, 2, 3, 5, 3, 5),
         .deconv = {.strides = LIST(2, 3)}},
        {.operation = GOPS_PROBLEM_DECONV, /* depthwise, pads and output_padding */
         .data = GOPS_TEST_TENSOR(type, 1, 17, 7, 9),
         .filter = GOPS_TEST_TENSOR(type, 17, 1, 1, 4, 4),
         .deconv = {.strides = LIST(2, 2),
                    .pads_begin = LIST(1, 3),
                    .pads_end = LIST(1, 0),
                    .output_padding = LIST(2, 1)}},
        {.operation = GOPS_PROBLEM_DECONV, /* dilations, taps that no output gets */
         .data = GOPS_TEST_TENSOR(type, 1, 3, 19, 13),
         .filter = GOPS_TEST_TENSOR(type, 3, 1, 2, 3, 2),
         .deconv = {.strides = LIST(1, 4), .dilations = LIST(2, 3), .pads_begin = LIST(5, 0)}},
        {.operation = GOPS_PROBLEM_DECONV,
         .data = GOPS_TEST_TENSOR(type, 1, 2, 277),
         .filter = GOPS_TEST_TENSOR(type, 1, 2, 3, 3),
         .deconv = {.strides = LIST(2)}},
        {.operation = GOPS_PROBLEM_DECONV,
         .data = GOPS_TEST_TENSOR(type, 1, 2, 3, 4, 3, 5),
         .filter = GOPS_TEST_TENSOR(type, 1, 2, 3, 2, 2, 3, 2),
         .deconv = {.strides = LIST(1, 2, 1, 2), .pads_end = LIST(0, 1, 0, 0)}},
    };
    enum { SHAPES = sizeof shapes / sizeof shapes[0] };
    return index < SHAPES ? shapes[index] : (gops_problem){.data.rank = 0};
}

/* Fills in special values, finds what is to be expected and checks every algorithm and instruction
 * set. Returns how many were checked. */
static int64_t check_problem(gops_problem *problem, int data_per_mille, int filter_per_mille,
                             int first, int last, gops_test_random *random)
{
    state s = {.problem = problem};
    gops_reference_geometry g;
    gops_tensor output;
    gops_problem_reference_shape(problem, &g, &output);
    s.buffers = gops_problem_buffers_create(problem, &output, random);
    sprinkle(problem->data.type, s.buffers.data.memory, gops_test_elements(&problem->data),
             data_per_mille, first, last, random);
    if (problem->operation == GOPS_PROBLEM_NORM) {
        gops_tensor c = gops_problem_coefficients(problem);
        void *coefficients[] = {s.buffers.scale.memory, s.buffers.bias.memory};
        for (int i = 0; i < 2; i++)
            sprinkle(c.type, coefficients[i], gops_test_elements(&c), filter_per_mille, first, last,
                     random);
    } else {
        sprinkle(problem->filter.type, s.buffers.weights.memory,
                 gops_test_elements(&problem->filter), filter_per_mille, first, last, random);
    }
    if (problem->with_bias)
        sprinkle(output.type, s.buffers.bias.memory, output.dims[1], 200, first, last, random);
    if (problem->with_residual)
        sprinkle(output.type, s.buffers.residual.memory, gops_test_elements(&output), 50, first,
                 last, random);
    gops_problem_reference(problem, &s.buffers, &s.result);
    gops_test_every_plan(problem, check_one, &s);
    gops_reference_result_destroy(&s.result);
    gops_problem_buffers_destroy(&s.buffers);
    return s.checks;
}

static void check_shapes(int data_per_mille, int filter_per_mille, int first, int last)
{
    gops_test_need_wide_long_double();
    gops_test_random random = gops_test_random_start(gops_test_seed(), 71);
    int64_t checks = 0;
    for (int i = 0; shape_of(i, GOPS_F32).data.rank > 0; i++)
        for (int t = 0; t < GOPS_TEST_REALS; t++) {
            gops_problem problem = shape_of(i, gops_test_reals[t]);
            problem.threads = 2;
            problem.data_gap = i % 2 * 13; /* slices of larger tensors, too */
            problem.output_gap = i % 3 * 7;
            checks +=
                check_problem(&problem, data_per_mille, filter_per_mille, first, last, &random);
        }
    printf("%lld plans: ", (long long)checks);
    gops_test_check(checks > 0, "nothing was checked");
}

static void nan_in_the_filter(void)
{
    check_shapes(0, 30, 0, 0);
}

static void infinities_in_the_filter(void)
{
    check_shapes(0, 30, NANS, INFINITIES - 1);
}

static void nan_in_the_data(void)
{
    check_shapes(5, 0, 0, 0);
}

static void infinities_in_the_data(void)
{
    check_shapes(5, 0, NANS, INFINITIES - 1);
}

static void all_of_them_in_both(void)
{
    check_shapes(5, 30, 0, SPECIALS - 1);
}

/* A plan that gathers more panels before its barrier than an infinite filter has rows of outputs to compute. */
static void before_a_barrier(void)
{
    gops_test_need_wide_long_double();
    gops_test_random random = gops_test_random_start(gops_test_seed(), 76);
    for (int threads = 1; threads <= 2; threads++) {
        gops_problem problem = {.operation = GOPS_PROBLEM_CONV,
                                .data = GOPS_TEST_TENSOR(GOPS_F32, 1, 3400, 287),
                                .filter = GOPS_TEST_TENSOR(GOPS_F32, 1, 5, 3400, 1),
                                .conv = {.strides = LIST(2)},
                                .threads = threads};
        check_problem(&problem, 0, 1, NANS, INFINITIES - 1, &random);
    }
}

/* Through every activation, with bias and residual. */
static void fused(void)
{
    gops_test_need_wide_long_double();
    gops_test_random random = gops_test_random_start(gops_test_seed(), 72);
    for (int kind = GOPS_ACTIVATION_NONE; kind <= GOPS_ACTIVATION_LAST; kind++)
        for (int i = 0; shape_of(i, GOPS_F32).data.rank > 0; i++) {
            gops_problem problem = shape_of(i, gops_test_reals[(i + kind) % GOPS_TEST_REALS]);
            problem.activation = (gops_activation){(gops_activation_kind)kind, 0.25, 2};
            problem.with_bias = problem.with_residual = 1;
            problem.residual_after = (i / 2 + kind) % 2;
            problem.residual_in_place = (i + kind) % 2;
            problem.output_gap = i % 3 * 5;
            check_problem(&problem, 3, 10, 0, SPECIALS - 1, &random);
        }
}

static gops_problem norm_of(gops_type type)
{
    return (gops_problem){.operation = GOPS_PROBLEM_NORM,
                          .data = GOPS_TEST_TENSOR(type, 7, 6, 11, 13),
                          .norm = {3, 1e-5},
                          .threads = 2};
}

/* NaN and infinities spoil their image's group, and no other; in scale and bias, their channel. */
static void normalization(void)
{
    gops_test_need_wide_long_double();
    gops_test_random random = gops_test_random_start(gops_test_seed(), 73);
    int64_t checks = 0;
    for (int t = 0; t < GOPS_TEST_REALS; t++)
        for (int turn = 0; turn < 4; turn++) {
            gops_problem problem = norm_of(gops_test_reals[t]);
            checks += check_problem(&problem, turn < 2 ? 1 : 0, turn > 0 ? 100 : 0, 0, SPECIALS - 1,
                                    &random);
        }
    printf("%lld plans: ", (long long)checks);
}

static void execute(const state *s, const gops_plan *plan)
{
    gops_error error = {GOPS_OK, ""};
    const gops_status status = gops_problem_execute(s->problem, plan, &s->buffers, NULL, 0, &error);
    gops_test_check(status == GOPS_OK, "%s", error.message);
}

/* Values of both signs whose squares outgrow double: NaN, never the bias alone. */
static int all_nan(void *context, const gops_plan *plan)
{
    state *s = context;
    const int64_t count = gops_test_elements(&s->problem->data);
    int64_t finite = 0;
    memset(s->buffers.output.memory, 0, (size_t)count * sizeof(double));
    execute(s, plan);
    for (int64_t i = 0; i < count; i++)
        finite += !isnan(gops_test_get_real(GOPS_F64, s->buffers.output.memory, i));
    return gops_test_check(finite == 0, "%lld numbers came out", (long long)finite);
}

/* What the data are multiplied by outgrows double, or is no normal number of it, where no output is so. */
static void factor_beyond_double(void)
{
    static const struct {
        double data, scale, epsilon;
    } all[] = {{1e-10, 1e300, 1e-40}, {1e150, 1e-200, 1e-5}, {3e-7, -2e305, 1e-30}};
    gops_test_need_wide_long_double();
    gops_test_random random = gops_test_random_start(gops_test_seed(), 77);
    for (int turn = 0; turn < 6; turn++) {
        const int i = turn / 2;
        gops_problem problem = {.operation = GOPS_PROBLEM_NORM,
                                .data = GOPS_TEST_TENSOR(GOPS_F64, 2, 3, 5, 7),
                                .norm = {1, all[i].epsilon},
                                .activation.kind =
                                    turn % 2 == 0 ? GOPS_ACTIVATION_NONE : GOPS_ACTIVATION_RELU,
                                .threads = 2};
        state s = {.problem = &problem};
        s.buffers = gops_problem_buffers_create(&problem, &problem.data, &random);
        double *data = s.buffers.data.memory, *scale = s.buffers.scale.memory;
        for (int64_t k = 0; k < gops_test_elements(&problem.data); k++)
            data[k] *= all[i].data;
        for (int64_t c = 0; c < problem.data.dims[1]; c++) {
            scale[c] *= all[i].scale;
            ((double *)s.buffers.bias.memory)[c] *= all[i].scale;
        }
        gops_problem_reference(&problem, &s.buffers, &s.result);
        gops_test_every_plan(&problem, check_one, &s);
        gops_reference_result_destroy(&s.result);
        gops_problem_buffers_destroy(&s.buffers);
    }
}

static void variance_beyond_double(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 74);
    gops_problem problem = norm_of(GOPS_F64);
    state s = {.problem = &problem,
               .buffers = gops_problem_buffers_create(&problem, &problem.data, &random)};
    double *data = s.buffers.data.memory;
    for (int64_t i = 0; i < gops_test_elements(&problem.data); i++)
        data[i] = i % 2 == 0 ? 1e160 : -3e160;
    gops_test_every_plan(&problem, all_nan, &s);
    gops_problem_buffers_destroy(&s.buffers);
}

/* A sum that is exactly 0 is +0, whatever the signs of the zeros in it. */
static int all_positive_zeros(void *context, const gops_plan *plan)
{
    state *s = context;
    gops_problem_text text;
    gops_reference_geometry g;
    gops_tensor output;
    int64_t others = 0;
    gops_problem_reference_shape(s->problem, &g, &output);
    gops_problem_clear_output(s->problem, &s->buffers);
    execute(s, plan);
    const unsigned char *bytes = s->buffers.output.memory;
    for (size_t i = 0; i < (size_t)gops_test_elements(&output) * gops_test_type_bytes(output.type);
         i++)
        others += bytes[i] != 0;
    s->checks++;
    return gops_test_check(others == 0, "%s, %s: %lld bytes are not 0",
                           gops_problem_describe(s->problem, &text), gops_isa(), (long long)others);
}

static void signed_zeros(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 75);
    int64_t checks = 0;
    for (int i = 0; shape_of(i, GOPS_F32).data.rank > 0; i++)
        for (int t = 0; t < GOPS_TEST_REALS; t++) {
            gops_problem problem = shape_of(i, gops_test_reals[t]);
            gops_reference_geometry g;
            gops_tensor output;
            gops_problem_reference_shape(&problem, &g, &output);
            state s = {.problem = &problem};
            s.buffers = gops_problem_buffers_create(&problem, &output, &random);
            sprinkle(gops_test_reals[t], s.buffers.data.memory, gops_test_elements(&problem.data),
                     1000, INFINITIES, SPECIALS - 1, &random);
            gops_test_every_plan(&problem, all_positive_zeros, &s);
            gops_problem_buffers_destroy(&s.buffers);
            checks += s.checks;
        }
    printf("%lld plans: ", (long long)checks);
}

/* Every pixel of a 1x1 layer with equal data has the same bits, a sum that underflows to -0 too, if its bias is -0. */
static int one_value(void *context, const gops_plan *plan)
{
    state *s = context;
    gops_problem_text text;
    gops_reference_geometry g;
    gops_tensor output;
    int64_t others = 0;
    gops_problem_reference_shape(s->problem, &g, &output);
    gops_problem_clear_output(s->problem, &s->buffers);
    execute(s, plan);
    const float *values = s->buffers.output.memory;
    for (int64_t i = 1; i < gops_test_elements(&output); i++)
        others += memcmp(values, values + i, sizeof *values) != 0;
    s->checks++;
    return gops_test_check(others == 0, "%s, %s: %lld of the outputs are %a, and others not",
                           gops_problem_describe(s->problem, &text), gops_isa(), (long long)others,
                           (double)values[0]);
}

static void underflow_has_one_sign(void)
{
    gops_problem problem = {.operation = GOPS_PROBLEM_CONV,
                            .with_bias = true,
                            .data = GOPS_TEST_TENSOR(GOPS_F32, 1, 5, 7, 7),
                            .filter = GOPS_TEST_TENSOR(GOPS_F32, 1, 8, 5, 1, 1)};
    gops_test_random random = gops_test_random_start(gops_test_seed(), 78);
    gops_reference_geometry g;
    gops_tensor output;
    gops_problem_reference_shape(&problem, &g, &output);
    state s = {.problem = &problem};
    s.buffers = gops_problem_buffers_create(&problem, &output, &random);
    float *data = s.buffers.data.memory, *weights = s.buffers.weights.memory;
    float *bias = s.buffers.bias.memory;
    for (int64_t i = 0; i < gops_test_elements(&problem.data); i++)
        data[i] = 1e-30F;
    for (int64_t i = 0; i < gops_test_elements(&problem.filter); i++)
        weights[i] = -1e-30F;
    for (int64_t i = 0; i < problem.filter.dims[1]; i++)
        bias[i] = -0.0F;
    gops_test_every_plan(&problem, one_value, &s);
    gops_problem_buffers_destroy(&s.buffers);
    printf("%lld plans: ", (long long)s.checks);
}

/* Numbers whose products are denormals of the accumulator: kept, to the bound of the reference. */
static void denormals(void)
{
    gops_test_need_wide_long_double();
    gops_test_random random = gops_test_random_start(gops_test_seed(), 76);
    int64_t checks = 0;
    for (int i = 0; shape_of(i, GOPS_F32).data.rank > 0; i++)
        for (int t = 0; t < GOPS_TEST_REALS; t++) {
            /* f32 and bf16 products near 2^-140, f64 near 2^-1060; the smallest numbers of the
             * other types. */
            const int exponents[GOPS_TEST_REALS] = {-1030, -100, -20, -100, -8, -15};
            const int filter_exponents[GOPS_TEST_REALS] = {-30, -40, 0, -30, 0, 0};
            gops_problem problem = shape_of(i, gops_test_reals[t]);
            gops_reference_geometry g;
            gops_tensor output;
            state s = {.problem = &problem};
            gops_problem_reference_shape(&problem, &g, &output);
            s.buffers = gops_problem_buffers_create(&problem, &output, &random);
            void *both[] = {s.buffers.data.memory, s.buffers.weights.memory};
            const int64_t counts[] = {gops_test_elements(&problem.data),
                                      gops_test_elements(&problem.filter)};
            for (int b = 0; b < 2; b++)
                for (int64_t j = 0; j < counts[b]; j++)
                    gops_test_set_real(gops_test_reals[t], both[b], j,
                                       ldexpl(gops_test_get_real(gops_test_reals[t], both[b], j),
                                              b == 0 ? exponents[t] : filter_exponents[t]));
            gops_problem_reference(&problem, &s.buffers, &s.result);
            gops_test_every_plan(&problem, check_one, &s);
            gops_reference_result_destroy(&s.result);
            gops_problem_buffers_destroy(&s.buffers);
            checks += s.checks;
        }
    printf("%lld plans: ", (long long)checks);
}

/* The least epsilon, and a group without spread: the output is the bias. */
static int is_bias(void *context, const gops_plan *plan)
{
    state *s = context;
    const gops_tensor *data = &s->problem->data;
    const int64_t pixels = data->dims[2] * data->dims[3];
    int64_t wrong = 0;
    gops_problem_clear_output(s->problem, &s->buffers);
    execute(s, plan);
    for (int64_t i = 0; i < gops_test_elements(data); i++)
        wrong += gops_test_get_real(data->type, s->buffers.output.memory, i) !=
                 gops_test_get_real(data->type, s->buffers.bias.memory, i / pixels % data->dims[1]);
    return gops_test_check(wrong == 0, "%lld of the outputs are not the bias", (long long)wrong);
}

static void least_epsilon(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 77);
    for (int t = 0; t < GOPS_TEST_REALS; t++) {
        gops_problem problem = norm_of(gops_test_reals[t]);
        problem.norm.epsilon = 0x1p-1074;
        state s = {.problem = &problem,
                   .buffers = gops_problem_buffers_create(&problem, &problem.data, &random)};
        for (int64_t i = 0; i < gops_test_elements(&problem.data); i++)
            gops_test_set_real(gops_test_reals[t], s.buffers.data.memory, i, 0.75L);
        gops_test_every_plan(&problem, is_bias, &s);
        gops_problem_buffers_destroy(&s.buffers);
    }
}

int main(void)
{
    static const gops_test_case cases[] = {{"nan_in_the_filter", nan_in_the_filter},
                                           {"infinities_in_the_filter", infinities_in_the_filter},
                                           {"nan_in_the_data", nan_in_the_data},
                                           {"infinities_in_the_data", infinities_in_the_data},
                                           {"all_of_them_in_both", all_of_them_in_both},
                                           {"before_a_barrier", before_a_barrier},
                                           {"fused", fused},
                                           {"normalization", normalization},
                                           {"factor_beyond_double", factor_beyond_double},
                                           {"variance_beyond_double", variance_beyond_double},
                                           {"signed_zeros", signed_zeros},
                                           {"underflow_has_one_sign", underflow_has_one_sign},
                                           {"denormals", denormals},
                                           {"least_epsilon", least_epsilon},
                                           {NULL, NULL}};
    return gops_test_main("numbers", cases);
}
