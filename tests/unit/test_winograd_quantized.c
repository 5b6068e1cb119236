/* Winograd's convolution of 8 bits: exact for the most channels that it serves, whose sums are the largest;
 * what it refuses. test_random_quantized.c has all else. */
#include <string.h>

#include "every_plan.h"
#include "harness.h"

enum { MAX_CHANNELS = 917, MAX_TRANSPOSED = 2064 };

/* All data and all weights are 255 from their zero points; the largest sum and the least one. */
static void check_largest(const gops_plan *plan, int64_t outputs_count, uint8_t weight,
                          uint8_t zero_point, int64_t sum)
{
    static uint8_t data[MAX_TRANSPOSED * 9], weights[MAX_TRANSPOSED * 16];
    gops_quantization q = GOPS_QUANTIZATION_INIT;
    gops_packed_filter *filter;
    gops_error error = {GOPS_OK, ""};
    int32_t output[4] = {0};
    memset(data, UINT8_MAX, sizeof data);
    memset(weights, weight, sizeof weights);
    q.filter_zero_points = &zero_point;
    q.filter_zero_points_count = 1;
    gops_test_check(gops_filter_create(plan, weights, &q, &filter, &error) == GOPS_OK, "%s",
                    error.message);
    const gops_arguments arguments = {
        .size = sizeof arguments, .data = data, .filter = filter, .output = output};
    gops_test_check(gops_execute(plan, &arguments, &error) == GOPS_OK, "%s", error.message);
    for (int64_t i = 0; i < outputs_count; i++)
        gops_test_check(output[i] == sum, "%s: %d, not %d", gops_isa(), (int)output[i], (int)sum);
    gops_filter_destroy(filter);
}

/* The problem has `most` channels, and one more is refused. */
static void check_most(gops_problem p, const char *form, int64_t outputs_count, int64_t sum,
                       const char *refusal)
{
    const int deconv = p.operation == GOPS_PROBLEM_DECONV;
    gops_plan *plan;
    gops_error error = {GOPS_OK, ""};
    p.output_type = GOPS_I32;
    p.algorithm = form;
    gops_test_check(gops_problem_plan(&p, &plan, &error) == GOPS_OK, "%s", error.message);
    check_largest(plan, outputs_count, UINT8_MAX, 0, sum);
    check_largest(plan, outputs_count, 0, UINT8_MAX, -sum);
    gops_plan_destroy(plan);
    p.data.dims[1]++;
    p.filter.dims[deconv ? 1 : 2]++;
    gops_test_check(gops_problem_plan(&p, &plan, &error) == GOPS_UNSUPPORTED &&
                        strstr(error.message, refusal) != NULL,
                    "%s: %s", form, error.message);
}

static void largest_sums_of_isa(void *context)
{
    gops_problem p = {.operation = GOPS_PROBLEM_CONV,
                      .data = {GOPS_U8, 4, {1, MAX_CHANNELS, 3, 3}},
                      .filter = {GOPS_U8, 5, {1, 1, MAX_CHANNELS, 3, 3}}};
    gops_problem q = {
        .operation = GOPS_PROBLEM_DECONV,
        .data = {GOPS_U8, 4, {1, MAX_TRANSPOSED, 2, 2}},
        .filter = {GOPS_U8, 5, {1, MAX_TRANSPOSED, 1, 4, 4}},
        .deconv = {.strides = {2, {2, 2}}, .pads_begin = {2, {2, 2}}, .pads_end = {2, {2, 2}}}};
    (void)context;
    check_most(p, "winograd/f2", 1, INT64_C(255) * 255 * 9 * MAX_CHANNELS,
               "2 to 917 input channels, not 918");
    check_most(q, "winograd/f3", 4, INT64_C(255) * 255 * 4 * MAX_TRANSPOSED,
               "2 to 2064 input channels, not 2065");
}

static void largest_sums(void)
{
    gops_test_every_isa(largest_sums_of_isa, NULL);
}

static void check_refused(gops_problem p, const char *expected)
{
    gops_plan *plan;
    gops_error error = {GOPS_OK, ""};
    gops_test_check(gops_problem_plan(&p, &plan, &error) == GOPS_UNSUPPORTED && plan == NULL &&
                        strstr(error.message, expected) != NULL,
                    "not refused as \"%s\": \"%s\"", expected, error.message);
    gops_plan_destroy(plan);
}

static void refused_transposed(void)
{
    gops_problem p = {.operation = GOPS_PROBLEM_DECONV,
                      .algorithm = "winograd/f3",
                      .output_type = GOPS_U8,
                      .data = {GOPS_U8, 4, {1, 5, 7, 11}},
                      .filter = {GOPS_U8, 5, {1, 5, 3, 4, 4}},
                      .deconv = {.strides = {2, {2, 2}}}},
                 q = p;
    q.deconv.strides.values[1] = 1;
    check_refused(q, "twice the stride, with dilation 1; axis 1 has a kernel of 4, stride 1");
    q = p;
    q.deconv.dilations = (gops_list){2, {2, 1}};
    check_refused(q, "axis 0 has a kernel of 4, stride 2, dilation 2");
    q = p;
    q.filter.dims[4] = 6;
    q.deconv.strides.values[1] = 3;
    check_refused(q, "not 6");
    q = p;
    q.data.type = q.filter.type = q.output_type = GOPS_F32;
    check_refused(q, "winograd/f3 serves quantized plans, not f32");
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"largest_sums", largest_sums},
        {"refused_transposed", refused_transposed},
        {NULL, NULL},
    };
    return gops_test_main("winograd_quantized", cases);
}
