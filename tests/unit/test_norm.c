/* GroupNormalization where a careless method loses its digits, against long double. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "problem.h"
#include "compare.h"
#include "elements.h"
#include "harness.h"
#include "refusal.h"

static const gops_type types[] = {GOPS_F64,  GOPS_F32,    GOPS_F16,
                                  GOPS_BF16, GOPS_F8E4M3, GOPS_F8E5M2};
enum { TYPES = sizeof types / sizeof types[0] };

static gops_problem problem_of(gops_type type, int64_t batch, int64_t channels, int64_t pixels,
                               int64_t groups, double epsilon)
{
    return (gops_problem){.operation = GOPS_PROBLEM_NORM,
                          .data = GOPS_TEST_TENSOR(type, batch, channels, pixels),
                          .norm = {groups, epsilon}};
}

/* Executes on the buffers as they are, in place too, and compares. */
static void check(const gops_problem *problem, gops_problem_buffers *buffers)
{
    gops_reference_result result;
    gops_error error = {GOPS_OK, ""};
    gops_problem_text text;
    const char *what = gops_problem_describe(problem, &text);
    size_t bytes =
        (size_t)gops_test_elements(&problem->data) * gops_test_type_bytes(problem->data.type);
    gops_problem_reference(problem, buffers, &result);
    gops_test_check(gops_problem_run(problem, buffers, &error) == GOPS_OK, "%s", error.message);
    gops_test_check(gops_problem_compare(problem, &result, buffers->output.memory),
                    "%s: wrong values", what);
    gops_problem_buffers in_place = *buffers;
    in_place.output = in_place.data;
    gops_test_check(gops_problem_run(problem, &in_place, &error) == GOPS_OK, "%s", error.message);
    gops_test_check(memcmp(buffers->data.memory, buffers->output.memory, bytes) == 0,
                    "%s: other bytes in place", what);
    gops_reference_result_destroy(&result);
}

/* Data of the given mean and spread, uniformly distributed. Nothing where the type does not reach.
 */
static void with_mean(gops_problem problem, long double mean, long double spread)
{
    uint64_t largest;
    gops_test_set_real(problem.data.type, &largest, 0, fabsl(mean) + spread);
    if (!isfinite(gops_test_get_real(problem.data.type, &largest, 0)))
        return;
    gops_test_random random = gops_test_random_start(gops_test_seed(), 61);
    gops_problem_buffers buffers = gops_problem_buffers_create(&problem, &problem.data, &random);
    for (int64_t i = 0; i < gops_test_elements(&problem.data); i++)
        gops_test_set_real(problem.data.type, buffers.data.memory, i,
                           mean + spread * (long double)gops_test_random_real(&random));
    check(&problem, &buffers);
    gops_problem_buffers_destroy(&buffers);
}

static void large_mean(void)
{
    /* 256: the piece in which a residual is kept that lies in the output. */
    static const int64_t pixels[] = {1, 7, 97, 256, 4099};
    for (int t = 0; t < TYPES; t++)
        for (size_t i = 0; i < sizeof pixels / sizeof pixels[0]; i++) {
            gops_problem p = problem_of(types[t], 2, 15, pixels[i], 5, 1e-5);
            with_mean(p, 1e4L, 1);
            with_mean(p, -1e4L, 1);
            with_mean(p, 1e4L, 1e-2L);
            with_mean(p, 3, 1e4L);
            with_mean(p, 100, 1);
            with_mean(p, -100, 30);
            with_mean(p, 3, 1);
        }
}

static void ten_million_elements(void)
{
    for (int t = 0; t < 3; t++) /* f64, f32, f16 */
        with_mean(problem_of(types[t], 1, 10, 1000003, 1, 1e-5), 1e4L, 1);
}

/* Larger than the caches, in groups that fit into them: memory of outputs is asked for early. */
static void many_groups(void)
{
    with_mean(problem_of(GOPS_F32, 3, 61, 30011, 61, 1e-5), 3, 1);
    with_mean(problem_of(GOPS_BF16, 3, 61, 30011, 61, 1e-5), 3, 1);
}

enum { GAP_BYTE = 0x5a };

/* Runs a batch of equal images, `stride` elements apart, and compares each with the one that was run
 * alone. What lies between the images of the output must stay. */
static void like_one(const gops_plan *plan, const gops_arguments *arguments, const void *one,
                     int64_t images, int64_t elements)
{
    const size_t image = (size_t)elements * sizeof(float);
    const size_t stride = (size_t)arguments->output_stride * sizeof(float);
    char gap[64];
    gops_error error = {GOPS_OK, ""};
    int64_t wrong = 0;
    memset(gap, GAP_BYTE, sizeof gap);
    gops_test_check(gops_execute(plan, arguments, &error) == GOPS_OK, "%s", error.message);
    for (int64_t i = 0; i < images; i++) {
        const char *at = (const char *)arguments->output + (size_t)i * stride;
        wrong += memcmp(at, one, image) != 0 || memcmp(at + image, gap, stride - image) != 0;
    }
    gops_test_check(wrong == 0, "%lld of %lld images differ from one alone", (long long)wrong,
                    (long long)images);
}

/* What no processor's caches hold, 33 times the largest second level cache that a plan reckons
 * with: outputs go past them, unless they are the data. Images begin at whole vectors; channels end
 * at one, or within one. */
static void past_the_caches(void)
{
    enum { CHANNELS = 7, MAX_L2_BYTES = 4 << 20 };
    for (int64_t pixels = 16000; pixels <= 16008; pixels += 8) {
        const int64_t elements = CHANNELS * pixels, stride = (elements + 15) / 16 * 16;
        const int64_t images = 33 * MAX_L2_BYTES / (stride * (int64_t)sizeof(float)) + 1;
        gops_problem p = problem_of(GOPS_F32, 1, CHANNELS, pixels, CHANNELS, 1e-5);
        gops_test_random random = gops_test_random_start(gops_test_seed(), 66);
        gops_problem_buffers one = gops_problem_buffers_create(&p, &p.data, &random);
        float *data = aligned_alloc(64, (size_t)(images * stride) * sizeof(float));
        float *output = aligned_alloc(64, (size_t)(images * stride) * sizeof(float));
        gops_plan *plan = NULL;
        memset(data, GAP_BYTE, (size_t)(images * stride) * sizeof(float));
        memset(output, GAP_BYTE, (size_t)(images * stride) * sizeof(float));
        for (int64_t i = 0; i < images; i++)
            memcpy(data + i * stride, one.data.memory, (size_t)elements * sizeof(float));
        check(&p, &one);
        p.data.dims[0] = images;
        gops_test_check(gops_problem_plan(&p, &plan, NULL) == GOPS_OK, "no plan");
        gops_arguments arguments = {.size = sizeof arguments,
                                    .data = data,
                                    .scale = one.scale.memory,
                                    .bias = one.bias.memory,
                                    .output = output,
                                    .data_stride = stride,
                                    .output_stride = stride};
        like_one(plan, &arguments, one.output.memory, images, elements);
        arguments.output = data;
        like_one(plan, &arguments, one.output.memory, images, elements);
        gops_plan_destroy(plan);
        gops_problem_buffers_destroy(&one);
        free(output);
        free(data);
    }
}

static void huge_and_tiny_values(void)
{
    for (int t = 0; t < TYPES; t++) {
        gops_problem p = problem_of(types[t], 3, 14, 101, 2, 1e-5);
        with_mean(p, 0, 1e30L);
        with_mean(p, 1e30L, 1e30L);
        with_mean(p, -1e30L, 1e27L);
        with_mean(p, 0, 1e-30L);
        p.norm.epsilon = 1e-30;
        with_mean(p, 0, 1e-15L);
        p.norm.epsilon = 1e30;
        with_mean(p, 2, 3);
    }
}

/* One value far away from all others, first or last. */
static void one_far_away(void)
{
    for (int t = 0; t < TYPES; t++)
        for (int last = 0; last <= 1; last++) {
            gops_test_random random = gops_test_random_start(gops_test_seed(), 62);
            gops_problem p = problem_of(types[t], 1, 3, 10007, 1, 1e-5);
            gops_problem_buffers b = gops_problem_buffers_create(&p, &p.data, &random);
            gops_test_set_real(types[t], b.data.memory, last ? gops_test_elements(&p.data) - 1 : 0,
                               1e7L);
            check(&p, &b);
            gops_problem_buffers_destroy(&b);
        }
}

/* A group of one element, or of equal ones: the difference from the mean is 0 and the output is
 * exactly the bias. */
static void nothing_but_the_mean(gops_problem problem, long double value)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 63);
    gops_problem_text text;
    gops_problem_buffers b = gops_problem_buffers_create(&problem, &problem.data, &random);
    gops_error error = {GOPS_OK, ""};
    int64_t pixels = problem.data.dims[2], channels = problem.data.dims[1];
    int64_t groups = problem.norm.num_groups;
    long double bound[4096] = {0}, expected[4096];
    for (int64_t i = 0; i < gops_test_elements(&problem.data); i++) {
        long double of_group = (long double)(i / pixels / (channels / groups) + 1) * value;
        gops_test_set_real(problem.data.type, b.data.memory, i, of_group);
        expected[i] = gops_test_get_real(problem.data.type, b.bias.memory, i / pixels % channels);
    }
    gops_test_check(gops_problem_run(&problem, &b, &error) == GOPS_OK, "%s", error.message);
    gops_test_check(gops_test_compare(gops_problem_describe(&problem, &text), &problem.data,
                                      b.output.memory, expected, bound),
                    "not the bias");
    gops_problem_buffers_destroy(&b);
}

static void one_element_or_equal_ones(void)
{
    for (int t = 0; t < TYPES; t++)
        for (int i = 0; i < 4; i++) {
            long double value = (const long double[]){0.1L, 1e4L, -1e30L, 0}[i];
            if (types[t] != GOPS_F64 && types[t] != GOPS_F32 && types[t] != GOPS_BF16)
                value = (const long double[]){0.1L, 17, -3, 0}[i];
            nothing_but_the_mean(problem_of(types[t], 2, 7, 1, 7, 1e-5), value);
            nothing_but_the_mean(problem_of(types[t], 2, 14, 41, 2, 1e-5), value);
            nothing_but_the_mean(problem_of(types[t], 1, 3, 1009, 1, 1e-12), value);
        }
}

/* Rank 2 to 8, and data whose groups differ in everything. */
static void ranks(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 64);
    for (int t = 0; t < TYPES; t++)
        for (int32_t rank = 2; rank <= 8; rank++) {
            gops_problem p = {.operation = GOPS_PROBLEM_NORM,
                              .data = {types[t], rank, {3, 35, 2, 5, 1, 3, 2, 7}},
                              .norm = {7, 1e-3}};
            gops_problem_check(&p, &random);
        }
}

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
    gops_problem p = problem_of(type, BATCH, channels, pixels, GROUPS, 1e-5);
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
    if (!gops_test_long_double_is_wide())
        gops_test_skip("long double is no wider than double here, as under valgrind");
    for (int t = 0; t < TYPES; t++) {
        check_moments(types[t], 15, 41);
        check_moments(types[t], 3, 70001); /* groups that are cut into pieces */
    }
}

enum { GROUPS = 3, CHANNELS = 5, PIXELS = 4099, CUT = 2 };

/* What a group of the first channels of an image and one of the others have, merged, is what the
 * group of all of them has; each part is normalized by it. */
static void moments_of_parts(void)
{
    for (int t = 0; t < TYPES; t++) {
        const gops_problem problem = problem_of(types[t], 1, CHANNELS, PIXELS, 1, 1e-5);
        const size_t bytes = gops_test_type_bytes(types[t]);
        gops_test_random random = gops_test_random_start(gops_test_seed(), 62);
        gops_problem_buffers buffers =
            gops_problem_buffers_create(&problem, &problem.data, &random);
        gops_moments parts[2], all;
        gops_reference_result result;
        for (int use = GOPS_MOMENTS_ONLY; use >= GOPS_MOMENTS_GIVEN; use--) {
            for (int i = 0; i < 2; i++) {
                const int64_t first = i == 0 ? 0 : CUT, channels = i == 0 ? CUT : CHANNELS - CUT;
                const size_t skipped = (size_t)first * bytes, before = skipped * PIXELS;
                const gops_tensor data = GOPS_TEST_TENSOR(types[t], 1, channels, PIXELS);
                const gops_tensor c = GOPS_TEST_TENSOR(types[t], channels);
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
                        "%s: wrong values", gops_test_type_name(types[t]));
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
            problem_of(GOPS_F64, 2, CHANNELS * GROUPS, pixels[i], GROUPS, 1);
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
}

int main(void)
{
    static const gops_test_case cases[] = {{"large_mean", large_mean},
                                           {"ten_million_elements", ten_million_elements},
                                           {"many_groups", many_groups},
                                           {"past_the_caches", past_the_caches},
                                           {"huge_and_tiny_values", huge_and_tiny_values},
                                           {"one_far_away", one_far_away},
                                           {"one_element_or_equal_ones", one_element_or_equal_ones},
                                           {"ranks", ranks},
                                           {"moments", moments},
                                           {"moments_of_parts", moments_of_parts},
                                           {"moments_given", moments_given},
                                           {"moments_found", moments_found},
                                           {"moments_refused", moments_refused},
                                           {NULL, NULL}};
    return gops_test_main("GroupNormalization", cases);
}
