/*
 * ort_member_taps.c: leaves out taps of a convolution that meet padding alone.
 *
 * A 3x3 kernel with dilation 36, padded by 36, as DeepLab has it, has on planes of 14x14 one tap that meets data, and
 * on planes of one pixel every padded kernel has. A member's shapes and weights are constants: the others are left
 * out of its weights, and the pads become smaller. The outputs are the same, as padding takes part in nothing.
 */
#include "engines/onnxruntime/region/ort_member.h"

#include <stdlib.h>
#include <string.h>

enum { CHANNEL_AXES = 3 }; /* of a filter: groups, channels out and in */

/* Of a spatial axis. Output o reads pixel o * stride + tap * dilation - pads[0]. */
typedef struct taps {
    int64_t data, outputs, stride, dilation, pads[2];
    int64_t all, first, count; /* that the kernel has, and that are kept */
} taps;

static bool meets_data(const taps *of, int64_t tap)
{
    const int64_t begin = tap * of->dilation - of->pads[0];
    return begin < of->data && begin + (of->outputs - 1) * of->stride >= 0;
}

/* Keeps what meets data, and more where the pads of less would have to be below 0. */
static void keep_taps(taps *of)
{
    int64_t last = of->all - 1;
    of->first = 0;
    while (of->first < last && !meets_data(of, of->first) &&
           (of->first + 1) * of->dilation <= of->pads[0]) {
        of->first++;
    }
    while (last > of->first && !meets_data(of, last)) {
        last--;
    }
    of->count = last - of->first + 1;
    of->pads[0] -= of->first * of->dilation;
    const int64_t reach = (of->outputs - 1) * of->stride + (of->count - 1) * of->dilation + 1;
    of->pads[1] = reach - of->data - of->pads[0];
    if (of->pads[1] < 0 && -of->pads[1] < of->stride) {
        of->pads[1] = 0; /* the stride leaves out as many pixels at the end */
    }
}

static int64_t number(const gops_list *list, int32_t i)
{
    return i < list->count ? list->values[i] : 1;
}

/* The taps that are kept, of each channel. */
static void copy_weights(const gops_ort_member *member, const taps *axes, int32_t axis_count,
                         unsigned char *to)
{
    const int64_t bytes = (int64_t)gops_type_bytes(member->filter.type);
    const int64_t channels = member->filter.dims[0] * gops_ort_elements(&member->filter, 1) /
                             gops_ort_elements(&member->filter, CHANNEL_AXES);
    const unsigned char *from = member->weights;
    int64_t kept = 1;
    for (int32_t i = 0; i < axis_count; i++) {
        kept *= axes[i].count;
    }
    for (int64_t c = 0; c < channels; c++) {
        for (int64_t k = 0; k < kept; k++) {
            int64_t rest = k, tap = 0, step = 1;
            for (int32_t i = axis_count - 1; i >= 0; i--) {
                tap += (axes[i].first + rest % axes[i].count) * step;
                rest /= axes[i].count;
                step *= axes[i].all;
            }
            memcpy(to + (c * kept + k) * bytes, from + tap * bytes, (size_t)bytes);
        }
        from += gops_ort_elements(&member->filter, CHANNEL_AXES) * bytes;
    }
}

/* False where nothing is to be left out. */
static bool find_taps(const gops_ort_member *member, taps *axes, int32_t axis_count)
{
    const gops_ort_operation *operation = &member->claim.operation;
    gops_shape shape;
    bool does = false, serves = true;
    if (gops_ort_shape(operation, &member->data, &member->filter, &shape) != GOPS_OK) {
        return false;
    }
    for (int32_t i = 0; i < axis_count; i++) {
        axes[i] = (taps){.data = member->data.dims[2 + i],
                         .outputs = member->output.dims[2 + i],
                         .stride = number(&operation->conv.strides, i),
                         .dilation = number(&operation->conv.dilations, i),
                         .pads = {shape.pads_begin.values[i], shape.pads_end.values[i]},
                         .all = member->filter.dims[CHANNEL_AXES + i]};
        keep_taps(&axes[i]);
        does = does || axes[i].count < axes[i].all;
        serves = serves && axes[i].pads[1] >= 0;
    }
    return does && serves;
}

bool gops_ort_member_drop_taps(gops_ort_member *member)
{
    const int32_t axis_count = member->data.rank - 2;
    taps axes[GOPS_MAX_SPATIAL];
    if (member->claim.operation.kind != GOPS_ORT_CONV || !find_taps(member, axes, axis_count)) {
        return true;
    }
    gops_ort_operation *operation = &member->claim.operation;
    gops_tensor filter = member->filter;
    for (int32_t i = 0; i < axis_count; i++) {
        filter.dims[CHANNEL_AXES + i] = axes[i].count;
    }
    member->made = malloc((size_t)gops_ort_bytes(&filter, 0));
    if (member->made == NULL) {
        return false;
    }
    copy_weights(member, axes, axis_count, (unsigned char *)member->made);
    member->flops_left_out = gops_ort_member_flops(member);
    member->weights = member->made;
    member->filter = filter;
    member->flops_left_out -= gops_ort_member_flops(member);
    operation->conv.auto_pad = GOPS_AUTO_PAD_EXPLICIT;
    operation->conv.pads_begin.count = operation->conv.pads_end.count = axis_count;
    operation->kernel.count = 0;
    for (int32_t i = 0; i < axis_count; i++) {
        operation->conv.pads_begin.values[i] = axes[i].pads[0];
        operation->conv.pads_end.values[i] = axes[i].pads[1];
    }
    return true;
}
