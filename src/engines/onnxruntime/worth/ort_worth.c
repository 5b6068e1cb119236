/*
 * ort_worth.c: estimates what a call gains over the runtime's own provider.
 *
 * The runtime keeps a blocked layout from one Conv to the next. What makes the difference:
 *
 * - Its dense layers in that layout, with bias, relu and an Add, take about as long as ours on AMD's
 *   processors with AVX-512; on other x86-64 processors they are faster but for small planes: ort_rates.c.
 * - It fills up the last block of output channels: a network's last layer, 32 -> 3 of 9x9 on 224x224, takes it 22.3 ms
 *   and us 3.7.
 * - Its maxima in that layout take less than ours.
 * - Each of its nodes costs something by itself, and so does each call of ours.
 * - Its layout has no grouped convolutions but depthwise ones unless the channels of a group fill its
 *   blocks: it lowers the others by im2col. Groups of one block are too few sums for its kernel.
 * - What is not in its layout is reordered before and behind: ort_choice.c. That is so of a gate, a
 *   normalization and a transposed layer.
 * - Group normalization is several nodes.
 * - Its sigmoid and tanh are rational approximations with fewer digits than ours, and on the Intel take
 *   nearly as long. A hard swish it computes as part of the Conv and of a product, a Clip behind the Conv.
 * - Where accuracy is relaxed, dense layers may be Winograd's.
 * - For u8 data and i8 weights it keeps the channels last. Without VNNI it adds up products in pairs of 16
 *   bits that saturate; ours are exact and take twice as many instructions, but Winograd's method needs
 *   fewer products.
 *
 * Numbers without a processor were measured on an AMD EPYC with Zen 5, one thread.
 */
#include "engines/onnxruntime/worth/ort_worth.h"

#include "engines/onnxruntime/call/ort_plans.h"
#include "engines/onnxruntime/worth/ort_rates.h"

#include <string.h>

static const gops_ort_common_rates *const everywhere = &gops_ort_rates_everywhere;

enum {
    FIRST_IN = 4,         /* channels in of a network's first layer, at most */
    THIN_IN = 32,         /* of a thin one, at most */
    FEW_IN = 64,          /* few are less */
    DEEP_IN = 512,        /* and many more */
    WHOLE_NORM_NODES = 3, /* LayerNormalization between two Transpose */
    LARGE = 7,            /* taps an axis of a depthwise kernel */
    CHANNEL_UNIT = 4, /* the runtime's layout has convolutions of as many, or fewer than a block */
};

static double elements(const gops_tensor *tensor)
{
    return (double)gops_ort_elements(tensor, 0);
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

/* By the pixels of a row, of the four kinds that begin with that of 56 and more. */
static gops_ort_dense by_row(gops_ort_dense of_56, int64_t width)
{
    return (gops_ort_dense)((int)of_56 + (width >= 56 ? 0 : width >= 28 ? 1 : width >= 13 ? 2 : 3));
}

static gops_ort_dense kind_of_dense(const gops_ort_member *member, int64_t in, double taps)
{
    const gops_list *strides = &member->claim.operation.conv.strides;
    const int64_t width = member->output.dims[member->output.rank - 1];
    if (in <= FIRST_IN) {
        return GOPS_ORT_FIRST;
    }
    if (taps != 1) {
        return in <= THIN_IN ? GOPS_ORT_THIN : by_row(GOPS_ORT_ROWS_56, width);
    }
    return strides->count > 0 && strides->values[0] > 1 ? GOPS_ORT_STRIDED
           : in < FEW_IN                                ? GOPS_ORT_FEW
           : in > DEEP_IN && width < 28                 ? GOPS_ORT_DEEP
                                                        : by_row(GOPS_ORT_POINT_56, width);
}

/* Whether the member's plan would be made by that algorithm, or one of its forms. */
static bool is_planned_by(const gops_ort_runtime *runtime, const gops_ort_member *member,
                          const char *algorithm)
{
    const gops_ort_operation *operation = &member->claim.operation;
    gops_plan_info info = {.size = sizeof info};
    gops_plan *plan = NULL;
    const gops_options options = gops_ort_options(runtime, operation, NULL);
    const bool is = gops_conv_plan_create(&member->data, &member->filter, &operation->conv,
                                          &options, &plan, NULL) == GOPS_OK &&
                    gops_plan_get_info(plan, &info, NULL) == GOPS_OK &&
                    strncmp(info.algorithm, algorithm, strlen(algorithm)) == 0;
    gops_plan_destroy(plan);
    return is;
}

/* Of a filter, for an output. */
static double taps_of(const gops_ort_member *member)
{
    return (double)gops_ort_elements(&member->filter, 3);
}

/* Whether the runtime's layout has dense convolutions of so many input channels. */
static bool has_dense(const gops_ort_rates *here, int64_t in)
{
    return in < here->block || in % CHANNEL_UNIT == 0;
}

/* What counts of the channels with which it fills up the last block of outputs, over the outputs. */
static double filled_up(const gops_ort_rates *here, int64_t in, int64_t out)
{
    const double believed = 0.5; /* few channels do not fill our tiles either */
    const int64_t blocks = (out + here->block - 1) / here->block;
    return has_dense(here, in) ? believed * (double)(blocks * here->block - out) / (double)out : 0;
}

static double gain_of_conv(const gops_ort_runtime *runtime, const gops_ort_rates *here,
                           const gops_ort_member *member)
{
    const bool transposed = member->claim.operation.kind == GOPS_ORT_DECONV;
    const gops_tensor *filter = &member->filter;
    const int64_t groups = filter->dims[0];
    const int64_t in = filter->dims[transposed ? 1 : 2], out = filter->dims[transposed ? 2 : 1];
    const double flops = gops_ort_member_flops(member);
    if (member->is_matrix) {
        return here->matrix_ns * flops + everywhere->matrix_pass_ns * elements(&member->output);
    }
    if (transposed && groups == 1) {
        return flops * here->transposed_ns;
    }
    if (transposed) {
        return flops * here->lowered_ns;
    }
    if (groups == 1) {
        const gops_ort_dense kind = kind_of_dense(member, in, taps_of(member));
        const bool is_winograd = runtime->accuracy == GOPS_ACCURACY_RELAXED &&
                                 is_planned_by(runtime, member, "winograd");
        const double *gains = is_winograd ? here->winograd : here->gains;
        return (gains[kind] + filled_up(here, in, out)) * flops / here->flops_a_ns;
    }
    if (member->made != NULL) {
        return here->average_ns * elements(&member->output);
    }
    if (in == 1) {
        const double taps = taps_of(member);
        return elements(&member->output) * (groups * out % here->block != 0 ? here->odd_depthwise_ns
                                            : taps >= LARGE * LARGE ? here->large_depthwise_ns
                                                                    : here->depthwise_ns);
    }
    if (in % here->block == 0 && out % here->block == 0) {
        const int64_t blocks = out / here->block;
        return flops * here->blocks_ns[blocks < 3 ? blocks - 1 : 2];
    }
    return flops * here->lowered_ns;
}

/* Of u8 data and i8 weights. */
static double gain_of_8_bit(const gops_ort_8_bit_rates *here, const gops_ort_member *member)
{
    const bool transposed = member->claim.operation.kind == GOPS_ORT_DECONV;
    const gops_list *strides = &member->claim.operation.conv.strides;
    const gops_tensor *filter = &member->filter;
    const int64_t groups = filter->dims[0], in = filter->dims[transposed ? 1 : 2];
    const double ops = gops_ort_member_flops(member), taps = taps_of(member);
    if (transposed) {
        return here->transposed_ns * ops;
    }
    if (groups > 1 && in == 1) {
        return here->depthwise_ns * elements(&member->output);
    }
    if (groups > 1) {
        return here->grouped_ns[in < 8 ? 0 : in < 16 ? 1 : in < 32 ? 2 : 3] * ops;
    }
    if (taps > 1 && in > FIRST_IN && strides->count > 0 && strides->values[0] > 1) {
        return here->strided_ns * ops;
    }
    return here->dense_ns[kind_of_dense(member, in, taps)] * ops;
}

static double gain_of(const gops_ort_runtime *runtime, const gops_ort_rates *here,
                      const gops_ort_member *member)
{
    double gain = here->step_ns;
    if (member->kind == GOPS_ORT_PRODUCT) {
        gain += here->gate_ns * elements(&member->data);
    } else if (member->kind == GOPS_ORT_CONCAT) {
        gain += everywhere->concat_ns * elements(&member->output);
    } else if (member->kind == GOPS_ORT_MAX_POOL) {
        gain -= here->maximum_ns * elements(&member->output);
    } else if (member->kind == GOPS_ORT_RESIZE && member->resize.linear) {
        gain -= everywhere->interpolate_ns * elements(&member->output);
    } else if (member->kind == GOPS_ORT_AVERAGE_POOL) {
        gain += here->average_ns * elements(&member->output);
    } else if (member->is_affine) {
        gain += everywhere->affine_ns * elements(&member->data);
    } else if (member->kind == GOPS_ORT_SHUFFLE) {
        gain *= (double)member->claim.node_count;
    } else if (member->kind == GOPS_ORT_CHANNEL_NORM) {
        const bool is_whole = member->claim.node_count <= WHOLE_NORM_NODES;
        gain += (is_whole ? everywhere->layer_norm_ns : everywhere->channel_norm_ns) *
                elements(&member->data);
    } else if (member->kind == GOPS_ORT_PLAN) {
        gain +=
            member->claim.operation.kind == GOPS_ORT_NORM
                ? here->norm_ns * elements(&member->data)
                : gain_of_conv(runtime, here, member) + member->flops_left_out / here->flops_a_ns;
        if (is_exponential(member->claim.operation.activation.kind)) {
            gain -= here->exp_ns * elements(&member->output);
        }
        if (member->claim.operation.activation.kind == GOPS_ACTIVATION_HARD_SWISH) {
            gain -= here->hard_ns * elements(&member->output);
        }
        if (member->claim.operation.activation.kind == GOPS_ACTIVATION_CLAMP) {
            gain += here->clip_ns * elements(&member->output);
        }
    }
    return gain;
}

/* Whether the runtime keeps the layout of such nodes from one to the next. */
static bool has_layout(const gops_ort_rates *here, const gops_ort_member *member)
{
    const int64_t groups = member->filter.dims[0];
    const int64_t out = member->filter.dims[1], in = member->filter.dims[2];
    switch (member->kind) {
    case GOPS_ORT_PLAN:
        return member->claim.operation.kind == GOPS_ORT_CONV && !member->is_matrix &&
               (groups == 1 ? has_dense(here, in)
                : in == 1   ? groups * out % here->block == 0
                            : in % here->block == 0 && out % here->block == 0);
    case GOPS_ORT_MAX_POOL:
    case GOPS_ORT_AVERAGE_POOL:
    case GOPS_ORT_GLOBAL_AVERAGE:
    case GOPS_ORT_CONCAT:
    case GOPS_ORT_RESIZE:
        return true;
    default:
        return false;
    }
}

static void weigh_floats(const gops_ort_runtime *runtime, const gops_ort_member *member,
                         gops_ort_item *item)
{
    const gops_ort_rates *here = gops_ort_rates_here();
    item->gain = gain_of(runtime, here, member);
    item->copy_ns = member->kind == GOPS_ORT_CONCAT ? everywhere->concat_ns : 0;
    item->reorder_ns = has_layout(here, member) ? everywhere->reorder_ns : 0;
}

/* What a large convolution of u8 data and i8 weights loses that no algorithm but `gemm` serves, 0 for all others. */
static double loss_by_gemm(const gops_ort_runtime *runtime, const gops_ort_member *member)
{
    const double least_ns = 1e5; /* to end a region for it */
    const double loss = gops_ort_member_flops(member) * everywhere->gemm_ns;
    return loss > least_ns && member->claim.operation.kind == GOPS_ORT_CONV &&
                   is_planned_by(runtime, member, "gemm")
               ? loss
               : 0;
}

/* Of what computes 8-bit integers. */
static void weigh_8_bit(const gops_ort_runtime *runtime, const gops_ort_member *member,
                        gops_ort_item *item)
{
    const gops_ort_8_bit_rates *here = gops_ort_8_bit_rates_here();
    const gops_ort_operation *operation = &member->claim.operation;
    item->is_certain =
        operation->types[GOPS_ORT_DATA] != GOPS_U8 || operation->types[GOPS_ORT_FILTER] != GOPS_I8;
    if (here == NULL && !item->is_certain) {
        item->gain = -loss_by_gemm(runtime, member);
        item->is_8_bit = true;
        item->is_certain = item->gain == 0;
    } else if (!item->is_certain) {
        item->is_8_bit = true;
        item->gain = gain_of_8_bit(here, member) - 2 * gops_ort_rates_here()->call_ns;
        item->reorder_ns = operation->kind == GOPS_ORT_CONV ? here->reorder_ns : 0;
    }
}

/* A pool or a Concat. */
static void weigh_8_bit_pass(gops_type type, gops_ort_item *item)
{
    const gops_ort_8_bit_rates *here = gops_ort_8_bit_rates_here();
    item->is_certain = here == NULL || type != GOPS_U8;
    if (!item->is_certain) {
        item->is_8_bit = true;
        item->reorder_ns = here->reorder_ns;
    }
}

void gops_ort_weigh_member(const gops_ort_runtime *runtime, const gops_ort_member *member,
                           gops_ort_item *item)
{
    *item = (gops_ort_item){.nodes = member->claim.nodes,
                            .node_count = member->claim.node_count,
                            .chain = member->chain};
    if (member->kind != GOPS_ORT_PLAN && member->data.type != GOPS_F32) {
        weigh_8_bit_pass(member->data.type, item);
    } else if (gops_ort_is_quantized(&member->claim.operation)) {
        weigh_8_bit(runtime, member, item);
    } else {
        item->region = (size_t)member->level;
        weigh_floats(runtime, member, item);
    }
}

/* The shapes of a claim as if it were of floats; *known is false where the model does not give them. */
static ort_status *read_shapes(const gops_ort_runtime *runtime, const gops_ort_claim *claim,
                               gops_ort_member *member, bool *known)
{
    gops_tensor weights;
    gops_shape shape;
    bool has_weights;
    ort_status *status =
        gops_ort_value_tensor(runtime, claim->infos[GOPS_ORT_DATA], &member->data, known);
    if (status == NULL) {
        status =
            gops_ort_value_tensor(runtime, claim->infos[GOPS_ORT_FILTER], &weights, &has_weights);
    }
    *known = status == NULL && *known && has_weights && member->data.rank >= 3 &&
             member->data.dims[1] > 0;
    if (*known) {
        member->data.type = weights.type = GOPS_F32;
        gops_ort_close_sizes(&member->data);
        *known =
            gops_ort_is_closed(&weights) &&
            gops_ort_filter_tensor(&claim->operation, &weights, &member->filter) &&
            gops_ort_shape(&claim->operation, &member->data, &member->filter, &shape) == GOPS_OK;
        member->output = shape.output;
    }
    return status;
}

ort_status *gops_ort_weigh_claim(const gops_ort_runtime *runtime, const gops_ort_claim *claim,
                                 gops_ort_item *item)
{
    const gops_ort_operation *operation = &claim->operation;
    gops_ort_member member = {.kind = GOPS_ORT_PLAN, .claim = *claim};
    bool known = operation->kind != GOPS_ORT_NORM &&
                 (gops_ort_is_quantized(operation) || operation->types[GOPS_ORT_DATA] == GOPS_F32);
    *item = (gops_ort_item){.nodes = claim->nodes, .node_count = claim->node_count};
    ort_status *status = known ? read_shapes(runtime, claim, &member, &known) : NULL;
    if (status != NULL || !known) {
        item->is_certain = true;
    } else if (gops_ort_is_quantized(operation)) {
        weigh_8_bit(runtime, &member, item);
    } else {
        weigh_floats(runtime, &member, item);
    }
    return status;
}

void gops_ort_weigh_pool(const gops_ort_claim *claim, gops_ort_item *item)
{
    *item = (gops_ort_item){.nodes = claim->nodes, .node_count = claim->node_count};
    weigh_8_bit_pass(claim->operation.types[GOPS_ORT_DATA], item);
}
