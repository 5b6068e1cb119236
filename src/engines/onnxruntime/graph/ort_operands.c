/* ort_operands.c: reads what computes 8-bit integers of others. */
#include "engines/onnxruntime/graph/ort_operands.h"

#include "engines/onnxruntime/graph/ort_linear.h"
#include "engines/onnxruntime/graph/ort_quantized.h"

#include <math.h>
#include <string.h>

static const char prefix[] = "QLinear";

static bool is_qlinear(const gops_ort_node *node)
{
    return strncmp(node->type, prefix, strlen(prefix)) == 0;
}

const char *gops_ort_plain_type(const gops_ort_node *node)
{
    return is_qlinear(node) ? node->type + strlen(prefix) : node->type;
}

/* Between DequantizeLinear and QuantizeLinear, which become part of the claim. */
static ort_status *read_between(const gops_ort_graph *graph, gops_ort_claim *claim,
                                gops_ort_operands *of, bool *reads)
{
    const gops_ort_node *node = claim->nodes[0];
    gops_ort_dequantized read;
    ort_status *status = NULL;
    for (size_t i = 0; i < of->count && status == NULL && *reads; i++) {
        status = gops_ort_read_dequantized(graph, node->input_names[i], node, &read, reads);
        *reads = *reads && gops_ort_has_one_scale(&read);
        if (status == NULL && *reads) {
            of->items[i] =
                (gops_ort_operand){read.node->input_names[0],
                                   read.node->inputs[0],
                                   {gops_ort_only_scale(&read), gops_ort_only_zero_point(&read)}};
            claim->nodes[claim->node_count++] = read.node;
            status = gops_ort_serve_writer(graph, of->items[i].name, read.input.type, reads);
        }
    }
    if (status == NULL && *reads) {
        status = gops_ort_claim_quantize(graph, claim, reads);
    }
    if (status == NULL && *reads) {
        const gops_quantization *quantization = &claim->operation.quantization;
        of->output =
            (gops_ort_operand){claim->output,
                               claim->nodes[claim->node_count - 1]->outputs[0],
                               {quantization->output_scale, quantization->output_zero_point}};
        status = gops_ort_serve_readers(graph, claim->output, claim->operation.output_type, reads);
    }
    claim->operation = (gops_ort_operation){.groups = 1}; /* it is no convolution */
    return status;
}

/* The scale and zero point of an operand, which are inputs of the node from `at` on. */
static ort_status *read_linear(const gops_ort_runtime *runtime, const gops_ort_node *node,
                               size_t at, gops_ort_operand *of, bool *reads)
{
    gops_tensor tensor;
    ort_status *status = gops_ort_value_tensor(runtime, of->info, &tensor, reads);
    return status != NULL || !*reads
               ? status
               : gops_ort_read_scalars(runtime, node->inputs[at], node->inputs[at + 1], tensor.type,
                                       &of->by.scale, &of->by.zero_point, reads);
}

/* Those of the output come last, but first of QLinearConcat. */
static ort_status *read_qlinear(const gops_ort_runtime *runtime, const gops_ort_node *node,
                                gops_ort_operands *of, bool *reads)
{
    enum { EACH = 3, OUTPUT = 2 };
    const bool joins = strcmp(node->type, "QLinearConcat") == 0;
    of->count = joins ? node->input_count / EACH : of->count;
    of->output = (gops_ort_operand){.name = node->output_names[0], .info = node->outputs[0]};
    *reads = node->input_count == OUTPUT + EACH * of->count && of->count <= GOPS_ORT_MAX_OPERANDS;
    ort_status *status =
        *reads ? read_linear(runtime, node, joins ? 0 : EACH * of->count, &of->output, reads)
               : NULL;
    for (size_t i = 0; i < of->count && status == NULL && *reads; i++) {
        const size_t at = EACH * i + (joins ? OUTPUT : 0);
        of->items[i] = (gops_ort_operand){.name = node->input_names[at], .info = node->inputs[at]};
        status = read_linear(runtime, node, at + 1, &of->items[i], reads);
    }
    return status;
}

ort_status *gops_ort_read_operands(const gops_ort_graph *graph, size_t count, gops_ort_claim *claim,
                                   gops_ort_operands *operands, bool *reads)
{
    const gops_ort_node *node = claim->nodes[0];
    operands->count = count;
    *reads =
        count > 0 && node->output_count == 1 &&
        (count <= GOPS_ORT_MAX_OPERANDS || is_qlinear(node)); /* its inputs are counted below */
    return !*reads            ? NULL
           : is_qlinear(node) ? read_qlinear(graph->runtime, node, operands, reads)
                              : read_between(graph, claim, operands, reads);
}

uint8_t gops_ort_code_of(float number, gops_type type, const gops_ort_linear *to)
{
    const int32_t least = type == GOPS_I8 ? INT8_MIN : 0, most = least + UINT8_MAX;
    const float low = (float)(least - to->zero_point), high = (float)(most - to->zero_point);
    const float bounded = fminf(fmaxf(number / to->scale, low), high);
    return (uint8_t)((int32_t)rintf(bounded) + to->zero_point);
}
