/* The moments of GroupNormalization: written, merged, and given instead of found. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "problem.h"
#include "compare.h"
#include "elements.h"
#include "harness.h"
#include "refusal.h"

/* The mean and variance of group `g` from the data, two passes in long double. */
static void moments_of(const gops_tensor *data, const void *values, int64_t g, int64_t size,
                       long double *mean, long double *variance)
{
    *mean = *variance = 0;
    for (int64_t i = 0; i < size; i++)
        *mean += gops_test_get_real(data->type, values, g * size + i) / (long double)size;
    for (int64_t i = 0; i < size; i++) {
        long double distance = gops_test_get_real(data->type, values, g * size + i) - *mean;
        *variance += distance * distance / (long double)size;
    }
}

/* What an execution writes to arguments.mean and arguments.variance. Both are rounded once, and
 * before that off by a few u of f64 of what is summed, and for types below f64 by what
 * reference_normalization.c derives: 7 sqrt(2) u deviations, and (18 + 14 sqrt(2)) u of the
 * variance. The mean in long double is off by up to `own`, whose square its variance has too much.
 */
static void check_moments(gops_type type, int64_t channels, int64_t pixels)
{
    enum { BATCH = 2, GROUPS = 3 };
    gops_problem p = gops_problem_of_norm(type, BATCH, channels, pixels, GROUPS, 1e-5);
    gops_test_random random = gops_test_random_start(gops_test_seed(), 65);
    gops_problem_buffers b = gops_problem_buffers_create(&p, &p.data, &random);
    gops_plan *plan;
    gops_error error = {GOPS_OK, ""};
    double means[BATCH * GROUPS], variances[BATCH * GROUPS];
    gops_arguments arguments = {.size = sizeof arguments,
                                .data = b.data.memory,
                                .scale = b.scale.memory,
                                .bias = b.bias.memory,
                                .output = b.output.memory,
                                .mean = means,
                                .variance = variances};
    gops_type kept = type == GOPS_F64 ? GOPS_F64 : GOPS_F32;
    long double u = gops_test_unit_roundoff(kept) + 64 * gops_test_unit_roundoff(GOPS_F64);
    long double floats = type == GOPS_F64 ? 0 : gops_test_unit_roundoff(GOPS_F32);
    if (gops_test_check(gops_problem_plan(&p, &plan, &error) == GOPS_OK &&
                            gops_execute(plan, &arguments, &error) == GOPS_OK,
                        "%s", error.message)) {
        for (int64_t g = 0; g < BATCH * GROUPS; g++) {
            long double mean, variance, got;
            moments_of(&p.data, b.data.memory, g, channels / GROUPS * pixels, &mean, &variance);
            got = gops_test_get_real(kept, means, g);
            gops_test_check(fabsl(got - mean) <=
                                u * (fabsl(mean) + sqrtl(variance)) + 10 * floats * sqrtl(variance),
                            "mean of group %d: %.21Lg, not %.21Lg", (int)g, got, mean);
            got = gops_test_get_real(kept, variances, g);
            long double own =
                (long double)(channels / GROUPS * pixels) * LDBL_EPSILON * fabsl(mean);
            gops_test_check(fabsl(got - variance) <= (u + 38 * floats) * variance + own * own,
                            "variance of group %d: %.21Lg, not %.21Lg", (int)g, got, variance);
        }
    }
    gops_plan_destroy(plan);
    gops_problem_buffers_destroy(&b);
}

static void moments(void)
{
    gops_test_need_wide_long_double();
    for (int t = 0; t < GOPS_TEST_REALS; t++) {
        check_moments(gops_test_reals[t], 15, 41);
        check_moments(gops_test_reals[t], 3, 70001); /* groups that are cut into pieces */
    }
}

enum { GROUPS = 3, CHANNELS = 5, PIXELS = 4099, CUT = 2 };

/* What a group of the first channels of an image and one of the others have, merged, is what the
 * group of all of them has; each part is normalized by it. */
static void moments_of_parts(void)
{
    for (int t = 0; t < GOPS_TEST_REALS; t++) {
        const gops_problem problem =
            gops_problem_of_norm(gops_test_reals[t], 1, CHANNELS, PIXELS, 1, 1e-5);
        const size_t bytes = gops_test_type_bytes(gops_test_reals[t]);
        gops_test_random random = gops_test_random_start(gops_test_seed(), 62);
        gops_problem_buffers buffers =
            gops_problem_buffers_create(&problem, &problem.data, &random);
        gops_moments parts[2], all;
        gops_reference_result result;
        for (int use = GOPS_MOMENTS_ONLY; use >= GOPS_MOMENTS_GIVEN; use--) {
            for (int i = 0; i < 2; i++) {
                const int64_t first = i == 0 ? 0 : CUT, channels = i == 0 ? CUT : CHANNELS - CUT;
                const size_t skipped = (size_t)first * bytes, before = skipped * PIXELS;
                const gops_tensor data = GOPS_TEST_TENSOR(gops_test_reals[t], 1, channels, PIXELS);
                const gops_tensor c = GOPS_TEST_TENSOR(gops_test_reals[t], channels);
                const gops_options options = {.size = sizeof options,
                                              .moments = (gops_moments_use)use};
                gops_plan *plan = NULL;
                gops_error error = {GOPS_OK, ""};
                gops_arguments arguments = GOPS_ARGUMENTS_INIT;
                arguments.data = (char *)buffers.data.memory + before;
                arguments.moments = &parts[i];
                if (use == GOPS_MOMENTS_GIVEN) {
                    arguments.moments = &all;
                    arguments.scale = (char *)buffers.scale.memory + skipped;
                    arguments.bias = (char *)buffers.bias.memory + skipped;
                    arguments.output = (char *)buffers.output.memory + before;
                }
                gops_norm_plan_create(&data, &c, &c, &problem.norm, &options, &plan, &error);
                gops_test_check(gops_execute(plan, &arguments, &error) == GOPS_OK, "%s",
                                error.message);
                gops_plan_destroy(plan);
            }
            all = parts[0];
            gops_moments_merge(&all, &parts[1]);
        }
        gops_problem_reference(&problem, &buffers, &result);
        gops_test_check(all.count == CHANNELS * PIXELS, "%g elements", all.count);
        gops_test_check(gops_problem_compare(&problem, &result, buffers.output.memory),
                        "%s: wrong values", gops_test_type_name(gops_test_reals[t]));
        gops_reference_result_destroy(&result);
        gops_problem_buffers_destroy(&buffers);
    }
}

/* Batch normalization: a group for each channel, and moments that are not the data's. */
static void moments_given(void)
{
    static float x[2 * CHANNELS * PIXELS], y[2 * CHANNELS * PIXELS];
    float scale[CHANNELS], bias[CHANNELS], means[2 * CHANNELS], variances[2 * CHANNELS];
    gops_test_random random = gops_test_random_start(gops_test_seed(), 63);
    const gops_tensor data = GOPS_TEST_TENSOR(GOPS_F32, 2, CHANNELS, PIXELS);
    const gops_tensor c = GOPS_TEST_TENSOR(GOPS_F32, CHANNELS);
    const gops_norm_attributes attributes = {CHANNELS, 1e-3};
    const gops_options options = {.size = sizeof options, .moments = GOPS_MOMENTS_GIVEN};
    gops_plan *plan = NULL;
    gops_arguments arguments = GOPS_ARGUMENTS_INIT;
    int wrong = 0;
    gops_test_random_fill(&random, GOPS_F32, x, 2 * CHANNELS * PIXELS);
    gops_test_random_fill(&random, GOPS_F32, scale, CHANNELS);
    gops_test_random_fill(&random, GOPS_F32, bias, CHANNELS);
    for (int i = 0; i < 2 * CHANNELS; i++) {
        means[i] = (float)gops_test_random_real(&random);
        variances[i] = 0.25f + (float)i;
    }
    gops_norm_plan_create(&data, &c, &c, &attributes, &options, &plan, NULL);
    arguments.data = x;
    arguments.output = y;
    arguments.scale = scale;
    arguments.bias = bias;
    arguments.mean = means;
    arguments.variance = variances;
    gops_test_check(gops_execute(plan, &arguments, NULL) == GOPS_OK, "not executed");
    for (int i = 0; i < 2 * CHANNELS * PIXELS; i++) {
        const int group = i / PIXELS, channel = group % CHANNELS;
        const double factor = (double)scale[channel] / sqrt((double)variances[group] + 1e-3);
        const double value = ((double)x[i] - (double)means[group]) * factor + (double)bias[channel];
        const double terms = (fabs((double)x[i]) + fabs((double)means[group])) * fabs(factor) +
                             fabs((double)bias[channel]);
        /* Four roundings: factor, difference, product, sum. */
        wrong += !(fabs((double)y[i] - value) <= 4 * 0x1p-24 * terms);
    }
    gops_test_check(wrong == 0, "%d values are wrong", wrong);
    gops_plan_destroy(plan);
}

/* What is found is written, whatever else is done: cut into blocks and not. */
static void moments_found(void)
{
    static const int64_t pixels[] = {7, PIXELS, 100003};
    for (int i = 0; i < 3; i++) {
        const gops_problem problem =
            gops_problem_of_norm(GOPS_F64, 2, CHANNELS * GROUPS, pixels[i], GROUPS, 1);
        const gops_tensor c = gops_problem_coefficients(&problem);
        gops_test_random random = gops_test_random_start(gops_test_seed(), 64);
        gops_problem_buffers buffers =
            gops_problem_buffers_create(&problem, &problem.data, &random);
        gops_moments moments[2][2 * GROUPS];
        double means[2][2 * GROUPS], variances[2][2 * GROUPS];
        for (int only = 0; only < 2; only++) {
            const gops_options options = {.size = sizeof options,
                                          .moments = only ? GOPS_MOMENTS_ONLY : GOPS_MOMENTS_FOUND};
            gops_plan *plan = NULL;
            gops_arguments arguments = GOPS_ARGUMENTS_INIT;
            arguments.data = buffers.data.memory;
            arguments.output = only ? NULL : buffers.output.memory;
            arguments.scale = only ? NULL : buffers.scale.memory;
            arguments.bias = only ? NULL : buffers.bias.memory;
            arguments.mean = means[only];
            arguments.variance = variances[only];
            arguments.moments = moments[only];
            gops_norm_plan_create(&problem.data, &c, &c, &problem.norm, &options, &plan, NULL);
            gops_test_check(gops_execute(plan, &arguments, NULL) == GOPS_OK, "not executed");
            gops_plan_destroy(plan);
        }
        for (int group = 0; group < 2 * GROUPS; group++) {
            const gops_moments *found = &moments[0][group];
            gops_test_check(found->center + found->rest == means[0][group] &&
                                found->squares / found->count == variances[0][group] &&
                                found->count == (double)(CHANNELS * pixels[i]),
                            "group %d has other moments", group);
        }
        gops_test_check(memcmp(moments[0], moments[1], sizeof moments[0]) == 0 &&
                            memcmp(means[0], means[1], sizeof means[0]) == 0 &&
                            memcmp(variances[0], variances[1], sizeof variances[0]) == 0,
                        "other moments without values");
        gops_problem_buffers_destroy(&buffers);
    }
}

static void moments_refused(void)
{
    float x[2 * CHANNELS] = {1}, y[2 * CHANNELS], values[2 * CHANNELS] = {1};
    gops_moments moments[2] = {{1, 0, 0, 0}};
    const gops_tensor data = GOPS_TEST_TENSOR(GOPS_F32, 2, CHANNELS);
    const gops_tensor c = GOPS_TEST_TENSOR(GOPS_F32, CHANNELS);
    const gops_tensor filter = GOPS_TEST_TENSOR(GOPS_F32, 1, 1, CHANNELS, 1);
    const gops_tensor image = GOPS_TEST_TENSOR(GOPS_F32, 2, CHANNELS, 1);
    const gops_norm_attributes attributes = {1, 1e-3};
    gops_options options = {.size = sizeof options, .moments = GOPS_MOMENTS_GIVEN};
    gops_plan *plan = NULL, *none = NULL;
    gops_error error = gops_fresh_error();
    gops_arguments arguments = {
        .size = sizeof arguments, .data = x, .output = y, .scale = values, .bias = values};
    gops_norm_plan_create(&data, &c, &c, &attributes, &options, &plan, NULL);
    gops_check_refusal("moments", gops_execute(plan, &arguments, &error), &error, GOPS_INVALID,
                       "arguments.mean is NULL");
    arguments.mean = values;
    gops_check_refusal("moments", gops_execute(plan, &arguments, &error), &error, GOPS_INVALID,
                       "arguments.variance is NULL");
    arguments.moments = moments;
    gops_check_refusal("moments", gops_execute(plan, &arguments, &error), &error, GOPS_INVALID,
                       "arguments.mean and arguments.moments are both given; the plan reads one");
    gops_check_refusal("moments",
                       gops_conv_plan_create(&image, &filter, NULL, &options, &none, &error),
                       &error, GOPS_INVALID, "moments is 1; only a normalization has them");
    options.moments = (gops_moments_use)3;
    gops_check_refusal("moments",
                       gops_norm_plan_create(&data, &c, &c, &attributes, &options, &none, &error),
                       &error, GOPS_INVALID, "moments is 3; it must be from 0 to 2");
    gops_plan_destroy(plan);
    options.moments = GOPS_MOMENTS_ONLY;
    gops_norm_plan_create(&data, &c, &c, &attributes, &options, &plan, NULL);
    arguments.mean = arguments.moments = NULL;
    gops_check_refusal("moments", gops_execute(plan, &arguments, &error), &error, GOPS_INVALID,
                       "arguments.mean, variance and moments are NULL; a plan that only finds "
                       "moments writes nothing else");
    gops_plan_destroy(plan);
}

/* By a mean of 0 and a scale of 1, of zeros only -0 with a bias of -0 gives -0: in vectors and in what is left. */
static void check_zeros(gops_type type, int64_t pixels)
{
    enum { MOST = 37 };
    const gops_tensor data = GOPS_TEST_TENSOR(type, 1, 2, pixels), c = GOPS_TEST_TENSOR(type, 2);
    const gops_norm_attributes attributes = {1, 1e-30};
    const gops_options options = {.size = sizeof options, .moments = GOPS_MOMENTS_GIVEN};
    double x[2 * MOST], y[2 * MOST], expected[2 * MOST], scale[2], bias[2]; /* as wide as any */
    gops_moments given = {.count = 1, .squares = 1};
    gops_plan *plan = NULL;
    gops_error error = {GOPS_OK, ""};
    gops_arguments arguments = GOPS_ARGUMENTS_INIT;
    for (int i = 0; i < 2; i++) {
        gops_test_set_real(type, scale, i, 1);
        gops_test_set_real(type, bias, i, i == 0 ? -0.0L : 0);
    }
    for (int64_t i = 0; i < 2 * pixels; i++) {
        gops_test_set_real(type, x, i, i % 2 == 0 ? -0.0L : 0);
        gops_test_set_real(type, expected, i, i % 2 == 0 && i < pixels ? -0.0L : 0);
    }
    arguments.data = x;
    arguments.scale = scale;
    arguments.bias = bias;
    arguments.output = y;
    arguments.moments = &given;
    memset(y, 0xff, sizeof y);
    gops_norm_plan_create(&data, &c, &c, &attributes, &options, &plan, &error);
    gops_test_check(gops_execute(plan, &arguments, &error) == GOPS_OK, "%s", error.message);
    gops_test_check(gops_test_compare_bytes("zeros", &data, y, expected), "see the lines above");
    gops_plan_destroy(plan);
}

static void zeros(void)
{
    for (int t = 0; t < GOPS_TEST_REALS; t++) {
        check_zeros(gops_test_reals[t], 37);
        check_zeros(gops_test_reals[t], 7);
    }
}

/* The variance of numbers whose squares underflow is +0 on every instruction set. */
static void squares_that_underflow(void)
{
    enum { ELEMENTS = 91 };
    const gops_tensor data = GOPS_TEST_TENSOR(GOPS_F64, 1, 1, ELEMENTS);
    const gops_tensor c = GOPS_TEST_TENSOR(GOPS_F64, 1);
    const gops_norm_attributes attributes = {1, 1e-12};
    gops_test_random random = gops_test_random_start(gops_test_seed(), 66);
    double x[ELEMENTS], y[ELEMENTS], mean = NAN, variance = NAN;
    const double one = 1;
    gops_plan *plan = NULL;
    gops_error error = {GOPS_OK, ""};
    const gops_arguments arguments = {.size = sizeof arguments,
                                      .data = x,
                                      .scale = &one,
                                      .bias = &one,
                                      .output = y,
                                      .mean = &mean,
                                      .variance = &variance};
    gops_norm_plan_create(&data, &c, &c, &attributes, NULL, &plan, &error);
    for (int trial = 0; trial < 100; trial++) {
        for (int64_t i = 0; i < ELEMENTS; i++)
            x[i] = ldexp(gops_test_random_real(&random), -900);
        gops_test_check(gops_execute(plan, &arguments, &error) == GOPS_OK, "%s", error.message);
        gops_test_check(variance == 0 && !signbit(variance), "a variance of %a", variance);
    }
    gops_plan_destroy(plan);
}

int main(void)
{
    static const gops_test_case cases[] = {{"written", moments},
                                           {"of_parts", moments_of_parts},
                                           {"given", moments_given},
                                           {"found", moments_found},
                                           {"refused", moments_refused},
                                           {"zeros", zeros},
                                           {"squares_that_underflow", squares_that_underflow},
                                           {NULL, NULL}};
    return gops_test_main("moments of GroupNormalization", cases);
}
