/*
 * subconv_deconv.c: GroupConvolutionBackpropData by phases, each an implicit convolution;
 * subconv.h and implicit.h.
 *
 * All phases read one frame of the data. The sums of all phases of a `span` of output channels are
 * made for a chunk of positions and then interleaved, so that the output is written in runs along
 * its last axis and every element once.
 */
#include "methods/methods.h"
#include "methods/subconv/subconv_deconv.h"

#include "base/checked.h"
#include "base/error.h"

#include <stdio.h>

static void explain(gops_plan *plan, const gops_subconv_parameters *p,
                    const gops_subconv_view *view)
{
    static const char *const forms[] = {
        [GOPS_SUBCONVS_OF_DATA] = "the outputs' phases",
        [GOPS_SUBCONVS_OF_OUTPUT] = "the outputs' phases from the first output on",
        [GOPS_SUBCONVS_OF_TAPS] = "one data pixel, each of its taps a phase of the outputs",
    };
    snprintf(plan->why, sizeof plan->why,
             "%s, %lld of them, as %lld convolutions with stride 1, no column matrix: tiles of "
             "%lld channels by %s, %lld bands",
             forms[p->form], (long long)gops_subconv_count(view), (long long)p->products,
             (long long)p->implicit.tile,
             p->implicit.pixels ? "vectors of pixels" : "single pixels",
             (long long)p->implicit.bands);
}

static gops_status prepare(gops_plan *plan, int64_t worker_limit, gops_error *error)
{
    gops_subconv_parameters *p = gops_parameters(plan);
    const gops_conv_geometry *conv = &plan->conv;
    gops_subconv_view view;
    gops_subconv_kinds kinds;
    if (!gops_subconv_plan(plan, worker_limit)) {
        if (gops_subconv_plan(plan, GOPS_UNLIMITED)) {
            return gops_implicit_refuse(plan, worker_limit, 1, error);
        }
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "subconv takes strides of at most %d output phases in all, strides and "
                         "dilations below %d with %d spatial axes, and data of which the second "
                         "level cache holds what one output pixel reads",
                         GOPS_MAX_SUBCONVS, 1 << (24 / conv->axes), (int)conv->axes);
    }
    if (!gops_subconv_look(conv, p->form, &view) || !gops_subconv_count_kinds(&view, &kinds)) {
        return gops_fail(error, GOPS_UNSUPPORTED, "subconv does not serve these strides");
    }
    p->weights = gops_subconv_span_weights(plan, p, &kinds, p->span);
    plan->items = conv->batch * conv->groups * p->implicit.parts * p->implicit.bands;
    plan->filter_bytes = conv->groups * gops_subconv_group_weights(plan, &view) *
                         gops_compute_bytes(plan->type->compute);
    explain(plan, p, &view);
    return GOPS_OK;
}

/* The weights of a span of `channels` output channels: product after product, block after block. */
static unsigned char *pack_span(const gops_plan *plan, const gops_subconv_view *view,
                                const unsigned char *weights, int64_t channels, unsigned char *to)
{
    const gops_implicit *p = &gops_subconv_read(plan)->implicit;
    const gops_conv_geometry *conv = &plan->conv;
    const gops_tile *list =
        gops_implicit_tiles(p, plan->kernels->implicit->tiles[plan->type->compute]);
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    gops_subconvs phases;
    gops_subconv_first(view, &phases);
    do {
        int64_t width, rows = phases.taps > 0 ? channels * phases.count : 0;
        for (int64_t first = 0; first < rows; first += width) {
            width = gops_implicit_width(list, p->pixels, p->tile, rows - first);
            gops_subconv_pack(plan, view, &phases, weights, first, gops_min(width, rows - first),
                              width, to);
            to += conv->channels_in * phases.taps * width * bytes;
        }
    } while (gops_subconv_next(view, &phases));
    return to;
}

static void pack(const gops_plan *plan, const void *weights, void *packed)
{
    const gops_subconv_parameters *p = gops_subconv_read(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t size = plan->filter_type->bytes;
    unsigned char *to = packed;
    gops_subconv_view view;
    gops_subconv_look(conv, p->form, &view);
    for (int64_t g = 0; g < conv->groups; g++) {
        const unsigned char *group = (const unsigned char *)weights +
                                     g * conv->channels_in * conv->channels_out * conv->taps * size;
        for (int64_t c = 0; c < conv->channels_out; c += p->span) {
            to = pack_span(plan, &view, group + c * conv->taps * size,
                           gops_min(p->span, conv->channels_out - c), to);
        }
    }
}

const gops_method gops_subconv_deconv = {
    .name = "subconv",
    .operation = GOPS_OPERATION_DECONV,
    .prepare = prepare,
    .pack = pack,
    .run = gops_subconv_run,
    .modular = 1,
};
