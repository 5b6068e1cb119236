/* GroupConvolutionBackpropData: output shapes, pads and values worked out by hand. */
#include <string.h>

#include "checked_axis.h"
#include "elements.h"
#include "harness.h"
#include "wide_numbers.h"

#define EXPLICIT GOPS_AUTO_PAD_EXPLICIT
#define UPPER GOPS_AUTO_PAD_SAME_UPPER
#define LOWER GOPS_AUTO_PAD_SAME_LOWER
#define VALID GOPS_AUTO_PAD_VALID
#define SPEC GOPS_OUTPUT_SHAPE_SPEC
#define OPENVINO GOPS_OUTPUT_SHAPE_OPENVINO
#define ONNX GOPS_OUTPUT_SHAPE_ONNX

/* One spatial axis and what must come of it; output_shape 0 means that it is not given. */
typedef struct axis_case {
    int64_t data, kernel, stride, dilation;
    gops_auto_pad auto_pad;
    gops_output_shape_rule rule;
    int64_t given_begin, given_end, output_padding, output_shape;
    int64_t output, begin, end;
} axis_case;

static const axis_case axis_cases[] = {
    /* X K s d auto_pad rule, given pads, output_padding, output_shape -> Y, pads.
     * 5 elements, kernel 3, stride 2: the whole scatter result has 2 * 4 + 3 = 11. */
    {5, 3, 2, 1, EXPLICIT, SPEC, 0, 0, 0, 0, 11, 0, 0},
    {5, 3, 2, 1, EXPLICIT, SPEC, 1, 2, 0, 0, 8, 1, 2},
    {5, 3, 2, 1, EXPLICIT, SPEC, 2, 1, 0, 0, 8, 2, 1},
    {5, 3, 2, 1, EXPLICIT, SPEC, 0, 0, 1, 0, 12, 0, 0},
    {5, 3, 2, 1, EXPLICIT, SPEC, 1, 2, 3, 0, 11, 1, 2},
    {5, 3, 2, 1, EXPLICIT, OPENVINO, 1, 2, 1, 0, 9, 1, 2},
    {5, 3, 2, 1, EXPLICIT, ONNX, 1, 2, 1, 0, 9, 1, 2},
    /* Without output_shape any other auto_pad means no pads ... */
    {5, 3, 2, 1, VALID, SPEC, 1, 2, 0, 0, 11, 0, 0},
    {5, 3, 2, 1, UPPER, SPEC, 1, 2, 0, 0, 11, 0, 0},
    {5, 3, 2, 1, LOWER, SPEC, 1, 2, 1, 0, 12, 0, 0},
    {5, 3, 2, 1, UPPER, OPENVINO, 1, 2, 0, 0, 11, 0, 0},
    {5, 3, 2, 1, LOWER, OPENVINO, 1, 2, 0, 0, 11, 0, 0},
    {5, 3, 2, 1, VALID, ONNX, 1, 2, 0, 0, 11, 0, 0},
    /* ... but with onnx same_* aims at 5 * 2 = 10: totals 1, 2 and 3. */
    {5, 3, 2, 1, UPPER, ONNX, 0, 0, 0, 0, 10, 0, 1},
    {5, 3, 2, 1, LOWER, ONNX, 0, 0, 0, 0, 10, 1, 0},
    {5, 3, 2, 1, UPPER, ONNX, 9, 9, 1, 0, 10, 1, 1},
    {5, 3, 2, 1, LOWER, ONNX, 9, 9, 1, 0, 10, 1, 1},
    {5, 3, 2, 1, UPPER, ONNX, 0, 0, 2, 0, 10, 1, 2},
    {5, 3, 2, 1, LOWER, ONNX, 0, 0, 2, 0, 10, 2, 1},
    /* A kernel smaller than the stride reaches 3 * 4 + 2 = 14 of 15 only. */
    {5, 2, 3, 1, UPPER, ONNX, 0, 0, 0, 0, 14, 0, 0},
    {5, 2, 3, 1, LOWER, ONNX, 0, 0, 0, 0, 14, 0, 0},
    {5, 2, 3, 1, LOWER, ONNX, 0, 0, 1, 0, 15, 0, 0},
    /* output_shape 8: total 3. */
    {5, 3, 2, 1, EXPLICIT, SPEC, 0, 0, 0, 8, 8, 1, 2},
    {5, 3, 2, 1, VALID, SPEC, 0, 0, 0, 8, 8, 1, 2},
    {5, 3, 2, 1, LOWER, SPEC, 0, 0, 0, 8, 8, 1, 2},
    {5, 3, 2, 1, UPPER, SPEC, 0, 0, 0, 8, 8, 2, 1},
    {5, 3, 2, 1, EXPLICIT, OPENVINO, 2, 0, 0, 8, 8, 2, 0},
    {5, 3, 2, 1, EXPLICIT, OPENVINO, 0, 0, 0, 8, 8, 0, 0},
    {5, 3, 2, 1, VALID, OPENVINO, 2, 0, 0, 8, 8, 0, 0},
    {5, 3, 2, 1, LOWER, OPENVINO, 2, 0, 0, 8, 8, 1, 2},
    {5, 3, 2, 1, UPPER, OPENVINO, 2, 0, 0, 8, 8, 2, 1},
    {5, 3, 2, 1, EXPLICIT, ONNX, 0, 0, 0, 8, 8, 2, 1},
    {5, 3, 2, 1, VALID, ONNX, 0, 0, 0, 8, 8, 2, 1},
    {5, 3, 2, 1, LOWER, ONNX, 0, 0, 0, 8, 8, 2, 1},
    {5, 3, 2, 1, UPPER, ONNX, 0, 0, 0, 8, 8, 1, 2},
    /* output_shape 9: an even total is halved by every rule; the given pads are ignored. */
    {5, 3, 2, 1, EXPLICIT, SPEC, 4, 0, 0, 9, 9, 1, 1},
    {5, 3, 2, 1, UPPER, SPEC, 4, 0, 0, 9, 9, 1, 1},
    {5, 3, 2, 1, UPPER, OPENVINO, 4, 0, 0, 9, 9, 1, 1},
    {5, 3, 2, 1, EXPLICIT, ONNX, 4, 0, 0, 9, 9, 1, 1},
    {5, 3, 2, 1, UPPER, ONNX, -4, -1, 0, 9, 9, 1, 1},
    {5, 3, 2, 1, EXPLICIT, SPEC, -4, -1, 0, 9, 9, 1, 1},
    /* output_padding enters the total: 11 - 8 + 1 = 4, 11 - 8 + 2 = 5. */
    {5, 3, 2, 1, EXPLICIT, SPEC, 0, 0, 1, 8, 8, 2, 2},
    {5, 3, 2, 1, UPPER, SPEC, 0, 0, 1, 8, 8, 2, 2},
    {5, 3, 2, 1, EXPLICIT, SPEC, 0, 0, 2, 8, 8, 2, 3},
    {5, 3, 2, 1, UPPER, SPEC, 0, 0, 2, 8, 8, 3, 2},
    {5, 3, 2, 1, EXPLICIT, ONNX, 0, 0, 2, 8, 8, 3, 2},
    {5, 3, 2, 1, UPPER, ONNX, 0, 0, 2, 8, 8, 2, 3},
    {5, 3, 2, 1, LOWER, OPENVINO, 0, 0, 2, 8, 8, 2, 3},
    /* More than the scatter result: a total below 0 counts as 0. */
    {5, 3, 2, 1, EXPLICIT, SPEC, 0, 0, 0, 13, 13, 0, 0},
    {5, 3, 2, 1, UPPER, SPEC, 0, 0, 1, 13, 13, 0, 0},
    {5, 3, 2, 1, UPPER, OPENVINO, 0, 0, 1, 14, 14, 0, 0},
    {5, 3, 2, 1, EXPLICIT, OPENVINO, 3, 1, 0, 13, 13, 3, 1},
    {5, 3, 2, 1, EXPLICIT, ONNX, 0, 0, 0, 13, 13, 0, 0},
    {5, 3, 2, 1, UPPER, ONNX, 0, 0, 3, 13, 13, 0, 1},
    /* Dilation: 3 * 6 + 3 * 4 + 1 = 31; one element, one tap; pads that leave one element. */
    {7, 4, 3, 4, EXPLICIT, SPEC, 2, 5, 0, 0, 24, 2, 5},
    {7, 4, 3, 4, EXPLICIT, SPEC, 2, 5, 0, 24, 24, 3, 4},
    {1, 1, 1, 1, EXPLICIT, SPEC, 0, 0, 0, 0, 1, 0, 0},
    {1, 1, 5, 3, EXPLICIT, SPEC, 0, 0, 4, 0, 5, 0, 0},
    {7, 4, 3, 4, EXPLICIT, SPEC, 30, 0, 0, 0, 1, 30, 0},
    {7, 4, 3, 4, EXPLICIT, SPEC, 0, 31, 1, 0, 1, 0, 31},
    {7, 4, 3, 4, EXPLICIT, SPEC, 0, 0, 0, 1, 1, 15, 15},
};

enum { AXIS_CASES = sizeof axis_cases / sizeof axis_cases[0] };

static void check_axis(const axis_case *c, int number)
{
    gops_tensor data = GOPS_TEST_TENSOR(GOPS_F32, 2, 15, c->data);
    gops_tensor filter = GOPS_TEST_TENSOR(GOPS_F32, 5, 3, 7, c->kernel);
    gops_deconv_attributes attributes = {.strides = gops_one(c->stride),
                                         .pads_begin = gops_one(c->given_begin),
                                         .pads_end = gops_one(c->given_end),
                                         .dilations = gops_one(c->dilation),
                                         .output_padding = gops_one(c->output_padding),
                                         .auto_pad = c->auto_pad,
                                         .output_shape_rule = c->rule};
    gops_shape s;
    gops_error error = {GOPS_OK, ""};
    if (c->output_shape != 0)
        attributes.output_shape = gops_one(c->output_shape);
    gops_status status = gops_deconv_shape(&data, &filter, &attributes, &s, &error);
    gops_check_only_axis(status, &error, &s, (gops_checked_axis){c->output, c->begin, c->end},
                         number);
}

static void every_axis_alone(void)
{
    for (int i = 0; i < AXIS_CASES; i++)
        check_axis(&axis_cases[i], i);
}

static int goes_with(const axis_case *a, const axis_case *b)
{
    return a->auto_pad == b->auto_pad && a->rule == b->rule &&
           (a->output_shape != 0) == (b->output_shape != 0);
}

/* Cases of one kind side by side, as the axes of transposed convolutions of 2 to 6 axes. */
static void every_axis_beside_others(void)
{
    for (int i = 0; i < AXIS_CASES; i++) {
        int32_t n = 2 + i % 5;
        const axis_case *axes[GOPS_MAX_SPATIAL];
        gops_tensor data = {GOPS_F64, 2 + n, {3, 14}};
        gops_tensor filter = {GOPS_F64, 3 + n, {7, 2, 5}};
        gops_deconv_attributes a = {{n, {0}},
                                    {n, {0}},
                                    {n, {0}},
                                    {n, {0}},
                                    {n, {0}},
                                    {0, {0}},
                                    axis_cases[i].auto_pad,
                                    axis_cases[i].rule};
        a.output_shape.count = axis_cases[i].output_shape != 0 ? n : 0;
        for (int j = 0, next = i; j < n; j++, next = (next + 1) % AXIS_CASES) {
            while (!goes_with(&axis_cases[next], &axis_cases[i]))
                next = (next + 1) % AXIS_CASES;
            axes[j] = &axis_cases[next];
            data.dims[2 + j] = axes[j]->data;
            filter.dims[3 + j] = axes[j]->kernel;
            a.strides.values[j] = axes[j]->stride;
            a.dilations.values[j] = axes[j]->dilation;
            a.pads_begin.values[j] = axes[j]->given_begin;
            a.pads_end.values[j] = axes[j]->given_end;
            a.output_padding.values[j] = axes[j]->output_padding;
            a.output_shape.values[j] = axes[j]->output_shape;
        }
        gops_shape s;
        gops_error error = {GOPS_OK, ""};
        gops_status status = gops_deconv_shape(&data, &filter, &a, &s, &error);
        if (GOPS_TEST_32_BIT && status == GOPS_TOO_LARGE)
            continue; /* one case of 6 axes */
        int good = gops_test_check(status == GOPS_OK, "case %d: %s", i, error.message);
        for (int j = 0; good && j < n; j++)
            good = gops_check_axis(
                &s, j, (gops_checked_axis){axes[j]->output, axes[j]->begin, axes[j]->end}, i);
    }
}

/* data [1, 2], filter [1, 10, 100], stride 2: the whole scatter result is 1 10 102 20 200. */
static void values(gops_deconv_attributes attributes, int64_t count, const float *expected)
{
    float numbers[2] = {1, 2};
    float weights[3] = {1, 10, 100};
    float output[8];
    attributes.strides = gops_one(2);
    gops_problem problem = {.operation = GOPS_PROBLEM_DECONV,
                            .data = GOPS_TEST_TENSOR(GOPS_F32, 1, 1, 2),
                            .filter = GOPS_TEST_TENSOR(GOPS_F32, 1, 1, 1, 3),
                            .deconv = attributes};
    gops_problem_buffers buffers = {
        .data.memory = numbers, .weights.memory = weights, .output.memory = output};
    gops_shape shape = {.groups = 0};
    gops_error error = {GOPS_OK, ""};
    memset(output, 0xff, sizeof output);
    gops_status status = gops_problem_shape(&problem, &shape, &error);
    if (!gops_test_check(status == GOPS_OK && shape.output.dims[2] == count,
                         "%lld elements, expected %lld %s", (long long)shape.output.dims[2],
                         (long long)count, error.message))
        return;
    status = gops_problem_run(&problem, &buffers, &error);
    gops_test_check(status == GOPS_OK, "%s", error.message);
    for (int64_t i = 0; i < count; i++)
        gops_test_check(output[i] == expected[i],
                        "rule %d, auto_pad %d, output[%lld] is %g, expected %g",
                        (int)attributes.output_shape_rule, (int)attributes.auto_pad, (long long)i,
                        (double)output[i], (double)expected[i]);
}

static void values_by_hand(void)
{
    gops_deconv_attributes none = {.auto_pad = EXPLICIT};
    gops_deconv_attributes pads = {.pads_begin = gops_one(2), .pads_end = gops_one(1)};
    gops_deconv_attributes padded = {.pads_end = gops_one(3), .output_padding = gops_one(5)};
    gops_deconv_attributes onnx_same = {.auto_pad = LOWER, .output_shape_rule = ONNX};
    values(none, 5, (const float[]){1, 10, 102, 20, 200});
    values(pads, 2, (const float[]){102, 20});
    values(padded, 7, (const float[]){1, 10, 102, 20, 200, 0, 0});
    values(onnx_same, 4, (const float[]){10, 102, 20, 200});
    onnx_same.auto_pad = UPPER;
    values(onnx_same, 4, (const float[]){1, 10, 102, 20});
}

/* output_shape 4: one element is cut off; 7: two zeros are added. */
static void values_of_output_shape(void)
{
    static const float first[] = {1, 10, 102, 20};
    static const float last[] = {10, 102, 20, 200};
    static const float longer[] = {1, 10, 102, 20, 200, 0, 0};
    static const struct {
        gops_auto_pad auto_pad;
        gops_output_shape_rule rule;
        const float *expected;
    } rows[] = {
        {EXPLICIT, SPEC, first}, {VALID, SPEC, first},     {LOWER, SPEC, first},
        {UPPER, SPEC, last},     {VALID, OPENVINO, first}, {LOWER, OPENVINO, first},
        {UPPER, OPENVINO, last}, {EXPLICIT, ONNX, last},   {VALID, ONNX, last},
        {LOWER, ONNX, last},     {UPPER, ONNX, first},     {EXPLICIT, OPENVINO, first},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        gops_deconv_attributes a = {.output_shape = gops_one(4),
                                    .auto_pad = rows[i].auto_pad,
                                    .output_shape_rule = rows[i].rule};
        values(a, 4, rows[i].expected);
        a.output_shape = gops_one(7);
        values(a, 7, longer);
    }
    /* Explicit pads that OpenVINO keeps: the output starts at full[3] and runs over its end. */
    gops_deconv_attributes kept = {
        .output_shape = gops_one(4), .pads_begin = gops_one(3), .output_shape_rule = OPENVINO};
    values(kept, 4, (const float[]){20, 200, 0, 0});
}

/* No attributes at all mean the defaults, and a plan without them is that of empty ones. */
static void defaults(void)
{
    gops_tensor data = GOPS_TEST_TENSOR(GOPS_F32, 2, 6, 7, 11);
    gops_tensor filter = GOPS_TEST_TENSOR(GOPS_F32, 3, 2, 5, 3, 4);
    gops_deconv_attributes empty = {.auto_pad = EXPLICIT};
    gops_shape a, b;
    gops_plan *plan = NULL;
    gops_plan_info info = {.size = sizeof info};
    gops_error error = {GOPS_OK, ""};
    gops_test_check(gops_deconv_shape(&data, &filter, &empty, &a, &error) == GOPS_OK, "%s",
                    error.message);
    gops_test_check(gops_deconv_shape(&data, &filter, NULL, &b, &error) == GOPS_OK &&
                        gops_deconv_plan_create(&data, &filter, NULL, NULL, &plan, &error) ==
                            GOPS_OK,
                    "attributes NULL: %s", error.message);
    gops_plan_get_info(plan, &info, NULL);
    gops_plan_destroy(plan);
    gops_test_check(memcmp(a.output.dims, (int64_t[]){2, 15, 9, 14}, 4 * sizeof(int64_t)) == 0,
                    "output of the defaults");
    gops_test_check(memcmp(a.output.dims, b.output.dims, 4 * sizeof(int64_t)) == 0 &&
                        memcmp(a.output.dims, info.shape.output.dims, 4 * sizeof(int64_t)) == 0,
                    "output without attributes");
    gops_test_check(b.pads_end.count == 2 && b.pads_end.values[1] == 0, "pads");
}

int main(void)
{
    static const gops_test_case cases[] = {{"every_axis_alone", every_axis_alone},
                                           {"every_axis_beside_others", every_axis_beside_others},
                                           {"values_by_hand", values_by_hand},
                                           {"values_of_output_shape", values_of_output_shape},
                                           {"defaults", defaults},
                                           {NULL, NULL}};
    return gops_test_main("geometry of GroupConvolutionBackpropData", cases);
}
