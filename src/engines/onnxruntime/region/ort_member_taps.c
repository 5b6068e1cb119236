/*
 * ort_member_taps.c: leaves out taps of a convolution that meet padding alone.
 *
 * A 3x3 kernel with dilation 36, padded by 36, as DeepLab has it, has on planes of 14x14 one tap that meets data, and
 * on planes of one pixel every padded kernel has. A member's shapes and weights are constants: the others are left
 * out of its weights, and the pads become smaller. The outputs are the same, as padding takes part in nothing.
 */
#include "engines/onnxruntime/region/ort_member.h"

#include "geometry/geometry.h"

#include <stdlib.h>
#include <string.h>

enum { CHANNEL_AXES = 3 }; /* of a filter: groups, channels out and in */

/* The taps of each channel from `first` on, as many as `kept` has. */
static void copy_weights(const gops_ort_member *member, const int64_t *first,
                         const gops_tensor *kept, unsigned char *to)
{
    const gops_tensor *all = &member->filter;
    const int64_t bytes = (int64_t)gops_type_bytes(all->type);
    const int64_t taps = gops_ort_elements(kept, CHANNEL_AXES);
    const int64_t channels = gops_ort_elements(kept, 0) / taps;
    const unsigned char *from = member->weights;
    for (int64_t c = 0; c < channels; c++) {
        for (int64_t k = 0; k < taps; k++) {
            int64_t rest = k, tap = 0, step = 1;
            for (int32_t i = all->rank - 1; i >= CHANNEL_AXES; i--) {
                tap += (first[i - CHANNEL_AXES] + rest % kept->dims[i]) * step;
                rest /= kept->dims[i];
                step *= all->dims[i];
            }
            memcpy(to + (c * taps + k) * bytes, from + tap * bytes, (size_t)bytes);
        }
        from += gops_ort_elements(all, CHANNEL_AXES) * bytes;
    }
}

bool gops_ort_member_drop_taps(gops_ort_member *member)
{
    gops_ort_operation *operation = &member->claim.operation;
    gops_tensor data = member->data, filter = member->filter;
    gops_conv_attributes conv = operation->conv;
    gops_conv_geometry geometry;
    int64_t first[GOPS_MAX_SPATIAL];
    data.type = filter.type = GOPS_F32; /* as gops_ort_shape */
    if (operation->kind != GOPS_ORT_CONV ||
        gops_conv_resolve(&data, &filter, &conv, (gops_type)0, &geometry, NULL, NULL) != GOPS_OK) {
        return true;
    }
    conv.auto_pad = GOPS_AUTO_PAD_EXPLICIT;
    conv.pads_begin.count = conv.pads_end.count = geometry.axes;
    for (int32_t i = 0; i < geometry.axes; i++) {
        first[i] = gops_conv_trim(&geometry.axis[i]);
        filter.dims[CHANNEL_AXES + i] = geometry.axis[i].kernel;
        conv.pads_begin.values[i] = geometry.axis[i].pad_begin;
        conv.pads_end.values[i] = geometry.axis[i].pad_end;
    }
    filter.type = member->filter.type;
    if (gops_ort_same_shape(&filter, &member->filter)) {
        return true;
    }
    member->made = malloc((size_t)gops_ort_bytes(&filter, 0));
    if (member->made == NULL) {
        return false;
    }
    copy_weights(member, first, &filter, (unsigned char *)member->made);
    member->flops_left_out = gops_ort_member_flops(member);
    member->weights = member->made;
    member->filter = filter;
    member->flops_left_out -= gops_ort_member_flops(member);
    operation->conv = conv;
    operation->kernel.count = 0; /* it was that of the model */
    return true;
}
