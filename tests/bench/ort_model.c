/* ort_model.c: a layer of a suite as an ONNX model. */
#include "ort_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPSET = 21 };

static void put_list(gops_onnx_builder *builder, const char *name, const gops_list *first,
                     const gops_list *second)
{
    int64_t values[2 * GOPS_MAX_SPATIAL];
    int count = 0;
    for (int i = 0; i < first->count; i++) {
        values[count++] = first->values[i];
    }
    for (int i = 0; second != NULL && i < second->count; i++) {
        values[count++] = second->values[i];
    }
    gops_onnx_build_ints(builder, name, values, count);
}

static void put_attributes(gops_onnx_builder *builder, const gops_peer_problem *problem)
{
    if (problem->operation->bit == GOPS_OF_NORM) {
        gops_onnx_build_int(builder, "num_groups", problem->groups);
        gops_onnx_build_float(builder, "epsilon", (float)problem->settings.epsilon);
        return;
    }
    gops_onnx_build_int(builder, "group", problem->groups);
    put_list(builder, "kernel_shape", &problem->kernel, NULL);
    put_list(builder, "strides", &problem->strides, NULL);
    put_list(builder, "dilations", &problem->dilations, NULL);
    put_list(builder, "pads", &problem->pads_begin, &problem->pads_end);
    if (problem->operation->bit == GOPS_OF_DECONV) {
        put_list(builder, "output_padding", &problem->output_padding, NULL);
    }
}

/* QLinearConv's inputs behind the data, whose names are its own. */
static const char *const quantized_inputs[] = {"data",    "x_scale", "x_zero",  "filter",
                                               "w_scale", "w_zero",  "y_scale", "y_zero"};
enum { QUANTIZED_INPUTS = sizeof quantized_inputs / sizeof quantized_inputs[0] };

static void put_nodes(gops_onnx_builder *builder, const gops_peer_problem *problem, int depth)
{
    static const char *const types[] = {"Conv", "ConvTranspose", "GroupNormalization"};
    const unsigned bit = problem->operation->bit;
    const bool quantized = problem->codes.data != NULL;
    const char *type = quantized ? "QLinearConv"
                                 : types[bit == GOPS_OF_CONV     ? 0
                                         : bit == GOPS_OF_DECONV ? 1
                                                                 : 2];
    const int count = quantized ? (int)QUANTIZED_INPUTS : problem->operation->inputs;
    const char *inputs[QUANTIZED_INPUTS];
    char from[16] = GOPS_ORT_INPUT;
    char to[16];
    memcpy(inputs, quantized ? quantized_inputs : problem->operation->input_names,
           (size_t)count * sizeof *inputs);
    for (int i = 0; i < depth; i++) {
        snprintf(to, sizeof to, i + 1 == depth ? GOPS_ORT_OUTPUT : "t%d", i);
        inputs[0] = from;
        gops_onnx_build_node(builder, type, to, inputs, count);
        put_attributes(builder, problem);
        memcpy(from, to, sizeof from);
    }
}

/* A convolution's filter has the groups in its first axis (Conv: outputs, ConvTranspose: inputs).
 */
static void put_constant(gops_onnx_builder *builder, const gops_peer_problem *problem, int input)
{
    const bool quantized = problem->codes.data != NULL;
    const void *values = quantized ? (const void *)problem->codes.filter : problem->values[input];
    const gops_tensor *tensor = &problem->inputs[input];
    int64_t dims[GOPS_MAX_RANK];
    size_t count = 1;
    const int first = tensor->rank > 1 ? 1 : 0;
    for (int i = first; i < tensor->rank; i++) {
        dims[i - first] = tensor->dims[i] * (i == 1 && first == 1 ? tensor->dims[0] : 1);
        count *= (size_t)dims[i - first];
    }
    gops_onnx_build_constant(builder, problem->operation->input_names[input],
                             quantized ? GOPS_ONNX_INT8 : GOPS_ONNX_FLOAT, tensor->rank - first,
                             dims, values, quantized ? count : count * sizeof(float));
}

static bool put_scales(gops_onnx_builder *builder, const gops_peer_problem *problem)
{
    static const uint8_t zero = 0;
    const gops_peer_codes *codes = &problem->codes;
    const int64_t channels = problem->groups * problem->c_out;
    int8_t *zeros = calloc((size_t)channels, 1);
    if (zeros == NULL) {
        return false;
    }
    gops_onnx_build_constant(builder, "x_scale", GOPS_ONNX_FLOAT, 0, NULL, &codes->data_scale,
                             sizeof(float));
    gops_onnx_build_constant(builder, "x_zero", GOPS_ONNX_UINT8, 0, NULL, &zero, 1);
    gops_onnx_build_constant(builder, "w_scale", GOPS_ONNX_FLOAT, 1, &channels,
                             codes->filter_scales, (size_t)channels * sizeof(float));
    gops_onnx_build_constant(builder, "w_zero", GOPS_ONNX_INT8, 1, &channels, zeros,
                             (size_t)channels);
    gops_onnx_build_constant(builder, "y_scale", GOPS_ONNX_FLOAT, 0, NULL, &codes->output_scale,
                             sizeof(float));
    gops_onnx_build_constant(builder, "y_zero", GOPS_ONNX_UINT8, 0, NULL, &zero, 1);
    free(zeros);
    return true;
}

bool gops_ort_model(const gops_peer_problem *problem, int depth, gops_onnx_buffer *model)
{
    const gops_tensor *data = &problem->inputs[0], *output = &problem->output;
    gops_onnx_builder builder;
    gops_onnx_build(&builder, OPSET);
    put_nodes(&builder, problem, depth);
    for (int input = 1; input < problem->operation->inputs; input++) {
        put_constant(&builder, problem, input);
    }
    const bool quantized = problem->codes.data != NULL;
    const gops_onnx_element element = quantized ? GOPS_ONNX_UINT8 : GOPS_ONNX_FLOAT;
    const bool scaled = !quantized || put_scales(&builder, problem);
    gops_onnx_build_input(&builder, GOPS_ORT_INPUT, element, data->rank, data->dims);
    gops_onnx_build_output(&builder, GOPS_ORT_OUTPUT, element, output->rank, output->dims);
    const bool built = gops_onnx_build_end(&builder, model);
    if (built && !scaled) {
        free(model->bytes);
    }
    return built && scaled;
}
