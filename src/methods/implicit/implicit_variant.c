/* implicit_variant.c: what the packed filter of an implicit convolution depends on besides its shape. A filter
 * that is packed for one size of the data serves others, whose plans want the same variant. */
#include "methods/implicit/implicit_layout.h"

/* Whether the input is blocked depends on the size of the data for quads, which are packed alike. */
int64_t gops_implicit_variant(int64_t mr, gops_tile_form form)
{
    return mr * GOPS_TILE_FORMS + (form == GOPS_TILE_BLOCKED ? GOPS_TILE_CHANNELS : form);
}

bool gops_implicit_unpadded(int axes, const gops_axis *axis)
{
    for (int a = 0; a < axes; a++) {
        const int64_t last =
            (axis[a].output - 1) * axis[a].stride + (axis[a].kernel - 1) * axis[a].dilation;
        if (axis[a].pad_begin != 0 || last >= axis[a].data) {
            return false;
        }
    }
    return true;
}

/* A single pixel has a stride of 1, whatever that of other sizes is. Then tiles that are slower here take the
 * filter. */
bool gops_implicit_takes_planes(const gops_plan *plan)
{
    if (gops_plan_tiles(plan)->planes == NULL || plan->conv.taps != 1) {
        return false;
    }
    return plan->wanted_variant != 0
               ? plan->wanted_variant % GOPS_TILE_FORMS == GOPS_TILE_WIDE_PLANES
               : gops_conv_is_pointwise(&plan->conv);
}
