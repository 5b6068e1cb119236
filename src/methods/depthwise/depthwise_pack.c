/*
 * depthwise_pack.c: weights for one channel a group, twice, since they are few: in their
 * own order, which an item of direct_run.c brings into that of its tables; and [bundles, C_OUT,
 * taps, lanes] for direct_bundle.c, where lanes without a group get zeros.
 */
#include "methods/depthwise/depthwise_method.h"

#include "base/checked.h"

#include <string.h>

static int64_t lanes(const gops_plan *plan)
{
    return plan->kernels->depthwise->rows[plan->type->compute].lanes;
}

int64_t gops_depthwise_blockeds_from(const gops_plan *plan)
{
    const gops_conv_geometry *conv = &plan->conv;
    return gops_round_up(conv->groups * conv->channels_out * conv->taps *
                             gops_compute_bytes(plan->type->compute),
                         GOPS_WORKSPACE_ALIGNMENT);
}

int64_t gops_depthwise_filter_bytes(const gops_plan *plan)
{
    const gops_conv_geometry *conv = &plan->conv;
    return gops_depthwise_blockeds_from(plan) + gops_round_up(conv->groups, lanes(plan)) *
                                                    conv->channels_out * conv->taps *
                                                    gops_compute_bytes(plan->type->compute);
}

void gops_depthwise_pack(const gops_plan *plan, const void *weights, void *packed)
{
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t bytes = gops_compute_bytes(plan->type->compute), width = lanes(plan);
    const int64_t run = conv->channels_out * conv->taps;
    const int64_t from = gops_depthwise_blockeds_from(plan);
    memset(packed, 0, (size_t)plan->filter_bytes);
    plan->filter_type->load(packed, weights, conv->groups * run);
    for (int64_t g = 0; g < conv->groups; g++) {
        unsigned char *bundle =
            (unsigned char *)packed + from + (g / width * run * width + g % width) * bytes;
        const unsigned char *filter = (const unsigned char *)packed + g * run * bytes;
        for (int64_t i = 0; i < run; i++) {
            memcpy(bundle + i * width * bytes, filter + i * bytes, (size_t)bytes);
        }
    }
}
