/* ort_qdq.c: a convolution between DequantizeLinear and QuantizeLinear. */
#include "ort_quantized.h"

#include "ort_attributes.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* What a DequantizeLinear says of its input. */
typedef struct dequantized {
    gops_ort_node *node;
    gops_tensor input;
    gops_ort_constant scales, zero_points; /* the latter empty: 0 */
    int64_t axis;                          /* of more than one scale */
} dequantized;

static bool is_8_bit(gops_type type)
{
    return type == GOPS_I8 || type == GOPS_U8;
}

/* Whether a QuantizeLinear or DequantizeLinear has neither blocks nor a type by attribute. */
static ort_status *read_attributes(const gops_ort_runtime *runtime, const gops_ort_node *node,
                                   int64_t *axis, bool *reads)
{
    gops_ort_attributes from = {runtime, node, NULL, false};
    int64_t block_size = 0, precision = 0;
    gops_ort_attribute_int(&from, "axis", axis);
    gops_ort_attribute_int(&from, "block_size", &block_size);
    gops_ort_attribute_int(&from, "precision", &precision);
    *reads = from.status == NULL && !from.malformed && block_size == 0 &&
             (precision == 0 || precision == ORT_FLOAT);
    return from.status;
}

/* Scales of type f32, and zero points of the input's type, as many. */
static ort_status *read_constants(const gops_ort_runtime *runtime, dequantized *of, bool *reads)
{
    const gops_ort_node *node = of->node;
    ort_status *status = gops_ort_read_constant(runtime, node->inputs[1], &of->scales, reads);
    of->zero_points = (gops_ort_constant){0};
    if (status != NULL || !*reads) {
        return status;
    }
    *reads = gops_ort_is_vector(&of->scales, GOPS_F32, 0) && gops_ort_are_scales(&of->scales);
    if (!*reads || node->input_count < 3 || node->inputs[2] == NULL) {
        return NULL;
    }
    status = gops_ort_read_constant(runtime, node->inputs[2], &of->zero_points, reads);
    *reads = *reads && gops_ort_is_vector(&of->zero_points, of->input.type, 0) &&
             of->zero_points.count == of->scales.count;
    return status;
}

/* Reads the DequantizeLinear that writes the value for `reader` alone. */
static ort_status *read_dequantized(const gops_ort_runtime *runtime, const gops_ort_graph *graph,
                                    const char *value, const gops_ort_node *reader, dequantized *of,
                                    bool *reads)
{
    gops_tensor output;
    bool known;
    ort_status *status;
    *of = (dequantized){.axis = 1}; /* the operator's default */
    *reads = false;
    of->node = gops_ort_only_writer(graph, value, "DequantizeLinear", reader);
    if (of->node == NULL || of->node->input_count < 2 || of->node->input_count > 3 ||
        of->node->inputs[0] == NULL) {
        return NULL;
    }
    if ((status = gops_ort_value_tensor(runtime, of->node->inputs[0], &of->input, &known)) !=
            NULL ||
        (status = gops_ort_value_tensor(runtime, of->node->outputs[0], &output, &known)) != NULL ||
        output.type != GOPS_F32 ||
        (status = read_attributes(runtime, of->node, &of->axis, reads)) != NULL || !*reads) {
        *reads = false;
        return status;
    }
    of->axis += of->axis < 0 ? of->input.rank : 0;
    return read_constants(runtime, of, reads);
}

/* Makes input `which` of the claim the integers that the node dequantizes. */
static void take_input(gops_ort_claim *claim, int which, const dequantized *of)
{
    claim->inputs[which] = of->node->input_names[0];
    claim->infos[which] = of->node->inputs[0];
    claim->operation.types[which] = of->input.type;
    claim->nodes[claim->node_count++] = of->node;
}

static int32_t only_zero_point(const dequantized *of)
{
    return of->zero_points.count > 0 ? gops_ort_zero_point(&of->zero_points) : 0;
}

static ort_status *claim_data(const gops_ort_runtime *runtime, const gops_ort_graph *graph,
                              gops_ort_claim *claim, bool *serves)
{
    dequantized data;
    ort_status *status = read_dequantized(runtime, graph, claim->inputs[GOPS_ORT_DATA],
                                          claim->nodes[0], &data, serves);
    *serves = *serves && data.scales.count == 1 && is_8_bit(data.input.type);
    if (*serves) {
        claim->operation.quantization.data_scale = *(const float *)data.scales.values;
        claim->operation.quantization.data_zero_point = only_zero_point(&data);
        take_input(claim, GOPS_ORT_DATA, &data);
    }
    return status;
}

/* Constant weights, with scales for the axis of output channels. */
static ort_status *claim_filter(const gops_ort_runtime *runtime, const gops_ort_graph *graph,
                                gops_ort_claim *claim, bool *serves)
{
    const int32_t axis = claim->operation.kind == GOPS_ORT_DECONV ? 1 : 0;
    dequantized filter;
    ort_status *status = read_dequantized(runtime, graph, claim->inputs[GOPS_ORT_FILTER],
                                          claim->nodes[0], &filter, serves);
    *serves = *serves && is_8_bit(filter.input.type) && filter.input.rank > axis &&
              (filter.scales.count == 1 ||
               (filter.axis == axis && filter.scales.count == filter.input.dims[axis]));
    if (status != NULL || !*serves) {
        return status;
    }
    claim->filter_scales = filter.scales;
    claim->filter_zero_points = filter.zero_points;
    take_input(claim, GOPS_ORT_FILTER, &filter);
    return runtime->api->is_constant_initializer(claim->infos[GOPS_ORT_FILTER], serves);
}

/* The scale of the sums of a channel; a transposed convolution's groups share those of theirs. */
static float sum_scale(const gops_ort_claim *claim, int64_t channel)
{
    const gops_ort_constant *scales = &claim->filter_scales;
    return claim->operation.quantization.data_scale *
           ((const float *)scales->values)[channel % scales->count];
}

/* A bias in i32 must be in units of the sums: as near as f32 and the order of a product come. */
static bool is_bias(const gops_ort_claim *claim, const dequantized *bias, int64_t channels)
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
    const float limit = 0x1p30F;
    bool is = bias->tensor.type == GOPS_F32 && bias->tensor.rank == 1 && bias->count == channels;
    for (int64_t i = 0; is && i < channels; i++) {
        is = fabsf(((const float *)bias->values)[i] / sum_scale(claim, i)) < limit;
    }
    return is;
}

static ort_status *claim_bias(const gops_ort_runtime *runtime, const gops_ort_graph *graph,
                              gops_ort_claim *claim, bool *serves)
{
    gops_tensor weights, filter;
    dequantized bias;
    bool known;
    if (claim->inputs[GOPS_ORT_BIAS] == NULL) {
        return NULL;
    }
    ort_status *status =
        gops_ort_value_tensor(runtime, claim->infos[GOPS_ORT_FILTER], &weights, &known);
    *serves = status == NULL && gops_ort_filter_tensor(&claim->operation, &weights, &filter);
    if (!*serves) {
        return status;
    }
    const int64_t channels = gops_ort_channels(&claim->operation, &filter);
    status =
        gops_ort_read_constant(runtime, claim->infos[GOPS_ORT_BIAS], &claim->real_bias, serves);
    if (status != NULL || *serves) {
        *serves = *serves && is_real_bias(claim, channels);
        claim->inputs[GOPS_ORT_BIAS] = NULL;
        return status;
    }
    status = read_dequantized(runtime, graph, claim->inputs[GOPS_ORT_BIAS], claim->nodes[0], &bias,
                              serves);
    *serves = *serves && is_bias(claim, &bias, channels);
    if (*serves) {
        take_input(claim, GOPS_ORT_BIAS, &bias);
    }
    return status;
}

/* An Add of a dequantized tensor; without an Add there is nothing to do. */
static ort_status *claim_residual(const gops_ort_runtime *runtime, const gops_ort_graph *graph,
                                  gops_ort_claim *claim, bool *serves)
{
    gops_ort_node *node = gops_ort_only_reader(graph, claim->output);
    dequantized added;
    size_t other;
    bool is;
    ort_status *status = gops_ort_is_residual(runtime, claim, node, &other, &is);
    if (status != NULL || !is) {
        return status;
    }
    status = read_dequantized(runtime, graph, node->input_names[other], node, &added, serves);
    *serves = *serves && added.scales.count == 1 && is_8_bit(added.input.type);
    if (*serves) {
        claim->operation.quantization.residual_scale = *(const float *)added.scales.values;
        claim->operation.quantization.residual_zero_point = only_zero_point(&added);
        take_input(claim, GOPS_ORT_RESIDUAL, &added);
        gops_ort_claim_add(claim, node);
    }
    return status;
}

static ort_status *claim_quantize(const gops_ort_runtime *runtime, const gops_ort_graph *graph,
                                  gops_ort_claim *claim, bool *serves)
{
    gops_quantization *quantization = &claim->operation.quantization;
    gops_ort_node *node = gops_ort_only_reader(graph, claim->output);
    gops_tensor output;
    int64_t axis = 1;
    bool known;
    ort_status *status;
    *serves = node != NULL && strcmp(node->type, "QuantizeLinear") == 0 &&
              node->output_count == 1 && node->input_count >= 2 && node->input_count <= 3 &&
              strcmp(node->input_names[0], claim->output) == 0;
    if (!*serves) {
        return NULL;
    }
    if ((status = read_attributes(runtime, node, &axis, serves)) != NULL || !*serves ||
        (status = gops_ort_value_tensor(runtime, node->outputs[0], &output, &known)) != NULL ||
        (status = gops_ort_read_scalars(
             runtime, node->inputs[1], node->input_count > 2 ? node->inputs[2] : NULL, output.type,
             &quantization->output_scale, &quantization->output_zero_point, serves)) != NULL) {
        return status;
    }
    *serves = *serves && is_8_bit(output.type);
    claim->operation.output_type = output.type;
    gops_ort_claim_add(claim, node);
    return NULL;
}

/* Removes a Relu or Clip whose bounds are beyond what the output's type holds. The runtime makes a
 * QLinearConv of these, so that the bits must be those of a convolution without. */
static void drop_redundant_activation(gops_ort_operation *operation)
{
    const gops_quantization *quantization = &operation->quantization;
    gops_activation *activation = &operation->activation;
    const int32_t zero = quantization->output_zero_point;
    const int32_t least = operation->output_type == GOPS_I8 ? INT8_MIN : 0;
    const double low = activation->kind == GOPS_ACTIVATION_RELU ? 0 : activation->alpha;
    const double high = activation->kind == GOPS_ACTIVATION_RELU ? INFINITY : activation->beta;
    const double scale = (double)quantization->output_scale;
    if ((activation->kind == GOPS_ACTIVATION_RELU || activation->kind == GOPS_ACTIVATION_CLAMP) &&
        rint(low / scale) + zero <= least && rint(high / scale) + zero >= least + UINT8_MAX) {
        *activation = (gops_activation){0};
    }
}

ort_status *gops_ort_claim_qdq(const gops_ort_runtime *runtime, const gops_ort_graph *graph,
                               gops_ort_claim *claim, bool *serves)
{
    gops_ort_claim made = *claim;
    ort_status *status = NULL;
    made.operation.quantization = (gops_quantization){.size = sizeof(gops_quantization)};
    *serves =
        claim->operation.kind != GOPS_ORT_NORM && claim->operation.types[GOPS_ORT_DATA] == GOPS_F32;
    if (!*serves || (status = claim_data(runtime, graph, &made, serves)) != NULL || !*serves ||
        (status = claim_filter(runtime, graph, &made, serves)) != NULL || !*serves ||
        (status = claim_bias(runtime, graph, &made, serves)) != NULL || !*serves ||
        (status = claim_residual(runtime, graph, &made, serves)) != NULL || !*serves ||
        (status = gops_ort_add_activation(runtime, graph, &made)) != NULL ||
        (status = claim_quantize(runtime, graph, &made, serves)) != NULL || !*serves) {
        return status;
    }
    drop_redundant_activation(&made.operation);
    *serves = gops_ort_scales_serve(&made);
    if (*serves) {
        *claim = made;
    }
    return NULL;
}
