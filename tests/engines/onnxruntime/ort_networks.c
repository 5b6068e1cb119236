/* ort_networks.c: ShuffleNet v1 and ResNeXt-50, after the tables of the papers that describe them.
 */
#include "ort_networks.h"

#include "guarded_memory.h"
#include "random_numbers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { NAME_BYTES = 32, CLASSES = 1000, OPSET = 17 };

typedef struct network {
    gops_onnx_builder builder;
    gops_test_random random;
    int count; /* of the values named so far */
} network;

/* A value's name; "y" for the last one of the network. */
typedef struct value {
    char name[NAME_BYTES];
} value;

static value next(network *net)
{
    value made;
    snprintf(made.name, sizeof made.name, "v%d", net->count++);
    return made;
}

/* A constant of numbers from low to high. */
static value constant(network *net, int rank, const int64_t *dims, double low, double high)
{
    const value made = next(net);
    size_t count = 1;
    for (int i = 0; i < rank; i++) {
        count *= (size_t)dims[i];
    }
    float *numbers = gops_test_allocate(count * sizeof *numbers);
    for (size_t i = 0; i < count; i++) {
        numbers[i] = (float)(low + (high - low) * (gops_test_random_real(&net->random) + 1) / 2);
    }
    gops_onnx_build_constant(&net->builder, made.name, GOPS_ONNX_FLOAT, rank, dims, numbers,
                             count * sizeof *numbers);
    free(numbers);
    return made;
}

static value integers(network *net, const int64_t *numbers, int64_t count)
{
    const value made = next(net);
    gops_onnx_build_constant(&net->builder, made.name, GOPS_ONNX_INT64, 1, &count, numbers,
                             (size_t)count * sizeof *numbers);
    return made;
}

static value apply(network *net, const char *type, value first, const value *second)
{
    const value made = next(net);
    gops_onnx_build_node(&net->builder, type, made.name,
                         (const char *[]){first.name, second != NULL ? second->name : ""},
                         second != NULL ? 2 : 1);
    return made;
}

typedef struct layer {
    int64_t from, to, kernel, stride, groups;
} layer;

/* Convolution and batch normalization; the weights keep the values' spread. */
static value convolve(network *net, value data, layer of)
{
    const int64_t dims[] = {of.to, of.from / of.groups, of.kernel, of.kernel};
    const int64_t square[] = {of.kernel, of.kernel}, strides[] = {of.stride, of.stride};
    const int64_t pad = of.kernel / 2, pads[] = {pad, pad, pad, pad};
    const double spread = sqrt(6.0 / (double)(dims[1] * of.kernel * of.kernel));
    const value weights = constant(net, 4, dims, -spread, spread);
    const value scale = constant(net, 1, &of.to, 0.5, 0.9);
    const value shift = constant(net, 1, &of.to, -0.3, 0.3);
    const value mean = constant(net, 1, &of.to, -0.2, 0.2);
    const value variance = constant(net, 1, &of.to, 0.7, 1.5);
    const value convolved = next(net), made = next(net);
    gops_onnx_build_node(&net->builder, "Conv", convolved.name,
                         (const char *[]){data.name, weights.name}, 2);
    gops_onnx_build_int(&net->builder, "group", of.groups);
    gops_onnx_build_ints(&net->builder, "kernel_shape", square, 2);
    gops_onnx_build_ints(&net->builder, "strides", strides, 2);
    gops_onnx_build_ints(&net->builder, "pads", pads, 4);
    gops_onnx_build_node(
        &net->builder, "BatchNormalization", made.name,
        (const char *[]){convolved.name, scale.name, shift.name, mean.name, variance.name}, 5);
    return made;
}

static value relu(network *net, value data)
{
    return apply(net, "Relu", data, NULL);
}

static value pool(network *net, const char *type, value data)
{
    const value made = apply(net, type, data, NULL);
    gops_onnx_build_ints(&net->builder, "kernel_shape", (const int64_t[]){3, 3}, 2);
    gops_onnx_build_ints(&net->builder, "strides", (const int64_t[]){2, 2}, 2);
    gops_onnx_build_ints(&net->builder, "pads", (const int64_t[]){1, 1, 1, 1}, 4);
    return made;
}

static void begin(network *net, const int64_t *data)
{
    gops_onnx_build(&net->builder, OPSET);
    gops_onnx_build_input(&net->builder, "x", GOPS_ONNX_FLOAT, 4, data);
    net->random = gops_test_random_start(1, 1);
    net->count = 0;
}

static void classify(network *net, value data, int64_t channels, gops_onnx_buffer *model)
{
    const int64_t dims[] = {channels, CLASSES}, output[] = {1, CLASSES};
    const value pooled = apply(net, "GlobalAveragePool", data, NULL);
    const value flat = apply(net, "Flatten", pooled, NULL);
    const value weights = constant(net, 2, dims, -0.05, 0.05);
    gops_onnx_build_node(&net->builder, "MatMul", "y", (const char *[]){flat.name, weights.name},
                         2);
    gops_onnx_build_output(&net->builder, "y", GOPS_ONNX_FLOAT, 2, output);
    if (!gops_onnx_build_end(&net->builder, model)) {
        fprintf(stderr, "no memory for a model\n");
        exit(EXIT_FAILURE);
    }
}

/* Channels [groups, n] become [n, groups]. */
static value shuffle(network *net, value data, int64_t channels, int64_t groups, int64_t side)
{
    const int64_t apart[] = {1, groups, channels / groups, side, side};
    const int64_t together[] = {1, channels, side, side};
    const value to_apart = integers(net, apart, 5), to_together = integers(net, together, 4);
    const value split = apply(net, "Reshape", data, &to_apart);
    const value crossed = apply(net, "Transpose", split, NULL);
    gops_onnx_build_ints(&net->builder, "perm", (const int64_t[]){0, 2, 1, 3, 4}, 5);
    return apply(net, "Reshape", crossed, &to_together);
}

/* Zhang et al., "ShuffleNet", table 1 with three groups; `side` is of the unit's input. The first
 * unit's 24 channels are not grouped. */
static value shuffle_unit(network *net, value data, int64_t from, int64_t to, int64_t side)
{
    enum { GROUPS = 3 };
    const int64_t middle = to / 4, stride = from == to ? 1 : 2;
    const int64_t made_channels = stride == 2 ? to - from : to;
    const layer first = {from, middle, 1, 1, from == 24 ? 1 : GROUPS};
    value made = relu(net, convolve(net, data, first));
    made = shuffle(net, made, middle, GROUPS, side);
    made = convolve(net, made, (layer){middle, middle, 3, stride, middle});
    made = convolve(net, made, (layer){middle, made_channels, 1, 1, GROUPS});
    if (stride == 1) {
        made = apply(net, "Add", made, &data);
    } else {
        const value pooled = pool(net, "AveragePool", data);
        made = apply(net, "Concat", pooled, &made);
        gops_onnx_build_int(&net->builder, "axis", 1);
    }
    return relu(net, made);
}

static void build_shufflenet(gops_onnx_buffer *model)
{
    static const int repeats[] = {4, 8, 4};
    network net;
    begin(&net, (const int64_t[]){1, 3, 224, 224});
    value data = {"x"};
    data = relu(&net, convolve(&net, data, (layer){3, 24, 3, 2, 1}));
    data = pool(&net, "MaxPool", data);
    int64_t channels = 24, side = 56;
    for (int stage = 0; stage < 3; stage++) {
        const int64_t to = (int64_t)240 << stage;
        for (int i = 0; i < repeats[stage]; i++) {
            data = shuffle_unit(&net, data, channels, to, side);
            side = channels == to ? side : side / 2;
            channels = to;
        }
    }
    classify(&net, data, channels, model);
}

/* Xie et al., "Aggregated Residual Transformations", table 1, 32 groups of 4 channels. */
static value resnext_block(network *net, value data, int64_t from, int64_t width, int64_t stride)
{
    const int64_t to = width * 2;
    value shortcut = data;
    value made = relu(net, convolve(net, data, (layer){from, width, 1, 1, 1}));
    made = relu(net, convolve(net, made, (layer){width, width, 3, stride, 32}));
    made = convolve(net, made, (layer){width, to, 1, 1, 1});
    if (from != to) {
        shortcut = convolve(net, data, (layer){from, to, 1, stride, 1});
    }
    return relu(net, apply(net, "Add", made, &shortcut));
}

static void build_resnext(gops_onnx_buffer *model)
{
    static const int repeats[] = {3, 4, 6, 3};
    network net;
    begin(&net, (const int64_t[]){1, 3, 224, 224});
    value data = {"x"};
    data = relu(&net, convolve(&net, data, (layer){3, 64, 7, 2, 1}));
    data = pool(&net, "MaxPool", data);
    int64_t channels = 64;
    for (int stage = 0; stage < 4; stage++) {
        const int64_t width = (int64_t)128 << stage;
        for (int i = 0; i < repeats[stage]; i++) {
            data = resnext_block(&net, data, channels, width, i == 0 && stage > 0 ? 2 : 1);
            channels = width * 2;
        }
    }
    classify(&net, data, channels, model);
}

const gops_ort_network gops_ort_networks[] = {
    {"ShuffleNet v1, 3 groups", build_shufflenet, {1, 3, 224, 224}, 49},
    {"ResNeXt-50, 32x4d", build_resnext, {1, 3, 224, 224}, 53},
    {NULL, NULL, {0}, 0},
};
