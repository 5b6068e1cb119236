/* ort_model.c: a layer of a suite as an ONNX model. */
#include "ort_model.h"

#include <stdio.h>
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

static void put_nodes(gops_onnx_builder *builder, const gops_peer_problem *problem, int depth)
{
    static const char *const types[] = {"Conv", "ConvTranspose", "GroupNormalization"};
    const unsigned bit = problem->operation->bit;
    const char *type = types[bit == GOPS_OF_CONV ? 0 : bit == GOPS_OF_DECONV ? 1 : 2];
    const char *inputs[GOPS_TOOL_MAX_INPUTS];
    char from[16] = GOPS_ORT_INPUT;
    char to[16];
    memcpy(inputs, problem->operation->input_names, sizeof inputs);
    for (int i = 0; i < depth; i++) {
        snprintf(to, sizeof to, i + 1 == depth ? GOPS_ORT_OUTPUT : "t%d", i);
        inputs[0] = from;
        gops_onnx_build_node(builder, type, to, inputs, problem->operation->inputs);
        put_attributes(builder, problem);
        memcpy(from, to, sizeof from);
    }
}

/* A convolution's filter has the groups in its first axis (Conv: outputs, ConvTranspose: inputs).
 */
static void put_constant(gops_onnx_builder *builder, const gops_peer_problem *problem, int input)
{
    const gops_tensor *tensor = &problem->inputs[input];
    int64_t dims[GOPS_MAX_RANK];
    size_t count = 1;
    const int first = tensor->rank > 1 ? 1 : 0;
    for (int i = first; i < tensor->rank; i++) {
        dims[i - first] = tensor->dims[i] * (i == 1 && first == 1 ? tensor->dims[0] : 1);
        count *= (size_t)dims[i - first];
    }
    gops_onnx_build_constant(builder, problem->operation->input_names[input], GOPS_ONNX_FLOAT,
                             tensor->rank - first, dims, problem->values[input],
                             count * sizeof(float));
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
    gops_onnx_build_input(&builder, GOPS_ORT_INPUT, GOPS_ONNX_FLOAT, data->rank, data->dims);
    gops_onnx_build_output(&builder, GOPS_ORT_OUTPUT, GOPS_ONNX_FLOAT, output->rank, output->dims);
    return gops_onnx_build_end(&builder, model);
}
