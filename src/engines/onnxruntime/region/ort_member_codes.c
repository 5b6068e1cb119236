/*
 * ort_member_codes.c: activations of 8-bit integers.
 *
 * A function of the numbers that 256 codes stand for is a table of 256 bytes, made here. So is such a number times the
 * function of it, as x * sigmoid(x), rounded in between. The functions are the library's: activations behind a
 * convolution by 1.
 */
#include "engines/onnxruntime/call/ort_plans.h"
#include "engines/onnxruntime/graph/ort_activation.h"
#include "engines/onnxruntime/region/ort_member.h"

#include <stdlib.h>
#include <string.h>

/* The function of each number. */
static ort_status *apply(const gops_ort_reading *from, const gops_activation *activation,
                         const float *numbers, float *results)
{
    const gops_tensor data = {GOPS_F32, 3, {1, 1, GOPS_ORT_CODES}};
    const gops_tensor weight = {GOPS_F32, 4, {1, 1, 1, 1}};
    const gops_ort_operation operation = {.activation = *activation};
    const float one = 1;
    gops_options options = gops_ort_options(from->graph->runtime, &operation, NULL);
    gops_plan *plan = NULL;
    gops_packed_filter *filter = NULL;
    gops_error error;
    options.threads = 1;
    gops_status status = gops_conv_plan_create(&data, &weight, NULL, &options, &plan, &error);
    if (status == GOPS_OK) {
        status = gops_filter_create(plan, &one, NULL, &filter, &error);
    }
    if (status == GOPS_OK) {
        const gops_arguments arguments = {
            .size = sizeof arguments, .data = numbers, .filter = filter, .output = results};
        status = gops_execute(plan, &arguments, &error);
    }
    gops_filter_destroy(filter);
    gops_plan_destroy(plan);
    return status == GOPS_OK ? NULL
                             : gops_ort_refused(from->graph->runtime, from->node->name, &error);
}

/* HardSwish is x times this, as the runtime computes it: ties are rounded by its last bits. */
static const gops_activation hard_gate = {GOPS_ACTIVATION_HARD_SIGMOID, (double)(1 / 6.0F), 0.5};

static ort_status *fill(const gops_ort_integers *from, const gops_activation *activation,
                        const gops_ort_linear *to, uint8_t *codes)
{
    const gops_ort_linear *by = &from->operands.items[0].by;
    const int32_t least = from->reading.output.type == GOPS_I8 ? INT8_MIN : 0;
    float numbers[GOPS_ORT_CODES], results[GOPS_ORT_CODES];
    for (int32_t i = 0; i < GOPS_ORT_CODES; i++) {
        numbers[i] = (float)(least + i - by->zero_point) * by->scale;
    }
    const bool is_hard_swish = activation->kind == GOPS_ACTIVATION_HARD_SWISH;
    ort_status *status =
        apply(&from->reading, is_hard_swish ? &hard_gate : activation, numbers, results);
    for (int32_t i = 0; status == NULL && i < GOPS_ORT_CODES; i++) {
        const float result = is_hard_swish ? numbers[i] * results[i] : results[i];
        codes[(uint8_t)(least + i)] = gops_ort_code_of(result, from->reading.output.type, to);
    }
    return status;
}

/* The operand of a Mul that is not `value`; NULL: neither is. */
static const gops_ort_operand *other_of(const gops_ort_operands *product, const char *value)
{
    return strcmp(product->items[0].name, value) == 0   ? &product->items[1]
           : strcmp(product->items[1].name, value) == 0 ? &product->items[0]
                                                        : NULL;
}

/* Reads the Mul of the activation and what it is of: its nodes become part of the claim. */
static ort_status *read_gated(const gops_ort_integers *from, gops_ort_claim *claim,
                              gops_ort_operands *product, bool *is)
{
    const gops_ort_graph *graph = from->reading.graph;
    gops_ort_node *node = gops_ort_only_reader(graph, claim->output);
    gops_tensor output;
    if (node != NULL && strcmp(node->type, "DequantizeLinear") == 0) {
        node = gops_ort_only_reader(graph, node->output_names[0]);
    }
    *is = node != NULL && strcmp(gops_ort_plain_type(node), "Mul") == 0;
    if (!*is) {
        return NULL;
    }
    gops_ort_claim second = {.nodes = {node}, .node_count = 1, .output = node->output_names[0]};
    ort_status *status = gops_ort_read_operands(graph, 2, &second, product, is);
    const gops_ort_operand *other = status == NULL && *is ? other_of(product, claim->output) : NULL;
    *is = other != NULL && strcmp(other->name, from->operands.items[0].name) == 0 &&
          gops_ort_has_product(&product->items[0].by, &product->items[1].by, &product->output.by);
    if (*is) {
        status = gops_ort_read_operand(graph, product->output.info, &output, is);
        *is = *is && output.type == from->reading.output.type;
    }
    for (size_t i = 0; *is && i < second.node_count; i++) {
        gops_ort_claim_add(claim, second.nodes[i]);
    }
    claim->output = *is ? second.output : claim->output;
    return status;
}

/* Each code times what it became. */
static void multiply(const gops_ort_operands *product, const char *function, gops_type type,
                     uint8_t *codes)
{
    const bool first = strcmp(product->items[0].name, function) == 0;
    const gops_ort_pass pass = {.kind = GOPS_ORT_PASS_PRODUCT,
                                .type = type,
                                .vectors = gops_ort_find_vectors(),
                                .channels = 1,
                                .plane = GOPS_ORT_CODES,
                                .by = {product->items[first].by, product->items[!first].by},
                                .output_by = product->output.by};
    uint8_t all[GOPS_ORT_CODES], functions[GOPS_ORT_CODES];
    for (int i = 0; i < GOPS_ORT_CODES; i++) {
        all[i] = (uint8_t)i;
        functions[i] = codes[i];
    }
    const gops_ort_pass_operands operands = {.data = all, .other = functions, .output = codes};
    gops_ort_pass_run(&pass, &operands, 0, 1);
}

ort_status *gops_ort_member_of_codes(gops_ort_integers *from, gops_ort_member **member)
{
    gops_ort_reading *reading = &from->reading;
    const char *function = reading->claim.output;
    gops_ort_node plain = *reading->node;
    gops_activation activation;
    gops_ort_operands product;
    bool serves, is_gated = false;
    plain.type = gops_ort_plain_type(reading->node);
    ort_status *status =
        gops_ort_read_activation(reading->graph->runtime, &plain, &activation, &serves);
    if (status != NULL || !serves || !gops_ort_same_shape(&reading->data, &from->reading.output) ||
        (status = read_gated(from, &reading->claim, &product, &is_gated)) != NULL) {
        return status;
    }
    gops_ort_member *made = gops_ort_member_make_codes(from);
    if (made == NULL) {
        return gops_ort_no_memory(reading->graph->runtime, "a node");
    }
    status = fill(from, &activation, &from->operands.output.by, made->codes[0]);
    if (status != NULL) {
        gops_ort_member_free(made);
        return status;
    }
    if (is_gated) {
        multiply(&product, function, from->reading.output.type, made->codes[0]);
    }
    *member = made;
    return NULL;
}
