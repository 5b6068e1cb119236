/*
 * ort_worth.c: estimates what a region gains over the runtime's own provider.
 *
 * The runtime keeps a blocked layout from one Conv to the next. On an AMD EPYC with Zen 5 dense
 * convolutions in it, with bias, relu and an Add, take as long as ours; they count nothing there. On
 * Intel's processors with AVX-512 that depends on the layer: dense_share. What else makes the
 * difference, measured on the Zen 5, one thread, in ns:
 *
 * - Each of its nodes costs about 1 us more than a step of ours.
 * - Its layout has no grouped convolutions but depthwise ones unless the channels of a group fill its
 *   blocks: it lowers the others by im2col. Groups of one block are too few sums for its kernel.
 * - Its depthwise kernels take longer than ours.
 * - It reorders the data of a gate to the plain layout and back.
 * - Group normalization is several nodes.
 * - Its sigmoid and tanh are rational approximations with fewer digits than ours, and on the Intel take nearly as
 *   long. A hard swish it computes as part of the Conv and of a product.
 */
#include "ort_worth.h"

#include <string.h>

static const double step_ns = 1000, depthwise_ns = 0.08, gate_ns = 0.15, norm_ns = 0.5;
static const double lowered_flops_a_ns = 20, grouped_flops_a_ns = 80;
static const double block_flops_a_ns = 80, our_block_flops_a_ns = 130;
/* Of an element: in 256 bits and less, in 512 on Zen 5, on an Intel Xeon of Granite Rapids' class. */
enum { NARROW, WIDE, WIDE_INTEL, KINDS };
static const double exp_ns[KINDS] = {0.15, 0.1, 0.03}, hard_swish_ns[KINDS] = {0, 0, 0.12};
static const double dense_flops_a_ns = 190; /* of the runtime on the Intel */

enum {
    BLOCK = 16,   /* channels that the runtime's layout keeps side by side */
    FIRST_IN = 4, /* channels in of a network's first layer, at most */
    FEW_IN = 64,
};

static int processor(void)
{
    const char *isa = gops_isa();
    if (isa == NULL || (strncmp(isa, "avx512", 6) != 0 && strcmp(isa, "amx") != 0)) {
        return NARROW;
    }
#if defined(__x86_64__)
    return __builtin_cpu_is("intel") ? WIDE_INTEL : WIDE;
#else
    return WIDE;
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

/* What a dense layer gains of the time that the runtime takes on an Intel Xeon of Granite Rapids' class:
 * the mean over 9 networks of torchvision, with one thread or two, whichever is less. */
static double dense_share(const gops_ort_member *member, int64_t in, double taps)
{
    const gops_list *strides = &member->claim.operation.conv.strides;
    const int64_t width = member->output.dims[member->output.rank - 1];
    if (in <= FIRST_IN) {
        return 0;
    }
    if (taps == 1) {
        return strides->count > 0 && strides->values[0] > 1 ? 0.1 : in < FEW_IN ? -0.04 : -0.08;
    }
    return width >= 56 ? -0.13 : width >= 28 ? -0.07 : width >= 13 ? 0.02 : 0.2;
}

static double gain_of_conv(const gops_ort_member *member)
{
    const bool transposed = member->claim.operation.kind == GOPS_ORT_DECONV;
    const gops_tensor *filter = &member->filter;
    const int64_t groups = filter->dims[0];
    const int64_t in = filter->dims[transposed ? 1 : 2], out = filter->dims[transposed ? 2 : 1];
    const double weights = elements(filter) / (double)(groups * (transposed ? in : out));
    const double flops = 2 * weights * elements(transposed ? &member->data : &member->output);
    if (transposed) {
        return flops * (1 / lowered_flops_a_ns - 1 / grouped_flops_a_ns);
    }
    if (groups == 1 && processor() == WIDE_INTEL) {
        return dense_share(member, in, weights / (double)in) * flops / dense_flops_a_ns;
    }
    if (groups == 1 || member->made != NULL) {
        return 0;
    }
    if (in == 1) {
        return depthwise_ns * elements(&member->output);
    }
    if (in % BLOCK == 0 && out % BLOCK == 0) {
        /* On the Intel as well, but with two threads regnet_x_400mf takes 1.04 of its time. */
        return out == BLOCK && processor() != WIDE_INTEL
                   ? flops * (1 / block_flops_a_ns - 1 / our_block_flops_a_ns)
                   : 0;
    }
    return flops * (1 / lowered_flops_a_ns - 1 / grouped_flops_a_ns);
}

static double gain_of(const gops_ort_member *member)
{
    double gain = step_ns;
    if (member->kind == GOPS_ORT_PRODUCT) {
        gain += gate_ns * elements(&member->data);
    } else if (member->kind == GOPS_ORT_PLAN) {
        gain += member->claim.operation.kind == GOPS_ORT_NORM ? norm_ns * elements(&member->data)
                                                              : gain_of_conv(member);
        if (is_exponential(member->claim.operation.activation.kind)) {
            gain -= exp_ns[processor()] * elements(&member->output);
        }
        if (member->claim.operation.activation.kind == GOPS_ACTIVATION_HARD_SWISH) {
            gain -= hard_swish_ns[processor()] * elements(&member->output);
        }
    }
    return gain;
}

double gops_ort_gain(gops_ort_member *const *members, size_t count)
{
    double gain = 0;
    for (size_t i = 0; i < count; i++) {
        gain += gain_of(members[i]);
    }
    return gain;
}
