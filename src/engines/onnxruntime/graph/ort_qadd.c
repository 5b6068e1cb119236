/* ort_qadd.c: an addition of quantized tensors after a quantized convolution. */
#include "engines/onnxruntime/graph/ort_quantized.h"

#include "engines/onnxruntime/graph/ort_linear.h"
#include "engines/onnxruntime/graph/ort_operands.h"

#include <string.h>

/* Whether the runtime adds in the order that the library does. On other processors it has other
 * kernels. */
static bool adds_alike(void)
{
#ifdef __x86_64__
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

/* Makes what was the claim's output the rounded sum that something is added to. */
static void start_sum(gops_ort_claim *claim, bool residual_first)
{
    gops_quantization *quantization = &claim->operation.quantization;
    quantization->sum_scale = quantization->output_scale;
    quantization->sum_zero_point = quantization->output_zero_point;
    quantization->residual_first = residual_first;
}

/* Whether scale and zero point are those that the convolution's output has. */
static bool is_output(const gops_ort_claim *claim, float scale, int32_t zero_point)
{
    const gops_quantization *quantization = &claim->operation.quantization;
    return scale == quantization->output_scale && zero_point == quantization->output_zero_point;
}

/* Tensors of one element the runtime adds as numbers, in another order. */
static ort_status *is_more_than_one(const gops_ort_runtime *runtime, const ort_value_info *info,
                                    bool *is)
{
    gops_tensor tensor;
    bool known;
    ort_status *status = gops_ort_value_tensor(runtime, info, &tensor, &known);
    int64_t most = 1;
    for (int32_t i = 0; status == NULL && i < tensor.rank; i++) {
        most = tensor.dims[i] > most ? tensor.dims[i] : most;
    }
    *is = most > 1;
    return status;
}

/* The DequantizeLinear of the convolution's output, as *of; *node is the Add behind it. */
static ort_status *find_add(const gops_ort_graph *graph, const gops_ort_claim *claim,
                            gops_ort_node **node, gops_ort_dequantized *of, bool *finds)
{
    const gops_ort_node *reader = gops_ort_only_reader(graph, claim->output);
    *finds = false;
    if (reader == NULL || strcmp(reader->type, "DequantizeLinear") != 0 ||
        reader->output_count != 1) {
        return NULL;
    }
    *node = gops_ort_only_reader(graph, reader->output_names[0]);
    if (*node == NULL || strcmp((*node)->type, "Add") != 0) {
        return NULL;
    }
    ort_status *status =
        gops_ort_read_dequantized(graph, reader->output_names[0], *node, of, finds);
    *finds = *finds && gops_ort_has_one_scale(of) &&
             is_output(claim, gops_ort_only_scale(of), gops_ort_only_zero_point(of));
    return status;
}

/* DequantizeLinear of both, Add, an activation that changes nothing, and QuantizeLinear. */
static ort_status *add_qdq(const gops_ort_graph *graph, gops_ort_claim *claim, bool *serves)
{
    const gops_type type = claim->operation.output_type;
    gops_ort_dequantized mine, added;
    gops_ort_node *node;
    size_t other;
    ort_status *status = find_add(graph, claim, &node, &mine, serves);
    if (status != NULL || !*serves) {
        return status;
    }
    gops_ort_claim_add(claim, mine.node);
    if ((status = gops_ort_is_residual(graph, claim, node, &other, serves)) != NULL || !*serves ||
        (status = is_more_than_one(graph->runtime, node->inputs[other], serves)) != NULL ||
        !*serves ||
        (status = gops_ort_read_dequantized(graph, node->input_names[other], node, &added,
                                            serves)) != NULL) {
        return status;
    }
    *serves = *serves && gops_ort_has_one_scale(&added) && added.input.type == type;
    if (!*serves) {
        return NULL;
    }
    start_sum(claim, other == 0);
    claim->operation.quantization.residual_scale = gops_ort_only_scale(&added);
    claim->operation.quantization.residual_zero_point = gops_ort_only_zero_point(&added);
    gops_ort_take_input(claim, GOPS_ORT_RESIDUAL, &added);
    gops_ort_claim_add(claim, node);
    if ((status = gops_ort_add_activation(graph, claim)) != NULL ||
        (status = gops_ort_claim_quantize(graph, claim, serves)) != NULL || !*serves) {
        return status;
    }
    gops_ort_drop_redundant_activation(&claim->operation);
    *serves = claim->operation.output_type == type &&
              claim->operation.activation.kind == GOPS_ACTIVATION_NONE;
    return NULL;
}

static ort_status *add_qlinear(const gops_ort_graph *graph, gops_ort_claim *claim, bool *serves)
{
    gops_quantization *quantization = &claim->operation.quantization;
    gops_ort_node *node = gops_ort_only_reader(graph, claim->output);
    gops_ort_claim sum = {.nodes = {node}, .node_count = 1};
    gops_ort_operands of;
    bool more;
    ort_status *status = NULL;
    *serves = node != NULL && strcmp(node->type, "QLinearAdd") == 0 && !graph->misjudged;
    if (!*serves || (status = gops_ort_read_operands(graph, 2, &sum, &of, serves)) != NULL ||
        !*serves) {
        return status;
    }
    const int mine = strcmp(of.items[0].name, claim->output) == 0 ? 0 : 1, other = 1 - mine;
    const gops_ort_operand *residual = &of.items[other];
    if ((status = gops_ort_infos_are_alike(graph->runtime, of.items[mine].info, residual->info,
                                           serves)) != NULL ||
        (status = is_more_than_one(graph->runtime, residual->info, &more)) != NULL ||
        !(*serves = *serves && more &&
                    is_output(claim, of.items[mine].by.scale, of.items[mine].by.zero_point))) {
        return status;
    }
    start_sum(claim, other == 0);
    quantization->residual_scale = residual->by.scale;
    quantization->residual_zero_point = residual->by.zero_point;
    quantization->output_scale = of.output.by.scale;
    quantization->output_zero_point = of.output.by.zero_point;
    claim->inputs[GOPS_ORT_RESIDUAL] = residual->name;
    claim->infos[GOPS_ORT_RESIDUAL] = residual->info;
    claim->operation.types[GOPS_ORT_RESIDUAL] = claim->operation.output_type;
    gops_ort_claim_add(claim, node);
    return NULL;
}

ort_status *gops_ort_claim_sum(const gops_ort_graph *graph, gops_ort_claim *claim)
{
    const gops_ort_operation *operation = &claim->operation;
    gops_ort_claim made = *claim;
    bool serves;
    if (!adds_alike() || !gops_ort_is_8_bit(operation->output_type) ||
        operation->activation.kind != GOPS_ACTIVATION_NONE ||
        claim->inputs[GOPS_ORT_RESIDUAL] != NULL || claim->inputs[GOPS_ORT_OUTPUT_SCALE] != NULL) {
        return NULL;
    }
    ort_status *status = add_qlinear(graph, &made, &serves);
    if (status == NULL && !serves) {
        made = *claim;
        status = add_qdq(graph, &made, &serves);
    }
    if (status == NULL && serves && gops_ort_scales_serve(&made)) {
        *claim = made;
    }
    return status;
}
