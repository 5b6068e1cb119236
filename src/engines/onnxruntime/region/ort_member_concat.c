/*
 * ort_member_concat.c: Concat of channels, of f32 and of 8-bit integers.
 *
 * Integers stand for numbers by the scale and the zero point of their tensor. Where those of an operand are not the
 * output's, each of its 256 codes becomes the output's code for the same number: a table of 256 bytes, made here, by
 * which the operand is copied. It has the bits of DequantizeLinear and QuantizeLinear, and of the runtime's
 * QLinearConcat, which has such tables too.
 */
#include "engines/onnxruntime/graph/ort_attributes.h"
#include "engines/onnxruntime/graph/ort_linear.h"
#include "engines/onnxruntime/graph/ort_quantized.h"
#include "engines/onnxruntime/region/ort_member.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What 8-bit integers stand for. */
typedef struct linear {
    float scale;
    int32_t zero_point;
} linear;

typedef struct operand {
    const char *name;
    const ort_value_info *info;
    linear by;
} operand;

/* Operands that become one output of integers. */
typedef struct joining {
    gops_ort_reading *from;
    operand operands[GOPS_ORT_MAX_OPERANDS];
    size_t count;
    const ort_value_info *info; /* of the output */
    linear by;
} joining;

/* Whether the node's axis is that of the channels of `rank` axes. */
static ort_status *joins_channels(const gops_ort_reading *from, int32_t rank, bool *is)
{
    gops_ort_attributes attributes = {from->runtime, from->node, NULL, false};
    int64_t axis = 0;
    gops_ort_attribute_int(&attributes, "axis", &axis);
    *is = attributes.status == NULL && !attributes.malformed && (axis == 1 || axis == 1 - rank);
    return attributes.status;
}

/* Adds an operand's channels to *channels; *serves is false if it does not fit the output. */
static ort_status *count_channels(const gops_ort_reading *from, const ort_value_info *info,
                                  const gops_tensor *output, gops_tensor *tensor, int64_t *channels,
                                  bool *serves)
{
    ort_status *status = gops_ort_read_operand(from->runtime, from->graph, info, tensor, serves);
    *serves =
        status == NULL && *serves && tensor->type == output->type && tensor->rank == output->rank;
    for (int32_t k = 0; *serves && k < tensor->rank; k++) {
        *serves = k == 1 || tensor->dims[k] == output->dims[k];
    }
    *channels += *serves ? tensor->dims[1] : 0;
    return status;
}

ort_status *gops_ort_member_of_concat(gops_ort_reading *from, const gops_tensor *output,
                                      gops_ort_member **member)
{
    const gops_ort_node *node = from->node;
    gops_tensor one;
    int64_t channels = 0;
    bool even = true, serves;
    ort_status *status = joins_channels(from, output->rank, &serves);
    for (size_t i = 0; i < node->input_count && status == NULL && serves; i++) {
        status = count_channels(from, node->inputs[i], output, &one, &channels, &serves);
        even = even && serves && one.dims[1] == from->data.dims[1];
    }
    if (status != NULL || !serves || channels != output->dims[1]) {
        return status;
    }
    *member = gops_ort_member_make(GOPS_ORT_CONCAT, &from->claim, &from->data);
    if (*member == NULL) {
        return gops_ort_no_memory(from->runtime, "a node");
    }
    (*member)->output = *output;
    (*member)->inputs = node->input_names;
    (*member)->input_count = node->input_count;
    return even && output->type == GOPS_F32
               ? gops_ort_member_shuffle_concat(from->runtime, from->graph, *member)
               : NULL;
}

/* Of a Concat between DequantizeLinear and QuantizeLinear, which become part of the claim. */
static ort_status *read_between(joining *of, bool *serves)
{
    gops_ort_claim *claim = &of->from->claim;
    const gops_ort_node *node = of->from->node;
    gops_ort_dequantized read;
    ort_status *status = NULL;
    of->count = node->input_count;
    *serves = of->count <= GOPS_ORT_MAX_OPERANDS;
    for (size_t i = 0; i < of->count && status == NULL && *serves; i++) {
        status = gops_ort_read_dequantized(of->from->runtime, of->from->graph, node->input_names[i],
                                           node, &read, serves);
        *serves = *serves && gops_ort_has_one_scale(&read);
        if (status == NULL && *serves) {
            of->operands[i] =
                (operand){read.node->input_names[0],
                          read.node->inputs[0],
                          {gops_ort_only_scale(&read), gops_ort_only_zero_point(&read)}};
            claim->nodes[claim->node_count++] = read.node;
        }
    }
    if (status == NULL && *serves) {
        status = gops_ort_claim_quantize(of->from->runtime, of->from->graph, claim, serves);
    }
    if (status == NULL && *serves) {
        const gops_quantization *quantization = &claim->operation.quantization;
        of->by = (linear){quantization->output_scale, quantization->output_zero_point};
        of->info = claim->nodes[claim->node_count - 1]->outputs[0];
        status = gops_ort_serves_readers(of->from->runtime, of->from->graph, claim->output,
                                         claim->operation.output_type, serves);
    }
    claim->operation = (gops_ort_operation){.groups = 1}; /* it is no convolution */
    return status;
}

static ort_status *read_linear(const joining *of, size_t at, linear *by, bool *reads)
{
    const gops_ort_node *node = of->from->node;
    gops_tensor output;
    ort_status *status = gops_ort_value_tensor(of->from->runtime, of->info, &output, reads);
    return status != NULL || !*reads
               ? status
               : gops_ort_read_scalars(of->from->runtime, node->inputs[at], node->inputs[at + 1],
                                       output.type, &by->scale, &by->zero_point, reads);
}

/* Of QLinearConcat, whose inputs are the output's scale and zero point, then each operand with its own. */
static ort_status *read_qlinear(joining *of, bool *serves)
{
    enum { FIRST = 2, EACH = 3 };
    const gops_ort_node *node = of->from->node;
    of->count = node->input_count / EACH;
    of->info = node->outputs[0];
    *serves = node->input_count == FIRST + EACH * of->count && of->count <= GOPS_ORT_MAX_OPERANDS;
    ort_status *status = *serves ? read_linear(of, 0, &of->by, serves) : NULL;
    for (size_t i = 0; i < of->count && status == NULL && *serves; i++) {
        const size_t at = FIRST + EACH * i;
        of->operands[i] = (operand){.name = node->input_names[at], .info = node->inputs[at]};
        status = read_linear(of, at + 1, &of->operands[i].by, serves);
    }
    return status;
}

/* What each code that stands for numbers `from` becomes. */
static void fill_codes(gops_type type, const linear *from, const linear *to, uint8_t *codes)
{
    const int32_t least = type == GOPS_I8 ? INT8_MIN : 0, most = least + UINT8_MAX;
    const float low = (float)(least - to->zero_point), high = (float)(most - to->zero_point);
    for (int32_t i = least; i <= most; i++) {
        const float number = (float)(i - from->zero_point) * from->scale;
        const float bounded = fminf(fmaxf(number / to->scale, low), high);
        codes[(uint8_t)i] = (uint8_t)((int32_t)rintf(bounded) + to->zero_point);
    }
}

static ort_status *make_joined(const joining *of, const gops_tensor *data,
                               const gops_tensor *output, gops_ort_member **member)
{
    gops_ort_member *made = gops_ort_member_make(GOPS_ORT_CONCAT, &of->from->claim, data);
    if (made != NULL) {
        made->names = malloc(of->count * sizeof *made->names);
        made->codes = malloc(of->count * sizeof *made->codes);
    }
    if (made == NULL || made->names == NULL || made->codes == NULL) {
        gops_ort_member_free(made);
        return gops_ort_no_memory(of->from->runtime, "a node");
    }
    for (size_t i = 0; i < of->count; i++) {
        made->names[i] = of->operands[i].name;
        fill_codes(output->type, &of->operands[i].by, &of->by, made->codes[i]);
    }
    made->inputs = made->names;
    made->input_count = of->count;
    made->output = *output;
    *member = made;
    return NULL;
}

ort_status *gops_ort_member_of_quantized_concat(const gops_ort_runtime *runtime,
                                                const gops_ort_graph *graph, gops_ort_node *node,
                                                gops_ort_member **member)
{
    gops_ort_reading from = {
        .runtime = runtime,
        .graph = graph,
        .node = node,
        .claim = {.nodes = {node}, .node_count = 1, .output = node->output_names[0]}};
    joining of = {.from = &from};
    gops_tensor output, one;
    int64_t channels = 0;
    const bool is_qlinear = strcmp(node->type, "QLinearConcat") == 0;
    bool serves = node->output_count == 1 && node->input_count > 0 &&
                  (is_qlinear || strcmp(node->type, "Concat") == 0);
    ort_status *status = NULL;
    if (serves) {
        status = (is_qlinear ? read_qlinear : read_between)(&of, &serves);
    }
    if (status == NULL && serves) {
        status = gops_ort_read_operand(runtime, graph, of.info, &output, &serves);
    }
    if (status == NULL && serves) {
        status = joins_channels(&from, output.rank, &serves);
    }
    for (size_t i = 0; i < of.count && status == NULL && serves; i++) {
        status = count_channels(&from, of.operands[i].info, &output, &one, &channels, &serves);
        from.data = i == 0 ? one : from.data;
    }
    return status != NULL || !serves || channels != output.dims[1]
               ? status
               : make_joined(&of, &from.data, &output, member);
}
