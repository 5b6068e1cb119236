/*
 * algorithms/phase.h: a transposed convolution as ordinary ones with stride 1.
 *
 * Output pixel o of an axis gets what data pixel i and tap k give where
 *
 *     o + pad = i * stride + k * dilation.
 *
 * With o + pad = u * stride + phase, 0 <= phase < stride, the taps that count are those with
 * k * dilation % stride == phase, and each reads i = u - k * dilation / stride. So each phase is a
 * convolution of the data over u, with stride 1 and a part of the taps, and the outputs of the
 * phases interleave. Phases that read the same shifts of the data, as all do where the stride
 * divides the kernel's size, are computed as more output channels of one matrix product: its
 * channels are (output channel, phase) pairs, phase fastest.
 */
#ifndef GOPS_ALGORITHMS_PHASE_H
#define GOPS_ALGORITHMS_PHASE_H

#include "plan/plan.h"

/* A product: the phases begin to begin + count - 1 of each axis. Tap j of them, of `taps`, reads
 * the data shifted by shift + j * step; it is tap first + j * turn of the filter, where `first`
 * depends on the phase. No taps: the outputs are 0. */
typedef struct gops_phase_axis {
    int64_t begin, count;
    int64_t taps, shift, step, turn;
} gops_phase_axis;

typedef struct gops_phases {
    gops_phase_axis axis[GOPS_MAX_SPATIAL];
    int64_t count; /* the product of axis[].count */
    int64_t taps;  /* the product of axis[].taps */
} gops_phases;

void gops_phases_first(const gops_conv_geometry *conv, gops_phases *phases);
/* False after the last. */
int gops_phases_next(const gops_conv_geometry *conv, gops_phases *phases);

/* The first tap of a phase of an axis; the kernel's size where there is none. */
int64_t gops_phase_tap(const gops_axis *axis, int64_t phase);

/* The largest shift of any tap. */
static inline int64_t gops_phase_reach(const gops_axis *axis)
{
    return (axis->kernel - 1) * axis->dilation / axis->stride;
}

/* The product of the strides, saturated. */
int64_t gops_phase_count(const gops_conv_geometry *conv);

/* The frame's shifts for the taps of a product, of all channels; pitch is from one pixel of an axis
 * to the next, plane from channel to channel. */
void gops_phase_offsets(const gops_conv_geometry *conv, const gops_phases *phases,
                        const int64_t *pitch, int64_t plane, int64_t *offsets);

/* The weights of (output channel, phase) pairs first to first + count - 1 of a product, in the
 * layout [channels_in * taps][width] of a tile; 0 beyond count. */
void gops_phase_pack(const gops_plan *plan, const gops_phases *phases, const unsigned char *weights,
                     int64_t first, int64_t count, int64_t width, unsigned char *to);

#endif
