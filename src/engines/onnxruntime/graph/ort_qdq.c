/* ort_qdq.c: a convolution between DequantizeLinear and QuantizeLinear. */
#include "engines/onnxruntime/graph/ort_quantized.h"

#include "engines/onnxruntime/graph/ort_linear.h"

#include <math.h>
#include <string.h>

static ort_status *claim_data(const gops_ort_graph *graph, gops_ort_claim *claim, bool *serves)
{
    gops_ort_dequantized data;
    ort_status *status = gops_ort_read_dequantized(graph, claim->inputs[GOPS_ORT_DATA],
                                                   claim->nodes[0], &data, serves);
    *serves = *serves && gops_ort_has_one_scale(&data);
    if (*serves) {
        claim->operation.quantization.data_scale = gops_ort_only_scale(&data);
        claim->operation.quantization.data_zero_point = gops_ort_only_zero_point(&data);
        gops_ort_take_input(claim, GOPS_ORT_DATA, &data);
    }
    return status;
}

/* Constant weights, with scales for the axis of output channels. */
static ort_status *claim_filter(const gops_ort_graph *graph, gops_ort_claim *claim, bool *serves)
{
    const int32_t axis = claim->operation.kind == GOPS_ORT_DECONV ? 1 : 0;
    gops_ort_dequantized filter;
    ort_status *status = gops_ort_read_dequantized(graph, claim->inputs[GOPS_ORT_FILTER],
                                                   claim->nodes[0], &filter, serves);
    *serves = *serves && gops_ort_is_8_bit(filter.input.type) && filter.input.rank > axis &&
              (filter.scales.count == 1 ||
               (filter.axis == axis && filter.scales.count == filter.input.dims[axis]));
    if (status != NULL || !*serves) {
        return status;
    }
    claim->filter_scales = filter.scales;
    claim->filter_zero_points = filter.zero_points;
    gops_ort_take_input(claim, GOPS_ORT_FILTER, &filter);
    return graph->runtime->api->is_constant_initializer(claim->infos[GOPS_ORT_FILTER], serves);
}

/* The scale of the sums of a channel; a transposed convolution's groups share those of theirs. */
static float sum_scale(const gops_ort_claim *claim, int64_t channel)
{
    const gops_ort_constant *scales = &claim->filter_scales;
    return claim->operation.quantization.data_scale *
           ((const float *)scales->values)[channel % scales->count];
}

/* So far may a bias go, in units of the sums, where the runtime sums floats: what is beyond makes integers wrap. */
enum { BIAS_LIMIT = 1 << 30 };

/* Whether one in i32 is within that, as far as the model tells: a quantizer may have clipped it. */
static ort_status *is_within(const gops_ort_graph *graph, const gops_ort_claim *claim, bool *is)
{
    gops_ort_constant bias;
    bool known = false;
    ort_status *status = NULL;
    if (claim->inputs[GOPS_ORT_BIAS] != NULL) {
        status = gops_ort_read_constant(graph->runtime, claim->infos[GOPS_ORT_BIAS], &bias, &known);
    }
    for (int64_t i = 0; status == NULL && known && i < bias.count; i++) {
        const int32_t value = ((const int32_t *)bias.values)[i];
        *is = *is && value > -BIAS_LIMIT && value < BIAS_LIMIT;
    }
    return status;
}

/* A bias in i32 must be in units of the sums: as near as f32 and the order of a product come. */
static bool is_bias(const gops_ort_claim *claim, const gops_ort_dequantized *bias, int64_t channels)
{
    const float *scales = bias->scales.values;
    const int32_t *zero_points = bias->zero_points.values;
    const float nearness = 0x1p-20F;
    if (bias->input.type != GOPS_I32 ||
        (bias->scales.count != 1 && (bias->scales.count != channels || bias->axis != 0))) {
        return false;
    }
    for (int64_t i = 0; i < channels; i++) {
        const float scale = sum_scale(claim, i), given = scales[i % bias->scales.count];
        if (fabsf(given - scale) > scale * nearness ||
            (bias->zero_points.count > 0 && zero_points[i % bias->zero_points.count] != 0)) {
            return false;
        }
    }
    return true;
}

/* Whether a bias in f32 can be rounded to units of the sums. */
static bool is_real_bias(const gops_ort_claim *claim, int64_t channels)
{
    const gops_ort_constant *bias = &claim->real_bias;
    bool is = bias->tensor.type == GOPS_F32 && bias->tensor.rank == 1 && bias->count == channels;
    for (int64_t i = 0; is && i < channels; i++) {
        is = fabsf(((const float *)bias->values)[i] / sum_scale(claim, i)) < (float)BIAS_LIMIT;
    }
    return is;
}

static ort_status *claim_bias(const gops_ort_graph *graph, gops_ort_claim *claim, bool *serves)
{
    gops_tensor weights, filter;
    gops_ort_dequantized bias;
    bool known;
    if (claim->inputs[GOPS_ORT_BIAS] == NULL) {
        return NULL;
    }
    ort_status *status =
        gops_ort_value_tensor(graph->runtime, claim->infos[GOPS_ORT_FILTER], &weights, &known);
    *serves = status == NULL && gops_ort_filter_tensor(&claim->operation, &weights, &filter);
    if (!*serves) {
        return status;
    }
    const int64_t channels = gops_ort_channels(&claim->operation, &filter);
    status = gops_ort_read_constant(graph->runtime, claim->infos[GOPS_ORT_BIAS], &claim->real_bias,
                                    serves);
    if (status != NULL || *serves) {
        *serves = *serves && is_real_bias(claim, channels);
        claim->inputs[GOPS_ORT_BIAS] = NULL;
        return status;
    }
    status = gops_ort_read_dequantized(graph, claim->inputs[GOPS_ORT_BIAS], claim->nodes[0], &bias,
                                       serves);
    *serves = *serves && is_bias(claim, &bias, channels);
    if (*serves) {
        gops_ort_take_input(claim, GOPS_ORT_BIAS, &bias);
    }
    return status;
}

/* An Add of a dequantized tensor; without an Add there is nothing to do. */
static ort_status *claim_residual(const gops_ort_graph *graph, gops_ort_claim *claim, bool *serves)
{
    gops_ort_node *node = gops_ort_only_reader(graph, claim->output);
    gops_ort_dequantized added;
    size_t other;
    bool is;
    ort_status *status = gops_ort_is_residual(graph, claim, node, &other, &is);
    if (status != NULL || !is) {
        return status;
    }
    status = gops_ort_read_dequantized(graph, node->input_names[other], node, &added, serves);
    *serves = *serves && gops_ort_has_one_scale(&added);
    if (*serves) {
        claim->operation.quantization.residual_scale = gops_ort_only_scale(&added);
        claim->operation.quantization.residual_zero_point = gops_ort_only_zero_point(&added);
        gops_ort_take_input(claim, GOPS_ORT_RESIDUAL, &added);
        gops_ort_claim_add(claim, node);
    }
    return status;
}

/* Makes *are false where a scale or zero point of a QuantizeLinear or DequantizeLinear has axes. */
static ort_status *are_numbers(const gops_ort_runtime *runtime, const gops_ort_node *node,
                               bool *are)
{
    ort_status *status = NULL;
    for (size_t i = 1; i < node->input_count && i <= 2 && status == NULL; i++) {
        gops_tensor tensor = {.rank = 0};
        bool known;
        if (node->inputs[i] != NULL) {
            status = gops_ort_value_tensor(runtime, node->inputs[i], &tensor, &known);
        }
        *are = *are && tensor.rank == 0;
    }
    return status;
}

/* Likewise, of the QuantizeLinear that reads a value. */
static ort_status *are_numbers_behind(const gops_ort_graph *graph, const char *value, bool *are)
{
    ort_status *status = NULL;
    size_t count;
    const gops_ort_use *uses = gops_ort_uses(graph, value, &count);
    for (size_t i = 0; i < count && status == NULL; i++) {
        if (gops_ort_quantizes(uses[i].reader)) {
            status = are_numbers(graph->runtime, uses[i].reader, are);
        }
    }
    return status;
}

/* Likewise, of those around a node, also behind a Relu or Clip. */
static ort_status *are_numbers_around(const gops_ort_graph *graph, const gops_ort_node *node,
                                      bool *are)
{
    ort_status *status = NULL;
    size_t count;
    const gops_ort_use *uses = gops_ort_uses(graph, node->output_names[0], &count);
    for (size_t i = 0; i < node->input_count && status == NULL; i++) {
        const gops_ort_node *writer = gops_ort_writer(graph, node->input_names[i]);
        if (gops_ort_dequantizes(writer)) {
            status = are_numbers(graph->runtime, writer, are);
        }
    }
    for (size_t i = 0; i < count && status == NULL; i++) {
        if (gops_ort_bounds(uses[i].reader)) {
            status = are_numbers_behind(graph, uses[i].reader->output_names[0], are);
        }
    }
    return status != NULL ? status : are_numbers_behind(graph, node->output_names[0], are);
}

static bool becomes_one(const gops_ort_node *node)
{
    return strcmp(node->type, "Add") == 0 || strcmp(node->type, "Mul") == 0 ||
           strcmp(node->type, "AveragePool") == 0;
}

ort_status *gops_ort_serve_readers(const gops_ort_graph *graph, const char *value, gops_type type,
                                   bool *serves)
{
    ort_status *status = NULL;
    size_t count, next_count;
    const gops_ort_use *uses = gops_ort_uses(graph, value, &count);
    for (size_t i = 0; i < count && type == GOPS_I8; i++) {
        const gops_ort_node *reader = uses[i].reader;
        if (!gops_ort_dequantizes(reader)) {
            continue;
        }
        const gops_ort_use *next = gops_ort_uses(graph, reader->output_names[0], &next_count);
        for (size_t k = 0; k < next_count && status == NULL; k++) {
            if (next[k].reader != NULL && becomes_one(next[k].reader)) {
                status = are_numbers_around(graph, next[k].reader, serves);
            }
        }
    }
    return status;
}

ort_status *gops_ort_serve_writer(const gops_ort_graph *graph, const char *value, gops_type type,
                                  bool *serves)
{
    const gops_ort_node *writer = type == GOPS_I8 ? gops_ort_writer(graph, value) : NULL;
    if (!gops_ort_quantizes(writer)) {
        return NULL;
    }
    writer = gops_ort_writer(graph, writer->input_names[0]);
    if (gops_ort_bounds(writer)) {
        writer = gops_ort_writer(graph, writer->input_names[0]);
    }
    return writer != NULL && !writer->claimed && becomes_one(writer)
               ? are_numbers_around(graph, writer, serves)
               : NULL;
}

/* Whether the runtime would: of all others it makes a QLinearConv, which multiplies where ONNX divides. */
static bool sums_floats(const gops_ort_claim *claim)
{
    const gops_ort_operation *operation = &claim->operation;
    const gops_type *types = operation->types;
    return operation->kind == GOPS_ORT_DECONV || claim->inputs[GOPS_ORT_RESIDUAL] != NULL ||
           operation->activation.kind != GOPS_ACTIVATION_NONE ||
           types[GOPS_ORT_DATA] != operation->output_type ||
           (types[GOPS_ORT_DATA] == GOPS_I8 && types[GOPS_ORT_FILTER] != GOPS_I8);
}

ort_status *gops_ort_claim_qdq(const gops_ort_graph *graph, gops_ort_claim *claim)
{
    gops_ort_claim made = *claim;
    ort_status *status = NULL;
    made.operation.quantization = (gops_quantization){.size = sizeof(gops_quantization)};
    bool serves =
        claim->operation.kind != GOPS_ORT_NORM && claim->operation.types[GOPS_ORT_DATA] == GOPS_F32;
    if (!serves || (status = claim_data(graph, &made, &serves)) != NULL || !serves ||
        (status = claim_filter(graph, &made, &serves)) != NULL || !serves ||
        (status = claim_bias(graph, &made, &serves)) != NULL || !serves ||
        (status = claim_residual(graph, &made, &serves)) != NULL || !serves ||
        (status = gops_ort_add_activation(graph, &made)) != NULL ||
        (status = gops_ort_claim_quantize(graph, &made, &serves)) != NULL || !serves) {
        return status;
    }
    gops_ort_drop_redundant_activation(&made.operation);
    made.operation.quantization.divides = sums_floats(&made);
    if (made.operation.quantization.divides) {
        status = is_within(graph, &made, &serves);
    }
    if (status == NULL && serves && gops_ort_scales_serve(&made)) {
        *claim = made;
    }
    return status;
}
