/* subconv.c: the phases of a transposed convolution; subconv.h. */
#include "methods/subconv/subconv.h"

#include "base/checked.h"

#include <string.h>

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* x with value * x = 1 modulo `modulus`, both without a common divisor: Euclid's algorithm, which
 * keeps rest = factor * value modulo `modulus`. */
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

/* The stride, which bounds all other numbers, is checked by the caller. */
static void complete_side(gops_subconv_side *side)
{
    const int64_t stride = side->stride, reach = (side->kernel - 1) * side->dilation;
    side->positions = (side->output - 1 + side->lead) / stride + 1;
    side->least = gops_floor_div(-side->pad, stride);
    side->most = gops_floor_div(reach - side->pad, stride);
    side->common = common_divisor(stride, side->dilation);
    side->turn = stride / side->common;
    side->unit = inverse(side->dilation / side->common, side->turn) % side->turn;
}

/* Takes the taps for phases where there is one data pixel. */
static int spread_taps(const gops_axis *axis, gops_subconv_side *side)
{
    const int64_t reach = (axis->kernel - 1) * axis->dilation;
    if (axis->data != 1 || reach == 0 || reach < axis->stride) {
        return 0;
    }
    side->stride = gops_max(reach + 1, axis->output + axis->pad_begin);
    side->lead = axis->pad_begin;
    return 1;
}

int gops_subconv_look(const gops_conv_geometry *conv, gops_subconv_form form,
                      gops_subconv_view *view)
{
    int differs = form == GOPS_SUBCONVS_OF_DATA;
    int64_t phases = 1, end;
    view->axes = conv->axes;
    view->form = form;
    for (int a = 0; a < conv->axes; a++) {
        const gops_axis *axis = &conv->axis[a];
        gops_subconv_side *side = &view->side[a];
        if (!gops_add(axis->output, axis->pad_begin, &end)) {
            return 0;
        }
        *side = (gops_subconv_side){
            .data = axis->data,
            .output = axis->output,
            .kernel = axis->kernel,
            .dilation = axis->dilation,
            .stride = axis->stride,
            .lead = form == GOPS_SUBCONVS_OF_OUTPUT ? 0 : axis->pad_begin % axis->stride,
        };
        differs |= form == GOPS_SUBCONVS_OF_OUTPUT && axis->pad_begin % axis->stride != 0;
        differs |= form == GOPS_SUBCONVS_OF_TAPS && spread_taps(axis, side);
        side->pad = axis->pad_begin - side->lead;
        phases = gops_mul_saturate(phases, side->stride);
        if (phases >
            (form == GOPS_SUBCONVS_OF_TAPS ? GOPS_MAX_SUBCONVS_OF_TAPS : GOPS_MAX_SUBCONVS)) {
            return 0;
        }
        complete_side(side);
    }
    return differs;
}

/* The first tap of a phase; the kernel's size or more where there is none. */
static int64_t first_tap(const gops_subconv_side *side, int64_t phase)
{
    const int64_t distance = (phase + side->pad % side->stride) % side->stride;
    return distance % side->common != 0 ? side->kernel
                                        : distance / side->common * side->unit % side->turn;
}

/* The phases from `begin` on that read the same shifts. */
static void read_axis(const gops_subconv_side *side, int64_t begin, gops_subconv_axis *to)
{
    const int64_t tap = first_tap(side, begin), rest = side->stride - begin;
    *to = (gops_subconv_axis){.begin = begin, .count = 1};
    if (tap < side->kernel) {
        const int64_t further = (side->kernel - 1 - tap) / side->turn;
        to->taps = further + 1;
        to->shift = gops_floor_div(tap * side->dilation - side->pad, side->stride);
        /* A single tap takes no step, and turn is not bounded by the kernel's size then. */
        to->step = further > 0 ? side->turn * side->dilation / side->stride : 0;
        if (side->dilation == 1) { /* the next phase has the next tap, up to the last or a turn */
            const int64_t last = gops_min(side->kernel - further * side->turn, side->turn);
            to->count = gops_min(rest, last - tap);
        }
    } else if (side->dilation == 1) {
        to->count = gops_min(rest, side->stride - tap);
    }
}

static void combine(const gops_subconv_view *view, gops_subconvs *phases)
{
    phases->count = phases->taps = 1;
    for (int a = 0; a < view->axes; a++) {
        phases->count *= phases->axis[a].count;
        phases->taps *= phases->axis[a].taps;
    }
}

void gops_subconv_first(const gops_subconv_view *view, gops_subconvs *phases)
{
    for (int a = 0; a < view->axes; a++) {
        read_axis(&view->side[a], 0, &phases->axis[a]);
    }
    combine(view, phases);
}

int gops_subconv_next(const gops_subconv_view *view, gops_subconvs *phases)
{
    for (int a = view->axes - 1; a >= 0; a--) {
        const int64_t end = phases->axis[a].begin + phases->axis[a].count;
        const int carries = end == view->side[a].stride;
        read_axis(&view->side[a], carries ? 0 : end, &phases->axis[a]);
        if (!carries) {
            combine(view, phases);
            return 1;
        }
    }
    return 0;
}

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

static int axis_kinds(const gops_subconv_side *side,
                      gops_subconv_kind list[GOPS_SUBCONV_AXIS_KINDS])
{
    int kinds = 0;
    if (side->dilation == 1) {
        gops_subconv_axis run;
        for (int64_t begin = 0; begin < side->stride; begin += run.count) {
            read_axis(side, begin, &run);
            if (run.taps > 0) {
                count_kind(list, &kinds, run.count, run.taps, 1);
            }
        }
        return kinds;
    }
    const int64_t more = side->kernel / side->turn, rest = side->kernel % side->turn;
    if (more > 0) {
        count_kind(list, &kinds, 1, more, side->turn - rest);
    }
    if (rest > 0) {
        count_kind(list, &kinds, 1, more + 1, rest);
    }
    return kinds;
}

int gops_subconv_count_kinds(const gops_subconv_view *view, gops_subconv_kinds *kinds)
{
    gops_subconv_kind of_axis[GOPS_SUBCONV_AXIS_KINDS];
    *kinds = (gops_subconv_kinds){.kinds = 1, .least = INT64_MAX};
    kinds->kind[0] = (gops_subconv_kind){1, 1, 1};
    for (int a = 0; a < view->axes; a++) {
        gops_subconv_kind next[GOPS_SUBCONV_KINDS + GOPS_SUBCONV_AXIS_KINDS];
        const int more = axis_kinds(&view->side[a], of_axis);
        int found = 0;
        for (int64_t i = 0; i < kinds->kinds; i++) {
            const gops_subconv_kind *outer = &kinds->kind[i];
            for (int j = 0; j < more; j++) {
                count_kind(next, &found, outer->count * of_axis[j].count,
                           outer->taps * of_axis[j].taps, outer->times * of_axis[j].times);
            }
            if (found > GOPS_SUBCONV_KINDS) {
                return 0;
            }
        }
        memcpy(kinds->kind, next, (size_t)found * sizeof next[0]);
        kinds->kinds = found;
    }
    for (int64_t i = 0; i < kinds->kinds; i++) {
        const gops_subconv_kind *kind = &kinds->kind[i];
        kinds->products += kind->times;
        kinds->phases += kind->times * kind->count;
        kinds->taps += kind->times * kind->taps;
        kinds->least = gops_min(kinds->least, kind->count);
        kinds->most = gops_max(kinds->most, kind->count);
    }
    return 1;
}

int64_t gops_subconv_count(const gops_subconv_view *view)
{
    int64_t count = 1;
    for (int a = 0; a < view->axes; a++) {
        count *= view->side[a].stride;
    }
    return count;
}

/* The next of all combinations of the product's taps. */
static void next_tap(const gops_subconv_view *view, const gops_subconvs *phases, int64_t *tap)
{
    for (int a = view->axes - 1; a >= 0 && ++tap[a] == phases->axis[a].taps; a--) {
        tap[a] = 0;
    }
}

void gops_subconv_offsets(const gops_subconv_view *view, const gops_subconvs *phases,
                          const int64_t *pitch, int64_t plane, int64_t channels, int64_t *offsets)
{
    int64_t tap[GOPS_MAX_SPATIAL] = {0};
    for (int64_t t = 0; t < phases->taps; t++) {
        offsets[t] = 0;
        for (int a = 0; a < view->axes; a++) {
            const gops_subconv_axis *axis = &phases->axis[a];
            const int64_t shift = axis->shift + tap[a] * axis->step;
            offsets[t] += (view->side[a].most - shift) * pitch[a];
        }
        next_tap(view, phases, tap);
    }
    for (int64_t c = 1; c < channels; c++) {
        for (int64_t t = 0; t < phases->taps; t++) {
            offsets[c * phases->taps + t] = offsets[t] + c * plane;
        }
    }
}

void gops_subconv_pack(const gops_plan *plan, const gops_subconv_view *view,
                       const gops_subconvs *phases, const unsigned char *weights, int64_t first,
                       int64_t count, int64_t width, unsigned char *to)
{
    const gops_conv_geometry *conv = &plan->conv;
    const gops_type_row *type = plan->filter_type;
    const int64_t size = type->bytes;
    const int64_t bytes = gops_compute_bytes(type->compute);
    memset(to, 0, (size_t)(conv->channels_in * phases->taps * width * bytes));
    for (int64_t i = 0; i < count; i++) {
        int64_t begin[GOPS_MAX_SPATIAL], tap[GOPS_MAX_SPATIAL] = {0};
        int64_t rest = (first + i) % phases->count;
        for (int a = view->axes - 1; a >= 0; a--) {
            const gops_subconv_axis *axis = &phases->axis[a];
            begin[a] = first_tap(&view->side[a], axis->begin + rest % axis->count);
            rest /= axis->count;
        }
        const unsigned char *channel = weights + (first + i) / phases->count * conv->taps * size;
        for (int64_t t = 0; t < phases->taps; t++) {
            int64_t index = 0;
            for (int a = 0; a < view->axes; a++) {
                const gops_subconv_side *side = &view->side[a];
                index = index * side->kernel + begin[a] + tap[a] * side->turn;
            }
            for (int64_t c = 0; c < conv->channels_in; c++) {
                type->load(to + ((c * phases->taps + t) * width + i) * bytes,
                           channel + (c * conv->channels_out * conv->taps + index) * size, 1);
            }
            next_tap(view, phases, tap);
        }
    }
}
