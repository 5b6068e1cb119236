/* ort_member_node.c: members that are no convolutions in ONNX. */
#include "engines/onnxruntime/graph/ort_activation.h"
#include "engines/onnxruntime/graph/ort_attributes.h"
#include "engines/onnxruntime/region/ort_member.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is(const gops_ort_reading *from, const char *type)
{
    return strcmp(from->node->type, type) == 0;
}

static void set_affine(gops_ort_member *member)
{
    const gops_ort_operation *operation = &member->claim.operation;
    const gops_activation_kind kind = operation->activation.kind;
    member->is_affine = (kind == GOPS_ACTIVATION_NONE || kind == GOPS_ACTIVATION_RELU) &&
                        (!operation->residual_after_activation || kind == GOPS_ACTIVATION_NONE);
}

static ort_status *read_batch_norm(gops_ort_reading *from, gops_ort_member **member)
{
    enum { SCALE, SHIFT, MEAN, VARIANCE, CONSTANTS };
    const gops_ort_node *node = from->node;
    gops_ort_attributes attributes = {from->graph->runtime, node, NULL, false};
    gops_ort_constant constants[CONSTANTS];
    const int64_t channels = from->data.dims[1];
    float epsilon = 1e-5F; /* the operator's default */
    int64_t training = 0;
    gops_ort_attribute_float(&attributes, "epsilon", &epsilon);
    gops_ort_attribute_int(&attributes, "training_mode", &training);
    bool serves = attributes.status == NULL && !attributes.malformed && training == 0 &&
                  node->version >= 9 && node->input_count == 1 + CONSTANTS;
    ort_status *status = attributes.status;
    for (size_t i = 0; i < CONSTANTS && status == NULL && serves; i++) {
        status = gops_ort_read_constant(from->graph->runtime, node->inputs[1 + i], &constants[i],
                                        &serves);
        serves = serves && constants[i].tensor.type == GOPS_F32 && constants[i].tensor.rank == 1 &&
                 constants[i].count == channels;
    }
    if (status != NULL || !serves ||
        (status = gops_ort_member_add_post_ops(from->graph, &from->claim)) != NULL ||
        (status = gops_ort_member_make_depthwise(from, 1, member)) != NULL) {
        return status;
    }
    const float *scale = constants[SCALE].values, *shift = constants[SHIFT].values;
    const float *mean = constants[MEAN].values, *variance = constants[VARIANCE].values;
    for (int64_t c = 0; c < channels; c++) {
        const double by = (double)scale[c] / sqrt((double)variance[c] + (double)epsilon);
        (*member)->made[c] = (float)by;
        (*member)->made[channels + c] = (float)((double)shift[c] - (double)mean[c] * by);
    }
    set_affine(*member);
    return NULL;
}

/* Times 1, plus -0, which keeps the sign of a 0 in a pass; the sums of a plan begin with +0 and lose it. */
static ort_status *make_identity(gops_ort_reading *from, gops_ort_member **member)
{
    const int64_t channels = from->data.dims[1];
    ort_status *status = gops_ort_member_make_depthwise(from, 1, member);
    for (int64_t c = 0; status == NULL && c < channels; c++) {
        (*member)->made[c] = 1;
        (*member)->made[channels + c] = -0.0F;
    }
    if (status == NULL) {
        set_affine(*member);
    }
    return status;
}

/* Add, Mul or Sub of the data and a constant: a number, or one for each channel. */
static ort_status *read_numbers(gops_ort_reading *from, gops_ort_member **member)
{
    const gops_ort_node *node = from->node;
    const bool first = node->inputs[1] == from->claim.infos[GOPS_ORT_DATA];
    const int64_t channels = from->data.dims[1];
    gops_ort_constant numbers;
    bool serves;
    ort_status *status = gops_ort_read_constant(from->graph->runtime, node->inputs[first ? 0 : 1],
                                                &numbers, &serves);
    if (status != NULL || !serves || numbers.tensor.type != GOPS_F32 ||
        !gops_ort_is_for_channels(&numbers, &from->data) ||
        (status = gops_ort_member_add_post_ops(from->graph, &from->claim)) != NULL ||
        (status = gops_ort_member_make_depthwise(from, 1, member)) != NULL) {
        return status;
    }
    const bool adds = is(from, "Add"), multiplies = is(from, "Mul");
    for (int64_t c = 0; c < channels; c++) {
        const float number = ((const float *)numbers.values)[numbers.count == 1 ? 0 : c];
        (*member)->made[c] = multiplies ? number : first && !adds ? -1 : 1;
        (*member)->made[channels + c] = multiplies ? -0.0F : first || adds ? number : -number;
    }
    set_affine(*member);
    return NULL;
}

/* The second of two inputs; *serves is false where there is another number of them, or no shape is known. */
static ort_status *read_second(const gops_ort_reading *from, gops_tensor *second, bool *serves)
{
    const gops_ort_node *node = from->node;
    *serves = node->input_count == 2;
    return *serves ? gops_ort_read_fed(from->graph, node->inputs[1], second, serves) : NULL;
}

static ort_status *read_add(gops_ort_reading *from, gops_ort_member **member)
{
    gops_tensor other;
    bool serves;
    ort_status *status = read_second(from, &other, &serves);
    if (status != NULL || !serves || !gops_ort_same_shape(&from->data, &other)) {
        return status;
    }
    from->claim.inputs[GOPS_ORT_RESIDUAL] = from->node->input_names[1];
    status = gops_ort_add_activation(from->graph, &from->claim);
    return status != NULL ? status : make_identity(from, member);
}

static ort_status *read_activation(gops_ort_reading *from, gops_ort_member **member)
{
    bool serves;
    ort_status *status = gops_ort_read_activation(from->graph->runtime, from->node,
                                                  &from->claim.operation.activation, &serves);
    return status != NULL || !serves ? status : make_identity(from, member);
}

bool gops_ort_is_gate(const gops_tensor *data, const gops_tensor *gate)
{
    bool is_one = data->rank == gate->rank && data->dims[0] == gate->dims[0] &&
                  data->dims[1] == gate->dims[1];
    for (int32_t i = 2; i < gate->rank && is_one; i++) {
        is_one = gate->dims[i] == 1;
    }
    return is_one;
}

static ort_status *read_product(gops_ort_reading *from, gops_ort_member **member)
{
    gops_tensor other;
    bool serves;
    ort_status *status = read_second(from, &other, &serves);
    if (status != NULL || !serves) {
        return status;
    }
    const bool same = gops_ort_same_shape(&from->data, &other);
    const bool first = same || gops_ort_is_gate(&from->data, &other);
    if (!first && !gops_ort_is_gate(&other, &from->data)) {
        return NULL;
    }
    *member = gops_ort_member_make(GOPS_ORT_PRODUCT, &from->claim, first ? &from->data : &other);
    if (*member == NULL) {
        return gops_ort_no_memory(from->graph->runtime, "a node");
    }
    (*member)->two_inputs[0] = from->node->input_names[first ? 0 : 1];
    (*member)->two_inputs[1] = from->node->input_names[first ? 1 : 0];
    (*member)->input_count = 2;
    (*member)->is_gate = !same;
    return NULL;
}

/* ReduceMean over all spatial axes. */
static ort_status *is_mean(const gops_ort_reading *from, bool *serves)
{
    gops_ort_attributes attributes = {from->graph->runtime, from->node, NULL, false};
    gops_list axes = {0};
    bool seen[GOPS_MAX_RANK] = {false};
    gops_ort_attribute_axes(&attributes, &axes);
    *serves =
        attributes.status == NULL && !attributes.malformed && axes.count == from->data.rank - 2;
    for (int32_t i = 0; i < axes.count && *serves; i++) {
        const int64_t axis = axes.values[i] < 0 ? axes.values[i] + from->data.rank : axes.values[i];
        *serves = axis >= 2 && axis < from->data.rank && !seen[axis];
        seen[*serves ? axis : 0] = true;
    }
    return attributes.status;
}

static ort_status *read_global_average(gops_ort_reading *from, gops_ort_member **member)
{
    bool serves = true;
    ort_status *status = is(from, "ReduceMean") ? is_mean(from, &serves) : NULL;
    if (status == NULL && !serves) {
        return gops_ort_member_of_layer_norm(from, member);
    }
    if (status != NULL) {
        return status;
    }
    *member = gops_ort_member_make(GOPS_ORT_GLOBAL_AVERAGE, &from->claim, &from->data);
    if (*member == NULL) {
        return gops_ort_no_memory(from->graph->runtime, "a node");
    }
    (*member)->output = from->output;
    return NULL;
}

ort_status *gops_ort_member_of_resize(gops_ort_reading *from, gops_ort_member **member)
{
    const gops_tensor *output = &from->output;
    gops_ort_resize resize = {.linear = false};
    bool serves;
    ort_status *status = gops_ort_read_resize(from->graph->runtime, from->node, &from->data, output,
                                              &resize, &serves);
    if (status != NULL || !serves) {
        return status;
    }
    serves = !resize.linear ||
             (output->dims[3] <= GOPS_ORT_MAX_ROW && from->data.dims[3] <= GOPS_ORT_MAX_ROW);
    if (serves) {
        *member = gops_ort_member_make(GOPS_ORT_RESIZE, &from->claim, &from->data);
    }
    if (*member == NULL) {
        free(resize.taps[0]);
        return serves ? gops_ort_no_memory(from->graph->runtime, "a node") : NULL;
    }
    (*member)->resize = resize;
    (*member)->output = *output;
    return NULL;
}

static ort_status *read_split(gops_ort_reading *from, gops_ort_member **member)
{
    return gops_ort_member_of_split(from, NULL, member);
}

/* Reads nodes of one type; *member stays NULL if it is none that a region has. */
typedef ort_status *reader(gops_ort_reading *from, gops_ort_member **member);

/* *moves: the node computes nothing, of whatever type its data are. */
static reader *find_reader(const gops_ort_node *node, bool *moves)
{
    static const struct {
        const char *type;
        bool moves;
        reader *read;
    } readers[] = {
        {"Add", false, read_add},
        {"AveragePool", false, gops_ort_member_of_average_pool},
        {"BatchNormalization", false, read_batch_norm},
        {"Concat", true, gops_ort_member_of_concat},
        {"GlobalAveragePool", false, read_global_average},
        {"InstanceNormalization", false, gops_ort_member_of_instance},
        {"LayerNormalization", false, gops_ort_member_of_layer_norm},
        {"MaxPool", false, gops_ort_member_of_max_pool},
        {"Mul", false, read_product},
        {"ReduceMean", false, read_global_average},
        {"Reshape", false, gops_ort_member_of_shuffle},
        {"Resize", false, gops_ort_member_of_resize},
        {"Slice", true, gops_ort_member_of_slice},
        {"Split", true, read_split},
        {"Sub", false, read_numbers},
        {"Upsample", false, gops_ort_member_of_resize},
    };
    for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++) {
        if (strcmp(node->type, readers[i].type) == 0) {
            *moves = readers[i].moves;
            return readers[i].read;
        }
    }
    *moves = false;
    return read_activation;
}

/* Where one of two operands of an Add, Mul or Sub is a constant, the other one is the data. */
static ort_status *find_numbers(const gops_ort_graph *graph, const gops_ort_node *node,
                                reader **read, size_t *data)
{
    const bool may = *read == read_add || *read == read_product || *read == read_numbers;
    ort_status *status = NULL;
    for (size_t i = 0; i < 2 && may && node->input_count == 2 && status == NULL; i++) {
        bool constant = false;
        status = node->inputs[i] != NULL
                     ? graph->runtime->api->is_constant_initializer(node->inputs[i], &constant)
                     : NULL;
        if (constant) {
            *read = read_numbers;
            *data = 1 - i;
        }
    }
    return status;
}

ort_status *gops_ort_member_of_node(const gops_ort_graph *graph, gops_ort_node *node,
                                    gops_ort_member **member)
{
    gops_ort_reading from = {.graph = graph, .node = node};
    bool serves = node->input_count >= 1 && node->output_count >= 1 && node->type[0] != '\0', moves;
    reader *read = find_reader(node, &moves);
    size_t data = 0;
    *member = NULL;
    for (size_t i = 1; i < node->output_count; i++) {
        serves = serves && (node->outputs[i] == NULL || read == read_split);
    }
    ort_status *status = serves ? find_numbers(graph, node, &read, &data) : NULL;
    if (status == NULL && serves) {
        status = gops_ort_read_operand(graph, node->inputs[data], &from.data, &serves);
    }
    if (status == NULL && serves) {
        status = gops_ort_read_operand(graph, node->outputs[0], &from.output, &serves);
    }
    if (status != NULL || !serves || from.data.rank < 3 || from.data.rank > 5 ||
        from.output.type != from.data.type ||
        !(from.data.type == GOPS_F32 || (moves && gops_ort_is_8_bit(from.data.type)))) {
        return status;
    }
    from.claim = (gops_ort_claim){.nodes = {node}, .node_count = 1};
    from.claim.operation = (gops_ort_operation){.kind = GOPS_ORT_CONV, .groups = 1};
    from.claim.inputs[GOPS_ORT_DATA] = node->input_names[data];
    from.claim.infos[GOPS_ORT_DATA] = node->inputs[data];
    from.claim.output = node->output_names[0];
    return read(&from, member);
}
