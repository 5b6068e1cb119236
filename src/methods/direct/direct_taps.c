/* direct_taps.c: which taps are inside the data, and the lists of them that tiles go through. */
#include "methods/direct/direct_layout.h"

#include "base/checked.h"

void gops_direct_taps_inside(const gops_axis *axis, int64_t output, int64_t *first, int64_t *last)
{
    const int64_t at = output * axis->stride - axis->pad_begin;
    *first = 0;
    *last = axis->kernel;
    if (at < 0) {
        *first = gops_min(axis->kernel, gops_ceil_div(-at, axis->dilation));
    }
    if (at + (axis->kernel - 1) * axis->dilation >= axis->data) {
        *last = gops_max(*first, gops_floor_div(axis->data - 1 - at, axis->dilation) + 1);
    }
}

void gops_direct_outputs_inside(const gops_axis *axis, int64_t begin, int64_t count, int64_t tap,
                                int64_t *first, int64_t *last)
{
    const int64_t at = tap * axis->dilation - axis->pad_begin;
    *first = gops_clamp(gops_ceil_div(-at, axis->stride) - begin, 0, count);
    *last =
        gops_clamp(gops_floor_div(axis->data - 1 - at, axis->stride) + 1 - begin, *first, count);
}

void gops_direct_list_taps(const gops_plan *plan, gops_direct_tap *taps, int64_t *ends)
{
    const gops_direct_layout *p = gops_direct_layout_of(plan);
    const gops_axis *x = &plan->conv.axis[plan->conv.axes - 1];
    const int64_t max_cut = gops_direct_max_cut(p->tile->size);
    const int64_t inner_tiles = p->row_tiles - p->left_tiles - p->right_tiles;
    int64_t entries = 0;
    for (int64_t tile = 0; tile < p->row_tiles; tile++) {
        const int64_t begin = tile * p->pixels, count = gops_min(p->pixels, x->output - begin);
        const int64_t list = gops_direct_tap_list(p, tile);
        if (list > 0) {
            ends[list - 1] = entries; /* without inner tiles their list is empty */
        }
        for (int64_t tap = 0; tap < x->kernel; tap++) {
            int64_t first, last;
            gops_direct_outputs_inside(x, begin, count, tap, &first, &last);
            if (first < last) {
                const int64_t range = gops_direct_range(p->pixels, max_cut, first, last);
                taps[entries++] = (gops_direct_tap){tap * x->dilation, tap, range};
            }
        }
        ends[list] = entries;
        if (tile == p->left_tiles && inner_tiles > 1) {
            tile += inner_tiles - 1; /* they share this list */
        }
    }
}
