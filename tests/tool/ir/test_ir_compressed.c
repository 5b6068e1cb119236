/* test_ir_compressed.c: weights that are constants of 8 bits with Convert, Subtract, Multiply and
 * Reshape in front of a convolution.
 *
 * The expected weights are computed here, a layer at a time, each rounded to its own type. The
 * convolution must give the same bits as over a plain Const of these weights, and what the
 * reference says. */
#include "ir_net.h"
#include "reference.h"
#include "compare.h"
#include "elements.h"
#include "harness.h"
#include "guarded_memory.h"
#include "tool_npy.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum zero_points { NO_ZERO_POINT, CODES, REALS, ZERO_POINTS };

/* A convolution whose filter is `flat`, the axis of output channels being `axis`; G axes are made
 * of it by a Reshape where `filter` differs. */
typedef struct operation {
    const char *type;
    bool transposed;
    gops_tensor data, flat, filter, output;
    int32_t axis;
} operation;

typedef struct chain {
    gops_type codes, type; /* of the Const, and in which it is subtracted from and multiplied */
    enum zero_points zero_points;
    gops_type zero_codes;
    bool zero_each, scales, scale_each; /* for each output channel, or one number */
    bool scale_first;                   /* the scales are the first operand */
    bool reshape_first;                 /* the Reshape stands in front of all but the Convert */
} chain;

typedef struct values {
    void *x, *codes, *zero_points, *scales;
    void *weights; /* expected, of the net's type */
} values;

static int64_t reshape_of(const operation *of, int64_t shape[GOPS_MAX_RANK])
{
    for (int32_t i = 0; i < of->filter.rank; i++)
        shape[i] = of->filter.dims[i];
    return of->filter.rank;
}

/* One number, or one for each output channel, to broadcast to the filter: flat or reshaped. */
static gops_tensor operand_of(const operation *of, bool each, bool reshaped, gops_type type)
{
    gops_tensor tensor = reshaped ? of->filter : of->flat;
    tensor.type = type;
    if (!each) {
        tensor.rank = 0;
        return tensor;
    }
    for (int32_t i = 0; i < tensor.rank; i++) {
        const bool is_channel = reshaped && tensor.rank != of->flat.rank
                                    ? i <= 1
                                    : i == of->axis || (of->axis == 2 && i == 0);
        tensor.dims[i] = is_channel ? tensor.dims[i] : 1;
    }
    return tensor;
}

static const char *destination(gops_type type, char text[64])
{
    snprintf(text, 64, "destination_type=\"%s\"", gops_test_type_name(type));
    return text;
}

static int add_reshape(ir_net *to, const operation *of, int from, gops_type type)
{
    int64_t shape[GOPS_MAX_RANK];
    const gops_tensor shapes = GOPS_TEST_TENSOR(GOPS_I64, reshape_of(of, shape));
    gops_tensor reshaped = of->filter;
    reshaped.type = type;
    const int s = ir_net_const(to, "shape", shapes, shape);
    return IR_LAYER(to, "reshape", "Reshape", "special_zero=\"false\"", &reshaped, from, s);
}

static int add_zero_points(ir_net *to, const operation *of, const chain *with, bool reshaped,
                           void **elements)
{
    char text[64];
    if (with->zero_points == REALS)
        return ir_net_random(to, "z", operand_of(of, with->zero_each, reshaped, with->type),
                             elements);
    const gops_tensor codes = operand_of(of, with->zero_each, reshaped, with->zero_codes);
    const gops_tensor wide = operand_of(of, with->zero_each, reshaped, with->type);
    const int z = ir_net_random(to, "z", codes, elements);
    return IR_LAYER(to, "zc", "Convert", destination(with->type, text), &wide, z);
}

/* Adds the layers of the chain; returns the last one. */
static int add_chain(ir_net *to, const operation *of, const chain *with, values *drawn, bool seen)
{
    const bool splits = of->filter.rank != of->flat.rank;
    const bool early = splits && with->reshape_first;
    gops_tensor codes = of->flat;
    gops_tensor at = of->flat;
    char text[64];
    codes.type = with->codes;
    at.type = with->type;
    int last = ir_net_random(to, "w", codes, &drawn->codes);
    last = IR_LAYER(to, "c", "Convert", destination(with->type, text), &at, last);
    if (seen)
        ir_net_result(to, "seen_c", last);
    if (early) {
        last = add_reshape(to, of, last, with->type);
        at = of->filter;
        at.type = with->type;
    }
    if (with->zero_points != NO_ZERO_POINT) {
        const int z = add_zero_points(to, of, with, early, &drawn->zero_points);
        last = IR_LAYER(to, "s", "Subtract", "auto_broadcast=\"numpy\"", &at, last, z);
        if (seen)
            ir_net_result(to, "seen_s", last);
    }
    if (with->scales) {
        const gops_tensor scales = operand_of(of, with->scale_each, early, with->type);
        const int s = ir_net_random(to, "k", scales, &drawn->scales);
        last = with->scale_first ? IR_LAYER(to, "m", "Multiply", "", &at, s, last)
                                 : IR_LAYER(to, "m", "Multiply", "", &at, last, s);
        if (seen)
            ir_net_result(to, "seen_m", last);
    }
    if (splits && !early)
        last = add_reshape(to, of, last, with->type);
    if (with->type != to->type) {
        at = of->filter;
        at.type = to->type;
        last = IR_LAYER(to, "wide", "Convert", destination(to->type, text), &at, last);
    }
    return last;
}

static long double number(gops_type type, const void *elements, int64_t index)
{
    return gops_test_type_is_real(type)
               ? gops_test_get_real(type, elements, index)
               : (long double)(int64_t)gops_test_get_integer(type, elements, index);
}

/* a - b or a * b, rounded once to the type. C's own arithmetic where long double is too short. */
static long double compute(gops_type type, bool product, long double a, long double b)
{
    char element[sizeof(double)];
    if (type == GOPS_F64)
        return product ? (double)a * (double)b : (double)a - (double)b;
    if (type == GOPS_F32)
        return product ? (float)a * (float)b : (float)a - (float)b;
    gops_test_set_real(type, element, 0, product ? a * b : a - b);
    return gops_test_get_real(type, element, 0);
}

static void expect_weights(const operation *of, const chain *with, gops_type type, values *drawn)
{
    const int64_t count = gops_test_elements(&of->flat);
    int64_t rest = 1;
    for (int32_t i = of->axis + 1; i < of->flat.rank; i++)
        rest *= of->flat.dims[i];
    drawn->weights = gops_test_allocate((size_t)count * gops_test_type_bytes(type));
    for (int64_t i = 0; i < count; i++) {
        /* With the axes G, C_IN, C_OUT the channel is that of the group too. */
        const int64_t c_out = of->flat.dims[of->axis];
        const int64_t group = of->axis == 2 ? i / rest / c_out / of->flat.dims[1] : 0;
        const int64_t channel = group * c_out + i / rest % c_out;
        long double value = number(with->codes, drawn->codes, i);
        if (with->zero_points != NO_ZERO_POINT)
            value = compute(with->type, false, value,
                            number(with->zero_points == REALS ? with->type : with->zero_codes,
                                   drawn->zero_points, with->zero_each ? channel : 0));
        if (with->scales)
            value = compute(with->type, true, value,
                            number(with->type, drawn->scales, with->scale_each ? channel : 0));
        gops_test_set_real(type, drawn->weights, i, value);
    }
}

static gops_tensor with_group(const operation *of, gops_type type)
{
    gops_tensor filter = of->filter;
    filter.type = type;
    if (strncmp(of->type, "Group", 5) != 0) {
        memmove(filter.dims + 1, filter.dims, (size_t)filter.rank * sizeof filter.dims[0]);
        filter.dims[0] = 1;
        filter.rank++;
    }
    return filter;
}

static void check_reference(const operation *of, gops_type type, const values *drawn,
                            const void *got)
{
    static const gops_conv_attributes conv = {.strides = {0, {0}}};
    static const gops_deconv_attributes deconv = {.strides = {0, {0}}};
    const gops_tensor filter = with_group(of, type);
    gops_tensor data = of->data;
    gops_reference_geometry geometry;
    gops_reference_result expected;
    data.type = type;
    if (of->transposed) {
        gops_reference_deconv_geometry(&data, &filter, &deconv, &geometry);
        gops_reference_deconv(&geometry, type, drawn->x, type, drawn->weights, NULL, &expected);
    } else {
        gops_reference_conv_geometry(&data, &filter, &conv, &geometry);
        gops_reference_conv(&geometry, type, drawn->x, type, drawn->weights, NULL, &expected);
    }
    gops_test_check(
        gops_test_compare("compressed", &expected.tensor, got, expected.value, expected.bound),
        "%s: see the lines above", of->type);
    gops_reference_result_destroy(&expected);
}

/* The same net over a plain Const of the expected weights gives the same bits. */
static void check_plain(const operation *of, gops_type type, const char *dtype, const values *drawn,
                        const void *got)
{
    ir_net *made = ir_net_begin(11, type, dtype);
    tool_result *result = gops_test_allocate(sizeof *result);
    gops_tensor data = of->data, filter = of->filter, output = of->output;
    void *ignored;
    data.type = filter.type = output.type = type;
    const int x = ir_net_parameter(made, "x", data, &ignored);
    tool_npy_write("x.npy", dtype, &data, drawn->x);
    const int w = ir_net_const(made, "w", filter, drawn->weights);
    ir_net_result(made, "plain", IR_LAYER(made, "conv", of->type, "", &output, x, w));
    ir_net_run(made, result);
    void *plain = ir_net_read(made, "plain", &output);
    gops_test_check(gops_test_compare_bytes("plain", &output, got, plain),
                    "%s: see the lines above", of->type);
    free(ignored);
    free(plain);
    free(result);
    free(made);
}

/* `seen` gives every layer of the chain a Result, so that each is computed on its own. */
static void check_chain(const operation *of, const chain *with, gops_type type, const char *dtype,
                        bool seen)
{
    const gops_type data_type = seen ? with->type : type;
    ir_net *made = ir_net_begin(11, data_type, dtype);
    tool_result *result = gops_test_allocate(sizeof *result);
    gops_tensor data = of->data, filter = of->filter, output = of->output;
    values drawn = {NULL, NULL, NULL, NULL, NULL};
    data.type = filter.type = output.type = data_type;
    made->random = gops_test_random_start(gops_test_seed(), (uint64_t)(with->codes * 16 + type));
    const int x = ir_net_parameter(made, "x", data, &drawn.x);
    const int w = add_chain(made, of, with, &drawn, seen);
    ir_net_result(made, "y", IR_LAYER(made, "conv", of->type, "", &output, x, w));
    if (seen)
        ir_net_result(made, "weights", w);
    ir_net_run(made, result);
    gops_test_check(strstr(result->out, " folded ") != NULL, "the table is\n%s", result->out);
    expect_weights(of, with, data_type, &drawn);
    if (seen) {
        void *weights = ir_net_read(made, "weights", &filter);
        gops_test_check(gops_test_compare_bytes("weights", &filter, weights, drawn.weights),
                        "%s: see the lines above", of->type);
        free(weights);
    }
    void *got = ir_net_read(made, "y", &output);
    check_reference(of, data_type, &drawn, got);
    check_plain(of, data_type, dtype, &drawn, got);
    void *const all[] = {drawn.x, drawn.codes, drawn.zero_points, drawn.scales, drawn.weights, got};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
    free(result);
    free(made);
}

static const struct {
    gops_type chain, data;
    const char *dtype;
} types[] = {
    {GOPS_F32, GOPS_F32, "f4"},  {GOPS_F16, GOPS_F16, "f2"}, {GOPS_F16, GOPS_F32, "f4"},
    {GOPS_BF16, GOPS_F32, "f4"}, {GOPS_F64, GOPS_F64, "f8"},
};
enum { TYPES = sizeof types / sizeof types[0], OPERATIONS = 5 };

static void make_operations(operation made[OPERATIONS])
{
    made[0] = (operation){.type = "Convolution", .axis = 0};
    made[0].data = GOPS_TEST_TENSOR(GOPS_F32, 2, 5, 7, 6);
    made[0].flat = made[0].filter = GOPS_TEST_TENSOR(GOPS_F32, 7, 5, 3, 2);
    made[0].output = GOPS_TEST_TENSOR(GOPS_F32, 2, 7, 5, 5);
    made[1] = (operation){.type = "GroupConvolution", .axis = 0};
    made[1].data = GOPS_TEST_TENSOR(GOPS_F32, 1, 6, 7, 5);
    made[1].flat = GOPS_TEST_TENSOR(GOPS_F32, 10, 3, 3, 2);
    made[1].filter = GOPS_TEST_TENSOR(GOPS_F32, 2, 5, 3, 3, 2);
    made[1].output = GOPS_TEST_TENSOR(GOPS_F32, 1, 10, 5, 4);
    /* Depthwise, 1D. */
    made[2] = (operation){.type = "GroupConvolution", .axis = 0};
    made[2].data = GOPS_TEST_TENSOR(GOPS_F32, 3, 11, 13);
    made[2].flat = GOPS_TEST_TENSOR(GOPS_F32, 11, 1, 5);
    made[2].filter = GOPS_TEST_TENSOR(GOPS_F32, 11, 1, 1, 5);
    made[2].output = GOPS_TEST_TENSOR(GOPS_F32, 3, 11, 9);
    made[3] = (operation){.type = "ConvolutionBackpropData", .transposed = true, .axis = 1};
    made[3].data = GOPS_TEST_TENSOR(GOPS_F32, 1, 5, 4, 3);
    made[3].flat = made[3].filter = GOPS_TEST_TENSOR(GOPS_F32, 5, 7, 2, 3);
    made[3].output = GOPS_TEST_TENSOR(GOPS_F32, 1, 7, 5, 5);
    made[4] = (operation){.type = "GroupConvolutionBackpropData", .transposed = true, .axis = 2};
    made[4].data = GOPS_TEST_TENSOR(GOPS_F32, 1, 6, 4, 3);
    made[4].flat = made[4].filter = GOPS_TEST_TENSOR(GOPS_F32, 2, 3, 5, 2, 3);
    made[4].output = GOPS_TEST_TENSOR(GOPS_F32, 1, 10, 5, 5);
}

static chain draw_chain(gops_test_random *random, int at)
{
    chain drawn = {
        .codes = gops_test_random_chance(random, 50) ? GOPS_U8 : GOPS_I8,
        .type = types[at].chain,
        .zero_points = (enum zero_points)gops_test_random_range(random, 0, ZERO_POINTS - 1),
        .zero_codes = gops_test_random_chance(random, 50) ? GOPS_U8 : GOPS_I8,
        .zero_each = gops_test_random_chance(random, 50),
        .scales = gops_test_random_chance(random, 80),
        .scale_each = gops_test_random_chance(random, 70),
        .scale_first = gops_test_random_chance(random, 30),
        .reshape_first = gops_test_random_chance(random, 30),
    };
    return drawn;
}

static void check_all(bool seen)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), seen ? 2 : 1);
    operation operations[OPERATIONS];
    make_operations(operations);
    for (int i = 0; i < OPERATIONS; i++) {
        for (int at = 0; at < TYPES; at++) {
            const chain drawn = draw_chain(&random, at);
            if (!seen || types[at].chain == types[at].data)
                check_chain(&operations[i], &drawn, types[at].data, types[at].dtype, seen);
        }
    }
}

static void folded(void)
{
    /* All of it in one chain, whatever is drawn below. */
    const chain whole = {GOPS_U8, GOPS_F16, CODES, GOPS_U8, true, true, true, false, false};
    operation operations[OPERATIONS];
    make_operations(operations);
    for (int i = 0; i < OPERATIONS; i++)
        check_chain(&operations[i], &whole, GOPS_F32, "f4", false);
    check_all(false);
}

static void each_seen(void)
{
    check_all(true);
}

int main(void)
{
    static const gops_test_case cases[] = {{"folded", folded}, {"each seen", each_seen}, {0}};
    tool_folder_enter();
    const int status = gops_test_main("ir_compressed", cases);
    tool_folder_leave();
    return status;
}
