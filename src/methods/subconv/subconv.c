/* subconv.c: splits a transposed convolution into sub-convolutions; subconv.h. */
#include "methods/subconv/subconv.h"

#include "base/checked.h"
#include "methods/implicit/implicit.h"

#include <string.h>

/* The x with value * x = 1 modulo `modulus`; the two have no common divisor. This is Euclid's
 * algorithm, which keeps rest = factor * value modulo `modulus`. */
static int64_t inverse(int64_t value, int64_t modulus)
{
    int64_t rest = modulus, next_rest = value % modulus, factor = 0, next_factor = 1;
    while (next_rest != 0) {
        const int64_t times = rest / next_rest;
        const int64_t last_rest = rest - times * next_rest;
        const int64_t last_factor = factor - times * next_factor;
        rest = next_rest;
        factor = next_factor;
        next_rest = last_rest;
        next_factor = last_factor;
    }
    return factor < 0 ? factor + modulus : factor;
}

/* Fills in what follows from the other fields. The caller has checked the stride, which bounds all
 * other numbers. */
static void complete_axis(int64_t data, gops_subconv_axis *axis, gops_axis *conv)
{
    const int64_t stride = axis->stride, reach = (axis->kernel - 1) * axis->dilation;
    const int64_t min_shift = gops_floor_div(-axis->pad, stride);
    axis->max_shift = gops_floor_div(reach - axis->pad, stride);
    axis->gcd = gops_gcd(stride, axis->dilation);
    axis->tap_step = stride / axis->gcd;
    axis->inverse = inverse(axis->dilation / axis->gcd, axis->tap_step) % axis->tap_step;
    *conv = (gops_axis){
        .data = data,
        .kernel = axis->max_shift - min_shift + 1,
        .output = (axis->output - 1 + axis->lead) / stride + 1,
        .stride = 1,
        .dilation = 1,
        .pad_begin = axis->max_shift,
    };
}

/* Gives each tap a residue of its own, where there is one data pixel and some taps share a
 * residue. */
static bool split_by_tap(const gops_axis *from, gops_subconv_axis *axis)
{
    const int64_t reach = (from->kernel - 1) * from->dilation;
    if (from->data != 1 || reach == 0 || reach < from->stride) {
        return false;
    }
    axis->stride = gops_max(reach + 1, from->output + from->pad_begin);
    axis->lead = from->pad_begin;
    return true;
}

bool gops_subconv_split_axes(const gops_conv_geometry *conv, gops_subconv_split split,
                             gops_subconv_geometry *geometry)
{
    const int64_t most =
        split == GOPS_SUBCONV_BY_TAP ? GOPS_MAX_SUBCONVS_BY_TAP : GOPS_MAX_SUBCONVS;
    bool differs = split == GOPS_SUBCONV_BY_DATA;
    int64_t subconvs = 1, end;
    geometry->axes = conv->axes;
    geometry->split = split;
    for (int a = 0; a < conv->axes; a++) {
        const gops_axis *from = &conv->axis[a];
        gops_subconv_axis *axis = &geometry->axis[a];
        if (!gops_add(from->output, from->pad_begin, &end)) {
            return false;
        }
        *axis = (gops_subconv_axis){
            .output = from->output,
            .kernel = from->kernel,
            .dilation = from->dilation,
            .stride = from->stride,
            .lead = split == GOPS_SUBCONV_BY_OUTPUT ? 0 : from->pad_begin % from->stride,
        };
        differs |= split == GOPS_SUBCONV_BY_OUTPUT && from->pad_begin % from->stride != 0;
        differs |= split == GOPS_SUBCONV_BY_TAP && split_by_tap(from, axis);
        axis->pad = from->pad_begin - axis->lead;
        subconvs = gops_mul_saturate(subconvs, axis->stride);
        if (subconvs > most) {
            return false;
        }
        complete_axis(from->data, axis, &geometry->conv[a]);
    }
    return differs;
}

/* The first tap k of a residue: k * dilation = residue + pad modulo the stride. axis->kernel or
 * more where it has none. */
static int64_t first_tap(const gops_subconv_axis *axis, int64_t residue)
{
    const int64_t distance = (residue + axis->pad % axis->stride) % axis->stride;
    return distance % axis->gcd != 0 ? axis->kernel
                                     : distance / axis->gcd * axis->inverse % axis->tap_step;
}

/* The residues from `begin` on that read the same shifts. */
static void read_residues(const gops_subconv_axis *axis, int64_t begin, gops_subconv_residues *to)
{
    const int64_t tap = first_tap(axis, begin), rest = axis->stride - begin;
    *to = (gops_subconv_residues){.begin = begin, .count = 1};
    if (tap < axis->kernel) {
        const int64_t further = (axis->kernel - 1 - tap) / axis->tap_step;
        to->taps = further + 1;
        to->shift = gops_floor_div(tap * axis->dilation - axis->pad, axis->stride);
        /* With a single tap there is no step, and tap_step may be large enough to overflow. */
        to->step = further > 0 ? axis->tap_step * axis->dilation / axis->stride : 0;
        if (axis->dilation == 1) { /* the next residue has the next tap, as long as that is below
                                      tap_step and has as many taps after it */
            const int64_t last = gops_min(axis->kernel - further * axis->tap_step, axis->tap_step);
            to->count = gops_min(rest, last - tap);
        }
    } else if (axis->dilation == 1) {
        to->count = gops_min(rest, axis->stride - tap);
    }
}

static void multiply_axes(const gops_subconv_geometry *geometry, gops_subconv_product *product)
{
    product->count = product->taps = 1;
    for (int a = 0; a < geometry->axes; a++) {
        product->count *= product->axis[a].count;
        product->taps *= product->axis[a].taps;
    }
}

void gops_subconv_first_product(const gops_subconv_geometry *geometry,
                                gops_subconv_product *product)
{
    for (int a = 0; a < geometry->axes; a++) {
        read_residues(&geometry->axis[a], 0, &product->axis[a]);
    }
    multiply_axes(geometry, product);
}

bool gops_subconv_next_product(const gops_subconv_geometry *geometry, gops_subconv_product *product)
{
    for (int a = geometry->axes - 1; a >= 0; a--) {
        const int64_t end = product->axis[a].begin + product->axis[a].count;
        const bool carries = end == geometry->axis[a].stride;
        read_residues(&geometry->axis[a], carries ? 0 : end, &product->axis[a]);
        if (!carries) {
            multiply_axes(geometry, product);
            return true;
        }
    }
    return false;
}

/* Counts `times` products of a size in the list. */
static void count_kind(gops_subconv_kind *list, int *kinds, int64_t count, int64_t taps,
                       int64_t times)
{
    int i = 0;
    while (i < *kinds && (list[i].count != count || list[i].taps != taps)) {
        i++;
    }
    if (i == *kinds) {
        list[(*kinds)++] = (gops_subconv_kind){count, taps, 0};
    }
    list[i].times += times;
}

/* The kinds of an axis on its own; returns how many there are. */
static int axis_kinds(const gops_subconv_axis *axis,
                      gops_subconv_kind list[GOPS_SUBCONV_AXIS_KINDS])
{
    int kinds = 0;
    if (axis->dilation == 1) {
        gops_subconv_residues residues;
        for (int64_t begin = 0; begin < axis->stride; begin += residues.count) {
            read_residues(axis, begin, &residues);
            if (residues.taps > 0) {
                count_kind(list, &kinds, residues.count, residues.taps, 1);
            }
        }
        return kinds;
    }
    const int64_t more = axis->kernel / axis->tap_step, rest = axis->kernel % axis->tap_step;
    if (more > 0) {
        count_kind(list, &kinds, 1, more, axis->tap_step - rest);
    }
    if (rest > 0) {
        count_kind(list, &kinds, 1, more + 1, rest);
    }
    return kinds;
}

bool gops_subconv_count_kinds(const gops_subconv_geometry *geometry, gops_subconv_kinds *kinds)
{
    gops_subconv_kind of_axis[GOPS_SUBCONV_AXIS_KINDS];
    *kinds = (gops_subconv_kinds){.kinds = 1, .min_count = INT64_MAX};
    kinds->kind[0] = (gops_subconv_kind){1, 1, 1};
    for (int a = 0; a < geometry->axes; a++) {
        gops_subconv_kind next[GOPS_SUBCONV_KINDS + GOPS_SUBCONV_AXIS_KINDS];
        const int more = axis_kinds(&geometry->axis[a], of_axis);
        int found = 0;
        for (int64_t i = 0; i < kinds->kinds; i++) {
            const gops_subconv_kind *outer = &kinds->kind[i];
            for (int j = 0; j < more; j++) {
                count_kind(next, &found, outer->count * of_axis[j].count,
                           outer->taps * of_axis[j].taps, outer->times * of_axis[j].times);
            }
            if (found > GOPS_SUBCONV_KINDS) {
                return false;
            }
        }
        memcpy(kinds->kind, next, (size_t)found * sizeof next[0]);
        kinds->kinds = found;
    }
    for (int64_t i = 0; i < kinds->kinds; i++) {
        const gops_subconv_kind *kind = &kinds->kind[i];
        kinds->products += kind->times;
        kinds->subconvs += kind->times * kind->count;
        kinds->taps += kind->times * kind->taps;
        kinds->min_count = gops_min(kinds->min_count, kind->count);
        kinds->max_count = gops_max(kinds->max_count, kind->count);
    }
    return true;
}

int64_t gops_subconv_count(const gops_subconv_geometry *geometry)
{
    int64_t count = 1;
    for (int a = 0; a < geometry->axes; a++) {
        count *= geometry->axis[a].stride;
    }
    return count;
}

/* Steps to the next combination of the taps of the axes. */
static void next_tap(const gops_subconv_geometry *geometry, const gops_subconv_product *product,
                     int64_t *tap)
{
    for (int a = geometry->axes - 1; a >= 0 && ++tap[a] == product->axis[a].taps; a--) {
        tap[a] = 0;
    }
}

void gops_subconv_offsets(const gops_subconv_geometry *geometry,
                          const gops_subconv_product *product, const int64_t *pitch,
                          int64_t *offsets)
{
    int64_t tap[GOPS_MAX_SPATIAL] = {0};
    for (int64_t t = 0; t < product->taps; t++) {
        offsets[t] = 0;
        for (int a = 0; a < geometry->axes; a++) {
            const gops_subconv_residues *residues = &product->axis[a];
            const int64_t shift = residues->shift + tap[a] * residues->step;
            offsets[t] += (geometry->axis[a].max_shift - shift) * pitch[a];
        }
        next_tap(geometry, product, tap);
    }
}

gops_axis gops_subconv_product_axis(const gops_subconv_geometry *geometry,
                                    const gops_subconv_product *product, int a)
{
    const gops_subconv_residues *residues = &product->axis[a];
    gops_axis axis = geometry->conv[a];
    axis.kernel = residues->taps;
    axis.dilation = gops_max(1, residues->step);
    axis.pad_begin = residues->shift + (residues->taps - 1) * residues->step;
    return axis;
}

/* Packs row i of a tile for tap number `tap`; `weights` are those of the tap's first input channel. */
static void pack_tap(const gops_plan *plan, const gops_subconv_product *product,
                     const gops_subconv_tile *tile, int64_t i, const unsigned char *weights,
                     int64_t tap, int32_t zero)
{
    const gops_conv_geometry *conv = &plan->conv;
    const gops_type_row *type = plan->filter_type;
    const int64_t apart = conv->channels_out * conv->taps, taps = product->taps;
    const int64_t bytes = gops_compute_bytes(type->compute);
    const int64_t inner = taps / product->axis[0].taps, at = taps - 1 - tap;
    const int64_t begin = (at - at % inner) * tile->planes * tile->mr;
    gops_lanes_panel panel = {.mr = tile->mr, .planes = tile->planes, .form = tile->form};
    if (gops_plan_has_lanes(plan)) {
        uint32_t unused = 0;
        panel.to = (uint32_t *)(void *)tile->to + begin;
        gops_lanes_pack_tap(plan, zero, weights, apart, at % inner, inner, &panel, i,
                            tile->sums != NULL ? &tile->sums[i] : &unused);
        return;
    }
    for (int64_t c = 0; c < conv->channels_in; c++) {
        const int64_t index = tile->form == GOPS_TILE_BLOCKED
                                  ? begin + gops_lanes_index(&panel, at % inner, inner, c, i)
                                  : (c * taps + tap) * tile->mr + i;
        type->load(tile->to + index * bytes, weights + c * apart * type->bytes, 1);
    }
}

void gops_subconv_pack_tile(const gops_plan *plan, const gops_subconv_geometry *geometry,
                            const gops_subconv_product *product, const gops_subconv_tile *tile)
{
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t size = plan->filter_type->bytes;
    const int64_t bytes = gops_compute_bytes(plan->filter_type->compute);
    memset(tile->to, 0, (size_t)(tile->planes * product->taps * tile->mr * bytes));
    for (int64_t i = 0; i < tile->count; i++) {
        int64_t begin[GOPS_MAX_SPATIAL], tap[GOPS_MAX_SPATIAL] = {0};
        const int64_t o = (tile->first + i) / product->count;
        int64_t rest = (tile->first + i) % product->count;
        for (int a = geometry->axes - 1; a >= 0; a--) {
            const gops_subconv_residues *residues = &product->axis[a];
            begin[a] = first_tap(&geometry->axis[a], residues->begin + rest % residues->count);
            rest /= residues->count;
        }
        const unsigned char *channel = tile->weights + o * conv->taps * size;
        for (int64_t t = 0; t < product->taps; t++) {
            int64_t index = 0;
            for (int a = 0; a < geometry->axes; a++) {
                const gops_subconv_axis *axis = &geometry->axis[a];
                index = index * axis->kernel + begin[a] + tap[a] * axis->tap_step;
            }
            pack_tap(plan, product, tile, i, channel + index * size, t,
                     plan->quantized ? tile->zero_points[o] : 0);
            next_tap(geometry, product, tap);
        }
    }
}
