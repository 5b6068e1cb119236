/* ort_member.c: members that are claims, and what all members share. */
#include "engines/onnxruntime/region/ort_member.h"

#include <stdlib.h>
#include <string.h>

bool gops_ort_is_closed(const gops_tensor *tensor)
{
    for (int32_t i = 0; i < tensor->rank; i++) {
        if (tensor->dims[i] < 1) {
            return false;
        }
    }
    return tensor->rank > 0;
}

/* Makes the tensor of a value that of one image; *has is false where the value has not the graph's batch. */
static ort_status *take_image(const gops_ort_graph *graph, const ort_value_info *info,
                              gops_tensor *tensor, bool *has)
{
    const char *batch = NULL;
    ort_status *status =
        graph->batch != NULL ? gops_ort_value_batch(graph->runtime, info, &batch) : NULL;
    *has = graph->batch == NULL ? tensor->rank > 0 && tensor->dims[0] == graph->images
                                : batch != NULL && strcmp(batch, graph->batch) == 0;
    if (*has) {
        tensor->dims[0] = 1;
    }
    return status;
}

/* Each output of a convolution, each input of a transposed one, is multiplied by the weights of a channel there. */
double gops_ort_member_flops(const gops_ort_member *member)
{
    const gops_ort_operation *operation = &member->claim.operation;
    const bool transposed = operation->kind == GOPS_ORT_DECONV;
    if (member->kind != GOPS_ORT_PLAN || operation->kind == GOPS_ORT_NORM) {
        return 0;
    }
    const int64_t channels = member->filter.dims[0] * member->filter.dims[1];
    return 2 * (double)gops_ort_elements(&member->filter, 0) / (double)channels *
           (double)gops_ort_elements(transposed ? &member->data : &member->output, 0);
}

ort_status *gops_ort_read_operand(const gops_ort_graph *graph, const ort_value_info *info,
                                  gops_tensor *tensor, bool *is)
{
    bool constant = true;
    *is = false;
    if (info == NULL) {
        return NULL;
    }
    ort_status *status = graph->runtime->api->is_constant_initializer(info, &constant);
    if (status == NULL && !constant) {
        status = gops_ort_value_tensor(graph->runtime, info, tensor, is);
    }
    if (status == NULL && *is) {
        status = take_image(graph, info, tensor, is);
    }
    *is = *is && gops_ort_is_closed(tensor);
    return status;
}

ort_status *gops_ort_read_fed(const gops_ort_graph *graph, const ort_value_info *info,
                              gops_tensor *tensor, bool *is)
{
    ort_status *status = gops_ort_read_operand(graph, info, tensor, is);
    *is = *is && tensor->type == GOPS_F32;
    return status;
}

/* What the claim reads at each call: of f32, or quantized. */
static ort_status *read_input(const gops_ort_graph *graph, const gops_ort_claim *claim, int which,
                              gops_tensor *tensor, bool *serves)
{
    const gops_type type =
        gops_ort_is_quantized(&claim->operation) ? claim->operation.types[which] : GOPS_F32;
    ort_status *status = gops_ort_read_operand(graph, claim->infos[which], tensor, serves);
    *serves = *serves && tensor->type == type;
    return status;
}

/* Weights and biases that are constants. */
static ort_status *read_weights(const gops_ort_runtime *runtime, const gops_ort_claim *claim,
                                gops_ort_constant *weights, gops_ort_constant *biases, bool *serves)
{
    ort_status *status =
        gops_ort_read_constant(runtime, claim->infos[GOPS_ORT_FILTER], weights, serves);
    *biases = (gops_ort_constant){.count = 0};
    *serves = *serves && weights->tensor.type == claim->operation.types[GOPS_ORT_FILTER];
    if (status == NULL && *serves && claim->inputs[GOPS_ORT_BIAS] != NULL) {
        status = gops_ort_read_constant(runtime, claim->infos[GOPS_ORT_BIAS], biases, serves);
        *serves = *serves && biases->tensor.type == claim->operation.types[GOPS_ORT_BIAS] &&
                  biases->tensor.rank == 1;
    }
    return status;
}

/* Scale and bias of a normalization for each channel, in made->made; false if ONNX does not allow their shapes. */
static bool expand(gops_ort_member *made, int64_t channels, const gops_ort_constant *weights,
                   const gops_ort_constant *biases)
{
    const gops_ort_operation *operation = &made->claim.operation;
    const int64_t wanted = operation->scale_of_groups ? operation->norm.num_groups : channels;
    const gops_ort_constant *const constants[] = {weights, biases};
    for (int i = 0; i < 2; i++) {
        const int64_t count = constants[i]->count;
        if (constants[i]->tensor.rank != 1 || (count != 1 && count != wanted) ||
            channels % count != 0) {
            return false;
        }
        for (int64_t c = 0; c < channels; c++) {
            made->made[i * channels + c] =
                ((const float *)constants[i]->values)[c / (channels / count)];
        }
    }
    made->weights = made->made;
    made->biases = made->made + channels;
    return true;
}

static bool set_weights(gops_ort_member *made, const gops_ort_constant *weights,
                        const gops_ort_constant *biases)
{
    const gops_ort_operation *operation = &made->claim.operation;
    gops_shape shape;
    if (operation->kind == GOPS_ORT_NORM) {
        const int64_t channels = made->data.dims[1];
        made->filter = (gops_tensor){GOPS_F32, 1, {channels}};
        if (!expand(made, channels, weights, biases)) {
            return false;
        }
    } else {
        if (!gops_ort_filter_tensor(operation, &weights->tensor, &made->filter) ||
            !gops_ort_is_closed(&made->filter) ||
            (biases->count > 0 && biases->count != gops_ort_channels(operation, &made->filter))) {
            return false;
        }
        made->weights = weights->values;
        made->biases = biases->values;
    }
    if (gops_ort_shape(operation, &made->data, &made->filter, &shape) != GOPS_OK) {
        return false;
    }
    made->output = shape.output;
    if (gops_ort_is_quantized(operation)) {
        made->output.type = operation->output_type;
    }
    return gops_ort_is_closed(&made->output);
}

ort_status *gops_ort_member_of_claim(const gops_ort_graph *graph, const gops_ort_claim *claim,
                                     gops_ort_member **member)
{
    gops_ort_constant weights, biases;
    gops_tensor data, residual;
    bool serves;
    *member = NULL;
    for (int i = GOPS_ORT_DATA_ZERO; i < GOPS_ORT_INPUTS; i++) {
        if (claim->inputs[i] != NULL) { /* they may differ from call to call */
            return NULL;
        }
    }
    ort_status *status = read_input(graph, claim, GOPS_ORT_DATA, &data, &serves);
    if (status == NULL && serves && claim->inputs[GOPS_ORT_RESIDUAL] != NULL) {
        status = read_input(graph, claim, GOPS_ORT_RESIDUAL, &residual, &serves);
    }
    if (status == NULL && serves) {
        status = read_weights(graph->runtime, claim, &weights, &biases, &serves);
    }
    if (status != NULL || !serves) {
        return status;
    }
    gops_ort_member *made = gops_ort_member_make(GOPS_ORT_PLAN, claim, &data);
    if (made == NULL) {
        return gops_ort_no_memory(graph->runtime, "a node");
    }
    made->stands_alone = true;
    if (claim->operation.kind == GOPS_ORT_NORM) {
        made->made = malloc((size_t)data.dims[1] * 2 * sizeof *made->made);
        if (made->made == NULL) {
            gops_ort_member_free(made);
            return gops_ort_no_memory(graph->runtime, "a node's constants");
        }
    }
    if (!set_weights(made, &weights, &biases)) {
        gops_ort_member_free(made);
        return NULL;
    }
    if (!gops_ort_member_drop_taps(made)) {
        gops_ort_member_free(made);
        return gops_ort_no_memory(graph->runtime, "a node's constants");
    }
    *member = made;
    return NULL;
}

ort_status *gops_ort_member_of_pool(const gops_ort_graph *graph, const gops_ort_claim *claim,
                                    const gops_ort_pool *pool, gops_ort_member **member)
{
    gops_tensor data;
    bool serves;
    *member = NULL;
    ort_status *status = gops_ort_read_operand(graph, claim->infos[GOPS_ORT_DATA], &data, &serves);
    if (status != NULL || !serves) {
        return status;
    }
    gops_ort_member *made = gops_ort_member_make(GOPS_ORT_MAX_POOL, claim, &data);
    if (made == NULL) {
        return gops_ort_no_memory(graph->runtime, "a node");
    }
    made->stands_alone = true;
    made->window = pool->window;
    for (int i = 0; i < GOPS_ORT_WINDOW_AXES; i++) {
        made->output.dims[2 + i] = pool->out[i];
    }
    *member = made;
    return NULL;
}

gops_ort_member *gops_ort_member_make(gops_ort_member_kind kind, const gops_ort_claim *claim,
                                      const gops_tensor *data)
{
    gops_ort_member *made = calloc(1, sizeof *made);
    if (made != NULL) {
        made->kind = kind;
        made->claim = *claim;
        made->data = made->output = *data;
        made->two_inputs[0] = claim->inputs[GOPS_ORT_DATA];
        made->two_inputs[1] = claim->inputs[GOPS_ORT_RESIDUAL];
        made->inputs = made->two_inputs;
        made->input_count = made->two_inputs[1] != NULL ? 2 : 1;
    }
    return made;
}

ort_status *gops_ort_member_make_depthwise(gops_ort_reading *from, int64_t taps,
                                           gops_ort_member **member)
{
    gops_ort_claim *claim = &from->claim;
    const int64_t channels = from->data.dims[1];
    claim->operation.groups = channels;
    gops_ort_member *made = gops_ort_member_make(GOPS_ORT_PLAN, claim, &from->data);
    if (made != NULL) {
        made->made = calloc((size_t)(channels * (taps + 1)), sizeof *made->made);
    }
    if (made == NULL || made->made == NULL) {
        gops_ort_member_free(made);
        return gops_ort_no_memory(from->graph->runtime, "a node");
    }
    made->filter = (gops_tensor){GOPS_F32, from->data.rank + 1, {channels, 1, 1}};
    for (int32_t i = 3; i < made->filter.rank; i++) {
        made->filter.dims[i] = 1;
    }
    made->weights = made->made;
    made->biases = made->made + channels * taps;
    *member = made;
    return NULL;
}

ort_status *gops_ort_member_add_post_ops(const gops_ort_graph *graph, gops_ort_claim *claim)
{
    const gops_ort_claim alone = *claim;
    gops_tensor residual;
    bool serves = true;
    ort_status *status = gops_ort_add_post_ops(graph, claim);
    if (status == NULL && claim->infos[GOPS_ORT_RESIDUAL] != NULL) {
        status = gops_ort_read_fed(graph, claim->infos[GOPS_ORT_RESIDUAL], &residual, &serves);
    }
    if (!serves) {
        *claim = alone;
    }
    return status;
}

void gops_ort_member_free(gops_ort_member *member)
{
    while (member != NULL) {
        gops_ort_member *next = member->next;
        free(member->made);
        free(member->names);
        free(member->codes);
        free(member->resize.taps[0]);
        free(member);
        member = next;
    }
}
