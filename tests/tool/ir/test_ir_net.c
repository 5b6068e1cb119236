/* test_ir_net.c: a net of all the types of layers, as IR versions 10 and 11 in four element types.
 *
 * Every layer has a Result of its own, so that each is compared with the reference on exactly what
 * the layer before it gave. */
#include "ir_net.h"
#include "reference.h"
#include "compare.h"
#include "elements.h"
#include "harness.h"
#include "guarded_memory.h"
#include "random_numbers.h"
#include "tool_npy.h"
#include "tool_process.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void compare(const ir_net *made, const char *name, gops_reference_result *expected,
                    const void *got)
{
    char what[80];
    snprintf(what, sizeof what, "%s of version %d", name, made->version);
    gops_test_check(
        gops_test_compare(what, &expected->tensor, got, expected->value, expected->bound),
        "%s: see the lines above", what);
    gops_reference_result_destroy(expected);
}

/* output = a + b[i / block % period], not below `least`, rounded once. */
static void compare_sum(const char *name, const gops_tensor *tensor, const void *got, const void *a,
                        const void *b, int64_t block, int64_t period, long double least)
{
    const int64_t count = gops_test_elements(tensor);
    void *expected = gops_test_allocate((size_t)count * gops_test_type_bytes(tensor->type));
    for (int64_t i = 0; i < count; i++) {
        long double sum = gops_test_get_real(tensor->type, a, i);
        if (b != NULL)
            sum += gops_test_get_real(tensor->type, b, i / block % period);
        gops_test_set_real(tensor->type, expected, i, sum < least ? 0 : sum);
    }
    gops_test_check(gops_test_compare_bytes(name, tensor, got, expected), "%s: see above", name);
    free(expected);
}

typedef struct tensors {
    gops_tensor x, conv_filter, conv, bias, flat_filter, deconv_filter, deconv, deconv2_filter,
        deconv2, group_filter, group, scale;
} tensors;

static tensors make_tensors(gops_type type)
{
    return (tensors){.x = GOPS_TEST_TENSOR(type, 2, 4, 7, 5),
                     .conv_filter = GOPS_TEST_TENSOR(type, 6, 4, 3, 2),
                     .conv = GOPS_TEST_TENSOR(type, 2, 6, 4, 3),
                     .bias = GOPS_TEST_TENSOR(type, 1, 6, 1, 1),
                     .flat_filter = GOPS_TEST_TENSOR(type, 6, 5, 3, 3),
                     .deconv_filter = GOPS_TEST_TENSOR(type, 2, 3, 5, 3, 3),
                     .deconv = GOPS_TEST_TENSOR(type, 2, 10, 9, 7),
                     .deconv2_filter = GOPS_TEST_TENSOR(type, 10, 3, 2, 3),
                     .deconv2 = GOPS_TEST_TENSOR(type, 2, 3, 19, 15),
                     .group_filter = GOPS_TEST_TENSOR(type, 3, 2, 1, 5, 3),
                     .group = GOPS_TEST_TENSOR(type, 2, 6, 15, 13),
                     .scale = GOPS_TEST_TENSOR(type, 6)};
}

static const gops_conv_attributes conv_attributes = {.strides = {2, {2, 2}},
                                                     .auto_pad = GOPS_AUTO_PAD_SAME_UPPER};
static const gops_deconv_attributes deconv_attributes = {.strides = {2, {2, 3}},
                                                         .pads_begin = {2, {1, 2}},
                                                         .pads_end = {2, {1, 0}},
                                                         .output_shape = {2, {9, 7}},
                                                         .output_shape_rule =
                                                             GOPS_OUTPUT_SHAPE_OPENVINO};
static const gops_deconv_attributes deconv2_attributes = {.strides = {2, {2, 2}},
                                                          .output_padding = {2, {1, 0}}};
static const gops_norm_attributes norm_attributes = {.num_groups = 3, .epsilon = 0.001};

typedef struct weights {
    void *x, *conv_filter, *bias, *deconv_filter, *deconv2_filter, *group_filter, *scale, *shift;
} weights;

static void write_net(ir_net *to, const tensors *of, weights *with)
{
    static const int64_t reshape[] = {2, 3, -1, 3, 3};
    static const int32_t output_shape[] = {9, 7};
    const int x = ir_net_parameter(to, "x", of->x, &with->x);
    const int w1 = ir_net_random(to, "w1", of->conv_filter, &with->conv_filter);
    const int conv = IR_LAYER(to, "c", "Convolution",
                              "strides=\"2, 2\" dilations=\"1,1\" pads_begin=\"9,9\" "
                              "pads_end=\"9,9\" auto_pad=\"same_upper\"",
                              &of->conv, x, w1);
    const int b = ir_net_random(to, "b", of->bias, &with->bias);
    const int sum = IR_LAYER(to, "s", "Add", "auto_broadcast=\"numpy\"", &of->conv, b, conv);
    const int relu = IR_LAYER(to, "r", to->version == 10 ? "ReLU" : "Relu", "", &of->conv, sum);
    const int w2 = ir_net_random(to, "w2", of->flat_filter, &with->deconv_filter);
    const int s2 = ir_net_const(to, "s2", GOPS_TEST_TENSOR(GOPS_I64, 5), reshape);
    const int f2 =
        IR_LAYER(to, "f2", "Reshape", "special_zero=\"true\"", &of->deconv_filter, w2, s2);
    const int o2 = ir_net_const(to, "o2", GOPS_TEST_TENSOR(GOPS_I32, 2), output_shape);
    const int deconv = IR_LAYER(to, "d", "GroupConvolutionBackpropData",
                                "strides=\"2,3\" dilations=\"1,1\" pads_begin=\"1,2\" "
                                "pads_end=\"1,0\" output_padding=\"0,0\"",
                                &of->deconv, relu, f2, o2);
    const int w3 = ir_net_random(to, "w3", of->deconv2_filter, &with->deconv2_filter);
    const int deconv2 = IR_LAYER(to, "e", "ConvolutionBackpropData",
                                 "strides=\"2,2\" dilations=\"1,1\" pads_begin=\"0,0\" "
                                 "pads_end=\"0,0\" output_padding=\"1,0\" auto_pad=\"explicit\"",
                                 &of->deconv2, deconv, w3);
    const int w4 = ir_net_random(to, "w4", of->group_filter, &with->group_filter);
    const int group =
        IR_LAYER(to, "g", "GroupConvolution", "auto_pad=\"valid\"", &of->group, deconv2, w4);
    const int scale = ir_net_random(to, "scale", of->scale, &with->scale);
    const int shift = ir_net_random(to, "shift", of->scale, &with->shift);
    const int norm = IR_LAYER(to, "n", "GroupNormalization", "num_groups=\"3\" epsilon=\"1e-3\"",
                              &of->group, group, scale, shift);
    const int twice = IR_LAYER(to, "t", "Add", "", &of->group, norm, group);
    static const char *const names[] = {"conv", "sum",   "relu", "deconv",
                                        "e2",   "group", "norm", "twice"};
    const int layers[] = {conv, sum, relu, deconv, deconv2, group, norm, twice};
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++)
        ir_net_result(to, names[i], layers[i]);
}

/* The filter of a Convolution or its backprop: G = 1 in front. */
static gops_tensor with_group(gops_tensor filter)
{
    memmove(filter.dims + 1, filter.dims, (size_t)filter.rank * sizeof filter.dims[0]);
    filter.dims[0] = 1;
    filter.rank++;
    return filter;
}

static void check_conv(const ir_net *made, const char *name, const gops_tensor *data,
                       const void *elements, const gops_tensor *filter, const void *filter_elements,
                       const gops_conv_attributes *attributes, const void *got)
{
    gops_reference_geometry geometry;
    gops_reference_result expected;
    gops_reference_conv_geometry(data, filter, attributes, &geometry);
    gops_reference_conv(&geometry, made->type, elements, made->type, filter_elements, NULL,
                        &expected);
    compare(made, name, &expected, got);
}

static void check_deconv(const ir_net *made, const char *name, const gops_tensor *data,
                         const void *elements, const gops_tensor *filter,
                         const void *filter_elements, const gops_deconv_attributes *attributes,
                         const void *got)
{
    gops_reference_geometry geometry;
    gops_reference_result expected;
    gops_reference_deconv_geometry(data, filter, attributes, &geometry);
    gops_reference_deconv(&geometry, made->type, elements, made->type, filter_elements, NULL,
                          &expected);
    compare(made, name, &expected, got);
}

static void check_net(const ir_net *made, const tensors *of, const weights *with)
{
    static const gops_conv_attributes valid = {.auto_pad = GOPS_AUTO_PAD_VALID};
    const gops_tensor conv_filter = with_group(of->conv_filter);
    const gops_tensor deconv2_filter = with_group(of->deconv2_filter);
    void *conv = ir_net_read(made, "conv", &of->conv);
    void *sum = ir_net_read(made, "sum", &of->conv);
    void *relu = ir_net_read(made, "relu", &of->conv);
    void *deconv = ir_net_read(made, "deconv", &of->deconv);
    void *deconv2 = ir_net_read(made, "e2", &of->deconv2);
    void *group = ir_net_read(made, "group", &of->group);
    void *norm = ir_net_read(made, "norm", &of->group);
    void *twice = ir_net_read(made, "twice", &of->group);
    const int64_t all = gops_test_elements(&of->group);
    gops_reference_result expected;
    check_conv(made, "conv", &of->x, with->x, &conv_filter, with->conv_filter, &conv_attributes,
               conv);
    compare_sum("sum", &of->conv, sum, conv, with->bias, 4 * 3, 6, -1e30L);
    compare_sum("relu", &of->conv, relu, sum, NULL, 1, 1, 0);
    check_deconv(made, "deconv", &of->conv, relu, &of->deconv_filter, with->deconv_filter,
                 &deconv_attributes, deconv);
    check_deconv(made, "e2", &of->deconv, deconv, &deconv2_filter, with->deconv2_filter,
                 &deconv2_attributes, deconv2);
    check_conv(made, "group", &of->deconv2, deconv2, &of->group_filter, with->group_filter, &valid,
               group);
    gops_reference_norm(&of->group, group, with->scale, with->shift, &norm_attributes, &expected);
    compare(made, "norm", &expected, norm);
    compare_sum("twice", &of->group, twice, norm, group, 1, all, -1e30L);
    void *const read[] = {conv, sum, relu, deconv, deconv2, group, norm, twice};
    for (size_t i = 0; i < sizeof read / sizeof read[0]; i++)
        free(read[i]);
}

static void whole(int version, gops_type type, const char *dtype)
{
    const tensors of = make_tensors(type);
    ir_net *made = ir_net_begin(version, type, dtype);
    weights with;
    tool_result result;
    write_net(made, &of, &with);
    ir_net_run(made, &result);
    check_net(made, &of, &with);
    void *const drawn[] = {with.x,
                           with.conv_filter,
                           with.bias,
                           with.deconv_filter,
                           with.deconv2_filter,
                           with.group_filter,
                           with.scale,
                           with.shift};
    for (size_t i = 0; i < sizeof drawn / sizeof drawn[0]; i++)
        free(drawn[i]);
    free(made);
}

static void version_10(void)
{
    whole(10, GOPS_F32, "f4");
    whole(10, GOPS_F64, "f8");
}

static void version_11(void)
{
    whole(11, GOPS_F32, "f4");
    whole(11, GOPS_F64, "f8");
    whole(11, GOPS_F16, "f2");
    whole(11, GOPS_BF16, "u2");
}

/* What no Result reads is left out, whatever it is: a layer of an unknown type and set of operations, with a
 * dynamic shape, more ports than any layer that is run, and an input that it makes itself; a Parameter that is not run,
 * unless it is named. */
static void dead(void)
{
    const gops_tensor data = GOPS_TEST_TENSOR(GOPS_F32, 2, 3, 5);
    const gops_tensor number = GOPS_TEST_TENSOR(GOPS_F32, 1);
    ir_net *made = ir_net_begin(11, GOPS_F32, "f4");
    tool_result *result = gops_test_allocate(sizeof *result);
    void *x, *unread, *b;
    const int x_layer = ir_net_parameter(made, "x", data, &x);
    ir_net_parameter(made, "unread", number, &unread);
    const int b_layer = ir_net_random(made, "b", number, &b);
    const int sum = IR_LAYER(made, "sum", "Add", "", &data, x_layer, b_layer);
    IR_LAYER(made, "more", "Add", "", &number, sum, b_layer);
    ir_net_result(made, "y", sum);
    fprintf(made->xml, "<layer id=\"100\" name=\"odd\" type=\"Odd\" version=\"extension\"><input>");
    for (int i = 0; i < 20; i++)
        fprintf(made->xml, "<port id=\"%d\"/>", i);
    fprintf(made->xml, "</input><output><port id=\"20\" precision=\"STRING\"><dim>-1</dim></port>"
                       "</output></layer>");
    fprintf(made->xml, "<layer id=\"101\" name=\"dynamic\" type=\"Parameter\" version=\"opset1\">"
                       "<data element_type=\"string\" shape=\"-1,3\"/><output>"
                       "<port id=\"0\"><dim>-1</dim><dim>3</dim></port></output></layer>");
    snprintf(made->edges + strlen(made->edges), 256,
             "<edge from-layer=\"%d\" from-port=\"2\" to-layer=\"100\" to-port=\"0\"/>"
             "<edge from-layer=\"100\" from-port=\"20\" to-layer=\"100\" to-port=\"1\"/>",
             sum * 3);
    ir_net_run(made, result);
    gops_test_check(strstr(result->out, "unread") != NULL && strstr(result->out, "odd") == NULL &&
                        strstr(result->out, "more") == NULL &&
                        strstr(result->out, "dynamic") == NULL,
                    "the table is\n%s", result->out);
    void *got = ir_net_read(made, "y", &data);
    compare_sum("y", &data, got, x, b, 1, 1, -INFINITY);
    tool_expect_refusal("ir net.xml --input=dynamic=unread.npy", 1,
                        "layer 101 (Parameter, \"dynamic\"), port 0: its dimension \"-1\"");
    free(x);
    free(unread);
    free(b);
    free(got);
    free(result);
    free(made);
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"version 10", version_10}, {"version 11", version_11}, {"dead", dead}, {0}};
    tool_folder_enter();
    const int status = gops_test_main("ir_net", cases);
    tool_folder_leave();
    return status;
}
