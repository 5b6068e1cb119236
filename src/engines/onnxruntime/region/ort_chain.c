/* ort_chain.c: takes nodes that follow each other, and makes members of them. */
#include "engines/onnxruntime/region/ort_chain.h"

#include "engines/onnxruntime/graph/ort_attributes.h"

#include <stdlib.h>
#include <string.h>

int32_t gops_ort_chain_axis(const gops_ort_chain *of)
{
    return of->is_last ? of->data.rank - 1 : 1;
}

gops_ort_node *gops_ort_chain_take(gops_ort_chain *of, const char *type, bool either)
{
    gops_ort_node *node = gops_ort_only_reader(of->graph, of->claim.output);
    if (of->status != NULL || node == NULL || strcmp(node->type, type) != 0 ||
        node->output_count != 1 || node->input_count < 1 ||
        (!either && strcmp(node->input_names[0], of->claim.output) != 0)) {
        return NULL;
    }
    gops_ort_claim_add(&of->claim, node);
    return node;
}

bool gops_ort_chain_is_transpose(gops_ort_chain *of, const gops_ort_node *node, bool to_last)
{
    gops_ort_attributes attributes = {of->graph->runtime, node, NULL, false};
    gops_list order = {0};
    const int32_t rank = of->data.rank;
    gops_ort_attribute_list(&attributes, "perm", &order);
    of->status = attributes.status;
    bool is = of->status == NULL && !attributes.malformed && order.count == rank &&
              strcmp(node->type, "Transpose") == 0;
    for (int32_t i = 0; i < rank && is; i++) {
        const int64_t last = i == 0 ? 0 : i == rank - 1 ? 1 : i + 1;
        const int64_t first = i == 0 ? 0 : i == 1 ? rank - 1 : i - 1;
        is = order.values[i] == (to_last ? last : first);
    }
    return is;
}

bool gops_ort_chain_take_transpose(gops_ort_chain *of, bool to_last)
{
    const gops_ort_node *node = gops_ort_only_reader(of->graph, of->claim.output);
    if (of->status != NULL || node == NULL || !gops_ort_chain_is_transpose(of, node, to_last) ||
        gops_ort_chain_take(of, "Transpose", false) == NULL) {
        return false;
    }
    of->is_last = to_last;
    return true;
}

bool gops_ort_chain_read_numbers(gops_ort_chain *of, const ort_value_info *info,
                                 gops_ort_constant *numbers)
{
    bool is = false;
    if (of->status == NULL) {
        of->status = gops_ort_read_constant(of->graph->runtime, info, numbers, &is);
    }
    return is && numbers->tensor.type == GOPS_F32;
}

static bool is_for_channels(const gops_ort_chain *of, const gops_ort_constant *numbers)
{
    const int64_t channels = of->data.dims[1];
    const int32_t axis = gops_ort_chain_axis(of) - (of->data.rank - numbers->tensor.rank);
    return numbers->count == channels && numbers->tensor.rank <= of->data.rank && axis >= 0 &&
           numbers->tensor.dims[axis] == channels;
}

bool gops_ort_chain_take_numbers(gops_ort_chain *of, const char *type, gops_ort_constant *numbers)
{
    const char *output = of->claim.output;
    const gops_ort_node *node = gops_ort_only_reader(of->graph, output);
    gops_ort_constant read;
    *numbers = (gops_ort_constant){0};
    if (node == NULL || strcmp(node->type, type) != 0 || node->input_count != 2 ||
        !gops_ort_chain_read_numbers(of, node->inputs[strcmp(node->input_names[0], output) == 0],
                                     &read) ||
        !is_for_channels(of, &read) || gops_ort_chain_take(of, type, true) == NULL) {
        return false;
    }
    *numbers = read;
    return true;
}

gops_ort_member *gops_ort_chain_make(gops_ort_chain *of, gops_ort_member_kind kind, int64_t values)
{
    gops_ort_member *made = gops_ort_member_make(kind, &of->claim, &of->data);
    if (made != NULL) {
        made->made = malloc((size_t)values * sizeof *made->made);
    }
    if (made == NULL || made->made == NULL) {
        gops_ort_member_free(made);
        of->status = gops_ort_no_memory(of->graph->runtime, "a node");
        return NULL;
    }
    *of->end = made;
    of->end = &made->next;
    return made;
}

void gops_ort_chain_go_on(gops_ort_chain *of, const gops_ort_member *before)
{
    of->data = before->output;
    of->claim = (gops_ort_claim){.output = before->claim.output};
    of->claim.inputs[GOPS_ORT_DATA] = before->claim.output;
    of->claim.operation = (gops_ort_operation){.kind = GOPS_ORT_CONV, .groups = 1};
}
