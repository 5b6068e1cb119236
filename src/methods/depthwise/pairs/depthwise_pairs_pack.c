/*
 * depthwise_pairs_pack.c: packs filters for `depthwise/pairs`: each as the pairs of
 * gops_depthwise_pairs_call.weights, of a transposed convolution one sub-convolution after the other,
 * by their first taps.
 */
#include "methods/depthwise/pairs/depthwise_pairs_method.h"

/* The taps of a row of the kernel that a sub-convolution has, in the order of their data. */
typedef struct tap_row {
    const unsigned char *first;
    int64_t count, step;
    gops_type type;
    int32_t zero;
} tap_row;

/* Tap t, less the zero point; 0 where there is none. */
static int16_t tap_of(const tap_row *row, int64_t t)
{
    if (t < 0 || t >= row->count) {
        return 0;
    }
    return (int16_t)(gops_8_bit_at(row->type, row->first, t * row->step) - row->zero);
}

/* Returns the end of what it packs. */
static int16_t *pack_row(const gops_depthwise_axis *x, const tap_row *row, int16_t *to)
{
    const bool single = x->spacing > 1, by_itself = gops_pairs_odd_by_itself(x, row->count);
    const int64_t pairs = gops_pairs_of_row(x, row->count);
    for (int64_t pair = 0; pair < pairs; pair++, to += 4) {
        const int64_t t = single ? pair : 2 * pair;
        to[0] = tap_of(row, t);
        to[1] = single ? 0 : tap_of(row, t + 1);
        to[2] = single ? 0 : tap_of(row, by_itself ? t : t - 1);
        to[3] = tap_of(row, by_itself && !single ? t + 1 : t);
    }
    return to;
}

/* Packs the taps of a filter that begin with tap first[a] of each axis. */
static int16_t *pack_subconv(const gops_pairs_plan *p, const int64_t first[3],
                             const unsigned char *filter, tap_row row, int16_t *to)
{
    const gops_depthwise_axis *axis = p->axis;
    const int64_t sign = axis[2].transposed ? -1 : 1;
    int64_t count[3], begin[3], step[3];
    for (int a = 0; a < 3; a++) {
        count[a] = gops_pairs_taps(&axis[a], first[a]);
        step[a] = sign * axis[a].every;
        begin[a] = sign > 0 ? first[a] : first[a] + (count[a] - 1) * -step[a];
    }
    row.count = count[2];
    row.step = step[2];
    for (int64_t z = 0; z < count[0]; z++) {
        for (int64_t y = 0; y < count[1]; y++) {
            const int64_t plane = begin[0] + z * step[0], line = begin[1] + y * step[1];
            row.first = filter + (plane * axis[1].kernel + line) * axis[2].kernel + begin[2];
            to = pack_row(&axis[2], &row, to);
        }
    }
    return to;
}

void gops_depthwise_pairs_pack(const gops_plan *plan, const void *weights,
                               const int32_t *zero_points, void *packed)
{
    const gops_pairs_plan *p = gops_read_parameters(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const gops_depthwise_axis *axis = p->axis;
    tap_row row = {.type = plan->filter_type->type};
    int16_t *to = packed;
    for (int64_t f = 0; f < conv->groups * conv->channels_out; f++) {
        const unsigned char *filter = (const unsigned char *)weights + f * conv->taps;
        row.zero = zero_points[f];
        int64_t first[3];
        for (first[0] = 0; first[0] < axis[0].every; first[0]++) {
            for (first[1] = 0; first[1] < axis[1].every; first[1]++) {
                for (first[2] = 0; first[2] < axis[2].every; first[2]++) {
                    to = pack_subconv(p, first, filter, row, to);
                }
            }
        }
    }
}
