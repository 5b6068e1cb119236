/*
 * ort_member_concat.c: Concat of channels, of f32 and of 8-bit integers.
 *
 * Integers stand for numbers by the scale and the zero point of their tensor. Where those of an operand are not the
 * output's, each of its 256 codes becomes the output's code for the same number: a table of 256 bytes, made here, by
 * which the operand is copied. It has the bits of DequantizeLinear and QuantizeLinear, and of the runtime's
 * QLinearConcat, which has such tables too.
 */
#include "engines/onnxruntime/graph/ort_attributes.h"
#include "engines/onnxruntime/region/ort_member.h"

/* Whether the node's axis is that of the channels of `rank` axes. */
static ort_status *joins_channels(const gops_ort_reading *from, int32_t rank, bool *is)
{
    gops_ort_attributes attributes = {from->graph->runtime, from->node, NULL, false};
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
    ort_status *status = gops_ort_read_operand(from->graph, info, tensor, serves);
    *serves =
        status == NULL && *serves && tensor->type == output->type && tensor->rank == output->rank;
    for (int32_t k = 0; *serves && k < tensor->rank; k++) {
        *serves = k == 1 || tensor->dims[k] == output->dims[k];
    }
    *channels += *serves ? tensor->dims[1] : 0;
    return status;
}

ort_status *gops_ort_member_of_concat(gops_ort_reading *from, gops_ort_member **member)
{
    const gops_tensor *output = &from->output;
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
        return gops_ort_no_memory(from->graph->runtime, "a node");
    }
    (*member)->output = *output;
    (*member)->inputs = node->input_names;
    (*member)->input_count = node->input_count;
    return even && output->type == GOPS_F32 ? gops_ort_member_shuffle_concat(from->graph, *member)
                                            : NULL;
}

/* What each code that stands for numbers `from` becomes. */
static void fill_codes(gops_type type, const gops_ort_linear *from, const gops_ort_linear *to,
                       uint8_t *codes)
{
    const int32_t least = type == GOPS_I8 ? INT8_MIN : 0;
    for (int32_t i = least; i <= least + UINT8_MAX; i++) {
        codes[(uint8_t)i] = gops_ort_code_of((float)(i - from->zero_point) * from->scale, type, to);
    }
}

ort_status *gops_ort_member_of_integer_concat(gops_ort_integers *from, gops_ort_member **member)
{
    const gops_ort_reading *reading = &from->reading;
    const gops_ort_operands *operands = &from->operands;
    gops_tensor one;
    int64_t channels = 0;
    bool serves;
    ort_status *status = joins_channels(reading, reading->output.rank, &serves);
    for (size_t i = 0; i < operands->count && status == NULL && serves; i++) {
        status = count_channels(reading, operands->items[i].info, &reading->output, &one, &channels,
                                &serves);
    }
    if (status != NULL || !serves || channels != reading->output.dims[1]) {
        return status;
    }
    *member = gops_ort_member_make_codes(from);
    for (size_t i = 0; *member != NULL && i < operands->count; i++) {
        fill_codes(reading->output.type, &operands->items[i].by, &operands->output.by,
                   (*member)->codes[i]);
    }
    return *member != NULL ? NULL : gops_ort_no_memory(reading->graph->runtime, "a node");
}
