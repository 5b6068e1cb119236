/*
 * ort_worth.c: estimates what a region gains over the runtime's own provider.
 *
 * The runtime keeps a blocked layout from one Conv to the next, in which dense convolutions, with bias,
 * relu and an Add, take as long as ours; they count nothing here. What makes the difference, measured
 * on an AMD EPYC with Zen 5, one thread, in ns:
 *
 * - Each of its nodes costs about 1 us more than a step of ours.
 * - Its layout has no grouped convolutions but depthwise ones unless the channels of a group fill its
 *   blocks: it lowers the others by im2col.
 * - Its depthwise kernels take longer than ours.
 * - It reorders the data of a gate to the plain layout and back.
 * - Group normalization is several nodes.
 * - Its sigmoid and tanh are rational approximations that take half as long as ours, which are exact to
 *   a few units in the last place; in 256 bits, a third.
 */
#include "ort_worth.h"

#include <string.h>

static const double step_ns = 1000, depthwise_ns = 0.08, gate_ns = 0.15, norm_ns = 0.5;
static const double lowered_flops_a_ns = 20, grouped_flops_a_ns = 80;
static const double exp_ns[] = {0.4, 0.2}; /* in 256 bits and less, in 512 */

enum { BLOCK = 16 }; /* channels that the runtime's layout keeps side by side */

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
    if (groups == 1 || member->made != NULL) {
        return 0;
    }
    if (in == 1) {
        return depthwise_ns * elements(&member->output);
    }
    return in % BLOCK == 0 && out % BLOCK == 0
               ? 0
               : flops * (1 / lowered_flops_a_ns - 1 / grouped_flops_a_ns);
}

static double gain_of(const gops_ort_member *member)
{
    const char *isa = gops_isa();
    const bool wide = isa != NULL && (strncmp(isa, "avx512", 6) == 0 || strcmp(isa, "amx") == 0);
    double gain = step_ns;
    if (member->kind == GOPS_ORT_PRODUCT) {
        gain += gate_ns * elements(&member->data);
    } else if (member->kind == GOPS_ORT_PLAN) {
        gain += member->claim.operation.kind == GOPS_ORT_NORM ? norm_ns * elements(&member->data)
                                                              : gain_of_conv(member);
        if (is_exponential(member->claim.operation.activation.kind)) {
            gain -= exp_ns[wide] * elements(&member->output);
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
