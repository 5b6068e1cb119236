/*
 * ort_member_shuffle.c: slices and splits of channels, and channel shuffles, which are written as
 *
 *     [Concat] -> Reshape to groups of channels -> Transpose of the two axes -> Reshape back
 *
 * A slice is a view, and so is each part of a split. A shuffle takes a channel of each group in turn; where the groups
 * are the operands of a Concat it reads them where they lie.
 */
#include "engines/onnxruntime/graph/ort_attributes.h"
#include "engines/onnxruntime/region/ort_member.h"

#include <string.h>

/* The only number of a constant of i64. */
static ort_status *read_number(const gops_ort_runtime *runtime, const ort_value_info *info,
                               int64_t *number, bool *is)
{
    gops_ort_constant constant;
    ort_status *status = gops_ort_read_constant(runtime, info, &constant, is);
    *is = *is && constant.tensor.type == GOPS_I64 && constant.count == 1;
    if (*is) {
        *number = *(const int64_t *)constant.values;
    }
    return status;
}

/* Where the slice begins, counted from the first channel. */
static ort_status *read_start(const gops_ort_runtime *runtime, const gops_ort_node *node,
                              const gops_tensor *data, int64_t *start, bool *serves)
{
    enum { DATA, STARTS, ENDS, AXES, STEPS, INPUTS };
    int64_t axis = 0, step = 1;
    *serves = node->version >= 10 && node->input_count > AXES && node->input_count <= INPUTS;
    ort_status *status = NULL;
    if (*serves) {
        status = read_number(runtime, node->inputs[STARTS], start, serves);
    }
    if (status == NULL && *serves) {
        status = read_number(runtime, node->inputs[AXES], &axis, serves);
    }
    if (status == NULL && *serves && node->input_count > STEPS && node->inputs[STEPS] != NULL) {
        status = read_number(runtime, node->inputs[STEPS], &step, serves);
    }
    if (status == NULL && *serves) { /* its value is not needed, but the runtime passes no i64 */
        status = runtime->api->is_constant_initializer(node->inputs[ENDS], serves);
    }
    *start += *start < 0 ? data->dims[1] : 0;
    *serves = *serves && (axis == 1 || axis == 1 - data->rank) && step == 1 && *start >= 0;
    return status;
}

static bool is_slice(const gops_tensor *data, int64_t start, const gops_tensor *output)
{
    bool is = output->rank == data->rank && start + output->dims[1] <= data->dims[1];
    for (int32_t i = 0; i < output->rank && is; i++) {
        is = i == 1 || output->dims[i] == data->dims[i];
    }
    return is;
}

static ort_status *make_slice(const gops_ort_reading *from, const gops_ort_claim *claim,
                              const gops_tensor *output, int64_t start, gops_ort_member **member)
{
    *member = gops_ort_member_make(GOPS_ORT_SLICE, claim, &from->data);
    if (*member == NULL) {
        return gops_ort_no_memory(from->graph->runtime, "a node");
    }
    (*member)->output = *output;
    (*member)->start = start;
    return NULL;
}

ort_status *gops_ort_member_of_slice(gops_ort_reading *from, gops_ort_member **member)
{
    int64_t start = 0;
    bool serves;
    ort_status *status = read_start(from->graph->runtime, from->node, &from->data, &start, &serves);
    return status != NULL || !serves || !is_slice(&from->data, start, &from->output)
               ? status
               : make_slice(from, &from->claim, &from->output, start, member);
}

/* Whether the axis is that of the channels; sizes are known from the outputs, but the runtime passes no i64. */
static ort_status *splits_by_channels(const gops_ort_reading *from, bool *does)
{
    gops_ort_attributes attributes = {from->graph->runtime, from->node, NULL, false};
    const gops_ort_node *node = from->node;
    int64_t axis = 0;
    gops_ort_attribute_int(&attributes, "axis", &axis);
    *does = attributes.status == NULL && !attributes.malformed &&
            (axis == 1 || axis == 1 - from->data.rank);
    return attributes.status == NULL && *does && node->input_count > 1 && node->inputs[1] != NULL
               ? from->graph->runtime->api->is_constant_initializer(node->inputs[1], does)
               : attributes.status;
}

ort_status *gops_ort_member_of_split(gops_ort_reading *from, gops_ort_node *const *behind,
                                     gops_ort_member **member)
{
    const gops_ort_node *node = from->node;
    gops_ort_claim claim = from->claim;
    gops_ort_member *first = NULL, **end = &first;
    int64_t start = 0;
    bool serves;
    ort_status *status = splits_by_channels(from, &serves);
    for (size_t i = 0; i < node->output_count && status == NULL && serves; i++) {
        gops_ort_node *writer = behind != NULL ? behind[i] : from->node;
        const size_t number = behind != NULL ? 0 : i;
        gops_tensor output;
        if (behind != NULL) {
            claim.nodes[claim.node_count++] = writer;
        }
        status = gops_ort_read_operand(from->graph, writer->outputs[number], &output, &serves);
        serves = status == NULL && serves && output.type == from->data.type &&
                 is_slice(&from->data, start, &output);
        if (serves) {
            claim.output = writer->output_names[number];
            status = make_slice(from, &claim, &output, start, end);
        }
        if (status == NULL && serves) {
            end = &(*end)->next;
            claim.node_count = 0; /* the Split is the first one's */
            start += output.dims[1];
        }
    }
    if (status != NULL || !serves || start != from->data.dims[1]) {
        gops_ort_member_free(first);
        return status;
    }
    *member = first;
    return NULL;
}

/* Whether the node reshapes to a constant shape, and what comes of it. */
static ort_status *read_reshape(const gops_ort_graph *graph, const gops_ort_node *node,
                                gops_tensor *output, bool *is)
{
    ort_status *status = gops_ort_is_reshape(graph->runtime, node, is);
    return status != NULL || !*is ? status : gops_ort_read_fed(graph, node->outputs[0], output, is);
}

static bool splits_channels(const gops_tensor *data, const gops_tensor *split)
{
    bool does = split->rank == data->rank + 1 && split->dims[0] == data->dims[0] &&
                split->dims[1] * split->dims[2] == data->dims[1];
    for (int32_t i = 2; i < data->rank && does; i++) {
        does = split->dims[i + 1] == data->dims[i];
    }
    return does;
}

static ort_status *swaps_groups(const gops_ort_runtime *runtime, const gops_ort_node *node,
                                int32_t rank, bool *does)
{
    gops_ort_attributes attributes = {runtime, node, NULL, false};
    gops_list order = {0};
    gops_ort_attribute_list(&attributes, "perm", &order);
    *does = attributes.status == NULL && !attributes.malformed && order.count == rank;
    for (int32_t i = 0; i < rank && *does; i++) {
        *does = order.values[i] == (i == 1 ? 2 : i == 2 ? 1 : i);
    }
    return attributes.status;
}

/* The three nodes from a Reshape of `data` on; *groups is 0 if they are no shuffle. */
static ort_status *read_shuffle(const gops_ort_graph *graph, gops_ort_node *first,
                                const gops_tensor *data, gops_ort_node *nodes[3], int64_t *groups)
{
    gops_tensor split, back;
    bool is;
    *groups = 0;
    nodes[0] = first;
    ort_status *status = read_reshape(graph, first, &split, &is);
    if (status != NULL || !is || !splits_channels(data, &split)) {
        return status;
    }
    nodes[1] = gops_ort_only_reader(graph, first->output_names[0]);
    if (nodes[1] == NULL || strcmp(nodes[1]->type, "Transpose") != 0 ||
        (status = swaps_groups(graph->runtime, nodes[1], split.rank, &is)) != NULL || !is) {
        return status;
    }
    nodes[2] = gops_ort_only_reader(graph, nodes[1]->output_names[0]);
    status = read_reshape(graph, nodes[2], &back, &is);
    if (status == NULL && is && gops_ort_same_shape(data, &back)) {
        *groups = split.dims[1];
    }
    return status;
}

static void make_shuffle(gops_ort_member *member, gops_ort_node *const nodes[3], size_t first,
                         int64_t groups)
{
    for (size_t i = first; i < 3; i++) {
        gops_ort_claim_add(&member->claim, nodes[i]);
    }
    member->kind = GOPS_ORT_SHUFFLE;
    member->groups = groups;
}

ort_status *gops_ort_member_of_shuffle(gops_ort_reading *from, gops_ort_member **member)
{
    gops_ort_node *nodes[3];
    int64_t groups;
    ort_status *status = read_shuffle(from->graph, from->node, &from->data, nodes, &groups);
    if (status != NULL || groups == 0) {
        return status;
    }
    *member = gops_ort_member_make(GOPS_ORT_SHUFFLE, &from->claim, &from->data);
    if (*member == NULL) {
        return gops_ort_no_memory(from->graph->runtime, "a node");
    }
    make_shuffle(*member, nodes, 1, groups);
    return NULL;
}

ort_status *gops_ort_member_shuffle_concat(const gops_ort_graph *graph, gops_ort_member *concat)
{
    gops_ort_node *nodes[3], *first = gops_ort_only_reader(graph, concat->claim.output);
    int64_t groups;
    if (first == NULL) {
        return NULL;
    }
    ort_status *status = read_shuffle(graph, first, &concat->output, nodes, &groups);
    if (status == NULL && groups > 0 && (size_t)groups == concat->input_count) {
        make_shuffle(concat, nodes, 0, groups);
    }
    return status;
}
