/* implicit_pack.c: packs the weights of an implicit convolution. */
#include "methods/implicit/implicit_layout.h"

#include "base/checked.h"

#include <string.h>

/* The same as gops_implicit_pack for lanes. */
static void pack_lanes(const gops_plan *plan, const unsigned char *weights,
                       const int32_t *zero_points, uint32_t *to)
{
    const gops_implicit *p = gops_implicit_read(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t rows = conv->groups * conv->channels_out;
    const int64_t size = plan->filter_type->bytes, ones_mr = gops_implicit_ones_mr(plan, p);
    const gops_lanes_filter filter = gops_lanes_filter_of(plan, to, p->depth, ones_mr, rows);
    gops_axis axis[GOPS_MAX_SPATIAL];
    gops_implicit_axes(plan, p, axis);
    const int64_t inner = p->depth / p->planes / axis[0].kernel;
    memset(to, 0, (size_t)plan->filter_bytes);
    for (int64_t tap = 0; filter.ones != NULL && tap < conv->taps; tap++) {
        const gops_implicit_tap in_k = gops_implicit_find_tap(plan, tap);
        const int64_t at = in_k.tap % inner;
        gops_lanes_panel panel = {
            .mr = ones_mr, .planes = p->planes, .form = p->form, .first = in_k.plane};
        panel.to = filter.ones + (in_k.tap - at) * p->planes * ones_mr;
        gops_lanes_pack_ones(plan, at, inner, &panel);
    }
    for (int64_t o = 0, count; o < rows; o += count) {
        const int64_t left = conv->channels_out - o % conv->channels_out;
        const int64_t mr = gops_implicit_mr(plan, p, left);
        gops_lanes_panel panel = {.mr = mr, .planes = p->planes, .form = p->form};
        count = gops_min(mr, left);
        for (int64_t i = 0; i < count; i++) {
            uint32_t unused = 0, *sum = filter.sums != NULL ? &filter.sums[o + i] : &unused;
            for (int64_t tap = 0; tap < conv->taps; tap++) {
                const gops_implicit_tap in_k = gops_implicit_find_tap(plan, tap);
                const int64_t at = in_k.tap % inner;
                panel.to = to + (in_k.tap - at) * p->planes * mr;
                panel.first = in_k.plane;
                gops_lanes_pack_tap(plan, plan->quantized ? zero_points[o + i] : 0,
                                    weights + ((o + i) * conv->k + tap) * size, conv->taps, at,
                                    inner, &panel, i, sum);
            }
        }
        to += p->depth * mr;
    }
}

/* The weights of `count` channels, which lie K apart, for one tile: [K][MR], in the order of K of a blocked
 * input (lanes.h) or of the filter. */
static void pack_panel(const gops_plan *plan, const unsigned char *from, int64_t count, int64_t mr,
                       unsigned char *to)
{
    const gops_implicit *p = gops_implicit_read(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const gops_type_row *type = plan->filter_type;
    const int64_t row = mr * gops_compute_bytes(type->compute);
    const bool blocked = p->form == GOPS_TILE_BLOCKED;
    const int64_t block = blocked ? GOPS_LANES_BLOCK : 1;
    const int64_t inner = blocked ? conv->taps / conv->axis[0].kernel : conv->taps;
    for (int64_t k = 0; k < p->depth; k++, to += row) {
        const int64_t outer = k / (inner * p->planes), left = k % (inner * p->planes);
        const int64_t first = left / (inner * block) * block;
        const int64_t width = gops_min(block, p->planes - first), at = left - first * inner;
        const int64_t c = first + at % width, tap = outer * inner + at / width;
        const unsigned char *weight = from + (c * conv->taps + tap) * type->bytes;
        for (int64_t i = 0; i < count && c < conv->channels_in; i++) {
            type->load(to + i * row / mr, weight + i * conv->k * type->bytes, 1);
        }
    }
}

void gops_implicit_pack(const gops_plan *plan, const void *weights, const int32_t *zero_points,
                        void *packed)
{
    const gops_implicit *p = gops_implicit_read(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const gops_type_row *type = plan->filter_type;
    if (gops_plan_has_lanes(plan)) {
        pack_lanes(plan, weights, zero_points, packed);
        return;
    }
    const unsigned char *from = weights;
    unsigned char *to = packed;
    memset(packed, 0, (size_t)plan->filter_bytes);
    for (int64_t o = 0, count; o < conv->groups * conv->channels_out; o += count) {
        const int64_t left = conv->channels_out - o % conv->channels_out;
        const int64_t mr = gops_implicit_mr(plan, p, left);
        count = gops_min(mr, left);
        pack_panel(plan, from + o * conv->k * type->bytes, count, mr, to);
        to += mr * p->depth * gops_compute_bytes(type->compute);
    }
}
