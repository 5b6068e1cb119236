/*
 * implicit_run.c: one item of the implicit convolution: a band of the pixels of one
 * image and group, for a part of the channels, as implicit.h has it.
 */
#include "methods/implicit/implicit_conv.h"

#include "base/checked.h"
#include "post_ops/post_ops.h"
#include "post_ops/epilogue.h"

/* What one item works on. */
typedef struct piece {
    const gops_plan *plan;
    const gops_job *job;
    gops_box box;
    gops_segments segments;
    const unsigned char *filter; /* of the part of the channels */
    int64_t channel;             /* its first, counted over all groups */
    int64_t element;             /* of the output: the box's first pixel in that channel */
    int64_t channels;
    unsigned char *workspace;
    const gops_job *whole; /* job, and what the tiles do of it */
    const gops_epilogue *trim;
    gops_implicit_pass pass;
} piece;

/* The shifts of all taps of all channels. */
static void fill_offsets(const gops_plan *plan, int64_t *offsets)
{
    const gops_implicit *p = gops_implicit_read(plan);
    const gops_conv_geometry *conv = &plan->conv;
    int64_t tap[GOPS_MAX_SPATIAL] = {0};
    const int64_t plane = p->in_place ? conv->data_pixels : p->frame.plane;
    for (int64_t t = 0; t < conv->taps; t++) {
        int64_t shift = 0, phase = 0;
        for (int a = 0; a < conv->axes; a++) {
            const int64_t reach = tap[a] * conv->axis[a].dilation;
            if (p->in_place || !p->pixels) {
                shift += reach * (p->pitch[a] / conv->axis[a].stride);
            } else {
                const int64_t phases = p->frame.axis[a].phases;
                shift += reach / conv->axis[a].stride * p->pitch[a];
                phase = phase * phases + tap[a] % phases;
            }
        }
        offsets[t] = shift + phase * p->frame.positions;
        for (int a = conv->axes - 1; a >= 0 && ++tap[a] == conv->axis[a].kernel; a--) {
            tap[a] = 0;
        }
    }
    for (int64_t i = conv->taps; i < p->depth; i++) {
        offsets[i] = offsets[i - conv->taps] + plane;
    }
}

/* Finds the box's input: where it lies, or copied. */
static const void *find_frame(const gops_plan *plan, const unsigned char *data, const gops_box *box,
                              void *workspace)
{
    const gops_implicit *p = gops_implicit_read(plan);
    const gops_conv_geometry *conv = &plan->conv;
    int64_t origin[GOPS_MAX_SPATIAL], start = 0;
    for (int a = 0; a < conv->axes; a++) {
        origin[a] = box->begin[a] * conv->axis[a].stride - conv->axis[a].pad_begin;
        start += box->begin[a] * p->pitch[a];
    }
    if (p->in_place) {
        return data + start * plan->type->bytes;
    }
    plan->kernels->implicit->padded_input[plan->type->index](&p->frame, origin, conv->channels_in,
                                                             data, workspace);
    return workspace;
}

/* Stores the sums of the pass, those of the part's channels c to c + count - 1. */
static void store(const piece *at, int64_t first, int64_t c, int64_t count)
{
    const gops_plan *plan = at->plan;
    const gops_implicit *p = gops_implicit_read(plan);
    const gops_tiles *tiles = plan->kernels->implicit->tiles[plan->type->compute];
    const gops_implicit_pass *pass = &at->pass;
    const int64_t pixels = plan->conv.output_pixels;
    const int64_t element = at->element + c * pixels;
    if (p->pixels) {
        const gops_rows rows = {pass->sums, pass->sums_ld,   first,  pass->count,
                                count,      at->channel + c, element};
        gops_implicit_store_rows(plan, at->job, &at->segments, &rows);
    } else if (plan->type->native && !at->job->fused) {
        void *to = gops_output_at(plan, at->job, element + first);
        tiles->transpose(to, pixels, pass->sums, pass->width, count, pass->count);
    } else if (plan->type->native && !gops_adds_in_place(at->job)) {
        unsigned char *to = gops_output_at(plan, at->job, element + first);
        tiles->transpose(to, pixels, pass->sums, pass->width, count, pass->count);
        for (int64_t i = 0; i < count; i++) { /* while it is in the first cache */
            gops_store(plan, at->job, at->channel + c + i, element + i * pixels + first,
                       pass->count, to + i * pixels * pass->bytes);
        }
    } else {
        unsigned char *turned = at->workspace + p->turned_from;
        tiles->transpose(turned, pass->count, pass->sums, pass->width, count, pass->count);
        for (int64_t i = 0; i < count; i++) {
            gops_store(plan, at->job, at->channel + c + i, element + i * pixels + first,
                       pass->count, turned + i * pass->count * pass->bytes);
        }
    }
}

/* One chunk of spots for all channels of the part. */
static void run_chunk(piece *at, int64_t first, int64_t *list, int64_t *places)
{
    const gops_plan *plan = at->plan;
    const gops_implicit *p = gops_implicit_read(plan);
    gops_implicit_pass *pass = &at->pass;
    const int direct = at->segments.direct && !at->job->fused;
    const int64_t pixels = plan->conv.output_pixels;
    const unsigned char *weights = at->filter;
    gops_epilogue_values bias;
    for (int64_t c = 0; c < at->channels; c += pass->width) {
        const int64_t left = at->channels - c;
        const int64_t width = gops_implicit_width(pass->tiles, p->pixels, p->tile, left);
        if (c == 0 || (width != pass->width && !p->pixels)) {
            gops_implicit_list_spots(p, plan->conv.axes, &at->segments, &at->box, first,
                                     pass->count, direct, p->pixels ? at->segments.step : width,
                                     list, places);
        }
        pass->width = width;
        if (at->trim->applies) {
            gops_epilogue_bias(plan, at->whole, at->channel + c, 1, gops_min(width, left), width,
                               &bias);
            pass->bounds = &at->trim->bounds;
            pass->bias = &bias;
        }
        pass->weights = weights;
        weights += width * p->depth * pass->bytes;
        pass->sums = at->workspace + p->sums_from;
        pass->sums_ld = p->chunk * at->segments.step;
        pass->residual = NULL;
        if (direct && at->whole->residual != NULL) {
            pass->residual = gops_residual_at(plan, at->whole, at->element + c * pixels);
        }
        if (direct) {
            pass->sums = gops_output_at(plan, at->job, at->element + c * pixels);
            pass->sums_ld = pixels;
        }
        gops_implicit_multiply(pass);
        if (!direct) {
            store(at, first, c, gops_min(width, left));
        }
    }
}

void gops_implicit_run(const gops_plan *plan, const gops_job *job, int64_t item, void *workspace)
{
    const gops_implicit *p = gops_implicit_read(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const gops_tiles *tiles = plan->kernels->implicit->tiles[plan->type->compute];
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t image_group = item / p->bands / p->parts;
    const int64_t channel = item / p->bands % p->parts * p->part;
    const int64_t padded = gops_implicit_padded(p, tiles, conv->channels_out);
    const int64_t group = image_group % conv->groups;
    const void *data = gops_data_at(plan, job, image_group / conv->groups,
                                    image_group * conv->channels_in * conv->data_pixels);
    piece at = {
        .plan = plan,
        .whole = job,
        .filter = (const unsigned char *)job->filter + (group * padded + channel) * conv->k * bytes,
        .channel = group * conv->channels_out + channel,
        .channels = gops_min(p->part, conv->channels_out - channel),
        .workspace = workspace,
    };
    gops_implicit_axis axis[GOPS_MAX_SPATIAL];
    gops_implicit_axes(conv, axis);
    gops_implicit_band(p, conv->axes, axis, item % p->bands, &at.box);
    at.segments = gops_implicit_segments(p, conv->axes, tiles->lanes, &at.box);
    const gops_epilogue trim =
        gops_epilogue_read(plan, job,
                           p->pixels && at.segments.direct ? GOPS_EPILOGUE_SEPARATE_RESIDUAL
                                                           : GOPS_EPILOGUE_NO_RESIDUAL);
    at.job = trim.applies ? &trim.rest : job;
    at.trim = &trim;
    for (int a = 0; a < conv->axes; a++) {
        at.element = at.element * conv->axis[a].output + at.box.begin[a];
    }
    at.element += (image_group * conv->channels_out + channel) * conv->output_pixels;
    int64_t *offsets = (int64_t *)(void *)(at.workspace + p->offsets_from);
    int64_t *list = (int64_t *)(void *)(at.workspace + p->spots_from);
    int64_t *places = (int64_t *)(void *)(at.workspace + p->places_from);
    fill_offsets(plan, offsets);
    at.pass = (gops_implicit_pass){
        .tiles = gops_implicit_tiles(p, tiles),
        .frame = find_frame(plan, data, &at.box, workspace),
        .offsets = offsets,
        .depth = p->depth,
        .depth_block = p->depth_block,
        .streams = at.channels * p->depth * bytes > plan->machine.l2_bytes / 2,
        .bytes = bytes,
        .spots = list,
        .places = places,
    };
    const int64_t spots = at.segments.spots * at.segments.count;
    for (int64_t first = 0; first < spots; first += p->chunk) {
        at.pass.count = gops_min(p->chunk, spots - first);
        run_chunk(&at, first, list, places);
    }
}
