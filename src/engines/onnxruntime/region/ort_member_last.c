/*
 * ort_member_last.c: what models write with the channels last, between two Transpose: a layer
 * normalization over the channels, which exporters below opset 17 decompose, and products by matrices,
 * which are convolutions by kernels of 1. Their data stay as they are, with the channels first:
 *
 *     LayerNormalization, or ReduceMean, Sub, [Transpose], Pow, ReduceMean, Add, Sqrt, Div, Mul, Add
 *     { MatMul, Add or Reshape, Gemm, Reshape; [activation]; [Mul]; } [Transpose], [Mul], [Add]
 *
 * The first Transpose may also stand in front; the last three belong to whatever is before them. Either
 * all of it is read, up to where the channels are first again, or none.
 */
#include "engines/onnxruntime/graph/ort_attributes.h"
#include "engines/onnxruntime/region/ort_chain.h"

#include <string.h>

static bool take_number(gops_ort_chain *of, const char *type, float *number)
{
    gops_ort_constant constant;
    const gops_ort_node *node = gops_ort_chain_take(of, type, false);
    const bool is = node != NULL && node->input_count == 2 &&
                    gops_ort_chain_read_numbers(of, node->inputs[1], &constant) &&
                    gops_ort_is_number(&constant, of->data.rank);
    *number = is ? *(const float *)constant.values : 0;
    return is;
}

/* A mean over the channels that keeps their axis. */
static bool is_mean(gops_ort_chain *of, const gops_ort_node *node)
{
    gops_ort_attributes attributes = {of->graph->runtime, node, NULL, false};
    gops_list axes = {0};
    int64_t keeps = 1;
    gops_ort_attribute_axes(&attributes, &axes);
    gops_ort_attribute_int(&attributes, "keepdims", &keeps);
    of->status = attributes.status;
    return of->status == NULL && !attributes.malformed && keeps != 0 && axes.count == 1 &&
           (axes.values[0] == gops_ort_chain_axis(of) ||
            axes.values[0] == gops_ort_chain_axis(of) - of->data.rank);
}

static bool has_readers(const gops_ort_chain *of, const char *value, const gops_ort_node *one,
                        const gops_ort_node *other)
{
    size_t count;
    const gops_ort_use *uses = gops_ort_uses(of->graph, value, &count);
    return count == 2 && (uses[0].reader == one || uses[0].reader == other) &&
           (uses[1].reader == one || uses[1].reader == other) && one != other;
}

static bool reads(const gops_ort_node *node, const char *first, const char *second)
{
    return node != NULL && node->input_count == 2 && strcmp(node->input_names[0], first) == 0 &&
           strcmp(node->input_names[1], second) == 0;
}

/* Claims the nodes from the first mean up to the division by the deviation. */
static bool take_deviations(gops_ort_chain *of, gops_ort_node *mean, float *epsilon)
{
    const char *x = mean->input_names[0];
    if (!is_mean(of, mean)) {
        return false;
    }
    gops_ort_claim_add(&of->claim, mean);
    const gops_ort_node *difference = gops_ort_chain_take(of, "Sub", true);
    if (!reads(difference, x, mean->output_names[0]) ||
        (of->is_last && !has_readers(of, x, mean, difference))) {
        return false;
    }
    if (!of->is_last) {
        gops_ort_chain_take_transpose(of, true);
    }
    const char *centred = of->claim.output;
    size_t count;
    const gops_ort_use *uses = gops_ort_uses(of->graph, centred, &count);
    if (of->status != NULL || count != 2 || uses[0].reader == NULL || uses[1].reader == NULL) {
        return false;
    }
    const int second = strcmp(uses[1].reader->type, "Pow") == 0;
    gops_ort_node *power = uses[second].reader;
    gops_ort_constant exponent;
    if (strcmp(power->type, "Pow") != 0 || power->claimed || power->input_count != 2 ||
        strcmp(power->input_names[0], centred) != 0 ||
        !gops_ort_chain_read_numbers(of, power->inputs[1], &exponent) ||
        !gops_ort_is_number(&exponent, of->data.rank)) {
        return false;
    }
    gops_ort_claim_add(&of->claim, power);
    const gops_ort_node *variance = gops_ort_chain_take(of, "ReduceMean", false);
    return *(const float *)exponent.values == 2 && variance != NULL && is_mean(of, variance) &&
           take_number(of, "Add", epsilon) && *epsilon > 0 &&
           gops_ort_chain_take(of, "Sqrt", false) != NULL &&
           reads(gops_ort_only_reader(of->graph, of->claim.output), centred, of->claim.output) &&
           gops_ort_chain_take(of, "Div", true) != NULL;
}

typedef struct norm {
    gops_ort_constant scales, shifts; /* count 0: no shifts */
    float epsilon;
} norm;

static bool read_decomposed(gops_ort_chain *of, gops_ort_node *mean, norm *read)
{
    return take_deviations(of, mean, &read->epsilon) &&
           gops_ort_chain_take_numbers(of, "Mul", &read->scales) &&
           gops_ort_chain_take_numbers(of, "Add", &read->shifts);
}

static bool read_vector(gops_ort_chain *of, const ort_value_info *info, gops_ort_constant *vector)
{
    return gops_ort_chain_read_numbers(of, info, vector) && vector->tensor.rank == 1 &&
           vector->count == of->data.dims[1];
}

static bool read_layer_norm(gops_ort_chain *of, gops_ort_node *node, norm *read)
{
    gops_ort_attributes attributes = {of->graph->runtime, node, NULL, false};
    int64_t axis = -1;
    if (!of->is_last || gops_ort_only_reader(of->graph, of->claim.output) != node) {
        return false;
    }
    read->epsilon = 1e-5F; /* the operator's default */
    gops_ort_attribute_int(&attributes, "axis", &axis);
    gops_ort_attribute_float(&attributes, "epsilon", &read->epsilon);
    of->status = attributes.status;
    gops_ort_claim_add(&of->claim, node);
    return of->status == NULL && !attributes.malformed &&
           (axis == -1 || axis == of->data.rank - 1) && read->epsilon > 0 &&
           node->input_count >= 2 && read_vector(of, node->inputs[1], &read->scales) &&
           (node->input_count < 3 || node->inputs[2] == NULL ||
            read_vector(of, node->inputs[2], &read->shifts));
}

static bool read_norm(gops_ort_chain *of, gops_ort_node *node)
{
    const bool is_whole = strcmp(node->type, "LayerNormalization") == 0;
    norm read = {.shifts = {.count = 0}};
    if (!(is_whole ? read_layer_norm(of, node, &read) : read_decomposed(of, node, &read))) {
        return false;
    }
    if (of->is_last) {
        gops_ort_chain_take_transpose(of, false);
    }
    const int64_t channels = of->data.dims[1];
    gops_ort_member *made = gops_ort_chain_make(of, GOPS_ORT_CHANNEL_NORM, 2 * channels);
    if (made == NULL) {
        return false;
    }
    const float *scales = read.scales.values, *shifts = read.shifts.values;
    for (int64_t c = 0; c < channels; c++) {
        made->made[c] = scales[c];
        made->made[channels + c] = read.shifts.count > 0 ? shifts[c] : 0;
    }
    made->weights = made->made;
    made->biases = made->made + channels;
    made->claim.operation.norm.epsilon = (double)read.epsilon;
    gops_ort_chain_go_on(of, made);
    return true;
}

ort_status *gops_ort_member_of_layer_norm(gops_ort_reading *from, gops_ort_member **member)
{
    gops_ort_chain of = {.graph = from->graph, .data = from->data};
    gops_ort_node *const node = from->node,
                         *before = gops_ort_writer(of.graph, node->input_names[0]);
    of.end = &of.first;
    of.claim.inputs[GOPS_ORT_DATA] = node->input_names[0];
    if (before != NULL && !before->claimed && gops_ort_chain_is_transpose(&of, before, true)) {
        bool serves;
        of.status = gops_ort_read_fed(of.graph, before->inputs[0], &of.data, &serves);
        if (of.status != NULL || !serves) {
            return of.status;
        }
        of.claim.inputs[GOPS_ORT_DATA] = before->input_names[0];
        of.is_last = true;
        gops_ort_claim_add(&of.claim, before);
    }
    bool serves = of.status == NULL && read_norm(&of, node);
    while (serves && of.is_last) {
        serves = gops_ort_chain_read_product(&of);
    }
    if (serves && of.status == NULL) {
        *member = of.first;
    } else {
        gops_ort_member_free(of.first);
    }
    return of.status;
}
