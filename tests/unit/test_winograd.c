/*
 * Winograd's convolution on every instruction set: within the bound of groupops/plan.h, of each form
 * its own; NaN and infinite data and weights; magnitudes that come close to overflow; the same bits
 * for every number of threads; of floats never without accuracy=relaxed.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "elements.h"
#include "every_plan.h"
#include "harness.h"
#include "random_problem.h"
#include "winograd_bound.h"

static const char *const forms[] = {"winograd/f2", "winograd/f4"};
static const int outputs[] = {2, 4}; /* of a tile, on each axis */
enum { FORMS = 2 };

static gops_problem image(gops_type type, int64_t batch, int64_t groups, int64_t in, int64_t out,
                          int64_t height, int64_t width)
{
    return (gops_problem){
        .operation = GOPS_PROBLEM_CONV,
        .threads = 2,
        .accuracy = GOPS_ACCURACY_RELAXED,
        .data = {type, 4, {batch, groups * in, height, width}},
        .filter = {type, 5, {groups, out, in, 3, 3}},
        .conv = {.pads_begin = {2, {1, 1}}, .pads_end = {2, {1, 1}}},
    };
}

/* One problem in execution by one form. */
typedef struct trial {
    gops_problem *problem;
    gops_problem_buffers buffers;
    gops_reference_result expected;
    const char *form;
    int64_t plans;
} trial;

static int one_plan(void *context, const gops_plan *plan)
{
    trial *t = context;
    gops_plan_info info = {.size = sizeof info};
    gops_plan_get_info(plan, &info, NULL);
    if (strcmp(info.algorithm, t->form) != 0)
        return 1;
    t->plans++;
    return gops_test_one_result(t->problem, plan, &t->buffers, &t->expected);
}

/* What is expected of one form, whose tiles have m x m outputs. */
static void expect(trial *t, int m)
{
    const gops_problem *p = t->problem;
    gops_reference_geometry g;
    gops_tensor output;
    gops_problem_reference_shape(p, &g, &output);
    gops_reference_conv(&g, p->data.type, t->buffers.data.memory, p->filter.type,
                        t->buffers.weights.memory, NULL, &t->expected);
    gops_test_allow_winograd(p, &t->buffers, &g, m, &t->expected);
    const gops_reference_operands operands = {
        .bias = t->buffers.bias.memory,
        .residual = t->buffers.residual.memory,
        .slopes = t->buffers.slopes.memory,
        .residual_after = p->residual_after,
    };
    gops_reference_fuse(&t->expected, &operands, &p->activation);
}

/* Numbers of all sizes, the denormal ones included. */
static void fill_wide(gops_test_random *random, gops_type type, void *values, int64_t count,
                      int low, int high)
{
    for (int64_t i = 0; i < count; i++) {
        const int exponent = (int)gops_test_random_range(random, low, high);
        gops_test_set_real(type, values, i,
                           (long double)ldexp(gops_test_random_real(random), exponent));
    }
}

static void check_forms(gops_problem *problem, int low, gops_test_random *random)
{
    gops_reference_geometry g;
    gops_tensor output;
    trial t = {.problem = problem};
    if (!gops_problem_reference_shape(problem, &g, &output))
        return;
    t.buffers = gops_problem_buffers_create(problem, &output, random);
    if (low != 0) {
        fill_wide(random, problem->data.type, t.buffers.data.memory,
                  gops_test_elements(&problem->data), low, 10);
        fill_wide(random, problem->data.type, t.buffers.weights.memory,
                  gops_test_elements(&problem->filter), low, 10);
    }
    for (int form = 0; form < FORMS; form++) {
        t.form = forms[form];
        t.plans = 0;
        expect(&t, outputs[form]);
        gops_test_every_plan(problem, one_plan, &t);
        gops_test_check(t.plans > 0 || problem->max_workspace != 0, "%s was not executed",
                        forms[form]);
        gops_reference_result_destroy(&t.expected);
    }
    gops_problem_buffers_destroy(&t.buffers);
}

/* Images about the sizes of tiles and segments, channels about those of vectors and blocks, pads
 * beyond the kernel, everything that can be fused. */
static void sizes(void)
{
    static const int64_t channels[] = {1, 3, 7, 8, 16, 17, 33, 5}, outs[] = {2, 9, 16, 35, 67, 97};
    gops_test_random random = gops_test_random_start(gops_test_seed(), 1);
    for (int i = 0; i < 48; i++) {
        gops_problem p = image(i % 3 == 2 ? GOPS_F64 : GOPS_F32, 1 + i % 2, 1 + i % 5 / 3,
                               channels[i % 8], outs[i % 6], 1 + i % 11, 1 + i * 7 % 41);
        p.conv.pads_begin = (gops_list){2, {i / 2 % 5, i / 3 % 4}};
        p.conv.pads_end = (gops_list){2, {i / 5 % 4, i / 7 % 5}};
        p.max_workspace = i % 4 == 3 ? gops_random_budget(&random) : 0;
        gops_random_fusion(&p, &random);
        gops_random_view(&p, &random);
        p.residual_in_place = 0;
        check_forms(&p, 0, &random);
    }
}

/* Several blocks of tiles and of channels, and data that items share. */
static void blocks(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 2);
    gops_problem wide = image(GOPS_F32, 1, 1, 37, 19, 29, 83);
    gops_problem deep = image(GOPS_F32, 1, 1, 67, 197, 11, 13);
    gops_problem grouped = image(GOPS_F64, 2, 3, 13, 71, 7, 17);
    check_forms(&wide, 0, &random);
    check_forms(&deep, 0, &random);
    check_forms(&grouped, 0, &random);
}

static void denormals(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 3);
    for (int i = 0; i < 24; i++) {
        const int f64 = i % 3 == 2;
        gops_problem p = image(f64 ? GOPS_F64 : GOPS_F32, 1, 1 + i % 2, 1 + i % 7, 3, 9, 11);
        check_forms(&p, i % 2 == 0 ? (f64 ? -1074 : -149) : (f64 ? -530 : -75), &random);
    }
}

/* Executes one form on an output that holds NaN; returns the output, to be freed. */
static void *output_of(gops_problem p, const char *form, const gops_problem_buffers *buffers,
                       const gops_tensor *output)
{
    const size_t bytes = (size_t)gops_test_elements(output) * gops_test_type_bytes(output->type);
    gops_error error = {GOPS_OK, ""};
    p.algorithm = form;
    gops_problem_clear_output(&p, buffers);
    gops_test_check(gops_problem_run(&p, buffers, &error) == GOPS_OK, "%s: %s", form,
                    error.message);
    return memcpy(gops_test_allocate(bytes), buffers->output.memory, bytes);
}

/* A pixel that is NaN or infinite: outputs whose window covers it are, either of them; others of
 * its tiles may be; all else has the bits that it has with a 0 there. */
static void check_pixel(const char *form, int m, long double value, gops_test_random *random)
{
    gops_problem p = image(GOPS_F32, 1, 2, 5, 7, 17, 19);
    gops_reference_geometry g;
    gops_tensor output;
    gops_problem_reference_shape(&p, &g, &output);
    gops_problem_buffers buffers = gops_problem_buffers_create(&p, &output, random);
    const int64_t y = gops_test_random_range(random, 0, 16),
                  x = gops_test_random_range(random, 0, 18);
    const int64_t channel = gops_test_random_range(random, 0, 9), at = (channel * 17 + y) * 19 + x;
    gops_test_set_real(GOPS_F32, buffers.data.memory, at, 0);
    float *without = output_of(p, form, &buffers, &output);
    gops_test_set_real(GOPS_F32, buffers.data.memory, at, value);
    float *with = output_of(p, form, &buffers, &output);
    int wrong = 0;
    for (int64_t i = 0; i < gops_test_elements(&output); i++) {
        const int64_t o = i / (17 * 19), row = i / 19 % 17, column = i % 19;
        const int64_t top = row / m * m - 1, left = column / m * m - 1; /* of its tile's pixels */
        const int covered = o / 7 == channel / 5 && llabs(row - y) <= 1 && llabs(column - x) <= 1;
        const int read =
            o / 7 == channel / 5 && y >= top && y < top + m + 2 && x >= left && x < left + m + 2;
        wrong += !isfinite(without[i]);
        wrong += covered ? isfinite(with[i]) : !read && memcmp(&with[i], &without[i], 4) != 0;
    }
    gops_test_check(wrong == 0, "%s, %s: %d outputs with %Lf in the data", gops_isa(), form, wrong,
                    value);
    free(with);
    free(without);
    gops_problem_buffers_destroy(&buffers);
}

static void pixels_of_isa(void *context)
{
    for (int i = 0; i < 12; i++)
        check_pixel(forms[i % FORMS], outputs[i % FORMS],
                    i % 3 == 0   ? (long double)NAN
                    : i % 3 == 1 ? (long double)INFINITY
                                 : -(long double)INFINITY,
                    context);
}

static void nonfinite_data(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 4);
    gops_test_every_isa(pixels_of_isa, &random);
}

/* Filters with such weights are executed by the definition, as with every algorithm: within its bound. */
static void weights_of_isa(void *context)
{
    gops_problem p = image(GOPS_F32, 1, 1, 5, 7, 11, 13), exact = p;
    gops_reference_geometry g;
    gops_reference_result expected;
    gops_tensor output;
    exact.accuracy = GOPS_ACCURACY_EXACT;
    gops_problem_reference_shape(&p, &g, &output);
    gops_problem_buffers buffers = gops_problem_buffers_create(&p, &output, context);
    gops_test_set_real(GOPS_F32, buffers.weights.memory, 12, (long double)INFINITY);
    gops_problem_reference(&exact, &buffers, &expected);
    for (int form = 0; form < FORMS; form++) {
        void *got = output_of(p, forms[form], &buffers, &output);
        gops_test_check(gops_problem_compare(&p, &expected, got), "%s, %s", gops_isa(),
                        forms[form]);
        free(got);
    }
    gops_reference_result_destroy(&expected);
    gops_problem_buffers_destroy(&buffers);
}

static void nonfinite_weights(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 5);
    gops_test_every_isa(weights_of_isa, &random);
}

/* Data of any magnitude give the same bits but for the exponent, up to where 2^15 times the sum of
 * the products of the largest ones reaches 2^128. */
static void magnitudes_of_isa(void *context)
{
    enum { IN = 3 };
    gops_problem p = image(GOPS_F32, 1, 1, IN, 5, 11, 13);
    gops_reference_geometry g;
    gops_tensor output;
    gops_problem_reference_shape(&p, &g, &output);
    gops_problem_buffers buffers = gops_problem_buffers_create(&p, &output, context);
    float *data = buffers.data.memory, *weights = buffers.weights.memory;
    for (int64_t i = 0; i < gops_test_elements(&p.data); i++)
        data[i] = copysignf(i % 3 == 0 ? 1 : 1 - fabsf(data[i]) / 4, data[i]);
    for (int64_t i = 0; i < gops_test_elements(&p.filter); i++)
        weights[i] = copysignf(i % 2 == 0 ? 1 : 0.75F, weights[i]);
    for (int form = 0; form < FORMS; form++) {
        float *small = output_of(p, forms[form], &buffers, &output);
        for (int64_t i = 0; i < gops_test_elements(&p.data); i++)
            data[i] *= 0x1p111F; /* 2^15 * 3 * 2^111 < 2^128 */
        float *large = output_of(p, forms[form], &buffers, &output);
        int wrong = 0;
        for (int64_t i = 0; i < gops_test_elements(&output); i++)
            wrong += !(large[i] == small[i] * 0x1p111F);
        for (int64_t i = 0; i < gops_test_elements(&p.data); i++)
            data[i] *= 0x1p-111F;
        gops_test_check(wrong == 0, "%s, %s: %d outputs of large data", gops_isa(), forms[form],
                        wrong);
        free(small);
        free(large);
    }
    gops_problem_buffers_destroy(&buffers);
}

static void magnitudes(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 6);
    gops_test_every_isa(magnitudes_of_isa, &random);
}

static void threads(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 7);
    gops_problem p = image(GOPS_F32, 2, 1, 67, 131, 13, 17);
    gops_reference_geometry g;
    gops_tensor output;
    gops_problem_reference_shape(&p, &g, &output);
    gops_problem_buffers buffers = gops_problem_buffers_create(&p, &output, &random);
    for (int form = 0; form < FORMS; form++) {
        p.threads = 1;
        void *expected = output_of(p, forms[form], &buffers, &output);
        for (p.threads = 2; p.threads <= 5; p.threads++) {
            void *got = output_of(p, forms[form], &buffers, &output);
            gops_test_check(gops_test_compare_bytes(forms[form], &output, got, expected),
                            "%d threads", (int)p.threads);
            free(got);
        }
        free(expected);
    }
    gops_problem_buffers_destroy(&buffers);
}

static void check_refused(gops_problem p, const char *expected)
{
    gops_plan *plan;
    gops_error error = {GOPS_OK, ""};
    p.algorithm = "winograd/f2";
    gops_test_check(gops_problem_plan(&p, &plan, &error) == GOPS_UNSUPPORTED && plan == NULL &&
                        strstr(error.message, expected) != NULL,
                    "not refused as \"%s\": \"%s\"", expected, error.message);
    gops_plan_destroy(plan);
}

static void refused(void)
{
    gops_problem p = image(GOPS_F32, 1, 1, 5, 7, 11, 13), q = p;
    q.accuracy = GOPS_ACCURACY_EXACT;
    check_refused(q, "it serves accuracy relaxed");
    q = p;
    q.conv.strides = (gops_list){2, {1, 2}};
    check_refused(q, "axis 1 has a kernel of 3, stride 2, dilation 1");
    q = p;
    q.conv.dilations = (gops_list){2, {2, 1}};
    check_refused(q, "axis 0 has a kernel of 3, stride 1, dilation 2");
    q = p;
    q.data.type = q.filter.type = GOPS_BF16;
    check_refused(q, "winograd serves f32, f64 and quantized plans, not bf16");
    q = p;
    q.data.rank = 3;
    q.filter.rank = 4;
    q.conv.pads_begin.count = q.conv.pads_end.count = 1;
    check_refused(q, "winograd serves 2 spatial axes, not 1");
    gops_plan *plan;
    p.data.dims[0] = 0;
    p.algorithm = "winograd/f4";
    gops_test_check(gops_problem_plan(&p, &plan, NULL) == GOPS_OK, "an empty batch is refused");
    gops_plan_destroy(plan);
}

/* Where the definition is exact, auto is: never by these, whatever the layer. The layer has small
 * groups, as portable code multiplies large ones slower than a BLAS. */
static void auto_of_isa(void *context)
{
    (void)context;
    for (int relaxed = 0; relaxed < 2; relaxed++) {
        gops_problem p = image(GOPS_F32, 1, 8, 24, 24, 28, 28);
        gops_plan *plan;
        gops_plan_info info = {.size = sizeof info};
        p.accuracy = relaxed ? GOPS_ACCURACY_RELAXED : GOPS_ACCURACY_EXACT;
        gops_test_check(gops_problem_plan(&p, &plan, NULL) == GOPS_OK, "no plan");
        gops_plan_get_info(plan, &info, NULL);
        gops_test_check((strncmp(info.algorithm, "winograd/", 9) == 0) == relaxed,
                        "%s: relaxed %d takes %s", gops_isa(), relaxed, info.algorithm);
        gops_plan_destroy(plan);
    }
}

/* The tiles of a part would not be those of the whole. */
static void parts(void)
{
    gops_problem p = image(GOPS_F32, 1, 1, 5, 7, 11, 13);
    gops_plan *plan, *part;
    gops_error error = {GOPS_OK, ""};
    for (int form = 0; form < FORMS; form++) {
        p.algorithm = forms[form];
        gops_test_check(gops_problem_plan(&p, &plan, NULL) == GOPS_OK, "no plan");
        gops_test_check(gops_plan_part(plan, &p.data, &p.conv.pads_begin, &p.conv.pads_end, NULL,
                                       &part, &error) == GOPS_UNSUPPORTED &&
                            strstr(error.message, "has no parts") != NULL,
                        "%s has parts: %s", forms[form], error.message);
        gops_plan_destroy(plan);
    }
}

static void by_itself(void)
{
    gops_test_every_isa(auto_of_isa, NULL);
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"sizes", sizes},
        {"blocks", blocks},
        {"denormals", denormals},
        {"nonfinite_data", nonfinite_data},
        {"nonfinite_weights", nonfinite_weights},
        {"magnitudes", magnitudes},
        {"threads", threads},
        {"refused", refused},
        {"parts", parts},
        {"by_itself", by_itself},
        {NULL, NULL},
    };
    return gops_test_main("winograd", cases);
}
