/*
 * ort_worth.c: estimates what a call gains over the runtime's own provider.
 *
 * The runtime keeps a blocked layout from one Conv to the next. What makes the difference:
 *
 * - Its dense layers in that layout, with bias, relu and an Add, take about as long as ours on AMD's
 *   processors with AVX-512; on other x86-64 processors they are faster but for small planes: ort_rates.c.
 * - Its maxima in that layout take less than ours.
 * - Each of its nodes costs about 1 us more than a step of ours.
 * - Its layout has no grouped convolutions but depthwise ones unless the channels of a group fill its
 *   blocks: it lowers the others by im2col. Groups of one block are too few sums for its kernel.
 * - Its depthwise kernels take longer than ours.
 * - It reorders the data of a gate to the plain layout and back.
 * - Group normalization is several nodes.
 * - Its sigmoid and tanh are rational approximations with fewer digits than ours, and on the Intel take
 *   nearly as long. A hard swish it computes as part of the Conv and of a product.
 * - Where accuracy is relaxed, dense layers may be Winograd's.
 *
 * Numbers without a processor were measured on an AMD EPYC with Zen 5, one thread.
 */
#include "ort_worth.h"

#include "ort_plans.h"
#include "ort_rates.h"

#include <string.h>

static const double step_ns = 1000, gate_ns = 0.15, reorder_ns = 0.2;
/* DenseNet's Concat take 0.25 ns an element of the runtime, SqueezeNet's 0.18; its batch normalizations
 * 0.06 more than ours (Intel Xeon). */
static const double concat_ns = 0.2, affine_ns = 0.06;
/* A normalization over channels is five passes and a Transpose of the runtime's; behind a product there
 * may be two more. */
static const double channel_norm_ns = 1.5, product_ns = 0.3;
static const double norm_ns = 1.2; /* on an Intel Xeon, AVX-512 and AVX2 */
static const double lowered_flops_a_ns = 20, grouped_flops_a_ns = 80;
static const double block_flops_a_ns = 80, our_block_flops_a_ns = 130;

enum {
    FIRST_IN = 4, /* channels in of a network's first layer, at most */
    THIN_IN = 32,
    FEW_IN = 64,
};

static double elements(const gops_tensor *tensor)
{
    double count = 1;
    for (int32_t i = 0; i < tensor->rank; i++) {
        count *= (double)tensor->dims[i];
    }
    return count;
}

static bool is_exponential(gops_activation_kind kind)
{
    switch (kind) {
    case GOPS_ACTIVATION_SIGMOID:
    case GOPS_ACTIVATION_TANH:
    case GOPS_ACTIVATION_SWISH:
    case GOPS_ACTIVATION_GELU:
    case GOPS_ACTIVATION_ELU:
    case GOPS_ACTIVATION_MISH:
        return true;
    default:
        return false;
    }
}

static gops_ort_dense kind_of_dense(const gops_ort_member *member, int64_t in, double taps)
{
    const gops_list *strides = &member->claim.operation.conv.strides;
    const int64_t width = member->output.dims[member->output.rank - 1];
    if (in <= FIRST_IN) {
        return GOPS_ORT_FIRST;
    }
    if (taps == 1) {
        return strides->count > 0 && strides->values[0] > 1 ? GOPS_ORT_STRIDED
               : in < FEW_IN                                ? GOPS_ORT_FEW
                                                            : GOPS_ORT_POINT;
    }
    if (in <= THIN_IN) {
        return GOPS_ORT_THIN;
    }
    return width >= 56   ? GOPS_ORT_ROWS_56
           : width >= 28 ? GOPS_ORT_ROWS_28
           : width >= 13 ? GOPS_ORT_ROWS_13
                         : GOPS_ORT_ROWS_0;
}

/* Whether the plan would be one of Winograd's. */
static bool is_winograd(const gops_ort_runtime *runtime, const gops_ort_member *member)
{
    const gops_ort_operation *operation = &member->claim.operation;
    gops_plan_info info = {.size = sizeof info};
    gops_plan *plan = NULL;
    if (runtime->accuracy != GOPS_ACCURACY_RELAXED) {
        return false;
    }
    const gops_options options = gops_ort_options(runtime, operation, NULL);
    const bool is = gops_conv_plan_create(&member->data, &member->filter, &operation->conv,
                                          &options, &plan, NULL) == GOPS_OK &&
                    gops_plan_get_info(plan, &info, NULL) == GOPS_OK &&
                    strncmp(info.algorithm, "winograd", strlen("winograd")) == 0;
    gops_plan_destroy(plan);
    return is;
}

static double gain_of_conv(const gops_ort_runtime *runtime, const gops_ort_rates *here,
                           const gops_ort_member *member)
{
    const bool transposed = member->claim.operation.kind == GOPS_ORT_DECONV;
    const gops_tensor *filter = &member->filter;
    const int64_t groups = filter->dims[0];
    const int64_t in = filter->dims[transposed ? 1 : 2], out = filter->dims[transposed ? 2 : 1];
    const double weights = elements(filter) / (double)(groups * (transposed ? in : out));
    const double flops = 2 * weights * elements(transposed ? &member->data : &member->output);
    if (member->is_product) {
        return here->matrix_ns * flops + product_ns * elements(&member->output);
    }
    if (transposed && groups == 1) {
        return flops * here->transposed_ns;
    }
    if (transposed) {
        return flops * (1 / lowered_flops_a_ns - 1 / grouped_flops_a_ns);
    }
    if (groups == 1 && here->flops_a_ns > 0) {
        const gops_ort_dense kind = kind_of_dense(member, in, weights / (double)in);
        const double *gains = is_winograd(runtime, member) ? here->winograd : here->gains;
        return gains[kind] * flops / here->flops_a_ns;
    }
    if (groups == 1 || member->made != NULL) {
        return 0;
    }
    if (in == 1) {
        return here->depthwise_ns * elements(&member->output);
    }
    if (in % here->block == 0 && out % here->block == 0) {
        return out == here->block && here->has_slow_block
                   ? flops * (1 / block_flops_a_ns - 1 / our_block_flops_a_ns)
                   : 0;
    }
    return flops * (1 / lowered_flops_a_ns - 1 / grouped_flops_a_ns);
}

static double gain_of(const gops_ort_runtime *runtime, const gops_ort_rates *here,
                      const gops_ort_member *member)
{
    double gain = step_ns;
    if (member->kind == GOPS_ORT_PRODUCT) {
        gain += gate_ns * elements(&member->data);
    } else if (member->kind == GOPS_ORT_CONCAT) {
        gain += concat_ns * elements(&member->output);
    } else if (member->kind == GOPS_ORT_MAX_POOL) {
        gain -= here->maximum_ns * elements(&member->output);
    } else if (member->is_affine) {
        gain += affine_ns * elements(&member->data);
    } else if (member->kind == GOPS_ORT_SHUFFLE) {
        gain *= (double)member->claim.node_count;
    } else if (member->kind == GOPS_ORT_CHANNEL_NORM) {
        gain += channel_norm_ns * elements(&member->data);
    } else if (member->kind == GOPS_ORT_PLAN) {
        gain += member->claim.operation.kind == GOPS_ORT_NORM ? norm_ns * elements(&member->data)
                                                              : gain_of_conv(runtime, here, member);
        if (is_exponential(member->claim.operation.activation.kind)) {
            gain -= here->exp_ns * elements(&member->output);
        }
        if (member->claim.operation.activation.kind == GOPS_ACTIVATION_HARD_SWISH) {
            gain -= here->hard_ns * elements(&member->output);
        }
    }
    return gain;
}

double gops_ort_gain(const gops_ort_runtime *runtime, gops_ort_member *const *members, size_t count)
{
    const gops_ort_rates *here = gops_ort_rates_here();
    double gain = 0;
    for (size_t i = 0; i < count; i++) {
        gain += gain_of(runtime, here, members[i]);
    }
    return gain;
}

static bool is_one_of(const char *type, const char *const *types)
{
    for (; *types != NULL; types++) {
        if (strcmp(type, *types) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_layout(const gops_ort_node *node)
{
    static const char *const types[] = {"Conv", "MaxPool", "AveragePool", "GlobalAveragePool",
                                        NULL};
    return !node->claimed && is_one_of(node->type, types);
}

static bool keeps_layout(const gops_ort_node *node)
{
    static const char *const types[] = {"Relu", "Clip",   "Sigmoid", "HardSigmoid",
                                        "Add",  "Concat", NULL};
    return !node->claimed && is_one_of(node->type, types);
}

/* Whether the runtime has a value in its blocked layout anyway. */
static bool is_written_blocked(const gops_ort_graph *graph, const char *value)
{
    enum { DEPTH = 4 };
    const gops_ort_node *writer = gops_ort_writer(graph, value);
    for (int i = 0; i < DEPTH && writer != NULL && keeps_layout(writer); i++) {
        writer = gops_ort_writer(graph, writer->input_names[0]);
    }
    return writer != NULL && has_layout(writer);
}

static bool is_read_blocked(const gops_ort_graph *graph, const char *value)
{
    size_t count;
    const gops_ort_use *uses = gops_ort_uses(graph, value, &count);
    for (size_t i = 0; i < count; i++) {
        if (uses[i].reader != NULL &&
            (has_layout(uses[i].reader) || keeps_layout(uses[i].reader))) {
            return true;
        }
    }
    return false;
}

/* What else would be in blocks has to be reordered around our call, and what is not, around the
 * runtime's. */
static double gain_of_borders(const gops_ort_rates *here, const gops_ort_graph *graph,
                              const gops_ort_member *member)
{
    const gops_ort_claim *claim = &member->claim;
    const int64_t groups = member->filter.dims[0];
    const int64_t out = member->filter.dims[1], in = member->filter.dims[2];
    const double read = elements(&member->data), written = elements(&member->output);
    if (claim->operation.kind != GOPS_ORT_CONV ||
        (groups > 1 && in > 1 && (in % here->block != 0 || out % here->block != 0))) {
        return 0;
    }
    return reorder_ns * ((is_written_blocked(graph, claim->inputs[GOPS_ORT_DATA]) ? -read : read) +
                         (is_read_blocked(graph, claim->output) ? -written : written));
}

/* Gives open sizes a number. */
static void close_sizes(gops_tensor *data)
{
    enum { USUAL_ROW = 28 };
    for (int32_t i = 0; i < data->rank; i++) {
        if (data->dims[i] < 1) {
            data->dims[i] = i == 0 ? 1 : USUAL_ROW;
        }
    }
}

ort_status *gops_ort_gain_alone(const gops_ort_runtime *runtime, const gops_ort_graph *graph,
                                const gops_ort_claim *claim, double *gain, bool *known)
{
    const gops_ort_operation *operation = &claim->operation;
    gops_ort_member member = {.kind = GOPS_ORT_PLAN, .claim = *claim};
    gops_tensor weights;
    gops_shape shape;
    bool has_data, has_weights;
    *known = false;
    if (operation->kind == GOPS_ORT_NORM || operation->output_type != (gops_type)0 ||
        operation->types[GOPS_ORT_DATA] != GOPS_F32) {
        return NULL;
    }
    ort_status *status =
        gops_ort_value_tensor(runtime, claim->infos[GOPS_ORT_DATA], &member.data, &has_data);
    if (status == NULL) {
        status =
            gops_ort_value_tensor(runtime, claim->infos[GOPS_ORT_FILTER], &weights, &has_weights);
    }
    if (status != NULL || !has_data || !has_weights || member.data.rank < 3 ||
        member.data.dims[1] < 1 || !gops_ort_is_closed(&weights)) {
        return status;
    }
    close_sizes(&member.data);
    if (!gops_ort_filter_tensor(operation, &weights, &member.filter) ||
        gops_ort_shape(operation, &member.data, &member.filter, &shape, NULL) != GOPS_OK) {
        return status;
    }
    const gops_ort_rates *here = gops_ort_rates_here();
    member.output = shape.output;
    *known = true;
    *gain = gain_of(runtime, here, &member) - 2 * step_ns + gain_of_borders(here, graph, &member);
    return NULL;
}
