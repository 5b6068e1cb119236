/* ort_member_norm.c: InstanceNormalization, alone or as part of a group normalization. */
#include "engines/onnxruntime/graph/ort_attributes.h"
#include "engines/onnxruntime/region/ort_member.h"

#include <stdlib.h>
#include <string.h>

typedef struct instance {
    const gops_ort_graph *graph;
    gops_ort_claim claim;
    gops_tensor data;                    /* as it is normalized: each of its channels alone */
    gops_ort_constant scales, shifts;    /* of these channels */
    gops_ort_constant factors, summands; /* of the claim's channels; empty: none */
} instance;

static ort_status *read_vector(const instance *of, const ort_value_info *info,
                               gops_ort_constant *vector, bool *serves)
{
    ort_status *status = gops_ort_read_constant(of->graph->runtime, info, vector, serves);
    *serves = *serves && vector->tensor.type == GOPS_F32 && vector->tensor.rank == 1 &&
              vector->count == of->data.dims[1];
    return status;
}

/* Claims the Reshape before and behind, if together they change no shape. */
static ort_status *add_reshapes(instance *of, gops_ort_node *node, gops_tensor *data)
{
    gops_ort_node *before = gops_ort_only_writer(of->graph, node->input_names[0], "Reshape", node);
    gops_ort_node *after = gops_ort_only_reader(of->graph, node->output_names[0]);
    gops_tensor from, to;
    bool serves;
    ort_status *status = gops_ort_is_reshape(of->graph->runtime, before, &serves);
    if (status == NULL && serves) {
        status = gops_ort_is_reshape(of->graph->runtime, after, &serves);
        serves = serves && strcmp(after->input_names[0], node->output_names[0]) == 0;
    }
    if (status == NULL && serves) {
        status = gops_ort_read_fed(of->graph, before->inputs[0], &from, &serves);
    }
    if (status == NULL && serves) {
        status = gops_ort_read_fed(of->graph, after->outputs[0], &to, &serves);
    }
    if (status == NULL && serves && gops_ort_same_shape(&from, &to) && from.rank >= 3 &&
        from.dims[0] == of->data.dims[0] && from.dims[1] % of->data.dims[1] == 0) {
        of->claim.inputs[GOPS_ORT_DATA] = before->input_names[0];
        of->claim.infos[GOPS_ORT_DATA] = before->inputs[0];
        gops_ort_claim_add(&of->claim, before);
        gops_ort_claim_add(&of->claim, after);
        *data = from;
    }
    return status;
}

/* Claims a node that has the claim's output and a constant for its channels. */
static ort_status *add_constant(instance *of, const gops_tensor *data, const char *type,
                                gops_ort_constant *constant)
{
    gops_ort_node *node = gops_ort_only_reader(of->graph, of->claim.output);
    bool serves = node != NULL && strcmp(node->type, type) == 0 && node->input_count == 2;
    if (!serves) {
        return NULL;
    }
    const size_t other = strcmp(node->input_names[0], of->claim.output) == 0 ? 1 : 0;
    ort_status *status =
        gops_ort_read_constant(of->graph->runtime, node->inputs[other], constant, &serves);
    if (serves && constant->tensor.type == GOPS_F32 && gops_ort_is_for_channels(constant, data)) {
        gops_ort_claim_add(&of->claim, node);
    } else {
        *constant = (gops_ort_constant){.count = 0};
    }
    return status;
}

static float value_for(const gops_ort_constant *constant, int64_t channel, int64_t channels,
                       float missing)
{
    return constant->count == 0
               ? missing
               : ((const float *)constant->values)[channel / (channels / constant->count)];
}

static ort_status *make(const instance *of, const gops_tensor *data, gops_ort_member **member)
{
    const int64_t channels = data->dims[1];
    gops_ort_member *made = gops_ort_member_make(GOPS_ORT_PLAN, &of->claim, data);
    float *values = made != NULL ? malloc((size_t)channels * 2 * sizeof *values) : NULL;
    if (values == NULL) {
        gops_ort_member_free(made);
        return gops_ort_no_memory(of->graph->runtime, "a node");
    }
    for (int64_t c = 0; c < channels; c++) {
        const float factor = value_for(&of->factors, c, channels, 1);
        values[c] = value_for(&of->scales, c, channels, 1) * factor;
        values[channels + c] = value_for(&of->shifts, c, channels, 0) * factor +
                               value_for(&of->summands, c, channels, 0);
    }
    made->filter = (gops_tensor){GOPS_F32, 1, {channels}};
    made->made = values;
    made->weights = values;
    made->biases = values + channels;
    *member = made;
    return NULL;
}

ort_status *gops_ort_member_of_instance(gops_ort_reading *from, gops_ort_member **member)
{
    gops_ort_node *const node = from->node;
    gops_ort_attributes attributes = {from->graph->runtime, node, NULL, false};
    instance of = {from->graph, .claim = from->claim, .data = from->data};
    float epsilon = 1e-5F; /* the operator's default */
    bool serves = node->input_count == 3 && node->version >= 6;
    gops_ort_attribute_float(&attributes, "epsilon", &epsilon);
    ort_status *status = attributes.status;
    if (status != NULL || !serves || attributes.malformed || !(epsilon > 0) ||
        (status = read_vector(&of, node->inputs[1], &of.scales, &serves)) != NULL || !serves ||
        (status = read_vector(&of, node->inputs[2], &of.shifts, &serves)) != NULL || !serves) {
        return status;
    }
    of.claim.operation = (gops_ort_operation){
        .kind = GOPS_ORT_NORM,
        .norm = {.num_groups = of.data.dims[1], .epsilon = (double)epsilon},
    };
    gops_tensor data = of.data;
    if ((status = add_reshapes(&of, node, &data)) == NULL &&
        (status = add_constant(&of, &data, "Mul", &of.factors)) == NULL &&
        (status = add_constant(&of, &data, "Add", &of.summands)) == NULL &&
        (status = gops_ort_member_add_post_ops(of.graph, &of.claim)) == NULL) {
        status = make(&of, &data, member);
    }
    return status;
}
