/* ort_claim.c: finds the nodes after a claimed one that become its post-ops. */
#include "ort_operation.h"

#include "ort_attributes.h"

#include <math.h>
#include <string.h>

/* The node that reads the value, if it is the only reader and is not claimed; else NULL. */
static gops_ort_node *find_only_reader(const gops_ort_graph *graph, const char *value)
{
    size_t count;
    const gops_ort_use *use = gops_ort_uses(graph, value, &count);
    if (count != 1 || use->reader == NULL || use->reader->claimed) {
        return NULL;
    }
    return &graph->nodes[use->reader - graph->nodes];
}

static bool is_known_same(const gops_tensor *one, const gops_tensor *other)
{
    bool known = true;
    for (int32_t i = 0; i < one->rank; i++) {
        known = known && one->dims[i] >= 0;
    }
    return known && one->type == other->type && gops_ort_same_shape(one, other);
}

static void add_node(gops_ort_claim *claim, gops_ort_node *node)
{
    claim->nodes[claim->node_count++] = node;
    claim->output = node->output_names[0];
}

/* Claims an Add whose other operand is known to have the output's shape: a residual is not
 * broadcast. */
static ort_status *add_residual(const gops_ort_runtime *runtime, const gops_ort_graph *graph,
                                gops_ort_claim *claim)
{
    gops_ort_node *node = find_only_reader(graph, claim->output);
    gops_tensor shape, other;
    bool known, other_known;
    if (node == NULL || strcmp(node->type, "Add") != 0 || node->input_count != 2 ||
        node->output_count != 1) {
        return NULL;
    }
    const size_t mine = strcmp(node->input_names[0], claim->output) == 0 ? 0 : 1;
    /* The runtime does not infer the shape of a normalization's output, which is its data's. */
    const ort_value_info *like =
        claim->operation.kind == GOPS_ORT_NORM ? claim->infos[GOPS_ORT_DATA] : node->inputs[mine];
    ort_status *status;
    if ((status = gops_ort_value_tensor(runtime, like, &shape, &known)) != NULL ||
        (status = gops_ort_value_tensor(runtime, node->inputs[1 - mine], &other, &other_known)) !=
            NULL) {
        return status;
    }
    if (known && other_known && is_known_same(&shape, &other)) {
        claim->inputs[GOPS_ORT_RESIDUAL] = node->input_names[1 - mine];
        claim->infos[GOPS_ORT_RESIDUAL] = node->inputs[1 - mine];
        add_node(claim, node);
    }
    return NULL;
}

/* A bound of Clip: a constant of one element of type f32 or f64. */
static ort_status *read_bound(const gops_ort_runtime *runtime, const ort_value_info *info,
                              double *bound, bool *serves)
{
    const ort_api *api = runtime->api;
    const ort_value *value = NULL;
    gops_tensor tensor;
    bool constant = false;
    void *data = NULL;
    ort_status *status = api->is_constant_initializer(info, &constant);
    *serves = false;
    if (status != NULL || !constant) {
        return status;
    }
    if ((status = api->get_initializer(info, &value)) != NULL || value == NULL ||
        (status = gops_ort_describe(runtime, value, &tensor)) != NULL ||
        /* get_tensor_data lacks a const: it serves values that are written too. */
        (status = api->get_tensor_data((ort_value *)(uintptr_t)value, &data)) != NULL) {
        return status;
    }
    *serves = data != NULL && (tensor.type == GOPS_F32 || tensor.type == GOPS_F64);
    for (int32_t i = 0; i < tensor.rank; i++) {
        *serves = *serves && tensor.dims[i] == 1;
    }
    if (*serves) {
        *bound = tensor.type == GOPS_F32 ? (double)*(const float *)data : *(const double *)data;
    }
    return NULL;
}

/* Reads the bounds of Clip, which are attributes up to version 10 and inputs from 11 on. */
static ort_status *read_clip(const gops_ort_runtime *runtime, const gops_ort_node *node,
                             gops_activation *activation, bool *serves)
{
    double bounds[] = {-INFINITY, INFINITY};
    *serves = true;
    if (node->version < 11) {
        gops_ort_attributes from = {runtime, node, NULL, false};
        float low = -INFINITY, high = INFINITY;
        gops_ort_attribute_float(&from, "min", &low);
        gops_ort_attribute_float(&from, "max", &high);
        bounds[0] = (double)low;
        bounds[1] = (double)high;
        *serves = from.status == NULL && !from.malformed;
        if (from.status != NULL) {
            return from.status;
        }
    }
    for (size_t i = 1; i < node->input_count && i <= 2; i++) {
        if (node->inputs[i] != NULL) {
            ort_status *status = read_bound(runtime, node->inputs[i], &bounds[i - 1], serves);
            if (status != NULL || !*serves) {
                return status;
            }
        }
    }
    *activation = (gops_activation){GOPS_ACTIVATION_CLAMP, bounds[0], bounds[1]};
    *serves = *serves && bounds[0] <= bounds[1];
    return NULL;
}

static ort_status *read_activation(const gops_ort_runtime *runtime, const gops_ort_node *node,
                                   gops_activation *activation, bool *serves)
{
    static const struct {
        const char *type;
        gops_activation_kind kind;
    } activations[] = {
        {"Relu", GOPS_ACTIVATION_RELU}, {"LeakyRelu", GOPS_ACTIVATION_LEAKY_RELU},
        {"Tanh", GOPS_ACTIVATION_TANH}, {"Sigmoid", GOPS_ACTIVATION_SIGMOID},
        {"Gelu", GOPS_ACTIVATION_GELU}, {"HardSwish", GOPS_ACTIVATION_HARD_SWISH},
    };
    gops_ort_attributes from = {runtime, node, NULL, false};
    *serves = false;
    if (strcmp(node->type, "Clip") == 0) {
        return read_clip(runtime, node, activation, serves);
    }
    for (size_t i = 0; i < sizeof activations / sizeof activations[0]; i++) {
        if (strcmp(node->type, activations[i].type) == 0) {
            *activation = (gops_activation){.kind = activations[i].kind};
            *serves = true;
        }
    }
    if (activation->kind == GOPS_ACTIVATION_LEAKY_RELU) {
        float alpha = 0.01F; /* the operator's default */
        gops_ort_attribute_float(&from, "alpha", &alpha);
        activation->alpha = (double)alpha;
    } else if (activation->kind == GOPS_ACTIVATION_GELU) {
        *serves = gops_ort_attribute_is(&from, "approximate", "none");
    }
    *serves = *serves && !from.malformed;
    return from.status;
}

static ort_status *add_activation(const gops_ort_runtime *runtime, const gops_ort_graph *graph,
                                  gops_ort_claim *claim)
{
    gops_ort_node *node = find_only_reader(graph, claim->output);
    gops_activation activation = {0};
    bool serves = false;
    if (node == NULL || node->output_count != 1) {
        return NULL;
    }
    /* A value that is a bound of Clip is not what Clip is applied to. */
    ort_status *status = strcmp(node->input_names[0], claim->output) == 0
                             ? read_activation(runtime, node, &activation, &serves)
                             : NULL;
    if (status == NULL && serves) {
        claim->operation.activation = activation;
        add_node(claim, node);
    }
    return status;
}

/* Claims x * sigmoid(x), which has no operator of its own before version 24: Sigmoid and the Mul
 * after it both read the value. */
static void add_swish(const gops_ort_graph *graph, gops_ort_claim *claim)
{
    size_t count;
    const gops_ort_use *uses = gops_ort_uses(graph, claim->output, &count);
    if (count != 2 || uses[0].reader == NULL || uses[1].reader == NULL) {
        return;
    }
    const size_t first = strcmp(uses[0].reader->type, "Sigmoid") == 0 ? 0 : 1;
    const gops_ort_node *sigmoid = uses[first].reader, *product = uses[1 - first].reader;
    if (strcmp(sigmoid->type, "Sigmoid") != 0 || strcmp(product->type, "Mul") != 0 ||
        sigmoid->claimed || product->claimed ||
        find_only_reader(graph, sigmoid->output_names[0]) != product) {
        return;
    }
    claim->operation.activation = (gops_activation){GOPS_ACTIVATION_SWISH, 1, 0};
    add_node(claim, &graph->nodes[sigmoid - graph->nodes]);
    add_node(claim, &graph->nodes[product - graph->nodes]);
}

ort_status *gops_ort_claim_start(const gops_ort_runtime *runtime, const gops_ort_graph *graph,
                                 gops_ort_node *node, gops_ort_claim *claim, bool *serves)
{
    ort_status *status = gops_ort_read_operation(runtime, node, claim, serves);
    claim->nodes[0] = node;
    if (status != NULL || !*serves || graph->nested) {
        return status;
    }
    status = add_residual(runtime, graph, claim);
    const size_t before = claim->node_count;
    if (status == NULL) {
        status = add_activation(runtime, graph, claim);
    }
    if (status == NULL && claim->node_count == before) {
        add_swish(graph, claim);
    }
    return status;
}
