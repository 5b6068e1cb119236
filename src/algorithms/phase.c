/* algorithms/phase.c: the phases of a transposed convolution; algorithms/phase.h. */
#include "algorithms/phase.h"

#include "base/checked.h"

#include <string.h>

/* Taps from one of a phase to the next: stride / gcd(stride, dilation). */
static int64_t turn_of(const gops_axis *axis)
{
    int64_t a = axis->stride, b = axis->dilation % axis->stride;
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return axis->stride / a;
}

int64_t gops_phase_tap(const gops_axis *axis, int64_t phase)
{
    if (axis->dilation == 1) {
        return gops_min(phase, axis->kernel);
    }
    const int64_t most = gops_min(axis->kernel, turn_of(axis));
    for (int64_t k = 0; k < most; k++) {
        if (k * axis->dilation % axis->stride == phase) {
            return k;
        }
    }
    return axis->kernel;
}

static void read_phase(const gops_axis *axis, int64_t phase, gops_phase_axis *to)
{
    const int64_t tap = gops_phase_tap(axis, phase);
    const int64_t turn = turn_of(axis);
    *to = (gops_phase_axis){.begin = phase, .count = 1, .turn = turn};
    if (tap < axis->kernel) {
        to->taps = gops_ceil_div(axis->kernel - tap, turn);
        to->shift = tap * axis->dilation / axis->stride;
        /* A single tap takes no step, and turn is not bounded by the kernel's size then. */
        to->step = to->taps > 1 ? turn * axis->dilation / axis->stride : 0;
    }
}

/* The phases from `begin` on that read the same shifts. */
static void read_axis(const gops_axis *axis, int64_t begin, gops_phase_axis *to)
{
    read_phase(axis, begin, to);
    for (int64_t phase = begin + 1; phase < axis->stride; phase++) {
        gops_phase_axis next;
        read_phase(axis, phase, &next);
        if (next.taps != to->taps || next.shift != to->shift) {
            return;
        }
        to->count++;
    }
}

static void combine(const gops_conv_geometry *conv, gops_phases *phases)
{
    phases->count = phases->taps = 1;
    for (int a = 0; a < conv->axes; a++) {
        phases->count *= phases->axis[a].count;
        phases->taps *= phases->axis[a].taps;
    }
}

void gops_phases_first(const gops_conv_geometry *conv, gops_phases *phases)
{
    for (int a = 0; a < conv->axes; a++) {
        read_axis(&conv->axis[a], 0, &phases->axis[a]);
    }
    combine(conv, phases);
}

int gops_phases_next(const gops_conv_geometry *conv, gops_phases *phases)
{
    for (int a = conv->axes - 1; a >= 0; a--) {
        const int64_t end = phases->axis[a].begin + phases->axis[a].count;
        const int carries = end == conv->axis[a].stride;
        read_axis(&conv->axis[a], carries ? 0 : end, &phases->axis[a]);
        if (!carries) {
            combine(conv, phases);
            return 1;
        }
    }
    return 0;
}

int64_t gops_phase_count(const gops_conv_geometry *conv)
{
    int64_t count = 1;
    for (int a = 0; a < conv->axes; a++) {
        count = gops_mul_saturate(count, conv->axis[a].stride);
    }
    return count;
}

/* The next of all combinations of the product's taps. */
static void next_tap(const gops_conv_geometry *conv, const gops_phases *phases, int64_t *tap)
{
    for (int a = conv->axes - 1; a >= 0 && ++tap[a] == phases->axis[a].taps; a--) {
        tap[a] = 0;
    }
}

void gops_phase_offsets(const gops_conv_geometry *conv, const gops_phases *phases,
                        const int64_t *pitch, int64_t plane, int64_t *offsets)
{
    int64_t tap[GOPS_MAX_SPATIAL] = {0};
    for (int64_t t = 0; t < phases->taps; t++) {
        offsets[t] = 0;
        for (int a = 0; a < conv->axes; a++) {
            const gops_phase_axis *axis = &phases->axis[a];
            const int64_t shift = axis->shift + tap[a] * axis->step;
            offsets[t] += (gops_phase_reach(&conv->axis[a]) - shift) * pitch[a];
        }
        next_tap(conv, phases, tap);
    }
    for (int64_t i = phases->taps; i < conv->channels_in * phases->taps; i++) {
        offsets[i] = offsets[i - phases->taps] + plane;
    }
}

void gops_phase_pack(const gops_plan *plan, const gops_phases *phases, const unsigned char *weights,
                     int64_t first, int64_t count, int64_t width, unsigned char *to)
{
    const gops_conv_geometry *conv = &plan->conv;
    const gops_type_row *type = plan->filter_type;
    const int64_t size = (int64_t)gops_type_bytes(type->type);
    const int64_t bytes = gops_compute_bytes(type->compute);
    memset(to, 0, (size_t)(conv->channels_in * phases->taps * width * bytes));
    for (int64_t i = 0; i < count; i++) {
        int64_t phase[GOPS_MAX_SPATIAL], tap[GOPS_MAX_SPATIAL] = {0};
        int64_t rest = (first + i) % phases->count;
        for (int a = conv->axes - 1; a >= 0; a--) {
            phase[a] = gops_phase_tap(&conv->axis[a],
                                      phases->axis[a].begin + rest % phases->axis[a].count);
            rest /= phases->axis[a].count;
        }
        const unsigned char *channel = weights + (first + i) / phases->count * conv->taps * size;
        for (int64_t t = 0; t < phases->taps; t++) {
            int64_t index = 0;
            for (int a = 0; a < conv->axes; a++) {
                index = index * conv->axis[a].kernel + phase[a] + tap[a] * phases->axis[a].turn;
            }
            for (int64_t c = 0; c < conv->channels_in; c++) {
                type->load(to + ((c * phases->taps + t) * width + i) * bytes,
                           channel + (c * conv->channels_out * conv->taps + index) * size, 1);
            }
            next_tap(conv, phases, tap);
        }
    }
}
