/* test_ir_net.c: a net of all the types of layers, as IR versions 10 and 11 in four element types.
 *
 * Every layer has a Result of its own, so that each is compared with the reference on exactly what
 * the layer before it gave. */
#include "ir_files.h"
#include "reference.h"
#include "test_compare.h"
#include "test_elements.h"
#include "test_main.h"
#include "test_memory.h"
#include "test_random.h"
#include "tool_npy.h"
#include "tool_process.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LAYERS = 32, MOST_BIN = 1 << 16 };

typedef struct net {
    int version;
    gops_type type;
    const char *dtype;
    FILE *xml;
    gops_test_random random;
    int layers;
    gops_tensor tensor[MOST_LAYERS]; /* of each layer's output */
    int inputs[MOST_LAYERS];
    char edges[8192];
    unsigned char bin[MOST_BIN];
    size_t bin_bytes;
} net;

static const char *precision(gops_type type)
{
    static const char *const names[] = {
        [GOPS_F64] = "FP64",  [GOPS_F32] = "FP32", [GOPS_F16] = "FP16",
        [GOPS_BF16] = "BF16", [GOPS_I64] = "I64",  [GOPS_I32] = "I32"};
    return names[type];
}

static void write_port(net *to, int id, const gops_tensor *tensor, int typed)
{
    fprintf(to->xml, "<port id=\"%d\"", id);
    if (typed)
        fprintf(to->xml, " precision=\"%s\"", precision(tensor->type));
    fprintf(to->xml, ">");
    for (int32_t i = 0; i < tensor->rank; i++)
        fprintf(to->xml, "<dim>%" PRId64 "</dim>", tensor->dims[i]);
    fprintf(to->xml, "</port>\n");
}

/* Version 10 files state no precision at inputs. Returns the layer's id. */
static int add_layer(net *to, const char *name, const char *type, const char *data,
                     const gops_tensor *output, int inputs, const int *from)
{
    const int id = to->layers++;
    fprintf(to->xml, "<layer id=\"%d\" name=\"%s\" type=\"%s\" version=\"opset1\">\n<data %s/>\n",
            id * 3, name, type, data);
    fprintf(to->xml, "<input>\n");
    for (int i = 0; i < inputs; i++) {
        const size_t used = strlen(to->edges);
        write_port(to, i, &to->tensor[from[i]], to->version > 10);
        snprintf(to->edges + used, sizeof to->edges - used,
                 "<edge from-layer=\"%d\" from-port=\"%d\" to-layer=\"%d\" to-port=\"%d\"/>\n",
                 from[i] * 3, to->inputs[from[i]], id * 3, i);
    }
    fprintf(to->xml, "</input>\n");
    to->inputs[id] = inputs;
    if (output != NULL) {
        to->tensor[id] = *output;
        fprintf(to->xml, "<output>\n");
        write_port(to, inputs, output, 1);
        fprintf(to->xml, "</output>\n");
    }
    fprintf(to->xml, "</layer>\n");
    return id;
}

static void shape_text(const gops_tensor *tensor, char *text, size_t bytes)
{
    text[0] = '\0';
    for (int32_t i = 0; i < tensor->rank; i++) {
        const size_t used = strlen(text);
        snprintf(text + used, bytes - used, "%s%" PRId64, i == 0 ? "" : ", ", tensor->dims[i]);
    }
}

/* A Const with the elements; they go to the .bin behind a byte that nothing reads, so that they
 * are not aligned. */
static int add_const(net *to, const char *name, gops_tensor tensor, const void *elements)
{
    char shape[64], data[256];
    const size_t bytes = (size_t)gops_test_elements(&tensor) * gops_test_type_bytes(tensor.type);
    const size_t offset = to->bin_bytes + 1;
    memcpy(to->bin + offset, elements, bytes);
    to->bin_bytes = offset + bytes;
    shape_text(&tensor, shape, sizeof shape);
    snprintf(data, sizeof data, "element_type=\"%s\" shape=\"%s\" offset=\"%zu\" size=\"%zu\"",
             gops_test_type_name(tensor.type), shape, offset, bytes);
    return add_layer(to, name, "Const", data, &tensor, 0, NULL);
}

static void *random_elements(net *to, const gops_tensor *tensor)
{
    const int64_t count = gops_test_elements(tensor);
    void *elements = gops_test_allocate((size_t)count * gops_test_type_bytes(tensor->type));
    gops_test_random_fill(&to->random, tensor->type, elements, count);
    return elements;
}

static int add_random(net *to, const char *name, gops_tensor tensor, void **elements)
{
    *elements = random_elements(to, &tensor);
    return add_const(to, name, tensor, *elements);
}

static void add_result(net *to, const char *name, int from)
{
    add_layer(to, name, "Result", "", NULL, 1, &from);
}

static net *begin_net(int version, gops_type type, const char *dtype)
{
    net *made = calloc(1, sizeof *made);
    if (made == NULL || (made->xml = fopen("net.xml", "w")) == NULL)
        exit(EXIT_FAILURE);
    made->version = version;
    made->type = type;
    made->dtype = dtype;
    made->random = gops_test_random_start(gops_test_seed(), (uint64_t)type);
    fprintf(made->xml, "<?xml version=\"1.0\"?>\n<net name=\"n\" version=\"%d\">\n<layers>\n",
            version);
    return made;
}

static void run_net(net *made)
{
    fprintf(made->xml, "</layers>\n<edges>\n%s</edges>\n</net>\n", made->edges);
    fclose(made->xml);
    ir_write("net.bin", made->bin, made->bin_bytes);
    tool_expect("ir net.xml --input=x=x.npy --output-dir=out", 0, "");
}

static void *read_output(const net *made, const char *name, const gops_tensor *tensor)
{
    char path[64];
    snprintf(path, sizeof path, "out/%s.npy", name);
    void *elements = tool_npy_read(path, made->dtype, tensor);
    if (!gops_test_check(elements != NULL, "%s, IR version %d: see the line above", path,
                         made->version))
        exit(EXIT_FAILURE);
    return elements;
}

static void compare(const net *made, const char *name, gops_reference_result *expected,
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

#define LAYER(net, name, type, data, output, ...)                                                  \
    add_layer(net, name, type, data, output, (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)),    \
              (const int[]){__VA_ARGS__})

static void write_net(net *to, const tensors *of, weights *with)
{
    static const int64_t reshape[] = {2, 3, -1, 3, 3};
    static const int32_t output_shape[] = {9, 7};
    char shape[64], data[128];
    with->x = random_elements(to, &of->x);
    tool_npy_write("x.npy", to->dtype, &of->x, with->x);
    shape_text(&of->x, shape, sizeof shape);
    snprintf(data, sizeof data, "element_type=\"%s\" shape=\"%s\"", gops_test_type_name(to->type),
             shape);
    const int x = add_layer(to, "x", "Parameter", data, &of->x, 0, NULL);
    const int w1 = add_random(to, "w1", of->conv_filter, &with->conv_filter);
    const int conv = LAYER(to, "c", "Convolution",
                           "strides=\"2, 2\" dilations=\"1,1\" pads_begin=\"9,9\" "
                           "pads_end=\"9,9\" auto_pad=\"same_upper\"",
                           &of->conv, x, w1);
    const int b = add_random(to, "b", of->bias, &with->bias);
    const int sum = LAYER(to, "s", "Add", "auto_broadcast=\"numpy\"", &of->conv, b, conv);
    const int relu = LAYER(to, "r", to->version == 10 ? "ReLU" : "Relu", "", &of->conv, sum);
    const int w2 = add_random(to, "w2", of->flat_filter, &with->deconv_filter);
    const int s2 = add_const(to, "s2", GOPS_TEST_TENSOR(GOPS_I64, 5), reshape);
    const int f2 = LAYER(to, "f2", "Reshape", "special_zero=\"true\"", &of->deconv_filter, w2, s2);
    const int o2 = add_const(to, "o2", GOPS_TEST_TENSOR(GOPS_I32, 2), output_shape);
    const int deconv = LAYER(to, "d", "GroupConvolutionBackpropData",
                             "strides=\"2,3\" dilations=\"1,1\" pads_begin=\"1,2\" "
                             "pads_end=\"1,0\" output_padding=\"0,0\"",
                             &of->deconv, relu, f2, o2);
    const int w3 = add_random(to, "w3", of->deconv2_filter, &with->deconv2_filter);
    const int deconv2 = LAYER(to, "e", "ConvolutionBackpropData",
                              "strides=\"2,2\" dilations=\"1,1\" pads_begin=\"0,0\" "
                              "pads_end=\"0,0\" output_padding=\"1,0\" auto_pad=\"explicit\"",
                              &of->deconv2, deconv, w3);
    const int w4 = add_random(to, "w4", of->group_filter, &with->group_filter);
    const int group =
        LAYER(to, "g", "GroupConvolution", "auto_pad=\"valid\"", &of->group, deconv2, w4);
    const int scale = add_random(to, "scale", of->scale, &with->scale);
    const int shift = add_random(to, "shift", of->scale, &with->shift);
    const int norm = LAYER(to, "n", "GroupNormalization", "num_groups=\"3\" epsilon=\"1e-3\"",
                           &of->group, group, scale, shift);
    const int twice = LAYER(to, "t", "Add", "", &of->group, norm, group);
    static const char *const names[] = {"conv", "sum",   "relu", "deconv",
                                        "e2",   "group", "norm", "twice"};
    const int layers[] = {conv, sum, relu, deconv, deconv2, group, norm, twice};
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++)
        add_result(to, names[i], layers[i]);
}

/* The filter of a Convolution or its backprop: G = 1 in front. */
static gops_tensor with_group(gops_tensor filter)
{
    memmove(filter.dims + 1, filter.dims, (size_t)filter.rank * sizeof filter.dims[0]);
    filter.dims[0] = 1;
    filter.rank++;
    return filter;
}

static void check_conv(const net *made, const char *name, const gops_tensor *data,
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

static void check_deconv(const net *made, const char *name, const gops_tensor *data,
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

static void check_net(const net *made, const tensors *of, const weights *with)
{
    static const gops_conv_attributes valid = {.auto_pad = GOPS_AUTO_PAD_VALID};
    const gops_tensor conv_filter = with_group(of->conv_filter);
    const gops_tensor deconv2_filter = with_group(of->deconv2_filter);
    void *conv = read_output(made, "conv", &of->conv);
    void *sum = read_output(made, "sum", &of->conv);
    void *relu = read_output(made, "relu", &of->conv);
    void *deconv = read_output(made, "deconv", &of->deconv);
    void *deconv2 = read_output(made, "e2", &of->deconv2);
    void *group = read_output(made, "group", &of->group);
    void *norm = read_output(made, "norm", &of->group);
    void *twice = read_output(made, "twice", &of->group);
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
    net *made = begin_net(version, type, dtype);
    weights with;
    write_net(made, &of, &with);
    run_net(made);
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

int main(void)
{
    static const gops_test_case cases[] = {
        {"version 10", version_10}, {"version 11", version_11}, {0}};
    tool_folder_enter();
    const int status = gops_test_main("ir_net", cases);
    tool_folder_leave();
    return status;
}
