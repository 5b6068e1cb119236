/*
 * depthwise_method.h: what the forms of `depthwise` share: spatial axes, taps and packed weights.
 *
 * On each axis, with stride s, dilation d and first pad p, write the distance of tap k as
 * k * d = m * s + r, 0 <= r < s.
 *
 * Convolution: output t reads data t * s + k * d - p.
 *
 * Transposed convolution: data i and tap k add to output o = i * s + k * d - p. Write the output as
 * o = t * s + r, and k * d - p = m * s + r: an output sums the taps of its own residue r, and of
 * those the data t - m. So the outputs of each residue are a sub-convolution: an ordinary
 * convolution with stride 1 and its own taps. Its outputs are interleaved with the others' in the
 * end. A sub-convolution without taps is all zeros.
 *
 * A position t therefore stands for one output of a convolution and for s outputs of a transposed
 * one, `subconvs` in both cases.
 */
#ifndef GOPS_DEPTHWISE_METHOD_H
#define GOPS_DEPTHWISE_METHOD_H

#include "methods/depthwise/depthwise.h"
#include "plan/plan.h"

#include <stdbool.h>

typedef struct gops_depthwise_axis {
    int64_t data, kernel, output, stride, dilation, pad;
    int64_t subconvs;      /* 1 of a convolution, s of a transposed one */
    int64_t first, count;  /* positions */
    int64_t block, blocks; /* positions of a block, the last one may have fewer; number of blocks */
    int64_t step;          /* in the copy, between positions: s of a convolution, else 1 */
    int64_t max_shift;     /* m of a transposed convolution's last tap */
    int64_t reach;         /* in the copy, from the first tap to the last */
    int64_t spacing;       /* in the copy, between neighbouring taps of a sub-convolution */
} gops_depthwise_axis;

/* The taps of a sub-convolution along one axis, in the order of their data: tap first + i * step is
 * at position + i * spacing of the copy. */
typedef struct gops_depthwise_taps {
    int64_t count;
    int64_t first, step;
    int64_t position;
} gops_depthwise_taps;

/* depthwise_axes.c: the three axes Z, Y, X of a plan, each one block; those that the operation
 * lacks have length 1. Refuses more than one input channel in a group, more than 3 spatial axes and
 * very large strides of a transposed convolution. */
gops_status gops_depthwise_axes(const gops_plan *plan, gops_depthwise_axis axis[3],
                                gops_error *error);

/* depthwise_axes.c: the taps of the sub-convolution of a residue. */
gops_depthwise_taps gops_depthwise_subconv_taps(const gops_depthwise_axis *axis, bool transposed,
                                                int64_t residue);

/* depthwise_axes.c: how many of the positions `first` to first + count - 1 have an output with this
 * residue; these are the first ones. */
int64_t gops_depthwise_subconv_outputs(const gops_depthwise_axis *axis, bool transposed,
                                       int64_t residue, int64_t first, int64_t count);

/* The index of the output of a position with this residue. */
static inline int64_t gops_depthwise_output_index(const gops_depthwise_axis *axis, bool transposed,
                                                  int64_t position, int64_t residue)
{
    return transposed ? position * axis->stride + residue : position;
}

/* depthwise_pack.c: the weights twice, so that one packed filter serves every form: in their own
 * order, and from byte gops_depthwise_blocked_offset on as [blocks, C_OUT, taps, lanes]. */
int64_t gops_depthwise_filter_bytes(const gops_plan *plan);
int64_t gops_depthwise_blocked_offset(const gops_plan *plan);
void gops_depthwise_pack(const gops_plan *plan, const void *weights, void *packed);

#endif
