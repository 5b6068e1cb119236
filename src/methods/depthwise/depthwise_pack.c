/*
 * depthwise_pack.c: the weights of depthwise convolutions, which are few, in two orders.
 *
 * First as they are given, [groups, C_OUT, taps]: masked and shuffle read that, and an item of
 * depthwise_rows_run.c copies a filter into the order of its tables. Then [blocks, C_OUT, taps,
 * lanes] for depthwise_blocked.c, with zeros in lanes without a group.
 */
#include "methods/depthwise/depthwise_method.h"

#include "base/checked.h"

#include <string.h>

int64_t gops_depthwise_blocked_offset(const gops_plan *plan)
{
    const gops_conv_geometry *conv = &plan->conv;
    return gops_round_up(conv->groups * conv->channels_out * conv->taps *
                             gops_compute_bytes(plan->type->compute),
                         GOPS_WORKSPACE_ALIGNMENT);
}

int64_t gops_depthwise_filter_bytes(const gops_plan *plan)
{
    const gops_conv_geometry *conv = &plan->conv;
    return gops_depthwise_blocked_offset(plan) +
           gops_round_up(conv->groups, gops_depthwise_lanes(plan)) * conv->channels_out *
               conv->taps * gops_compute_bytes(plan->type->compute);
}

void gops_depthwise_pack(const gops_plan *plan, const void *weights, const int32_t *zero_points,
                         void *packed)
{
    (void)zero_points; /* serves no quantized plan */
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t bytes = gops_compute_bytes(plan->type->compute),
                  lanes = gops_depthwise_lanes(plan);
    const int64_t group_weights = conv->channels_out * conv->taps;
    const int64_t offset = gops_depthwise_blocked_offset(plan);
    memset(packed, 0, (size_t)plan->filter_bytes);
    plan->filter_type->load(packed, weights, conv->groups * group_weights);
    for (int64_t g = 0; g < conv->groups; g++) {
        unsigned char *block = (unsigned char *)packed + offset +
                               (g / lanes * group_weights * lanes + g % lanes) * bytes;
        const unsigned char *filter = (const unsigned char *)packed + g * group_weights * bytes;
        for (int64_t i = 0; i < group_weights; i++) {
            memcpy(block + i * lanes * bytes, filter + i * bytes, (size_t)bytes);
        }
    }
}
