/* ort_claim.c: finds the nodes around a claimed one that become part of its call. */
#include "engines/onnxruntime/graph/ort_operation.h"

#include "engines/onnxruntime/graph/ort_activation.h"
#include "engines/onnxruntime/graph/ort_quantized.h"

#include <assert.h>
#include <math.h>
#include <string.h>

ort_status *gops_ort_infos_are_alike(const gops_ort_runtime *runtime, const ort_value_info *one,
                                     const ort_value_info *other, bool *is)
{
    gops_tensor first, second;
    const char *first_batch, *second_batch;
    bool first_known, second_known;
    ort_status *status;
    *is = false;
    if ((status = gops_ort_value_tensor(runtime, one, &first, &first_known)) != NULL ||
        (status = gops_ort_value_tensor(runtime, other, &second, &second_known)) != NULL ||
        (status = gops_ort_value_batch(runtime, one, &first_batch)) != NULL ||
        (status = gops_ort_value_batch(runtime, other, &second_batch)) != NULL) {
        return status;
    }
    const bool same_batch =
        first_batch != NULL && second_batch != NULL && strcmp(first_batch, second_batch) == 0;
    *is = first_known && second_known && first.type == second.type &&
          gops_ort_same_shape(&first, &second);
    for (int32_t i = 0; i < first.rank; i++) {
        *is = *is && (first.dims[i] >= 0 || (i == 0 && same_batch));
    }
    return NULL;
}

void gops_ort_claim_add(gops_ort_claim *claim, gops_ort_node *node)
{
    assert(claim->node_count < GOPS_ORT_MAX_NODES);
    claim->nodes[claim->node_count++] = node;
    claim->output = node->output_names[0];
}

ort_status *gops_ort_is_residual(const gops_ort_graph *graph, const gops_ort_claim *claim,
                                 const gops_ort_node *node, size_t *other, bool *is)
{
    *is = false;
    if (node == NULL || strcmp(node->type, "Add") != 0 || node->input_count != 2 ||
        node->output_count != 1 || graph->misjudged) {
        return NULL;
    }
    *other = strcmp(node->input_names[0], claim->output) == 0 ? 1 : 0;
    /* The runtime does not infer the shape of a normalization's output, which is its data's. */
    const ort_value_info *like = claim->operation.kind == GOPS_ORT_NORM
                                     ? claim->infos[GOPS_ORT_DATA]
                                     : node->inputs[1 - *other];
    return gops_ort_infos_are_alike(graph->runtime, like, node->inputs[*other], is);
}

static ort_status *add_residual(const gops_ort_graph *graph, gops_ort_claim *claim)
{
    gops_ort_node *node = gops_ort_only_reader(graph, claim->output);
    size_t other;
    bool is;
    ort_status *status = gops_ort_is_residual(graph, claim, node, &other, &is);
    if (status == NULL && is) {
        claim->inputs[GOPS_ORT_RESIDUAL] = node->input_names[other];
        claim->infos[GOPS_ORT_RESIDUAL] = node->inputs[other];
        claim->operation.types[GOPS_ORT_RESIDUAL] = claim->operation.types[GOPS_ORT_DATA];
        gops_ort_claim_add(claim, node);
    }
    return status;
}

ort_status *gops_ort_add_activation(const gops_ort_graph *graph, gops_ort_claim *claim)
{
    gops_ort_node *node = gops_ort_only_reader(graph, claim->output);
    gops_activation activation = {0};
    bool serves = false;
    if (node == NULL || node->output_count != 1) {
        return NULL;
    }
    /* A value that is a bound of Clip is not what Clip is applied to. */
    ort_status *status = strcmp(node->input_names[0], claim->output) == 0
                             ? gops_ort_read_activation(graph->runtime, node, &activation, &serves)
                             : NULL;
    if (status == NULL && serves) {
        claim->operation.activation = activation;
        gops_ort_claim_add(claim, node);
    }
    return status;
}

/* Reads the activation that x times what `gate` and *last make of x is: Softplus and Tanh make mish, which has no
 * operator of its own before version 18. *last is `gate` where that is alone; kind NONE: it is none. */
static ort_status *read_gate(const gops_ort_graph *graph, gops_ort_node *gate, gops_ort_node **last,
                             gops_activation *activation)
{
    gops_activation read = {.kind = GOPS_ACTIVATION_NONE};
    bool serves;
    *activation = read;
    *last = gate;
    if (strcmp(gate->type, "Softplus") == 0) {
        gops_ort_node *behind = gops_ort_only_reader(graph, gate->output_names[0]);
        if (behind != NULL && strcmp(behind->type, "Tanh") == 0) {
            *last = behind;
            activation->kind = GOPS_ACTIVATION_MISH;
        }
        return NULL;
    }
    ort_status *status = gops_ort_read_activation(graph->runtime, gate, &read, &serves);
    if (status == NULL && serves && read.kind == GOPS_ACTIVATION_SIGMOID) {
        *activation = (gops_activation){GOPS_ACTIVATION_SWISH, 1, 0};
    } else if (status == NULL && serves && gops_ort_is_hard_swish(&read)) {
        activation->kind = GOPS_ACTIVATION_HARD_SWISH;
    }
    return status;
}

/* Claims x * sigmoid(x), x * hard_sigmoid(x) or x * tanh(softplus(x)), which have no operators of their own before
 * versions 24, 14 and 18: the gate and the Mul after it both read the value. */
static ort_status *add_gated(const gops_ort_graph *graph, gops_ort_claim *claim)
{
    size_t count;
    const gops_ort_use *uses = gops_ort_uses(graph, claim->output, &count);
    if (count != 2 || uses[0].reader == NULL || uses[1].reader == NULL) {
        return NULL;
    }
    const size_t second = strcmp(uses[1].reader->type, "Mul") == 0 ? 1 : 0;
    gops_ort_node *gate = uses[1 - second].reader, *product = uses[second].reader, *last;
    gops_activation activation;
    if (strcmp(product->type, "Mul") != 0 || gate->claimed || product->claimed ||
        gate->output_count != 1 || gate == product) {
        return NULL;
    }
    ort_status *status = read_gate(graph, gate, &last, &activation);
    if (status != NULL || activation.kind == GOPS_ACTIVATION_NONE ||
        gops_ort_only_reader(graph, last->output_names[0]) != product) {
        return status;
    }
    claim->operation.activation = activation;
    gops_ort_claim_add(claim, gate);
    if (last != gate) {
        gops_ort_claim_add(claim, last);
    }
    gops_ort_claim_add(claim, product);
    return NULL;
}

/* Whether a node is an operator of a value and a constant number. */
static ort_status *is_by_number(const gops_ort_runtime *runtime, const gops_ort_node *node,
                                const char *type, const char *value, double number, bool *is)
{
    gops_ort_constant constant;
    gops_tensor data = {.rank = 0};
    bool known;
    *is = node != NULL && strcmp(node->type, type) == 0 && node->input_count == 2 &&
          strcmp(node->input_names[0], value) == 0;
    ort_status *status =
        *is ? gops_ort_read_constant(runtime, node->inputs[1], &constant, is) : NULL;
    if (status == NULL && *is) {
        status = gops_ort_value_tensor(runtime, node->inputs[0], &data, &known);
    }
    *is = *is && status == NULL && gops_ort_is_number(&constant, known ? data.rank : 1) &&
          fabs((double)*(const float *)constant.values - number) < 1e-6;
    return status;
}

ort_status *gops_ort_add_gelu(const gops_ort_graph *graph, gops_ort_claim *claim)
{
    enum { DIV, ERF, ADD, MUL, HALF, NODES };
    gops_ort_node *nodes[NODES];
    size_t count;
    const gops_ort_use *uses = gops_ort_uses(graph, claim->output, &count);
    if (count != 2 || uses[0].reader == NULL || uses[1].reader == NULL) {
        return NULL;
    }
    bool is;
    const size_t second = strcmp(uses[1].reader->type, "Div") == 0 ? 1 : 0;
    nodes[DIV] = uses[second].reader;
    nodes[MUL] = uses[1 - second].reader;
    ort_status *status =
        is_by_number(graph->runtime, nodes[DIV], "Div", claim->output, sqrt(2), &is);
    if (status != NULL || !is || nodes[DIV]->claimed || strcmp(nodes[MUL]->type, "Mul") != 0) {
        return status;
    }
    nodes[ERF] = gops_ort_only_reader(graph, nodes[DIV]->output_names[0]);
    if (nodes[ERF] == NULL || strcmp(nodes[ERF]->type, "Erf") != 0) {
        return NULL;
    }
    nodes[ADD] = gops_ort_only_reader(graph, nodes[ERF]->output_names[0]);
    status = is_by_number(graph->runtime, nodes[ADD], "Add", nodes[ERF]->output_names[0], 1, &is);
    if (status != NULL || !is ||
        gops_ort_only_reader(graph, nodes[ADD]->output_names[0]) != nodes[MUL]) {
        return status;
    }
    nodes[HALF] = gops_ort_only_reader(graph, nodes[MUL]->output_names[0]);
    status =
        is_by_number(graph->runtime, nodes[HALF], "Mul", nodes[MUL]->output_names[0], 0.5, &is);
    for (int i = 0; i < NODES && is; i++) {
        gops_ort_claim_add(claim, nodes[i]);
    }
    if (is) {
        claim->operation.activation = (gops_activation){.kind = GOPS_ACTIVATION_GELU};
    }
    return status;
}

/* Claims a PRelu with a slope for each channel of a convolution. */
static ort_status *add_prelu(const gops_ort_graph *graph, gops_ort_claim *claim)
{
    gops_ort_node *node = gops_ort_only_reader(graph, claim->output);
    gops_tensor data;
    bool serves;
    if (node == NULL || node->output_count != 1 || claim->operation.kind == GOPS_ORT_NORM ||
        strcmp(node->input_names[0], claim->output) != 0) {
        return NULL;
    }
    ort_status *status = gops_ort_value_tensor(graph->runtime, node->inputs[0], &data, &serves);
    if (status == NULL && serves && data.rank >= 3 && data.dims[1] > 0) {
        status = gops_ort_read_slopes(graph->runtime, node, &data, &claim->slopes, &serves);
        if (status == NULL && serves) {
            claim->operation.activation = (gops_activation){.kind = GOPS_ACTIVATION_PRELU};
            claim->channels = data.dims[1];
            gops_ort_claim_add(claim, node);
        } else {
            claim->slopes = (gops_ort_constant){0};
        }
    }
    return status;
}

ort_status *gops_ort_add_post_ops(const gops_ort_graph *graph, gops_ort_claim *claim)
{
    ort_status *status = add_residual(graph, claim);
    const size_t before = claim->node_count;
    if (status == NULL) {
        status = gops_ort_add_activation(graph, claim);
    }
    if (status == NULL && claim->node_count == before) {
        status = add_gated(graph, claim);
    }
    if (status == NULL && claim->node_count == before) {
        status = gops_ort_add_gelu(graph, claim);
    }
    if (status == NULL && claim->node_count == before) {
        status = add_prelu(graph, claim);
    }
    if (status == NULL && claim->node_count > before && claim->inputs[GOPS_ORT_RESIDUAL] == NULL) {
        status = add_residual(graph, claim);
        claim->operation.residual_after_activation = claim->inputs[GOPS_ORT_RESIDUAL] != NULL;
    }
    return status;
}

/* Whether the runtime can go on around what lies between DequantizeLinear and QuantizeLinear. */
static ort_status *serve_neighbours(const gops_ort_graph *graph, const gops_ort_claim *claim,
                                    bool *serves)
{
    const gops_ort_operation *operation = &claim->operation;
    ort_status *status = gops_ort_serve_writer(graph, claim->inputs[GOPS_ORT_DATA],
                                               operation->types[GOPS_ORT_DATA], serves);
    if (status == NULL && claim->inputs[GOPS_ORT_RESIDUAL] != NULL) {
        status = gops_ort_serve_writer(graph, claim->inputs[GOPS_ORT_RESIDUAL],
                                       operation->types[GOPS_ORT_RESIDUAL], serves);
    }
    return status != NULL
               ? status
               : gops_ort_serve_readers(graph, claim->output, operation->output_type, serves);
}

ort_status *gops_ort_claim_start(const gops_ort_graph *graph, gops_ort_node *node,
                                 gops_ort_claim *claim, bool *serves)
{
    ort_status *status = gops_ort_read_operation(graph->runtime, node, claim, serves);
    claim->nodes[0] = node;
    if (status == NULL && *serves && strcmp(node->type, "QLinearConv") == 0) {
        status = gops_ort_read_qlinear(graph->runtime, node, claim, serves);
    }
    if (status != NULL || !*serves) {
        return status;
    }
    const gops_ort_claim bare = *claim;
    bool can_go_on = true;
    if (!gops_ort_is_quantized(&bare.operation) &&
        (status = gops_ort_claim_qdq(graph, claim)) != NULL) {
        return status;
    }
    if (!gops_ort_is_quantized(&claim->operation)) {
        return gops_ort_add_post_ops(graph, claim);
    }
    status = gops_ort_claim_sum(graph, claim);
    if (status == NULL && !gops_ort_is_quantized(&bare.operation)) {
        status = serve_neighbours(graph, claim, &can_go_on);
    }
    if (status == NULL && !can_go_on) {
        *claim = bare;
        status = gops_ort_add_post_ops(graph, claim);
    }
    return status;
}
