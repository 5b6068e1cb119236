/* test_ir_values.c: what an IR computes by Add, Relu and Convert, alone and drawn into the
 * operation before them, in every element type. */
#include "ir_net.h"
#include "reference.h"
#include "compare.h"
#include "elements.h"
#include "harness.h"
#include "guarded_memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The types with NumPy's names; what NumPy does not know goes by the integers of its size. */
static const struct {
    gops_type type;
    const char *dtype;
} types[] = {
    {GOPS_F64, "f8"},    {GOPS_F32, "f4"}, {GOPS_F16, "f2"}, {GOPS_BF16, "u2"}, {GOPS_F8E4M3, "u1"},
    {GOPS_F8E5M2, "u1"}, {GOPS_I8, "i1"},  {GOPS_I16, "i2"}, {GOPS_I32, "i4"},  {GOPS_I64, "i8"},
    {GOPS_U8, "u1"},     {GOPS_U16, "u2"}, {GOPS_U32, "u4"}, {GOPS_U64, "u8"},
};
enum { TYPES = sizeof types / sizeof types[0] };

static int occurrences(const char *text, const char *of)
{
    int count = 0;
    for (text = strstr(text, of); text != NULL; text = strstr(text + 1, of))
        count++;
    return count;
}

static uint64_t relu_integer(gops_type type, uint64_t value)
{
    void *element = gops_test_allocate(sizeof value);
    gops_test_set_integer(type, element, 0, value);
    const uint64_t stored = gops_test_get_integer(type, element, 0);
    free(element);
    return gops_test_type_is_signed(type) && (stored >> 63) != 0 ? 0 : stored;
}

/* Adds bias and residual to the reference's result, and cuts it off at 0. Each of the two sums, and
 * the result, may be rounded. */
static void expect_fused(gops_reference_result *expected, const void *bias, const void *residual)
{
    const gops_tensor *tensor = &expected->tensor;
    const int64_t rest = tensor->dims[2] * tensor->dims[3];
    for (int64_t i = 0; i < gops_test_elements(tensor); i++) {
        const int64_t channel = i / rest % tensor->dims[1];
        if (!gops_test_type_is_real(tensor->type)) {
            const uint64_t sum = expected->integer[i] +
                                 gops_test_get_integer(tensor->type, bias, channel) +
                                 gops_test_get_integer(tensor->type, residual, i);
            expected->integer[i] = relu_integer(tensor->type, sum);
            continue;
        }
        const long double b = gops_test_get_real(tensor->type, bias, channel);
        const long double r = gops_test_get_real(tensor->type, residual, i);
        const long double sum = expected->value[i] + b + r;
        const long double largest = (expected->value[i] < 0 ? -1 : 1) * expected->value[i] +
                                    (b < 0 ? -b : b) + (r < 0 ? -r : r);
        expected->bound[i] += 3 * largest * gops_test_unit_roundoff(tensor->type);
        expected->value[i] = sum < 0 ? 0 : sum;
    }
}

/* x -> GroupConvolution -> Add of a bias -> Add of a tensor -> Relu, which is one call; `seen`
 * gives the convolution a Result of its own, and then it must not be. */
static void check_fused(int at, bool seen)
{
    const gops_type type = types[at].type;
    const gops_tensor data = GOPS_TEST_TENSOR(type, 2, 6, 5, 7);
    const gops_tensor filter = GOPS_TEST_TENSOR(type, 3, 5, 2, 3, 2);
    const gops_tensor bias = GOPS_TEST_TENSOR(type, 1, 15, 1, 1);
    const gops_tensor output = GOPS_TEST_TENSOR(type, 2, 15, 3, 6);
    ir_net *made = ir_net_begin(11, type, types[at].dtype);
    tool_result *result = gops_test_allocate(sizeof *result);
    void *x, *w, *b, *r;
    const int x_layer = ir_net_parameter(made, "x", data, &x);
    const int w_layer = ir_net_random(made, "w", filter, &w);
    const int b_layer = ir_net_random(made, "b", bias, &b);
    const int conv = IR_LAYER(made, "conv", "GroupConvolution", "", &output, x_layer, w_layer);
    /* The tensor that is added comes later than the convolution does. */
    const int r_layer = ir_net_parameter(made, "r", output, &r);
    const int sum = IR_LAYER(made, "sum", "Add", "", &output, conv, b_layer);
    const int more = IR_LAYER(made, "more", "Add", "", &output, r_layer, sum);
    const int relu = IR_LAYER(made, "relu", "ReLU", "", &output, more);
    ir_net_result(made, "y", relu);
    if (seen)
        ir_net_result(made, "conv_y", conv);
    ir_net_run(made, result);
    gops_test_check(occurrences(result->out, " fused ") == (seen ? 0 : 3), "%s: the table is\n%s",
                    gops_test_type_name(type), result->out);
    if (!seen) {
        gops_reference_geometry geometry;
        gops_reference_result expected;
        const gops_conv_attributes none = {.strides = {0, {0}}};
        gops_reference_conv_geometry(&data, &filter, &none, &geometry);
        gops_reference_conv(&geometry, type, x, type, w, NULL, &expected);
        expect_fused(&expected, b, r);
        void *got = ir_net_read(made, "y", &output);
        gops_test_check(
            gops_test_type_is_real(type)
                ? gops_test_compare("fused", &output, got, expected.value, expected.bound)
                : gops_test_compare_integers("fused", &output, got, expected.integer),
            "%s: see the lines above", gops_test_type_name(type));
        free(got);
        gops_reference_result_destroy(&expected);
    }
    free(x);
    free(w);
    free(b);
    free(r);
    free(result);
    free(made);
}

static void fused(void)
{
    for (int at = 0; at < TYPES; at++)
        check_fused(at, false);
}

static void not_fused(void)
{
    check_fused(1, true);
}

/* Two convolutions whose sum nothing else reads: it is part of one of them. */
static void sum_of_two(void)
{
    const gops_tensor data = GOPS_TEST_TENSOR(GOPS_I32, 2, 6, 5, 7);
    const gops_tensor filter = GOPS_TEST_TENSOR(GOPS_I32, 3, 5, 2, 3, 2);
    const gops_tensor output = GOPS_TEST_TENSOR(GOPS_I32, 2, 15, 3, 6);
    const gops_conv_attributes none = {.strides = {0, {0}}};
    gops_reference_geometry geometry;
    gops_reference_result expected, other;
    ir_net *made = ir_net_begin(11, GOPS_I32, "i4");
    tool_result *result = gops_test_allocate(sizeof *result);
    void *x, *w, *v;
    const int x_layer = ir_net_parameter(made, "x", data, &x);
    const int w_layer = ir_net_random(made, "w", filter, &w);
    const int v_layer = ir_net_random(made, "v", filter, &v);
    const int one = IR_LAYER(made, "one", "GroupConvolution", "", &output, x_layer, w_layer);
    const int two = IR_LAYER(made, "two", "GroupConvolution", "", &output, x_layer, v_layer);
    const int sum = IR_LAYER(made, "sum", "Add", "", &output, one, two);
    ir_net_result(made, "y", IR_LAYER(made, "relu", "ReLU", "", &output, sum));
    ir_net_run(made, result);
    gops_test_check(occurrences(result->out, " fused ") == 2, "the table is\n%s", result->out);
    gops_reference_conv_geometry(&data, &filter, &none, &geometry);
    gops_reference_conv(&geometry, GOPS_I32, x, GOPS_I32, w, NULL, &expected);
    gops_reference_conv(&geometry, GOPS_I32, x, GOPS_I32, v, NULL, &other);
    for (int64_t i = 0; i < gops_test_elements(&output); i++)
        expected.integer[i] = relu_integer(GOPS_I32, expected.integer[i] + other.integer[i]);
    void *got = ir_net_read(made, "y", &output);
    gops_test_check(gops_test_compare_integers("sum of two", &output, got, expected.integer),
                    "see the lines above");
    gops_reference_result_destroy(&expected);
    gops_reference_result_destroy(&other);
    free(got);
    free(x);
    free(w);
    free(v);
    free(result);
    free(made);
}

/* The place in a tensor of what NumPy's broadcasting puts at place `i` of the output. */
static int64_t place(const gops_tensor *of, const gops_tensor *output, int64_t i)
{
    int64_t at = 0, stride = 1;
    for (int32_t axis = output->rank - 1, own = of->rank - 1; axis >= 0; axis--, own--) {
        const int64_t index = i % output->dims[axis];
        i /= output->dims[axis];
        if (own >= 0 && of->dims[own] != 1)
            at += index * stride;
        stride *= own >= 0 ? of->dims[own] : 1;
    }
    return at;
}

/* One sum, rounded once, is what nothing but the definition gives. */
static void check_sum(int at, gops_tensor one, gops_tensor other, gops_tensor output)
{
    ir_net *made = ir_net_begin(10, types[at].type, types[at].dtype);
    tool_result *result = gops_test_allocate(sizeof *result);
    void *a, *b;
    one.type = other.type = output.type = types[at].type;
    void *expected =
        gops_test_allocate((size_t)gops_test_elements(&output) * gops_test_type_bytes(output.type));
    const int first = ir_net_parameter(made, "a", one, &a);
    const int second = ir_net_random(made, "b", other, &b);
    ir_net_result(made, "y", IR_LAYER(made, "s", "Add", "", &output, first, second));
    ir_net_run(made, result);
    for (int64_t i = 0; i < gops_test_elements(&output); i++) {
        const int64_t k = place(&one, &output, i), m = place(&other, &output, i);
        if (gops_test_type_is_real(output.type))
            gops_test_set_real(output.type, expected, i,
                               gops_test_get_real(output.type, a, k) +
                                   gops_test_get_real(output.type, b, m));
        else
            gops_test_set_integer(output.type, expected, i,
                                  gops_test_get_integer(output.type, a, k) +
                                      gops_test_get_integer(output.type, b, m));
    }
    void *got = ir_net_read(made, "y", &output);
    gops_test_check(gops_test_compare_bytes("sum", &output, got, expected), "see the lines above");
    free(a);
    free(b);
    free(expected);
    free(got);
    free(result);
    free(made);
}

static void sums(void)
{
    const gops_tensor whole = GOPS_TEST_TENSOR(GOPS_F32, 2, 3, 5, 4);
    const gops_tensor channel = GOPS_TEST_TENSOR(GOPS_F32, 3, 1, 1);
    const gops_tensor scalar = {.rank = 0};
    for (int at = 0; at < TYPES; at++) {
        check_sum(at, GOPS_TEST_TENSOR(GOPS_F32, 2, 1, 5, 1), GOPS_TEST_TENSOR(GOPS_F32, 3, 1, 4),
                  whole);
        check_sum(at, whole, whole, whole);
        check_sum(at, channel, whole, whole);
        check_sum(at, scalar, whole, whole);
    }
    check_sum(1, whole, scalar, whole);
    check_sum(1, GOPS_TEST_TENSOR(GOPS_F32, 4), whole, whole);
    check_sum(1, whole, GOPS_TEST_TENSOR(GOPS_F32, 2, 1, 1, 4), whole);
    check_sum(1, GOPS_TEST_TENSOR(GOPS_F32, 7), GOPS_TEST_TENSOR(GOPS_F32, 5, 1),
              GOPS_TEST_TENSOR(GOPS_F32, 5, 7));
    check_sum(1, GOPS_TEST_TENSOR(GOPS_F32, 1, 1, 1, 1, 1), GOPS_TEST_TENSOR(GOPS_F32, 3),
              GOPS_TEST_TENSOR(GOPS_F32, 1, 1, 1, 1, 3));
}

/* Of zeros only -0 + -0 is -0. */
static void check_zeros(int at, gops_tensor other)
{
    const gops_type type = types[at].type;
    const gops_tensor whole = GOPS_TEST_TENSOR(type, 2, 3, 5);
    double a[30], b[30], expected[30]; /* as wide as any element */
    ir_net *made = ir_net_begin(11, type, types[at].dtype);
    tool_result *result = gops_test_allocate(sizeof *result);
    other.type = type;
    for (int64_t i = 0; i < 30; i++) {
        gops_test_set_real(type, a, i, i % 2 == 0 ? -0.0L : 0);
        gops_test_set_real(type, b, i, i % 3 == 0 ? -0.0L : 0);
    }
    for (int64_t i = 0; i < 30; i++) {
        const bool both = i % 2 == 0 && place(&other, &whole, i) % 3 == 0;
        gops_test_set_real(type, expected, i, both ? -0.0L : 0);
    }
    const int first = ir_net_const(made, "a", whole, a);
    const int second = ir_net_const(made, "b", other, b);
    ir_net_result(made, "y", IR_LAYER(made, "s", "Add", "", &whole, first, second));
    ir_net_run(made, result);
    void *got = ir_net_read(made, "y", &whole);
    gops_test_check(gops_test_compare_bytes("zeros", &whole, got, expected), "see the lines above");
    free(got);
    free(result);
    free(made);
}

static void zeros(void)
{
    for (int at = 0; at < TYPES && gops_test_type_is_real(types[at].type); at++) {
        check_zeros(at, GOPS_TEST_TENSOR(GOPS_F32, 2, 3, 5));
        check_zeros(at, GOPS_TEST_TENSOR(GOPS_F32, 3, 1));
        check_zeros(at, GOPS_TEST_TENSOR(GOPS_F32, 1));
        check_zeros(at, GOPS_TEST_TENSOR(GOPS_F32, 2, 1, 5));
    }
}

/* Codes from 0 on in steps that reach all kinds of values of the type: infinities, NaN, denormals.
 */
static void check_convert(gops_type from, int64_t count, unsigned step, gops_type to,
                          const char *dtype)
{
    const gops_tensor narrow = GOPS_TEST_TENSOR(from, count);
    const gops_tensor wide = GOPS_TEST_TENSOR(to, count);
    unsigned char *codes = gops_test_allocate((size_t)count * gops_test_type_bytes(from));
    long double *expected = gops_test_allocate((size_t)count * sizeof *expected);
    long double *bound = gops_test_allocate((size_t)count * sizeof *bound);
    tool_result *result = gops_test_allocate(sizeof *result);
    ir_net *made = ir_net_begin(11, to, dtype);
    char data[64];
    for (int64_t i = 0; i < count; i++) {
        const uint64_t code = (uint64_t)i * step;
        const gops_type bits = gops_test_type_bytes(from) == 1   ? GOPS_U8
                               : gops_test_type_bytes(from) == 2 ? GOPS_U16
                                                                 : GOPS_U32;
        gops_test_set_integer(bits, codes, i, code);
        expected[i] = gops_test_get_real(from, codes, i);
        bound[i] = 0;
    }
    snprintf(data, sizeof data, "destination_type=\"%s\"", gops_test_type_name(to));
    const int constant = ir_net_const(made, "w", narrow, codes);
    ir_net_result(made, "y", IR_LAYER(made, "c", "Convert", data, &wide, constant));
    ir_net_run(made, result);
    void *got = ir_net_read(made, "y", &wide);
    gops_test_check(gops_test_compare("converted", &wide, got, expected, bound),
                    "%s to %s: see the lines above", gops_test_type_name(from),
                    gops_test_type_name(to));
    free(codes);
    free(expected);
    free(bound);
    free(result);
    free(got);
    free(made);
}

static void conversions(void)
{
    check_convert(GOPS_F16, 21841, 3, GOPS_F32, "f4");
    check_convert(GOPS_BF16, 21841, 3, GOPS_F32, "f4");
    check_convert(GOPS_F8E4M3, 256, 1, GOPS_F32, "f4");
    check_convert(GOPS_F8E5M2, 256, 1, GOPS_F64, "f8");
    check_convert(GOPS_F16, 21841, 3, GOPS_F64, "f8");
    check_convert(GOPS_F32, 10007, 429197, GOPS_F64, "f8");
    check_convert(GOPS_F16, 21841, 3, GOPS_F16, "f2");
}

/* As a model's weights are compressed: Const f16, Convert, Reshape, the filter of f32 data. */
static void compressed(void)
{
    static const int64_t shape[] = {2, 5, 3, 3, 2};
    const gops_tensor data = GOPS_TEST_TENSOR(GOPS_F32, 1, 6, 8, 7);
    const gops_tensor half = GOPS_TEST_TENSOR(GOPS_F16, 10, 3, 3, 2);
    const gops_tensor single = GOPS_TEST_TENSOR(GOPS_F32, 10, 3, 3, 2);
    const gops_tensor filter = GOPS_TEST_TENSOR(GOPS_F32, 2, 5, 3, 3, 2);
    const gops_tensor output = GOPS_TEST_TENSOR(GOPS_F32, 1, 10, 6, 6);
    const gops_conv_attributes none = {.strides = {0, {0}}};
    tool_result *result = gops_test_allocate(sizeof *result);
    ir_net *made = ir_net_begin(11, GOPS_F32, "f4");
    gops_reference_geometry geometry;
    gops_reference_result expected;
    void *x, *w;
    const int x_layer = ir_net_parameter(made, "x", data, &x);
    const int w_layer = ir_net_random(made, "w", half, &w);
    const int c = IR_LAYER(made, "c", "Convert", "destination_type=\"f32\"", &single, w_layer);
    const int s = ir_net_const(made, "s", GOPS_TEST_TENSOR(GOPS_I64, 5), shape);
    const int r = IR_LAYER(made, "r", "Reshape", "special_zero=\"true\"", &filter, c, s);
    ir_net_result(made, "y", IR_LAYER(made, "g", "GroupConvolution", "", &output, x_layer, r));
    ir_net_run(made, result);
    float *wide = gops_test_allocate((size_t)gops_test_elements(&single) * sizeof *wide);
    for (int64_t i = 0; i < gops_test_elements(&single); i++)
        wide[i] = (float)gops_test_get_real(GOPS_F16, w, i);
    gops_reference_conv_geometry(&data, &filter, &none, &geometry);
    gops_reference_conv(&geometry, GOPS_F32, x, GOPS_F32, wide, NULL, &expected);
    void *got = ir_net_read(made, "y", &output);
    gops_test_check(gops_test_compare("compressed", &output, got, expected.value, expected.bound),
                    "see the lines above");
    gops_reference_result_destroy(&expected);
    free(x);
    free(w);
    free(wide);
    free(got);
    free(result);
    free(made);
}

/* A shape in each type of integers. */
static void shapes(void)
{
    const gops_tensor data = GOPS_TEST_TENSOR(GOPS_F32, 2, 15);
    const gops_tensor output = GOPS_TEST_TENSOR(GOPS_F32, 5, 6);
    for (int at = 0; at < TYPES; at++) {
        int64_t shape[2]; /* as wide as any */
        void *x;
        if (gops_test_type_is_real(types[at].type))
            continue;
        ir_net *made = ir_net_begin(11, GOPS_F32, "f4");
        tool_result *result = gops_test_allocate(sizeof *result);
        for (int i = 0; i < 2; i++)
            gops_test_set_integer(types[at].type, shape, i, (uint64_t)output.dims[i]);
        const int x_layer = ir_net_parameter(made, "x", data, &x);
        const int s = ir_net_const(made, "s", GOPS_TEST_TENSOR(types[at].type, 2), shape);
        ir_net_result(
            made, "y",
            IR_LAYER(made, "v", "Reshape", "special_zero=\"false\"", &output, x_layer, s));
        ir_net_run(made, result);
        void *got = ir_net_read(made, "y", &output);
        gops_test_check(gops_test_compare_bytes("reshaped", &output, got, x), "%s",
                        gops_test_type_name(types[at].type));
        free(x);
        free(got);
        free(result);
        free(made);
    }
}

/* Tensors without elements whose other sizes are large, or are copied by a Reshape. */
static void nothing(void)
{
    static const int64_t shape[] = {0, -1};
    const gops_tensor large = GOPS_TEST_TENSOR(GOPS_F32, INT64_C(1) << 40, 1, 0);
    const gops_tensor none = GOPS_TEST_TENSOR(GOPS_F32, 0, 4);
    tool_result *result = gops_test_allocate(sizeof *result);
    ir_net *made = ir_net_begin(11, GOPS_F32, "f4");
    void *x, *z;
    const int x_layer = ir_net_parameter(made, "x", large, &x);
    ir_net_result(made, "y", IR_LAYER(made, "j", "Concat", "axis=\"2\"", &large, x_layer));
    const int z_layer = ir_net_parameter(made, "z", none, &z);
    const int s = ir_net_const(made, "s", GOPS_TEST_TENSOR(GOPS_I64, 2), shape);
    ir_net_result(made, "r",
                  IR_LAYER(made, "v", "Reshape", "special_zero=\"TRUE\"", &none, z_layer, s));
    ir_net_run(made, result);
    free(x);
    free(z);
    free(result);
    free(made);
}

/* Three tensors, joined along an axis that is given as a number from the first or from the last; one is
 * a constant. */
static void check_concat(int at, int32_t axis, const char *attribute)
{
    const gops_type type = types[at].type;
    gops_tensor input[3], output = GOPS_TEST_TENSOR(type, 2, 3, 5, 4);
    const size_t bytes = gops_test_type_bytes(type);
    ir_net *made = ir_net_begin(11, type, types[at].dtype);
    tool_result *result = gops_test_allocate(sizeof *result);
    void *elements[3];
    int layer[3];
    output.dims[axis] = 0;
    for (int i = 0; i < 3; i++) {
        const char name[] = {(char)('a' + i), '\0'};
        input[i] = GOPS_TEST_TENSOR(type, 2, 3, 5, 4);
        input[i].dims[axis] = 1 + 2 * i;
        output.dims[axis] += input[i].dims[axis];
        layer[i] = i == 1 ? ir_net_random(made, name, input[i], &elements[i])
                          : ir_net_parameter(made, name, input[i], &elements[i]);
    }
    ir_net_result(made, "y",
                  IR_LAYER(made, "j", "Concat", attribute, &output, layer[0], layer[1], layer[2]));
    ir_net_run(made, result);
    char *got = ir_net_read(made, "y", &output);
    int64_t inner = 1, begin = 0;
    for (int32_t i = axis + 1; i < output.rank; i++)
        inner *= output.dims[i];
    for (int i = 0; i < 3; i++) {
        const int64_t own = input[i].dims[axis];
        for (int64_t e = 0; e < gops_test_elements(&input[i]); e++) {
            const int64_t place =
                (e / inner / own * output.dims[axis] + begin + e / inner % own) * inner + e % inner;
            if (!gops_test_check(memcmp(got + (size_t)place * bytes,
                                        (char *)elements[i] + (size_t)e * bytes, bytes) == 0,
                                 "axis %d, input %d, element %d", (int)axis, i, (int)e))
                break;
        }
        begin += own;
        free(elements[i]);
    }
    free(got);
    free(result);
    free(made);
}

static void refuse_concat(const char *attribute, int64_t rows, const char *message)
{
    const gops_tensor one = GOPS_TEST_TENSOR(GOPS_F32, 2, 3),
                      other = GOPS_TEST_TENSOR(GOPS_F32, 2, rows);
    const gops_tensor output = GOPS_TEST_TENSOR(GOPS_F32, 4, 3);
    ir_net *made = ir_net_begin(11, GOPS_F32, "f4");
    void *a, *b;
    const int first = ir_net_random(made, "a", one, &a);
    const int second = ir_net_random(made, "b", other, &b);
    ir_net_result(made, "y", IR_LAYER(made, "j", "Concat", attribute, &output, first, second));
    ir_net_expect_refused(made, message);
    free(a);
    free(b);
    free(made);
}

static void concat(void)
{
    static const char *const attributes[] = {"axis=\"0\"", "axis=\"-3\"", "axis=\"2\"",
                                             "axis=\"-1\""};
    for (int at = 0; at < TYPES; at++)
        check_concat(at, at % 4, attributes[at % 4]);
    refuse_concat("axis=\"2\"", 3, "axis \"2\" is none of the 2");
    refuse_concat("axis=\"-3\"", 3, "axis \"-3\" is none of the 2");
    refuse_concat("", 3, "axis \"\" is none of the 2");
    refuse_concat("axis=\"0\"", 5, "f32 [2,3] and f32 [2,5] cannot be joined along axis 0");
    refuse_concat("axis=\"1\"", 3, "the file states f32 [4,3] at output port 2; it is f32 [2,6]");
}

int main(void)
{
    static const gops_test_case cases[] = {{"concat", concat},
                                           {"fused", fused},
                                           {"not fused", not_fused},
                                           {"sum of two", sum_of_two},
                                           {"sums", sums},
                                           {"zeros", zeros},
                                           {"conversions", conversions},
                                           {"compressed", compressed},
                                           {"shapes", shapes},
                                           {"nothing", nothing},
                                           {0}};
    tool_folder_enter();
    const int status = gops_test_main("ir_values", cases);
    tool_folder_leave();
    return status;
}
