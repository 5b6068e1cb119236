/* ort_qlinear.c: the scales and zero points of QLinearConv. */
#include "engines/onnxruntime/graph/ort_quantized.h"

/* The inputs behind the operands. */
enum {
    DATA_SCALE = 1,
    DATA_ZERO = 2,
    FILTER_SCALE = 4,
    FILTER_ZERO = 5,
    OUTPUT_SCALE = 6,
    OUTPUT_ZERO = 7,
};

/* One value or one for each output channel. */
static ort_status *read_filter(const gops_ort_runtime *runtime, const gops_ort_node *node,
                               gops_ort_claim *claim, bool *reads)
{
    gops_tensor weights;
    bool known;
    ort_status *status;
    if ((status = gops_ort_value_tensor(runtime, claim->infos[GOPS_ORT_FILTER], &weights,
                                        &known)) != NULL ||
        (status = gops_ort_read_constant(runtime, node->inputs[FILTER_SCALE], &claim->filter_scales,
                                         reads)) != NULL ||
        !*reads ||
        (status = gops_ort_read_constant(runtime, node->inputs[FILTER_ZERO],
                                         &claim->filter_zero_points, reads)) != NULL ||
        !*reads) {
        return status;
    }
    const int64_t channels = known && weights.dims[0] > 0 ? weights.dims[0] : 1;
    *reads = gops_ort_is_vector(&claim->filter_scales, GOPS_F32, channels) &&
             gops_ort_are_scales(&claim->filter_scales) &&
             gops_ort_is_vector(&claim->filter_zero_points, weights.type, channels);
    return NULL;
}

static ort_status *read_constants(const gops_ort_runtime *runtime, const gops_ort_node *node,
                                  gops_ort_claim *claim, bool *reads)
{
    const gops_ort_operation *operation = &claim->operation;
    gops_quantization *quantization = &claim->operation.quantization;
    ort_status *status;
    if ((status = gops_ort_read_scalars(runtime, node->inputs[DATA_SCALE], node->inputs[DATA_ZERO],
                                        operation->types[GOPS_ORT_DATA], &quantization->data_scale,
                                        &quantization->data_zero_point, reads)) != NULL ||
        !*reads ||
        (status = gops_ort_read_scalars(
             runtime, node->inputs[OUTPUT_SCALE], node->inputs[OUTPUT_ZERO], operation->output_type,
             &quantization->output_scale, &quantization->output_zero_point, reads)) != NULL ||
        !*reads) {
        return status;
    }
    status = read_filter(runtime, node, claim, reads);
    *reads = *reads && status == NULL && gops_ort_scales_serve(claim);
    return status;
}

/* Makes scales and zero points inputs of the claim. */
static ort_status *take_inputs(const gops_ort_runtime *runtime, const gops_ort_node *node,
                               gops_ort_claim *claim, bool *constant, bool *serves)
{
    static const struct {
        int place, input;
    } inputs[] = {
        {DATA_ZERO, GOPS_ORT_DATA_ZERO},       {FILTER_ZERO, GOPS_ORT_FILTER_ZERO},
        {OUTPUT_ZERO, GOPS_ORT_OUTPUT_ZERO},   {DATA_SCALE, GOPS_ORT_DATA_SCALE},
        {FILTER_SCALE, GOPS_ORT_FILTER_SCALE}, {OUTPUT_SCALE, GOPS_ORT_OUTPUT_SCALE},
    };
    gops_type *types = claim->operation.types;
    *constant = true;
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
        const ort_value_info *info = node->inputs[inputs[i].place];
        gops_tensor tensor;
        bool known, is = false;
        ort_status *status = NULL;
        if (info == NULL ||
            (status = gops_ort_value_tensor(runtime, info, &tensor, &known)) != NULL ||
            (status = runtime->api->is_constant_initializer(info, &is)) != NULL) {
            *serves = false;
            return status;
        }
        claim->inputs[inputs[i].input] = node->input_names[inputs[i].place];
        claim->infos[inputs[i].input] = info;
        types[inputs[i].input] = tensor.type;
        *constant = *constant && is;
    }
    *serves = types[GOPS_ORT_DATA_ZERO] == types[GOPS_ORT_DATA] &&
              types[GOPS_ORT_FILTER_ZERO] == types[GOPS_ORT_FILTER] &&
              types[GOPS_ORT_OUTPUT_ZERO] == claim->operation.output_type &&
              types[GOPS_ORT_DATA_SCALE] == GOPS_F32 && types[GOPS_ORT_FILTER_SCALE] == GOPS_F32 &&
              types[GOPS_ORT_OUTPUT_SCALE] == GOPS_F32;
    return NULL;
}

ort_status *gops_ort_read_qlinear(const gops_ort_runtime *runtime, const gops_ort_node *node,
                                  gops_ort_claim *claim, bool *serves)
{
    gops_ort_operation *operation = &claim->operation;
    gops_tensor output;
    bool known, constant;
    ort_status *status = gops_ort_value_tensor(runtime, node->outputs[0], &output, &known);
    operation->quantization = (gops_quantization){.size = sizeof operation->quantization};
    operation->output_type = output.type;
    *serves = gops_ort_is_8_bit(output.type);
    if (status != NULL || !*serves) {
        return status;
    }
    gops_ort_claim fed = *claim;
    status = take_inputs(runtime, node, &fed, &constant, serves);
    if (status == NULL && *serves && constant) {
        status = read_constants(runtime, node, claim, serves);
    } else if (status == NULL && *serves) {
        *claim = fed;
    }
    return status;
}
