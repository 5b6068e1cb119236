/* ort_claim.c: what comes after a claimed node and can be done while its result is stored. */
#include "ort_operation.h"

#include "ort_attributes.h"

#include <math.h>
#include <string.h>

/* The only node that reads the value, and where else it is read nothing; NULL: there is none. */
static gops_ort_node *only_reader(const gops_ort_graph *graph, const char *value)
{
    size_t count;
    const gops_ort_use *use = gops_ort_uses(graph, value, &count);
    if (count != 1 || use->reader == NULL || use->reader->claimed) {
        return NULL;
    }
    return &graph->nodes[use->reader - graph->nodes];
}

static bool same_shape(const gops_tensor *one, const gops_tensor *other)
{
    bool same = one->type == other->type && one->rank == other->rank;
    for (int32_t i = 0; same && i < one->rank; i++) {
        same = one->dims[i] >= 0 && one->dims[i] == other->dims[i];
    }
    return same;
}

static void add_node(gops_ort_claim *claim, gops_ort_node *node)
{
    claim->nodes[claim->node_count++] = node;
    claim->output = node->output_names[0];
}

/* Add of a tensor that surely has the output's shape: one that is broadcast is no residual. */
static ort_status *add_residual(const gops_ort_runtime *runtime, const gops_ort_graph *graph,
                                gops_ort_claim *claim)
{
    gops_ort_node *node = only_reader(graph, claim->output);
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
    if (known && other_known && same_shape(&shape, &other)) {
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
        /* ONNX Runtime's own calls take a value that they only read as one they might change. */
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

/* Clip: to version 10 the bounds are attributes, then inputs. */
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
        *serves = from.status == NULL && !from.strange;
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
    } plain[] = {
        {"Relu", GOPS_ACTIVATION_RELU}, {"LeakyRelu", GOPS_ACTIVATION_LEAKY_RELU},
        {"Tanh", GOPS_ACTIVATION_TANH}, {"Sigmoid", GOPS_ACTIVATION_SIGMOID},
        {"Gelu", GOPS_ACTIVATION_GELU}, {"HardSwish", GOPS_ACTIVATION_HARD_SWISH},
    };
    gops_ort_attributes from = {runtime, node, NULL, false};
    *serves = false;
    if (strcmp(node->type, "Clip") == 0) {
        return read_clip(runtime, node, activation, serves);
    }
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        if (strcmp(node->type, plain[i].type) == 0) {
            *activation = (gops_activation){.kind = plain[i].kind};
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
    *serves = *serves && !from.strange;
    return from.status;
}

static ort_status *add_activation(const gops_ort_runtime *runtime, const gops_ort_graph *graph,
                                  gops_ort_claim *claim)
{
    gops_ort_node *node = only_reader(graph, claim->output);
    gops_activation activation = {0};
    bool serves = false;
    if (node == NULL || node->output_count != 1) {
        return NULL;
    }
    /* The value may also be a bound of Clip, which is not what follows it. */
    ort_status *status = strcmp(node->input_names[0], claim->output) == 0
                             ? read_activation(runtime, node, &activation, &serves)
                             : NULL;
    if (status == NULL && serves) {
        claim->operation.activation = activation;
        add_node(claim, node);
    }
    return status;
}

/* x * sigmoid(x), which has no operator of its own before version 24: the value is read by Sigmoid
 * and by the Mul behind it. */
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
        only_reader(graph, sigmoid->output_names[0]) != product) {
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
