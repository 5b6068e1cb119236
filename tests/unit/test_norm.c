/* GroupNormalization where a careless method loses its digits, against long double. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "problem.h"
#include "compare.h"
#include "elements.h"
#include "harness.h"
#include "planes.h"
#include "refusal.h"

/* Whether the outputs have the same bytes, but for those of NaN, whose signs are the compiler's choice. */
static int is_same(const gops_tensor *output, const void *one, const void *other)
{
    const size_t size = gops_test_type_bytes(output->type);
    const size_t count = (size_t)gops_test_elements(output);
    if (memcmp(one, other, count * size) == 0)
        return 1;
    for (size_t i = 0; i < count; i++)
        if (memcmp((const char *)one + i * size, (const char *)other + i * size, size) != 0 &&
            !(isnan(gops_test_get_real(output->type, one, (int64_t)i)) &&
              isnan(gops_test_get_real(output->type, other, (int64_t)i))))
            return 0;
    return 1;
}

/* Executes on the buffers as they are, in place too, and compares. */
static void check(const gops_problem *problem, gops_problem_buffers *buffers)
{
    gops_reference_result result;
    gops_error error = {GOPS_OK, ""};
    gops_problem_text text;
    const char *what = gops_problem_describe(problem, &text);
    gops_problem_reference(problem, buffers, &result);
    gops_test_check(gops_problem_run(problem, buffers, &error) == GOPS_OK, "%s", error.message);
    gops_test_check(gops_problem_compare(problem, &result, buffers->output.memory),
                    "%s: wrong values", what);
    gops_problem_buffers in_place = *buffers;
    in_place.output = in_place.data;
    gops_test_check(gops_problem_run(problem, &in_place, &error) == GOPS_OK, "%s", error.message);
    gops_test_check(is_same(&problem->data, buffers->data.memory, buffers->output.memory),
                    "%s: other bytes in place", what);
    gops_reference_result_destroy(&result);
}

/* Nothing where the type does not reach. */
static void with_mean(gops_problem problem, long double mean, long double spread)
{
    uint64_t largest;
    gops_test_set_real(problem.data.type, &largest, 0, fabsl(mean) + spread);
    if (!isfinite(gops_test_get_real(problem.data.type, &largest, 0)))
        return;
    gops_test_random random = gops_test_random_start(gops_test_seed(), 61);
    gops_problem_buffers buffers = gops_problem_buffers_of_mean(&problem, mean, spread, &random);
    check(&problem, &buffers);
    gops_problem_buffers_destroy(&buffers);
}

/* None, one that kernels apply, and one that is applied behind them. */
static const gops_activation activations[] = {{GOPS_ACTIVATION_NONE, 0, 0},
                                              {GOPS_ACTIVATION_CLAMP, -0.375, 0.625},
                                              {GOPS_ACTIVATION_SWISH, 1, 0}};
enum { ACTIVATIONS = sizeof activations / sizeof *activations };

static void large_mean(void)
{
    /* 256: the piece in which a residual is kept that lies in the output. */
    static const int64_t pixels[] = {1, 7, 97, 256, 4099};
    enum { PIXELS = sizeof pixels / sizeof *pixels };
    for (int t = 0; t < GOPS_TEST_REALS; t++)
        for (int i = 0; i < PIXELS * ACTIVATIONS; i++) {
            gops_problem p =
                gops_problem_of_norm(gops_test_reals[t], 2, 15, pixels[i % PIXELS], 5, 1e-5);
            p.activation = activations[i / PIXELS];
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
        with_mean(gops_problem_of_norm(gops_test_reals[t], 1, 10, 1000003, 1, 1e-5), 1e4L, 1);
}

/* Larger than the caches, in groups that fit into them: memory of outputs is asked for early. */
static void many_groups(void)
{
    with_mean(gops_problem_of_norm(GOPS_F32, 3, 61, 30011, 61, 1e-5), 3, 1);
    with_mean(gops_problem_of_norm(GOPS_BF16, 3, 61, 30011, 61, 1e-5), 3, 1);
}

enum { FEW = 3 };

/* Runs a batch of FEW images again and again, with gaps, and compares each with what they were alone.
 * The output's gaps must stay. */
static void like_few(const gops_plan *plan, const gops_arguments *arguments, const void *few,
                     const gops_test_planes *planes)
{
    gops_error error = {GOPS_OK, ""};
    size_t wrong = 0;
    gops_test_check(gops_execute(plan, arguments, &error) == GOPS_OK, "%s", error.message);
    for (size_t i = 0; i < planes->images * planes->channels; i++) {
        const size_t image = i / planes->channels, channel = i % planes->channels;
        const char *at = (const char *)arguments->output + image * planes->image;
        wrong +=
            memcmp(at + channel * planes->plane,
                   (const char *)few + (image % FEW * planes->channels + channel) * planes->channel,
                   planes->channel) != 0;
    }
    gops_test_check(wrong == 0, "%zu channels differ from those alone", wrong);
    gops_test_check(gops_test_planes_written(planes, arguments->output) == 0, "wrote gaps");
}

/* Of FEW images and of many like them, with the data beside the output and in it. */
static void check_many(gops_problem p, int64_t images)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 66);
    gops_problem_buffers few = gops_problem_buffers_create(&p, &p.data, &random);
    gops_plan *plan = NULL;
    gops_problem many = p;
    many.data.dims[0] = images;
    const gops_test_planes planes =
        gops_test_planes_of(&many.data, p.output_channel_gap, p.output_gap);
    const size_t rounded = (planes.whole + 63) / 64 * 64;
    char *data = aligned_alloc(64, rounded), *output = aligned_alloc(64, rounded);
    memset(data, GOPS_TEST_GAP, rounded);
    memset(output, GOPS_TEST_GAP, rounded);
    gops_test_planes one = planes;
    one.images = 1;
    for (size_t i = 0; i < planes.images; i++)
        gops_test_planes_spread(
            &one, (const char *)few.data.memory + i % FEW * planes.channels * planes.channel,
            data + i * planes.image);
    check(&p, &few); /* overwrites the data */
    gops_test_check(gops_problem_plan(&many, &plan, NULL) == GOPS_OK, "no plan");
    gops_arguments arguments = {.size = sizeof arguments,
                                .data = data,
                                .scale = few.scale.memory,
                                .bias = few.bias.memory,
                                .output = output};
    arguments.data_stride = arguments.output_stride =
        gops_test_image_stride(&many.data, p.output_channel_gap, p.output_gap);
    like_few(plan, &arguments, few.output.memory, &planes);
    arguments.output = data;
    like_few(plan, &arguments, few.output.memory, &planes);
    gops_plan_destroy(plan);
    gops_problem_buffers_destroy(&few);
    free(output);
    free(data);
}

/* What no processor's caches hold, 33 times the largest second level cache that a plan reckons
 * with: outputs go past them, unless they are the data or swish is applied to them. Images begin at
 * whole vectors; channels end at one, or within one, with and without gaps behind them. */
static void past_the_caches(void)
{
    enum { CHANNELS = 7, MAX_L2_BYTES = 4 << 20, LANES = 16 };
    for (int i = 0; i < 4 * ACTIVATIONS; i++) {
        const int64_t pixels = 16000 + i % 2 * 8, gap = i % 4 / 2 * LANES / 2;
        const int64_t elements = CHANNELS * (pixels + gap);
        gops_problem p = gops_problem_of_norm(GOPS_F32, FEW, CHANNELS, pixels, CHANNELS, 1e-5);
        p.activation = activations[i / 4];
        p.data_channel_gap = p.output_channel_gap = gap;
        p.data_gap = p.output_gap = (elements + LANES - 1) / LANES * LANES - elements;
        check_many(p, 33 * MAX_L2_BYTES / (elements * (int64_t)sizeof(float)) + 1);
    }
}

/* The bound that groupops/plan.h states for an output y whose element is z deviations from the mean. */
static long double stated_bound(gops_type type, int64_t n, long double z, long double most,
                                long double scale, long double bias, long double y)
{
    const gops_type computed = type == GOPS_F64 ? GOPS_F64 : GOPS_F32;
    const long double u = gops_test_unit_roundoff(computed), t = gops_test_smallest(computed) / 2;
    const long double rounding =
        type == computed ? 0 : gops_test_unit_roundoff(type) * fabsl(y) * (1 + 4 * u);
    const long double sum = type == GOPS_F64
                                ? fabsl(scale) * (3 * log2l((long double)n) + 56) * most
                                : fabsl(scale) * (11 + 24 * fabsl(z)) + fabsl(bias);
    return u * (sum + fabsl(y)) + 2 * t * fabsl(scale) + rounding +
           (type == computed ? 0 : gops_test_smallest(type));
}

/* Group 0 of one, two channels of n elements; scales from 1e-4 of the bias on. */
static void check_stated_bound(gops_type type, gops_test_random *random)
{
    const int64_t n = gops_test_random_range(random, 5, 900);
    gops_problem p = gops_problem_of_norm(type, 1, 2, n, 1, 1e-5);
    const long double far = type == GOPS_F32 || type == GOPS_F64 ? 1e4L : 1;
    gops_problem_buffers b = gops_problem_buffers_of_mean(&p, far, 1, random);
    gops_reference_result result;
    gops_error error = {GOPS_OK, ""};
    long double scale[2], bias[2], most = 0;
    for (int c = 0; c < 2; c++) {
        scale[c] = (long double)(gops_test_random_real(random) + 2) *
                   powl(2, (long double)gops_test_random_range(random, -6, 1));
        gops_test_set_real(type, b.scale.memory, c, scale[c] * (type == GOPS_F32 ? 0x1p-7L : 1));
        scale[c] = gops_test_get_real(type, b.scale.memory, c);
        bias[c] = gops_test_get_real(type, b.bias.memory, c);
    }
    gops_problem_reference(&p, &b, &result);
    for (int64_t i = 0; i < 2 * n; i++)
        most = fmaxl(most, fabsl((result.value[i] - bias[i / n]) / scale[i / n]));
    gops_test_check(gops_problem_run(&p, &b, &error) == GOPS_OK, "%s", error.message);
    for (int64_t i = 0; i < 2 * n; i++) {
        const long double y = result.value[i], z = (y - bias[i / n]) / scale[i / n];
        const long double bound = stated_bound(type, 2 * n, z, most, scale[i / n], bias[i / n], y);
        const long double off = fabsl(gops_test_get_real(type, b.output.memory, i) - y);
        gops_test_check(off <= bound, "%s: off by %.4Lg, stated %.4Lg", gops_test_type_name(type),
                        off, bound);
    }
    gops_reference_result_destroy(&result);
    gops_problem_buffers_destroy(&b);
}

static void stated_bounds(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 66);
    gops_test_need_wide_long_double();
    for (int t = 0; t < GOPS_TEST_REALS; t++)
        for (int i = 0; i < 20; i++)
            check_stated_bound(gops_test_reals[t], &random);
}

static void huge_and_tiny_values(void)
{
    for (int i = 0; i < GOPS_TEST_REALS * ACTIVATIONS; i++) {
        gops_problem p =
            gops_problem_of_norm(gops_test_reals[i / ACTIVATIONS], 3, 14, 101, 2, 1e-5);
        p.activation = activations[i % ACTIVATIONS];
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
    for (int t = 0; t < GOPS_TEST_REALS; t++)
        for (int last = 0; last <= 1; last++) {
            gops_test_random random = gops_test_random_start(gops_test_seed(), 62);
            gops_problem p = gops_problem_of_norm(gops_test_reals[t], 1, 3, 10007, 1, 1e-5);
            gops_problem_buffers b = gops_problem_buffers_create(&p, &p.data, &random);
            gops_test_set_real(gops_test_reals[t], b.data.memory,
                               last ? gops_test_elements(&p.data) - 1 : 0, 1e7L);
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
    for (int t = 0; t < GOPS_TEST_REALS; t++)
        for (int i = 0; i < 4; i++) {
            long double value = (const long double[]){0.1L, 1e4L, -1e30L, 0}[i];
            if (gops_test_reals[t] != GOPS_F64 && gops_test_reals[t] != GOPS_F32 &&
                gops_test_reals[t] != GOPS_BF16)
                value = (const long double[]){0.1L, 17, -3, 0}[i];
            nothing_but_the_mean(gops_problem_of_norm(gops_test_reals[t], 2, 7, 1, 7, 1e-5), value);
            nothing_but_the_mean(gops_problem_of_norm(gops_test_reals[t], 2, 14, 41, 2, 1e-5),
                                 value);
            nothing_but_the_mean(gops_problem_of_norm(gops_test_reals[t], 1, 3, 1009, 1, 1e-12),
                                 value);
        }
}

/* Rank 2 to 8, and data whose groups differ in everything. */
static void ranks(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 64);
    for (int t = 0; t < GOPS_TEST_REALS; t++)
        for (int32_t rank = 2; rank <= 8; rank++) {
            gops_problem p = {.operation = GOPS_PROBLEM_NORM,
                              .data = {gops_test_reals[t], rank, {3, 35, 2, 5, 1, 3, 2, 7}},
                              .norm = {7, 1e-3}};
            gops_problem_check(&p, &random);
        }
}

int main(void)
{
    static const gops_test_case cases[] = {{"large_mean", large_mean},
                                           {"ten_million_elements", ten_million_elements},
                                           {"many_groups", many_groups},
                                           {"past_the_caches", past_the_caches},
                                           {"stated_bounds", stated_bounds},
                                           {"huge_and_tiny_values", huge_and_tiny_values},
                                           {"one_far_away", one_far_away},
                                           {"one_element_or_equal_ones", one_element_or_equal_ones},
                                           {"ranks", ranks},
                                           {NULL, NULL}};
    return gops_test_main("GroupNormalization", cases);
}
