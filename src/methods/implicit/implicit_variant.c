/* implicit_variant.c: what the packed filter of an implicit convolution depends on besides its shape. A filter
 * that is packed for one size of the data serves others, whose plans want the same variant. */
#include "methods/implicit/implicit_layout.h"

enum { PLANES = 1, JOINED = 2, PIXELS_FORM = 4, MR = 8 };

int64_t gops_implicit_variant(const gops_implicit *p)
{
    return p->mr * MR + p->pixels_form * PIXELS_FORM + p->joined * JOINED + p->by_planes * PLANES;
}

bool gops_implicit_is_wanted(const gops_plan *plan, int64_t mr, bool pixels_form, bool joined)
{
    const gops_implicit p = {.mr = mr, .pixels_form = pixels_form, .joined = joined};
    return plan->wanted_variant == 0 ||
           plan->wanted_variant / JOINED == gops_implicit_variant(&p) / JOINED;
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

bool gops_implicit_has_one_axis(const gops_conv_geometry *conv)
{
    for (int a = 0; a < conv->axes; a++) {
        if (conv->axis[a].kernel != 1 || conv->axis[a].stride != 1 ||
            conv->axis[a].output != conv->axis[a].data) {
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
    return plan->wanted_variant != 0 ? plan->wanted_variant % JOINED == PLANES
                                     : gops_implicit_has_one_axis(&plan->conv);
}
