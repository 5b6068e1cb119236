/* ort_linear.c: reads QuantizeLinear and DequantizeLinear. */
#include "engines/onnxruntime/graph/ort_linear.h"

#include "engines/onnxruntime/graph/ort_attributes.h"

#include <math.h>
#include <string.h>

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
static ort_status *read_constants(const gops_ort_runtime *runtime, gops_ort_dequantized *of,
                                  bool *reads)
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

ort_status *gops_ort_read_dequantized(const gops_ort_graph *graph, const char *value,
                                      const gops_ort_node *reader, gops_ort_dequantized *of,
                                      bool *reads)
{
    gops_tensor output;
    bool known;
    ort_status *status;
    *of = (gops_ort_dequantized){.axis = 1}; /* the operator's default */
    *reads = false;
    of->node = gops_ort_only_writer(graph, value, "DequantizeLinear", reader);
    if (of->node == NULL || of->node->input_count < 2 || of->node->input_count > 3 ||
        of->node->inputs[0] == NULL) {
        return NULL;
    }
    if ((status = gops_ort_value_tensor(graph->runtime, of->node->inputs[0], &of->input, &known)) !=
            NULL ||
        (status = gops_ort_value_tensor(graph->runtime, of->node->outputs[0], &output, &known)) !=
            NULL ||
        output.type != GOPS_F32 ||
        (status = read_attributes(graph->runtime, of->node, &of->axis, reads)) != NULL || !*reads) {
        *reads = false;
        return status;
    }
    of->axis += of->axis < 0 ? of->input.rank : 0;
    return read_constants(graph->runtime, of, reads);
}

void gops_ort_take_input(gops_ort_claim *claim, int which, const gops_ort_dequantized *of)
{
    claim->inputs[which] = of->node->input_names[0];
    claim->infos[which] = of->node->inputs[0];
    claim->operation.types[which] = of->input.type;
    claim->nodes[claim->node_count++] = of->node;
}

bool gops_ort_has_one_scale(const gops_ort_dequantized *of)
{
    return of->scales.count == 1 && gops_ort_is_8_bit(of->input.type);
}

float gops_ort_only_scale(const gops_ort_dequantized *of)
{
    return *(const float *)of->scales.values;
}

int32_t gops_ort_only_zero_point(const gops_ort_dequantized *of)
{
    return of->zero_points.count > 0 ? gops_ort_zero_point(of->input.type, of->zero_points.values)
                                     : 0;
}

ort_status *gops_ort_claim_quantize(const gops_ort_graph *graph, gops_ort_claim *claim,
                                    bool *serves)
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
    if ((status = read_attributes(graph->runtime, node, &axis, serves)) != NULL || !*serves ||
        (status = gops_ort_value_tensor(graph->runtime, node->outputs[0], &output, &known)) !=
            NULL ||
        (status = gops_ort_read_scalars(graph->runtime, node->inputs[1],
                                        node->input_count > 2 ? node->inputs[2] : NULL, output.type,
                                        &quantization->output_scale,
                                        &quantization->output_zero_point, serves)) != NULL) {
        return status;
    }
    *serves = *serves && gops_ort_is_8_bit(output.type);
    claim->operation.output_type = output.type;
    gops_ort_claim_add(claim, node);
    return NULL;
}

void gops_ort_drop_redundant_activation(gops_ort_operation *operation)
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
