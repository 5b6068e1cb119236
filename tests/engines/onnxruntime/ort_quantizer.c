/* ort_quantizer.c: quantizes layers as it writes them: weights by the range of each channel,
 * activations by one that normalized layers keep to. Some of both saturate. */
#include "ort_quantizer.h"

#include "guarded_memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = GOPS_QUANTIZER_NAME_BYTES };

typedef gops_quantizer network;
typedef gops_quantized_value value;
typedef gops_quantized_layer layer;
typedef gops_quantized_activation activation;

gops_quantized_value gops_quantizer_next(gops_quantizer *net)
{
    value made = {.scale = 1};
    snprintf(made.name, sizeof made.name, "v%d", net->names++);
    return made;
}

double gops_quantizer_draw(gops_quantizer *net, double low, double high)
{
    return low + (high - low) * (gops_test_random_real(&net->random) + 1) / 2;
}

static float scale_of(const network *net, double range, int steps)
{
    const double scale = range / steps;
    return (float)(net->form->powers_of_two ? exp2(ceil(log2(scale))) : scale);
}

static int least(gops_onnx_element type)
{
    return type == GOPS_ONNX_INT8 ? -128 : 0;
}

/* Chooses scale and zero point for values of a layer with that activation: their range is a bit
 * different for each layer. */
gops_quantized_value gops_quantizer_choose(gops_quantizer *net, activation of, int64_t channels)
{
    value made = gops_quantizer_next(net);
    const double range = of == GOPS_QUANTIZED_RELU6 ? 6
                                                    : gops_quantizer_draw(net, 3.5, 4.5) *
                                                          (of == GOPS_QUANTIZED_RELU ? 1 : 2);
    made.scale = scale_of(net, range, 255);
    made.zero = least(net->form->activations) +
                (of == GOPS_QUANTIZED_NONE ? 128 + (net->names % 7 - 3) : 0);
    made.channels = channels;
    return made;
}

static void put_scale(network *net, const char *of, const float *scales, int64_t count, char *name)
{
    snprintf(name, 2 * NAME_BYTES, "%s_scale", of);
    gops_onnx_build_constant(&net->builder, name, GOPS_ONNX_FLOAT, count > 1 ? 1 : 0, &count,
                             scales, (size_t)count * sizeof *scales);
}

static void put_zero(network *net, const char *of, gops_onnx_element type, int zero, int64_t count,
                     char *name)
{
    unsigned char *zeros = gops_test_allocate((size_t)count);
    memset(zeros, zero, (size_t)count);
    snprintf(name, 2 * NAME_BYTES, "%s_zero", of);
    gops_onnx_build_constant(&net->builder, name, type, count > 1 ? 1 : 0, &count, zeros,
                             (size_t)count);
    free(zeros);
}

/* The constants of a quantized tensor, which are made where it is. */
static void put_parameters(network *net, const value *of)
{
    char name[2 * NAME_BYTES];
    put_scale(net, of->name, &of->scale, 1, name);
    put_zero(net, of->name, net->form->activations, of->zero, 1, name);
}

static void name_parameters(const value *of, char *scale, char *zero)
{
    snprintf(scale, 2 * NAME_BYTES, "%s_scale", of->name);
    snprintf(zero, 2 * NAME_BYTES, "%s_zero", of->name);
}

void gops_quantizer_dequantize_as(gops_quantizer *net, const value *from, const char *name)
{
    char scale[2 * NAME_BYTES], zero[2 * NAME_BYTES];
    name_parameters(from, scale, zero);
    gops_onnx_build_node(&net->builder, "DequantizeLinear", name,
                         (const char *[]){from->name, scale, zero}, 3);
}

gops_quantized_value gops_quantizer_dequantize(gops_quantizer *net, const value *from)
{
    const value made = gops_quantizer_next(net);
    gops_quantizer_dequantize_as(net, from, made.name);
    return made;
}

void gops_quantizer_quantize(gops_quantizer *net, const value *from, const value *to)
{
    char scale[2 * NAME_BYTES], zero[2 * NAME_BYTES];
    put_parameters(net, to);
    name_parameters(to, scale, zero);
    gops_onnx_build_node(&net->builder, "QuantizeLinear", to->name,
                         (const char *[]){from->name, scale, zero}, 3);
}

gops_quantized_value gops_quantizer_apply(gops_quantizer *net, const char *type, const value *data)
{
    const value made = gops_quantizer_next(net);
    gops_onnx_build_node(&net->builder, type, made.name, (const char *[]){data->name}, 1);
    return made;
}

static value activate(network *net, const value *data, activation of)
{
    static const float bounds[] = {0, 6};
    if (of == GOPS_QUANTIZED_NONE) {
        return *data;
    }
    if (of == GOPS_QUANTIZED_RELU) {
        return gops_quantizer_apply(net, "Relu", data);
    }
    const value low = gops_quantizer_next(net), high = gops_quantizer_next(net),
                made = gops_quantizer_next(net);
    gops_onnx_build_constant(&net->builder, low.name, GOPS_ONNX_FLOAT, 0, NULL, &bounds[0], 4);
    gops_onnx_build_constant(&net->builder, high.name, GOPS_ONNX_FLOAT, 0, NULL, &bounds[1], 4);
    gops_onnx_build_node(&net->builder, "Clip", made.name,
                         (const char *[]){data->name, low.name, high.name}, 3);
    return made;
}

/* Weights and bias of a layer, in integers. */
typedef struct weights {
    value filter, bias;
    char scale[2 * NAME_BYTES], zero[2 * NAME_BYTES];
    float *scales;
    int64_t count; /* of the scales */
    int zero_point;
} weights;

/* Weights that keep the values' spread, some channels larger than others. Index i is of output
 * channel i / inner % channels. Weights of i8 have 7 bits: the runtime's instructions saturate with
 * larger ones where there is no VNNI. */
static void put_filter(network *net, const layer *of, int64_t from, weights *made)
{
    const int64_t groups = of->groups, area = of->kernel * of->kernel;
    const int64_t dims[] = {of->transposed ? from : of->to,
                            of->transposed ? of->to / groups : from / groups, of->kernel,
                            of->kernel};
    const int64_t elements = dims[0] * dims[1] * area;
    const int64_t channels = of->transposed ? dims[1] : dims[0];
    const int64_t inner = of->transposed ? area : dims[1] * area;
    const int64_t terms = from / groups * area / (of->transposed ? of->stride * of->stride : 1);
    const bool per_channel = net->form->per_channel;
    const double spread = sqrt(6.0 / (double)terms);
    const bool is_signed = net->form->weights == GOPS_ONNX_INT8;
    const int limit = is_signed ? 63 : 124;
    unsigned char *integers = gops_test_allocate((size_t)elements);
    made->filter = gops_quantizer_next(net);
    made->count = per_channel ? channels : 1;
    made->scales = gops_test_allocate((size_t)made->count * sizeof *made->scales);
    made->zero_point = is_signed ? 0 : 131;
    for (int64_t c = 0; c < made->count; c++) {
        made->scales[c] = scale_of(net, 2 * spread * gops_quantizer_draw(net, 0.6, 1.2), 2 * limit);
    }
    for (int64_t i = 0; i < elements; i++) {
        const float scale = made->scales[per_channel ? i / inner % channels : 0];
        const int integer = (int)lrint(gops_quantizer_draw(net, -spread, spread) / (double)scale);
        const int limited = integer < -limit ? -limit : integer > limit ? limit : integer;
        integers[i] = (unsigned char)(limited + made->zero_point);
    }
    gops_onnx_build_constant(&net->builder, made->filter.name, net->form->weights, 4, dims,
                             integers, (size_t)elements);
    put_scale(net, made->filter.name, made->scales, made->count, made->scale);
    put_zero(net, made->filter.name, net->form->weights, made->zero_point, made->count, made->zero);
    free(integers);
}

static void put_real_bias(network *net, const layer *of, weights *made)
{
    float *bias = gops_test_allocate((size_t)of->to * sizeof *bias);
    made->bias = gops_quantizer_next(net);
    for (int64_t c = 0; c < of->to; c++) {
        bias[c] = (float)gops_quantizer_draw(net, -0.3, 0.3);
    }
    gops_onnx_build_constant(&net->builder, made->bias.name, GOPS_ONNX_FLOAT, 1, &of->to, bias,
                             (size_t)of->to * sizeof *bias);
    free(bias);
}

static void put_bias(network *net, const layer *of, float data_scale, weights *made)
{
    int32_t *bias = gops_test_allocate((size_t)of->to * sizeof *bias);
    made->bias = gops_quantizer_next(net);
    for (int64_t c = 0; c < of->to; c++) {
        const float scale = data_scale * made->scales[c % made->count];
        bias[c] = (int32_t)lrint(gops_quantizer_draw(net, -0.3, 0.3) / (double)scale);
    }
    gops_onnx_build_constant(&net->builder, made->bias.name, GOPS_ONNX_INT32, 1, &of->to, bias,
                             (size_t)of->to * sizeof *bias);
    free(bias);
}

static void put_attributes(network *net, const layer *of)
{
    const int64_t square[] = {of->kernel, of->kernel}, strides[] = {of->stride, of->stride};
    const int64_t pad = of->transposed ? (of->kernel - of->stride) / 2 : of->kernel / 2;
    const int64_t pads[] = {pad, pad, pad, pad};
    gops_onnx_build_int(&net->builder, "group", of->groups);
    gops_onnx_build_ints(&net->builder, "kernel_shape", square, 2);
    gops_onnx_build_ints(&net->builder, "strides", strides, 2);
    gops_onnx_build_ints(&net->builder, "pads", pads, 4);
}

/* The bias behind a DequantizeLinear with the scales of the sums. */
static value dequantize_bias(network *net, const layer *of, float data_scale, const weights *from)
{
    const value made = gops_quantizer_next(net);
    const int64_t count = from->count > 1 ? of->to : 1;
    float *scales = gops_test_allocate((size_t)count * sizeof *scales);
    char name[2 * NAME_BYTES];
    for (int64_t c = 0; c < count; c++) {
        scales[c] = data_scale * from->scales[c % from->count];
    }
    put_scale(net, from->bias.name, scales, count, name);
    gops_onnx_build_node(&net->builder, "DequantizeLinear", made.name,
                         (const char *[]){from->bias.name, name}, 2);
    gops_onnx_build_int(&net->builder, "axis", 0);
    free(scales);
    return made;
}

static void convolve_floats(network *net, const value *data, const layer *of, const weights *by,
                            const value *to)
{
    const value floats = gops_quantizer_dequantize(net, data), filter = gops_quantizer_next(net);
    gops_onnx_build_node(&net->builder, "DequantizeLinear", filter.name,
                         (const char *[]){by->filter.name, by->scale, by->zero}, 3);
    gops_onnx_build_int(&net->builder, "axis", of->transposed ? 1 : 0);
    const value bias =
        net->form->real_biases ? by->bias : dequantize_bias(net, of, data->scale, by);
    const value made = gops_quantizer_next(net);
    gops_onnx_build_node(&net->builder, of->transposed ? "ConvTranspose" : "Conv", made.name,
                         (const char *[]){floats.name, filter.name, bias.name}, 3);
    put_attributes(net, of);
    const value activated = activate(net, &made, of->activation);
    gops_quantizer_quantize(net, &activated, to);
}

static void convolve_integers(network *net, const value *data, const layer *of, const weights *by,
                              const value *to)
{
    char scale[2 * NAME_BYTES], zero[2 * NAME_BYTES], to_scale[2 * NAME_BYTES],
        to_zero[2 * NAME_BYTES];
    name_parameters(data, scale, zero);
    name_parameters(to, to_scale, to_zero);
    put_parameters(net, to);
    gops_onnx_build_node(&net->builder, "QLinearConv", to->name,
                         (const char *[]){data->name, scale, zero, by->filter.name, by->scale,
                                          by->zero, to_scale, to_zero, by->bias.name},
                         9);
    put_attributes(net, of);
}

gops_quantized_value gops_quantizer_convolve(gops_quantizer *net, const value *data, layer of)
{
    weights by;
    const value made = gops_quantizer_choose(net, of.activation, of.to);
    put_filter(net, &of, data->channels, &by);
    if (net->form->real_biases) {
        put_real_bias(net, &of, &by);
    } else {
        put_bias(net, &of, data->scale, &by);
    }
    (net->form->operators && !of.transposed ? convolve_integers : convolve_floats)(net, data, &of,
                                                                                   &by, &made);
    net->layers.convolutions++;
    free(by.scales);
    return made;
}

/* Writes the node of an operator, of integers if the form has these; what it writes is returned, and put into `made` by
 * end_operator. Its attributes come in between. */
static value begin_operator(network *net, const char *type, const value *const *operands, int count,
                            const value *made)
{
    enum { EACH = 3, OUTPUT = 2, INPUTS = OUTPUT + EACH * GOPS_QUANTIZER_OPERANDS };
    char names[INPUTS][2 * NAME_BYTES], qlinear[NAME_BYTES];
    const char *inputs[INPUTS];
    const bool joins = strcmp(type, "Concat") == 0;
    value floats[GOPS_QUANTIZER_OPERANDS];
    for (int i = 0; i < INPUTS; i++) {
        inputs[i] = names[i];
    }
    if (!net->form->operators) {
        for (int i = 0; i < count; i++) {
            floats[i] = gops_quantizer_dequantize(net, operands[i]);
            inputs[i] = floats[i].name;
        }
        const value written = gops_quantizer_next(net);
        gops_onnx_build_node(&net->builder, type, written.name, inputs, count);
        return written;
    }
    put_parameters(net, made);
    const int output = joins ? 0 : EACH * count;
    name_parameters(made, names[output], names[output + 1]);
    for (int i = 0; i < count; i++) {
        const int at = EACH * i + (joins ? OUTPUT : 0);
        snprintf(names[at], sizeof names[at], "%s", operands[i]->name);
        name_parameters(operands[i], names[at + 1], names[at + 2]);
    }
    snprintf(qlinear, sizeof qlinear, "QLinear%s", type);
    gops_onnx_build_node(&net->builder, qlinear, made->name, inputs, OUTPUT + EACH * count);
    gops_onnx_build_domain(&net->builder, "com.microsoft");
    return *made;
}

static void end_operator(network *net, const value *written, const value *made)
{
    if (!net->form->operators) {
        gops_quantizer_quantize(net, written, made);
    }
}

gops_quantized_value gops_quantizer_add(gops_quantizer *net, const value *one, const value *other,
                                        activation of)
{
    const value made = gops_quantizer_choose(net, of, one->channels);
    const value *const operands[] = {one, other};
    net->layers.additions++;
    value written = begin_operator(net, "Add", operands, 2, &made);
    if (!net->form->operators) {
        written = activate(net, &written, of);
    }
    end_operator(net, &written, &made);
    return made;
}

gops_quantized_value gops_quantizer_multiply(gops_quantizer *net, const value *one,
                                             const value *other)
{
    const value made = gops_quantizer_choose(net, GOPS_QUANTIZED_NONE, one->channels);
    const value *const operands[] = {one, other};
    const value written = begin_operator(net, "Mul", operands, 2, &made);
    end_operator(net, &written, &made);
    return made;
}

gops_quantized_value gops_quantizer_bend(gops_quantizer *net, const char *type, const value *data)
{
    const value made = gops_quantizer_choose(net, GOPS_QUANTIZED_NONE, data->channels);
    const value written = begin_operator(net, type, &data, 1, &made);
    end_operator(net, &written, &made);
    return made;
}

gops_quantized_value gops_quantizer_average(gops_quantizer *net, const value *data,
                                            const gops_quantized_window *window)
{
    const value made = gops_quantizer_choose(net, GOPS_QUANTIZED_NONE, data->channels);
    const value written =
        begin_operator(net, window == NULL ? "GlobalAveragePool" : "AveragePool", &data, 1, &made);
    if (window != NULL) {
        const int64_t pads[] = {window->pad, window->pad, window->pad, window->pad};
        gops_onnx_build_ints(&net->builder, "kernel_shape",
                             (const int64_t[]){window->kernel, window->kernel}, 2);
        gops_onnx_build_ints(&net->builder, "strides",
                             (const int64_t[]){window->stride, window->stride}, 2);
        gops_onnx_build_ints(&net->builder, "pads", pads, 4);
        gops_onnx_build_int(&net->builder, "count_include_pad", window->counts_padding);
    }
    end_operator(net, &written, &made);
    return made;
}

/* The largest value is one of those there are: scale and zero point stay. */
gops_quantized_value gops_quantizer_pool(gops_quantizer *net, const value *data, int64_t kernel)
{
    const value floats = gops_quantizer_dequantize(net, data),
                pooled = gops_quantizer_apply(net, "MaxPool", &floats);
    const int64_t pad = kernel / 2, pads[] = {pad, pad, kernel - 1 - pad, kernel - 1 - pad};
    gops_onnx_build_ints(&net->builder, "kernel_shape", (const int64_t[]){kernel, kernel}, 2);
    gops_onnx_build_ints(&net->builder, "strides", (const int64_t[]){2, 2}, 2);
    if (kernel % 2 == 1) {
        gops_onnx_build_ints(&net->builder, "pads", pads, 4);
    }
    net->layers.pools++;
    value made = gops_quantizer_next(net);
    made.scale = data->scale;
    made.zero = data->zero;
    made.channels = data->channels;
    gops_quantizer_quantize(net, &pooled, &made);
    return made;
}

static bool have_scale(const value *const *operands, int count, const value *of)
{
    bool have = true;
    for (int i = 0; i < count; i++) {
        have = have && operands[i]->scale == of->scale && operands[i]->zero == of->zero;
    }
    return have;
}

static void split_nodes(network *net, const value *data, const char *const *names,
                        const int64_t *channels, int count)
{
    const value sizes = gops_quantizer_next(net);
    const int64_t parts = count;
    gops_onnx_build_constant(&net->builder, sizes.name, GOPS_ONNX_INT64, 1, &parts, channels,
                             (size_t)count * sizeof *channels);
    gops_onnx_build_node(&net->builder, "Split", names[0], (const char *[]){data->name, sizes.name},
                         2);
    for (int i = 1; i < count; i++) {
        gops_onnx_build_more(&net->builder, names[i]);
    }
    gops_onnx_build_int(&net->builder, "axis", 1);
}

/* Of operators on integers the Split is one, too. */
void gops_quantizer_split(gops_quantizer *net, const value *data, const int64_t *channels,
                          int count, value *made)
{
    value floats[GOPS_QUANTIZER_OPERANDS];
    const char *names[GOPS_QUANTIZER_OPERANDS];
    const bool integers = net->form->operators;
    for (int i = 0; i < count; i++) {
        made[i] = gops_quantizer_next(net);
        made[i].scale = data->scale;
        made[i].zero = data->zero;
        made[i].channels = channels[i];
        floats[i] = gops_quantizer_next(net);
        names[i] = integers ? made[i].name : floats[i].name;
    }
    const value from = integers ? *data : gops_quantizer_dequantize(net, data);
    split_nodes(net, &from, names, channels, count);
    for (int i = 0; i < count; i++) {
        if (integers) {
            put_parameters(net, &made[i]);
        } else {
            gops_quantizer_quantize(net, &floats[i], &made[i]);
        }
    }
}

/* Operators on integers join those of one scale as they are. */
gops_quantized_value gops_quantizer_join(gops_quantizer *net, const value *const *operands,
                                         int count, bool keeps_scale)
{
    value made = gops_quantizer_choose(net, GOPS_QUANTIZED_RELU, 0);
    for (int i = 0; i < count; i++) {
        made.channels += operands[i]->channels;
    }
    if (keeps_scale) {
        made.scale = operands[0]->scale;
        made.zero = operands[0]->zero;
    }
    net->layers.joins++;
    if (net->form->operators && have_scale(operands, count, &made)) {
        const char *names[GOPS_QUANTIZER_OPERANDS];
        for (int i = 0; i < count; i++) {
            names[i] = operands[i]->name;
        }
        put_parameters(net, &made);
        gops_onnx_build_node(&net->builder, "Concat", made.name, names, count);
        gops_onnx_build_int(&net->builder, "axis", 1);
        return made;
    }
    const value written = begin_operator(net, "Concat", operands, count, &made);
    gops_onnx_build_int(&net->builder, "axis", 1);
    end_operator(net, &written, &made);
    return made;
}
