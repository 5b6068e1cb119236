/* ort_quantized.c: ResNet-50, MobileNet v2 and U-Net, after the papers that describe them. */
#include "ort_quantized.h"

#include "guarded_memory.h"
#include "ort_quantizer.h"

#include <stdio.h>
#include <stdlib.h>

enum { CLASSES = 1000, OPSET = 17 };

/* Short names for the tables below. */
typedef gops_quantized_value value;
typedef gops_quantized_layer layer;
static const gops_quantized_activation NONE = GOPS_QUANTIZED_NONE, RELU = GOPS_QUANTIZED_RELU,
                                       RELU6 = GOPS_QUANTIZED_RELU6;

static value begin(gops_quantizer *net, const gops_ort_form *form, const gops_ort_extent *extent)
{
    const int64_t dims[] = {1, 3, extent->side, extent->side};
    const value input = {.name = "x"};
    *net = (gops_quantizer){.form = form, .random = gops_test_random_start(1, 1)};
    gops_onnx_build(&net->builder, OPSET);
    gops_onnx_build_input(&net->builder, "x", GOPS_ONNX_FLOAT, 4, dims);
    const value made = gops_quantizer_choose(net, NONE, 3);
    gops_quantizer_quantize(net, &input, &made);
    return made;
}

static gops_ort_layers end(gops_quantizer *net, int rank, const int64_t *dims,
                           gops_onnx_buffer *model)
{
    gops_onnx_build_output(&net->builder, "y", GOPS_ONNX_FLOAT, rank, dims);
    if (!gops_onnx_build_end(&net->builder, model)) {
        fprintf(stderr, "no memory for a model\n");
        exit(EXIT_FAILURE);
    }
    return net->layers;
}

static gops_ort_layers classify(gops_quantizer *net, const value *data, gops_onnx_buffer *model)
{
    const int64_t dims[] = {data->channels, CLASSES}, output[] = {1, CLASSES};
    const value floats = gops_quantizer_dequantize(net, data);
    const value pooled = gops_quantizer_apply(net, "GlobalAveragePool", &floats);
    const value flat = gops_quantizer_apply(net, "Flatten", &pooled),
                matrix = gops_quantizer_next(net);
    float *numbers = gops_test_allocate((size_t)(dims[0] * dims[1]) * sizeof *numbers);
    for (int64_t i = 0; i < dims[0] * dims[1]; i++) {
        numbers[i] = (float)gops_quantizer_draw(net, -0.05, 0.05);
    }
    gops_onnx_build_constant(&net->builder, matrix.name, GOPS_ONNX_FLOAT, 2, dims, numbers,
                             (size_t)(dims[0] * dims[1]) * sizeof *numbers);
    free(numbers);
    gops_onnx_build_node(&net->builder, "MatMul", "y", (const char *[]){flat.name, matrix.name}, 2);
    return end(net, 2, output, model);
}

/* He et al., "Deep Residual Learning", table 1, 50 layers. */
static gops_ort_layers build_resnet(const gops_ort_form *form, const gops_ort_extent *extent,
                                    gops_onnx_buffer *model)
{
    static const int repeats[] = {3, 4, 6, 3};
    gops_quantizer net;
    value data = begin(&net, form, extent);
    data = gops_quantizer_convolve(&net, &data, (layer){extent->width, 7, 2, 1, RELU, false});
    data = gops_quantizer_pool(&net, &data, 3);
    for (int stage = 0; stage < 4; stage++) {
        const int64_t width = extent->width << stage;
        for (int i = 0; i < (extent->repeats > 0 ? extent->repeats : repeats[stage]); i++) {
            const int64_t stride = i == 0 && stage > 0 ? 2 : 1;
            value shortcut = data;
            value made = gops_quantizer_convolve(&net, &data, (layer){width, 1, 1, 1, RELU, false});
            made = gops_quantizer_convolve(&net, &made, (layer){width, 3, stride, 1, RELU, false});
            made = gops_quantizer_convolve(&net, &made, (layer){width * 4, 1, 1, 1, NONE, false});
            if (i == 0) {
                shortcut = gops_quantizer_convolve(&net, &data,
                                                   (layer){width * 4, 1, stride, 1, NONE, false});
            }
            data = gops_quantizer_add(&net, &made, &shortcut, RELU);
        }
    }
    return classify(&net, &data, model);
}

/* Sandler et al., "MobileNetV2", table 2; widths are for 32 channels in the first layer. */
static gops_ort_layers build_mobilenet(const gops_ort_form *form, const gops_ort_extent *extent,
                                       gops_onnx_buffer *model)
{
    static const struct {
        int expansion, channels, repeats, stride;
    } blocks[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                  {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    gops_quantizer net;
    value data = begin(&net, form, extent);
    data = gops_quantizer_convolve(&net, &data, (layer){extent->width, 3, 2, 1, RELU6, false});
    for (size_t b = 0; b < sizeof blocks / sizeof blocks[0]; b++) {
        const int64_t to = blocks[b].channels * extent->width / 32;
        const int repeats = extent->repeats > 0 && blocks[b].repeats > extent->repeats
                                ? extent->repeats
                                : blocks[b].repeats;
        for (int i = 0; i < repeats; i++) {
            const int64_t middle = data.channels * blocks[b].expansion;
            value made = data;
            if (blocks[b].expansion > 1) {
                made = gops_quantizer_convolve(&net, &made, (layer){middle, 1, 1, 1, RELU6, false});
            }
            made = gops_quantizer_convolve(
                &net, &made,
                (layer){middle, 3, i == 0 ? blocks[b].stride : 1, middle, RELU6, false});
            made = gops_quantizer_convolve(&net, &made, (layer){to, 1, 1, 1, NONE, false});
            data = i > 0 ? gops_quantizer_add(&net, &data, &made, NONE) : made;
        }
    }
    data = gops_quantizer_convolve(&net, &data, (layer){extent->width * 40, 1, 1, 1, RELU6, false});
    return classify(&net, &data, model);
}

/* Ronneberger et al., "U-Net", figure 1, with padding; one layer for each two where blocks are not
 * repeated. */
static gops_ort_layers build_unet(const gops_ort_form *form, const gops_ort_extent *extent,
                                  gops_onnx_buffer *model)
{
    enum { DEPTH = 4 };
    const int repeats = extent->repeats > 0 ? extent->repeats : 2;
    const int64_t output[] = {1, 2, extent->side, extent->side};
    gops_quantizer net;
    value data = begin(&net, form, extent), kept[DEPTH];
    for (int level = 0; level <= DEPTH; level++) {
        for (int i = 0; i < repeats; i++) {
            data = gops_quantizer_convolve(&net, &data,
                                           (layer){extent->width << level, 3, 1, 1, RELU, false});
        }
        if (level < DEPTH) {
            kept[level] = data;
            data = gops_quantizer_pool(&net, &data, 2);
        }
    }
    for (int level = DEPTH - 1; level >= 0; level--) {
        const int64_t width = extent->width << level;
        data = gops_quantizer_convolve(&net, &data, (layer){width, 2, 2, 1, NONE, true});
        data = gops_quantizer_join(&net, (const value *const[]){&kept[level], &data}, 2, false);
        for (int i = 0; i < repeats; i++) {
            data = gops_quantizer_convolve(&net, &data, (layer){width, 3, 1, 1, RELU, false});
        }
    }
    data = gops_quantizer_convolve(&net, &data, (layer){2, 1, 1, 1, NONE, false});
    gops_quantizer_dequantize_as(&net, &data, "y");
    return end(&net, 4, output, model);
}

const gops_ort_quantized_network gops_ort_quantized_networks[3] = {
    [GOPS_ORT_RESNET] = {"ResNet-50", build_resnet},
    [GOPS_ORT_MOBILENET] = {"MobileNet v2", build_mobilenet},
    [GOPS_ORT_UNET] = {"U-Net", build_unet},
};
