/*
 * Integers: exact modulo 2^bits at the extremes, around and beyond the number of products that the
 * library's floating point sums can hold, and the i32 results of quantized engines.
 */
#include <stdlib.h>
#include <string.h>

#include "refusal.h"
#include "compare.h"
#include "elements.h"
#include "harness.h"

static const gops_type types[] = {GOPS_I8,  GOPS_U8,  GOPS_I16, GOPS_U16,
                                  GOPS_I32, GOPS_U32, GOPS_I64, GOPS_U64};
enum { TYPES = sizeof types / sizeof types[0] };

/* The smallest or the largest number of the type everywhere, at random, or the largest one at the
 * end: a single odd product among sums of even ones. */
typedef enum filling { SMALLEST, LARGEST, MIXED, LAST_LARGEST } filling;

static void fill(const gops_tensor *tensor, void *elements, filling how, gops_test_random *random)
{
    int bits = (int)gops_test_type_bytes(tensor->type) * 8;
    uint64_t top = UINT64_C(1) << (bits - 1);
    uint64_t smallest = gops_test_type_is_signed(tensor->type) ? top : 0;
    uint64_t largest = smallest - 1;
    for (int64_t i = 0; i < gops_test_elements(tensor); i++) {
        int last = i == gops_test_elements(tensor) - 1;
        int small = how == SMALLEST || (how == LAST_LARGEST && !last) ||
                    (how == MIXED && gops_test_random_chance(random, 50));
        gops_test_set_integer(tensor->type, elements, i, small ? smallest : largest);
    }
}

/* One problem with extreme data in every algorithm, against exact integers. */
static void extremes(gops_problem problem, filling data, filling weights)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 71);
    gops_problem_text text;
    gops_reference_geometry g;
    gops_tensor output;
    gops_reference_result result;
    gops_problem_reference_shape(&problem, &g, &output);
    gops_problem_buffers b = gops_problem_buffers_create(&problem, &output, &random);
    fill(&problem.data, b.data.memory, data, &random);
    fill(&problem.filter, b.weights.memory, weights, &random);
    gops_problem_reference(&problem, &b, &result);
    for (int i = 0; i == 0 || gops_algorithm_name(i - 1) != NULL; i++) {
        gops_error error = {GOPS_OK, ""};
        problem.algorithm = i == 0 ? NULL : gops_algorithm_name(i - 1);
        memset(b.output.memory, 0xff,
               (size_t)gops_test_elements(&output) * gops_test_type_bytes(output.type));
        problem.max_workspace = 0;
        gops_status status = gops_problem_run(&problem, &b, &error);
        if (status == GOPS_INVALID && i != 0) { /* more workspace than the default */
            problem.max_workspace = GOPS_UNLIMITED;
            status = gops_problem_run(&problem, &b, &error);
        }
        if (status == GOPS_UNSUPPORTED && i != 0)
            continue;
        if (status == GOPS_INVALID && strstr(error.message, "max_workspace") != NULL) {
            gops_problem roomy = problem; /* the frame of such a K is beyond the default */
            roomy.max_workspace = GOPS_UNLIMITED;
            status = gops_problem_run(&roomy, &b, &error);
        }
        gops_test_check(status == GOPS_OK, "%s: %s", gops_problem_describe(&problem, &text),
                        error.message);
        gops_test_check(gops_problem_compare(&problem, &result, b.output.memory),
                        "data filling %d, filter filling %d", (int)data, (int)weights);
    }
    gops_reference_result_destroy(&result);
    gops_problem_buffers_destroy(&b);
}

static void every_filling(gops_problem problem)
{
    extremes(problem, SMALLEST, SMALLEST);
    extremes(problem, LARGEST, LARGEST);
    extremes(problem, SMALLEST, LARGEST);
    extremes(problem, MIXED, MIXED);
    extremes(problem, LAST_LARGEST, LAST_LARGEST);
}

static gops_problem conv_of(gops_type type, int64_t c_in, int64_t kernel)
{
    return (gops_problem){.operation = GOPS_PROBLEM_CONV,
                          .data = GOPS_TEST_TENSOR(type, 1, c_in, kernel + 2),
                          .filter = GOPS_TEST_TENSOR(type, 1, 3, c_in, kernel)};
}

static gops_problem deconv_of(gops_type type, int64_t c_in, int64_t kernel)
{
    return (gops_problem){.operation = GOPS_PROBLEM_DECONV,
                          .data = GOPS_TEST_TENSOR(type, 1, c_in, 5),
                          .filter = GOPS_TEST_TENSOR(type, 1, c_in, 3, kernel)};
}

/*
 * f32 holds sums of 8-bit products exactly to 2^24: 1,024 of (-128)^2, 258 of 255^2. f64 holds
 * those of 16-bit products to 2^53, which is 2^23 of (-2^15)^2 and 2^21 of 65535^2 (2,097,216 to be
 * exact): the next test.
 */
static void around_the_bounds(void)
{
    static const int64_t depths[] = {1, 7, 257, 258, 259, 261, 1023, 1024, 1025, 1031, 2053, 5003};
    for (int t = 0; t < TYPES; t++)
        for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++) {
            every_filling(conv_of(types[t], depths[i], 1));
            every_filling(deconv_of(types[t], depths[i], 1));
        }
}

/* The sum over the kernel too, where col2im adds what the GEMM left. */
static void with_a_kernel(void)
{
    for (int t = 0; t < TYPES; t++) {
        every_filling(conv_of(types[t], 131, 13));
        every_filling(deconv_of(types[t], 131, 13));
        every_filling(deconv_of(types[t], 251, 61));
    }
}

/* The definition's sums modulo 2^64, straight: extreme values everywhere make them products. */
static void beyond_2_53(void)
{
    static const struct {
        gops_type type;
        int64_t depth;
    } rows[] = {{GOPS_U16, 2097216}, {GOPS_U16, 2097217},       {GOPS_U16, 2097216 + 77},
                {GOPS_I16, 1 << 23}, {GOPS_I16, (1 << 23) + 1}, {GOPS_I16, (1 << 23) + 77}};
    for (int i = 0; i < 6; i++) {
        gops_problem p = {.operation = GOPS_PROBLEM_CONV,
                          .data = GOPS_TEST_TENSOR(rows[i].type, 1, rows[i].depth, 1),
                          .filter = GOPS_TEST_TENSOR(rows[i].type, 1, 1, rows[i].depth, 1)};
        extremes(p, rows[i].type == GOPS_U16 ? LARGEST : SMALLEST,
                 rows[i].type == GOPS_U16 ? LARGEST : SMALLEST);
        extremes(p, MIXED, MIXED);
        extremes(p, LAST_LARGEST, LAST_LARGEST);
    }
}

/* 8-bit data to i32: all pairs of types, extremes, with and without zero points. */
static void quantized(void)
{
    static const gops_type eight[] = {GOPS_I8, GOPS_U8};
    static const int64_t extreme[2][2] = {{-128, 127}, {0, 255}};
    for (int i = 0; i < 32; i++) {
        int d = i & 1, f = i >> 1 & 1;
        int64_t data_zero = extreme[d][i >> 2 & 1];
        int64_t filter_zeros[3] = {extreme[f][i >> 3 & 1], extreme[f][0], extreme[f][1]};
        gops_problem p = i & 16 ? deconv_of(eight[d], 523, 3) : conv_of(eight[d], 523, 3);
        p.filter.type = eight[f];
        p.output_type = GOPS_I32;
        every_filling(p);
        /* With a zero point at the other end of the type, a difference is up to 255: 258 products.
         */
        for (int64_t depth = 257; depth <= 260; depth++) {
            gops_problem q = i & 16 ? deconv_of(eight[d], depth, 1) : conv_of(eight[d], depth, 1);
            q.filter.type = eight[f];
            q.output_type = GOPS_I32;
            q.data_zero_point = &data_zero;
            q.filter_zero_points = filter_zeros;
            q.filter_zero_point_count = 1;
            every_filling(q);
        }
        p.data_zero_point = &data_zero;
        every_filling(p);
        p.filter_zero_points = filter_zeros;
        p.filter_zero_point_count = 1;
        every_filling(p);
        p.filter_zero_point_count = 3;
        p.conv.auto_pad = GOPS_AUTO_PAD_SAME_LOWER;
        every_filling(p);
    }
}

static void quantized_refusals(void)
{
    gops_problem p = conv_of(GOPS_I8, 3, 2);
    gops_plan *plan = NULL;
    gops_packed_filter *filter = NULL;
    gops_error error = gops_fresh_error();
    int8_t weights[18] = {0}, zeros[3] = {0};
    gops_quantization quantization = GOPS_QUANTIZATION_INIT;
    quantization.filter_zero_points = zeros;
    quantization.filter_zero_points_count = 2;
    p.output_type = GOPS_I64;
    gops_check_refusal("i64", gops_problem_plan(&p, &plan, &error), &error, GOPS_UNSUPPORTED,
                       "output_type is i64, data is i8, filter is i8; another type than the data's "
                       "is offered as i32, u8, i8, f32, f16 or bf16 from i8 or u8 data and filter");
    p.output_type = (gops_type)0;
    p.filter.type = GOPS_U8;
    gops_check_refusal(
        "u8 and i8", gops_problem_plan(&p, &plan, &error), &error, GOPS_INVALID,
        "filter is u8, data is i8; GroupConvolution takes one type for both, but for "
        "quantized plans, which options.output_type makes");
    p.filter.type = GOPS_I8;
    p.output_type = GOPS_I32;
    gops_test_check(gops_problem_plan(&p, &plan, &error) == GOPS_OK, "%s", error.message);
    gops_check_refusal(
        "count", gops_filter_create(plan, weights, &quantization, &filter, &error), &error,
        GOPS_INVALID,
        "quantization.filter_zero_points is given and its count is 2; it must be none, 1 or the 3 "
        "output channels");
    gops_test_check(filter == NULL, "a filter came out");
    gops_plan_destroy(plan);
    p.output_type = (gops_type)0;
    gops_test_check(gops_problem_plan(&p, &plan, &error) == GOPS_OK, "%s", error.message);
    gops_check_refusal(
        "no output_type", gops_filter_create(plan, weights, &quantization, &filter, &error), &error,
        GOPS_INVALID, "quantization is given; the plan is not quantized: it has no output_type");
    gops_plan_destroy(plan);
}

int main(void)
{
    static const gops_test_case cases[] = {{"around_the_bounds", around_the_bounds},
                                           {"with_a_kernel", with_a_kernel},
                                           {"beyond_2_53", beyond_2_53},
                                           {"quantized", quantized},
                                           {"quantized_refusals", quantized_refusals},
                                           {NULL, NULL}};
    return gops_test_main("integers", cases);
}
