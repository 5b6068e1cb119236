/* implicit_layout.c: bands, frames, and a model of the time. */
#include "methods/implicit/implicit_layout.h"

#include "base/checked.h"

#include <stddef.h>

/* Steps from a residue of the stride back to itself, taps apart. */
static int64_t period(int64_t stride, int64_t dilation)
{
    int64_t a = stride, b = dilation % stride;
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return stride / a;
}

/* The frame of a box with count[a] pixels on each axis. False where it overflows. */
static int fill_frame(gops_implicit *p, int axes, const gops_implicit_axis *axis,
                      const int64_t *count)
{
    gops_padded_input *frame = &p->frame;
    int64_t phases = 1, reach;
    *frame = (gops_padded_input){.axes = axes, .data_pixels = 1, .positions = 1};
    for (int a = axes - 1; a >= 0; a--) {
        const gops_implicit_axis *from = &axis[a];
        gops_padded_axis *to = &frame->axis[a];
        const int64_t inner = p->in_place ? frame->data_pixels : frame->positions;
        if (!gops_mul(from->kernel - 1, from->dilation, &reach) ||
            !gops_mul(p->pixels && !p->in_place ? 1 : from->stride, inner, &p->pitch[a])) {
            return 0;
        }
        frame->data_pixels *= from->data;
        if (p->pixels) {
            *to = (gops_padded_axis){
                .data = from->data,
                .stride = from->stride,
                .turn = from->dilation % from->stride,
                .phases = gops_min(from->kernel, period(from->stride, from->dilation)),
                .length = count[a] + reach / from->stride,
            };
        } else { /* single pixels need not lie together */
            *to = (gops_padded_axis){.data = from->data, .stride = 1, .phases = 1};
            if (!gops_mul(count[a] - 1, from->stride, &to->length) ||
                !gops_add(to->length, reach + 1, &to->length)) {
                return 0;
            }
        }
        if (!gops_mul(frame->positions, to->length, &frame->positions) ||
            !gops_mul(phases, to->phases, &phases)) {
            return 0;
        }
    }
    return gops_mul(frame->positions, phases, &frame->plane);
}

static void band_counts(const gops_implicit *p, int axes, const gops_implicit_axis *axis,
                        int64_t *count)
{
    for (int a = 0; a < axes; a++) {
        count[a] = a < p->cut ? 1 : a == p->cut ? p->band : axis[a].pixels;
    }
}

/* Cuts the bands a little further, along the present axis or the next one within; false when they
 * are single pixels already. */
static int shrink_band(gops_implicit *p, int axes, const gops_implicit_axis *axis)
{
    while (p->band == 1 && p->cut + 1 < axes) {
        p->cut++;
        p->band = axis[p->cut].pixels;
    }
    if (p->band == 1) {
        return 0;
    }
    const int64_t before = gops_ceil_div(axis[p->cut].pixels, p->band);
    const int64_t pieces = before + 1 + before / 4;
    p->band = gops_min(p->band - 1, gops_ceil_div(axis[p->cut].pixels, pieces));
    return 1;
}

static int64_t count_bands(const gops_implicit *p, const gops_implicit_axis *axis)
{
    int64_t bands = gops_ceil_div(axis[p->cut].pixels, p->band);
    for (int a = 0; a < p->cut; a++) {
        bands *= axis[a].pixels;
    }
    return bands;
}

int gops_implicit_cut(gops_implicit *p, int axes, const gops_implicit_axis *axis, int64_t channels,
                      int64_t bytes, int64_t limit, int64_t least)
{
    int64_t count[GOPS_MAX_SPATIAL];
    p->cut = 0;
    p->band = axis[0].pixels;
    for (;;) {
        band_counts(p, axes, axis, count);
        const int fits =
            fill_frame(p, axes, axis, count) &&
            (p->in_place ||
             gops_mul_saturate(gops_mul_saturate(p->frame.plane, channels), bytes) <= limit);
        p->bands = count_bands(p, axis);
        if (fits && p->bands >= least) {
            return 1;
        }
        if (!shrink_band(p, axes, axis)) {
            return fits;
        }
    }
}

int64_t gops_implicit_merge(gops_implicit *p, int axes, const gops_implicit_axis *axis,
                            int64_t lanes, int can_direct)
{
    int64_t count[GOPS_MAX_SPATIAL], length, rows = 1;
    band_counts(p, axes, axis, count);
    p->merged = 1;
    p->dense = 1;
    p->direct = 0;
    length = count[axes - 1];
    for (int a = axes - 2; a >= p->cut && p->pitch[a] == p->pitch[a + 1] * count[a + 1]; a--) {
        length *= count[a];
        p->merged++;
    }
    for (int a = 0; a < axes - p->merged; a++) {
        rows *= count[a];
    }
    if (!p->pixels) {
        return rows * length;
    }
    const int64_t spots = rows * gops_ceil_div(length, lanes);
    p->direct = can_direct && length >= lanes;
    if (p->merged > 1 || axes < 2 || p->in_place) {
        return spots;
    }
    /* Running through the gaps between rows computes some pixels too many, and its sums have to be
     * copied; stopping at each row's end wastes a part of a vector. */
    const int64_t through = (count[axes - 2] - 1) * p->pitch[axes - 2] + count[axes - 1];
    const int64_t runs = rows / count[axes - 2] * gops_ceil_div(through, lanes);
    const int64_t copy = p->direct ? 8 : 0;
    if (runs * (p->depth + copy) < spots * p->depth) {
        p->dense = p->direct = 0;
        p->merged = 2;
        return runs;
    }
    return spots;
}

void gops_implicit_band(const gops_implicit *p, int axes, const gops_implicit_axis *axis,
                        int64_t band, gops_box *box)
{
    const int64_t along = gops_ceil_div(axis[p->cut].pixels, p->band);
    for (int a = axes - 1; a > p->cut; a--) {
        box->begin[a] = 0;
        box->count[a] = axis[a].pixels;
    }
    box->begin[p->cut] = band % along * p->band;
    box->count[p->cut] = gops_min(p->band, axis[p->cut].pixels - box->begin[p->cut]);
    band /= along;
    for (int64_t a = p->cut - 1; a >= 0; a--) {
        box->begin[a] = band % axis[a].pixels;
        box->count[a] = 1;
        band /= axis[a].pixels;
    }
}

int64_t gops_implicit_workspace(gops_implicit *p, int64_t frame_values, int64_t offsets,
                                int64_t sums, int64_t turned, int64_t bytes)
{
    const int64_t list = (p->chunk + GOPS_MAX_SPOTS) * (int64_t)sizeof(int64_t);
    const int64_t sizes[] = {
        frame_values * bytes, offsets * (int64_t)sizeof(int64_t), list, list, sums * bytes,
        turned * bytes};
    int64_t *const ends[] = {&p->offsets_from, &p->spots_from, &p->places_from, &p->sums_from,
                             &p->turned_from};
    int64_t end = 0;
    for (int i = 0; i < 6; i++) {
        end += gops_round_up(sizes[i], GOPS_WORKSPACE_ALIGNMENT);
        if (i < 5) {
            *ends[i] = end;
        }
    }
    return end;
}

/* Measured on a Zen 5 with AVX-512, one core of a virtual machine, 2026: a cycle, and what the
 * units do in one. Other processors differ by a factor that is much the same for all methods. */
static const double NS_PER_CYCLE = 0.26;
static const double MULTIPLIES_PER_CYCLE = 2, LOADS_PER_CYCLE = 2;
static const double NS_PER_ITEM = 400;    /* tables, boxes, the copy's beginning */
static const double CYCLES_PER_TILE = 30; /* the call, zeroing, the loop's end */
static const double CYCLES_PER_SUM = 2;   /* storing a vector, and its share of what follows */
static const double NS_PER_COPIED_VALUE = 0.04, NS_PER_RUN = 4;

static double tile_cycles(const gops_tile *tile, int pixels, int64_t lanes, int64_t depth)
{
    const double channels = pixels ? tile->channels : (double)tile->channels / (double)lanes;
    const double spots = tile->spots;
    const double multiplies = channels * spots / MULTIPLIES_PER_CYCLE;
    /* A vector of pixels lies across two cache lines most of the time. */
    const double loads = ((pixels ? 2 : 1) * spots + channels) / LOADS_PER_CYCLE;
    return (double)depth * (multiplies > loads ? multiplies : loads) + CYCLES_PER_TILE +
           channels * spots * CYCLES_PER_SUM;
}

double gops_implicit_product_cost(const gops_plan *plan, const gops_implicit *p, int64_t channels,
                                  int64_t spots, int64_t depth)
{
    const gops_tiles *tiles = plan->kernels->implicit->tiles[plan->type->compute];
    const gops_tile *list = gops_implicit_tiles(p, tiles);
    double cycles = 0;
    for (int64_t c = 0; c < channels;) {
        const int64_t width = gops_implicit_width(list, p->pixels, p->tile, channels - c);
        const gops_tile *tile = list;
        while (tile->channels != width) {
            tile++;
        }
        const int64_t blocks = width == p->tile ? (channels - c) / width : 1;
        const int64_t calls = gops_ceil_div(spots, tile->spots);
        cycles += (double)gops_max(1, blocks) * (double)calls *
                  tile_cycles(tile, p->pixels, tiles->lanes, depth);
        c += gops_max(1, blocks) * width;
    }
    return cycles * NS_PER_CYCLE + NS_PER_ITEM;
}

double gops_implicit_copy_cost(double values, double runs)
{
    return values * NS_PER_COPIED_VALUE + runs * NS_PER_RUN;
}

void gops_implicit_axes(const gops_conv_geometry *conv, gops_implicit_axis *axis)
{
    for (int a = 0; a < conv->axes; a++) {
        const gops_axis *from = &conv->axis[a];
        axis[a] = (gops_implicit_axis){from->data, from->output, from->kernel, from->stride,
                                       from->dilation};
    }
}
