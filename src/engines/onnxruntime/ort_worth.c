/*
 * ort_worth.c: estimates what a call gains over the runtime's own provider.
 *
 * The runtime keeps a blocked layout from one Conv to the next. What makes the difference:
 *
 * - Its dense layers in that layout, with bias, relu and an Add, take as long as ours on an AMD EPYC with
 *   Zen 5; on other x86-64 processors they are faster but for small planes: rates.
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
 * Numbers without a processor were measured on the Zen 5, one thread.
 */
#include "ort_worth.h"

#include "ort_plans.h"

#include <string.h>

static const double step_ns = 1000, gate_ns = 0.15, reorder_ns = 0.2;
/* DenseNet's Concat take 0.25 ns an element of the runtime, SqueezeNet's 0.18; its batch normalizations
 * 0.06 more than ours, ours of maxima 0.05 more than its (Intel Xeon). */
static const double concat_ns = 0.2, affine_ns = 0.06, maximum_ns = 0.05;
/* A normalization over channels is five passes and a Transpose of the runtime's; behind a product there
 * may be two more. */
static const double channel_norm_ns = 1.5, product_ns = 0.3;
static const double norm_ns = 1.2; /* on an Intel Xeon, AVX-512 and AVX2 */
static const double lowered_flops_a_ns = 20, grouped_flops_a_ns = 80;
static const double block_flops_a_ns = 80, our_block_flops_a_ns = 130;

/* Dense layers: a network's first, others of few channels, kernels of 1, and all else by the pixels of a
 * row. */
enum { FIRST, THIN, FEW, POINT, STRIDED, ROWS_56, ROWS_28, ROWS_13, ROWS_0, LAYERS };

/* How the runtime compares on a kind of processors. */
typedef struct rates {
    double flops_a_ns;       /* of its dense layers; 0: they take as long as ours */
    double gains[LAYERS];    /* what ours take less, of its time */
    double winograd[LAYERS]; /* Winograd's */
    double transposed_ns;    /* what a dense transposed layer takes less for a flop */
    double depthwise_ns;     /* and a depthwise one for an output */
    double matrix_ns;        /* and a kernel of 1 for a flop of the runtime's product by a matrix */
    double exp_ns, hard_ns;  /* what an activation by exp, or a hard swish, takes more */
    int64_t block;           /* channels that its layout keeps side by side */
    bool has_slow_block;     /* groups of one block gain */
} rates;

/* Processors by their vectors, those of 512 bits by their vendor. Other vendors' with AVX2 alone have the
 * same two multipliers of 256 bits as Intel's. */
typedef enum processor { WIDE, WIDE_INTEL, AVX2, NARROW, PROCESSORS } processor;

/* On the Intel Xeon (Granite Rapids' class): means over 9 networks of torchvision, with 512 bits one
 * thread or two, whichever is less. There it was also held to AVX2 and to SSE2, by hiding the rest from
 * CPUID, with one thread: it reaches 97% of the multipliers' peak in 256 bits, ours 84%. */
static const rates measured[PROCESSORS] = {
    [WIDE] =
        {
            .transposed_ns = 0.0016,
            .depthwise_ns = 0.08,
            .exp_ns = 0.1,
            .block = 16,
            .has_slow_block = true,
        },
    [WIDE_INTEL] =
        {
            .flops_a_ns = 190,
            .gains = {[FIRST] = -0.05,
                      [THIN] = -0.14,
                      [FEW] = -0.04,
                      [POINT] = -0.08,
                      [STRIDED] = 0.1,
                      [ROWS_56] = -0.13,
                      [ROWS_28] = -0.07,
                      [ROWS_13] = 0.02,
                      [ROWS_0] = 0.2},
            .winograd = {[ROWS_56] = 0.36, [ROWS_28] = 0.33, [ROWS_13] = 0.08, [ROWS_0] = -0.1},
            .transposed_ns = 0.0016,
            .depthwise_ns = 0.08,
            .exp_ns = 0.03,
            .matrix_ns = 0.0014,
            .hard_ns = 0.12,
            .block = 16,
        },
    [AVX2] =
        {
            .flops_a_ns = 115,
            .gains = {[FIRST] = -0.1,
                      [THIN] = -0.27,
                      [FEW] = -0.02,
                      [POINT] = -0.19,
                      [STRIDED] = -0.24,
                      [ROWS_56] = -0.27,
                      [ROWS_28] = -0.19,
                      [ROWS_13] = -0.17},
            .winograd = {[ROWS_56] = 0.55, [ROWS_28] = 0.5, [ROWS_13] = 0.33},
            .depthwise_ns = -0.05,
            .matrix_ns = -0.0005,
            .exp_ns = 0.15,
            .hard_ns = 0.1,
            .block = 8,
        },
    [NARROW] =
        {
            .flops_a_ns = 40,
            .gains = {[FIRST] = -0.13,
                      [THIN] = -0.22,
                      [FEW] = -0.22,
                      [POINT] = -0.13,
                      [STRIDED] = -0.14,
                      [ROWS_56] = -0.18,
                      [ROWS_28] = -0.22,
                      [ROWS_13] = -0.13},
            .depthwise_ns = 0.1,
            .matrix_ns = -0.003,
            .exp_ns = 0.15,
            .block = 8,
        },
};

enum {
    FIRST_IN = 4, /* channels in of a network's first layer, at most */
    THIN_IN = 32,
    FEW_IN = 64,
};

/* What is no x86-64 counts as a Zen 5. */
static const rates *rates_here(void)
{
#if defined(__x86_64__)
    const char *isa = gops_isa();
    if (isa != NULL && (strncmp(isa, "avx512", 6) == 0 || strncmp(isa, "amx", 3) == 0)) {
        return &measured[__builtin_cpu_is("intel") ? WIDE_INTEL : WIDE];
    }
    return &measured[isa != NULL && strncmp(isa, "avx2", 4) == 0 ? AVX2 : NARROW];
#else
    return &measured[WIDE];
#endif
}

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

static int kind_of_dense(const gops_ort_member *member, int64_t in, double taps)
{
    const gops_list *strides = &member->claim.operation.conv.strides;
    const int64_t width = member->output.dims[member->output.rank - 1];
    if (in <= FIRST_IN) {
        return FIRST;
    }
    if (taps == 1) {
        return strides->count > 0 && strides->values[0] > 1 ? STRIDED : in < FEW_IN ? FEW : POINT;
    }
    if (in <= THIN_IN) {
        return THIN;
    }
    return width >= 56 ? ROWS_56 : width >= 28 ? ROWS_28 : width >= 13 ? ROWS_13 : ROWS_0;
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

static double gain_of_conv(const gops_ort_runtime *runtime, const rates *here,
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
        const int kind = kind_of_dense(member, in, weights / (double)in);
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

static double gain_of(const gops_ort_runtime *runtime, const rates *here,
                      const gops_ort_member *member)
{
    double gain = step_ns;
    if (member->kind == GOPS_ORT_PRODUCT) {
        gain += gate_ns * elements(&member->data);
    } else if (member->kind == GOPS_ORT_CONCAT) {
        gain += concat_ns * elements(&member->output);
    } else if (member->kind == GOPS_ORT_MAX_POOL) {
        gain -= maximum_ns * elements(&member->data);
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
    const rates *here = rates_here();
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
static double gain_of_borders(const rates *here, const gops_ort_graph *graph,
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
    const rates *here = rates_here();
    member.output = shape.output;
    *known = true;
    *gain = gain_of(runtime, here, &member) - 2 * step_ns + gain_of_borders(here, graph, &member);
    return NULL;
}
