/* implicit_boxes.c: cuts the output of a product into boxes, one for each item, whose padded inputs fit the caches. */
#include "methods/implicit/implicit_boxes.h"

#include "base/checked.h"

#include <float.h>

enum { SHARING_LINES = 8 }; /* planes a multiple of so many lines apart use an eighth of the sets */

/* Begins each plane with a cache line, so that a vector of pixels lies in one, and not so many lines
 * from the next that planes share sets of the first level cache. */
static bool align_planes(gops_padded_input *padded, int64_t bytes)
{
    const int64_t lines = gops_ceil_div(padded->plane, GOPS_CACHE_LINE / bytes);
    return gops_mul(lines + (lines % SHARING_LINES == 0), GOPS_CACHE_LINE / bytes, &padded->plane);
}

/* The padded input of a box with count[a] pixels on each axis, which take `bytes` each. False where its
 * size overflows. */
static bool fill_padded_input(gops_implicit *p, int axes, const gops_axis *axis,
                              const int64_t *count, int64_t bytes)
{
    gops_padded_input *padded = &p->padded;
    int64_t residues = 1, reach;
    *padded = (gops_padded_input){.axes = axes, .data_pixels = 1, .positions = 1};
    for (int a = axes - 1; a >= 0; a--) {
        const gops_axis *from = &axis[a];
        gops_padded_axis *to = &padded->axis[a];
        const int64_t inner = p->in_place ? padded->data_pixels : padded->positions;
        if (!gops_mul(from->kernel - 1, from->dilation, &reach) ||
            !gops_mul(p->residues && !p->in_place ? 1 : from->stride, inner, &p->pitch[a])) {
            return false;
        }
        padded->data_pixels *= from->data;
        if (p->residues) {
            *to = (gops_padded_axis){
                .data = from->data,
                .stride = from->stride,
                .residue_step = from->dilation % from->stride,
                /* After this many taps, residues repeat. */
                .residues =
                    gops_min(from->kernel, from->stride / gops_gcd(from->stride, from->dilation)),
                .length = count[a] + reach / from->stride,
            };
        } else { /* pixels are read one by one and need not be neighbours */
            *to = (gops_padded_axis){.data = from->data, .stride = 1, .residues = 1};
            if (!gops_mul(count[a] - 1, from->stride, &to->length) ||
                !gops_add(to->length, reach + 1, &to->length)) {
                return false;
            }
        }
        if (!gops_mul(padded->positions, to->length, &padded->positions) ||
            !gops_mul(residues, to->residues, &residues)) {
            return false;
        }
    }
    if (!gops_mul(padded->positions, residues, &padded->plane)) {
        return false;
    }
    padded->values = padded->plane;
    return !p->aligned || align_planes(padded, bytes);
}

void gops_implicit_box_counts(const gops_implicit *p, int axes, const gops_axis *axis,
                              int64_t *count)
{
    for (int a = 0; a < axes; a++) {
        count[a] = a < p->cut ? 1 : a == p->cut ? p->cut_pixels : axis[a].output;
    }
}

/* Makes the boxes a little smaller, along the axis that is cut or the next one; false when they are
 * single pixels already. */
static bool shrink_boxes(gops_implicit *p, int axes, const gops_axis *axis)
{
    while (p->cut_pixels == 1 && p->cut + 1 < axes) {
        p->cut++;
        p->cut_pixels = axis[p->cut].output;
    }
    if (p->cut_pixels == 1) {
        return false;
    }
    const int64_t before = gops_ceil_div(axis[p->cut].output, p->cut_pixels);
    const int64_t after = before + 1 + before / 4;
    int64_t next = gops_min(p->cut_pixels - 1, gops_ceil_div(axis[p->cut].output, after));
    if (p->cut_pixels > p->granule && p->granule > 1) {
        const int64_t less = gops_round_up(p->cut_pixels, p->granule) - p->granule;
        next = gops_min(gops_round_up(next, p->granule), less);
    }
    p->cut_pixels = next;
    return true;
}

static int64_t count_boxes(const gops_implicit *p, const gops_axis *axis)
{
    int64_t boxes = gops_ceil_div(axis[p->cut].output, p->cut_pixels);
    for (int a = 0; a < p->cut; a++) {
        boxes *= axis[a].output;
    }
    return boxes;
}

/* Cuts the one axis of a flat plan into whole granules: `wanted` boxes, or an even number not far from
 * that, so that two threads have as much to do. */
static void cut_granules(gops_implicit *p, const gops_axis *axis, int64_t wanted)
{
    const int64_t units = gops_ceil_div(axis->output, p->granule);
    const int64_t usual = gops_max(1, gops_ceil_div(units, wanted));
    int64_t each = 0;
    for (int64_t away = 0; away < usual && each == 0; away++) {
        const bool less = gops_ceil_div(units, usual - away) % 2 == 0;
        const bool more = gops_ceil_div(units, usual + away) % 2 == 0;
        each = less ? usual - away : more ? usual + away : 0;
    }
    each = wanted > 1 && each > 0 ? each : usual;
    p->cut_pixels = gops_clamp(each * p->granule, 1, gops_max(1, axis->output));
}

bool gops_implicit_cut_boxes(gops_implicit *p, int axes, const gops_axis *axis, int64_t channels,
                             int64_t bytes, int64_t limit, int64_t min_boxes)
{
    int64_t count[GOPS_MAX_SPATIAL];
    p->cut = 0;
    p->cut_pixels = axis[0].output;
    if (p->granule > 1) {
        cut_granules(p, axis, min_boxes);
        min_boxes = 1;
    } else if (p->residues && !gops_tile_has_pixels(p->form)) {
        min_boxes -= min_boxes / 4; /* few rows more are worth a box less */
    }
    for (;;) {
        gops_implicit_box_counts(p, axes, axis, count);
        const bool fits =
            fill_padded_input(p, axes, axis, count, bytes) &&
            (p->in_place ||
             gops_mul_saturate(gops_mul_saturate(p->padded.plane, channels), bytes) <= limit);
        p->boxes = count_boxes(p, axis);
        if (fits && p->boxes >= min_boxes) {
            return true;
        }
        if (!shrink_boxes(p, axes, axis)) {
            return fits;
        }
    }
}

/* Two threads take 16 boxes of 64 -> 64, 3x3 on 128x128, in 0.92 of the time of 11, and 8 of 4 rows of 192 -> 192 on
 * 32x64 in 0.88 of that of 6, the last of which had two (Zen 5). */
void gops_implicit_even_boxes(const gops_plan *plan, gops_implicit *p, int axes,
                              const gops_axis *axis, int64_t images)
{
    const int64_t output = axis[p->cut].output;
    const int64_t cuts = gops_ceil_div(output, p->cut_pixels);
    const int64_t others = gops_mul_saturate(p->boxes / cuts, images) % plan->workers;
    /* That share an axis which is cut. */
    const int64_t threads = plan->workers / gops_gcd(others, plan->workers);
    if (threads == 1 || threads > cuts) {
        return;
    }
    const int64_t step = 1 + p->cut_pixels / 64;
    int64_t best = p->cut_pixels, count[GOPS_MAX_SPATIAL];
    double least = DBL_MAX;
    for (int64_t pixels = p->cut_pixels; pixels >= gops_ceil_div(p->cut_pixels, 2);
         pixels -= step) {
        const int64_t of_thread = gops_ceil_div(gops_ceil_div(output, pixels), threads);
        /* The fraction stands for what each box copies besides. */
        const double cost = (double)of_thread * ((double)pixels + 0.0625);
        if (cost < least) {
            best = pixels;
            least = cost;
        }
    }
    p->cut_pixels = best;
    p->boxes = count_boxes(p, axis);
    gops_implicit_box_counts(p, axes, axis, count);
    fill_padded_input(p, axes, axis, count, gops_compute_bytes(plan->type->compute));
}
