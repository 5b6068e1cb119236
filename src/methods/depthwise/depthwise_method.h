/*
 * depthwise_method.h: the parameters of `direct`, which serves groups of one input channel.
 *
 * Both operations are sums over taps of a padded copy of a part of a channel, the block, with the
 * kernels of depthwise_rows.inc.h. On each axis, with stride s, dilation d and the first pad p,
 * write tap k's distance as k * d = m * s + rho, 0 <= rho < s.
 *
 * Convolution: output t reads data t * s + k * d - p. Along x the copy is taken apart into its s
 * phases, so that output t finds its data at t + m of phase rho, next to that of output t + 1.
 *
 * Transposed convolution: data i and tap k meet at output o = i * s + k * d - p. Write the output
 * as o = t * s + rho, and k * d - p = m * s + rho: what it sums up are the taps with its rho, and
 * the data t - m. So each rho, on each axis, is a class of outputs with its own taps, and an
 * ordinary convolution with stride 1; the outputs of the classes are put together afterwards. A
 * class may have no taps: zeros.
 *
 * So a position t stands for `classes` outputs, 1 of a convolution and s of a transposed one.
 */
#ifndef GOPS_DEPTHWISE_METHOD_H
#define GOPS_DEPTHWISE_METHOD_H

#include "methods/depthwise/depthwise.h"
#include "plan/plan.h"

typedef struct gops_depthwise_axis {
    int64_t data, kernel, output, stride, dilation, pad;
    int64_t classes;
    int64_t first, count;  /* of the positions */
    int64_t block, blocks; /* positions of a block, but for a shorter last one; how many blocks */
    int64_t step;    /* in the copy, from one position to the next: 1, or s of a convolution */
    int64_t most;    /* m of a transposed convolution's last tap */
    int64_t reach;   /* in the copy, from the first tap to the last */
    int64_t spacing; /* in the copy, between neighbouring taps of a class */
} gops_depthwise_axis;

typedef struct gops_depthwise {
    gops_depthwise_axis axis[3]; /* Z, Y, X; those that the operation lacks have length 1 */
    int transposed;
    int in_place;          /* the kernel can write the output itself */
    int64_t phases;        /* of the copy along x */
    int64_t phase_pitch;   /* all pitches count elements of the compute type */
    int64_t row_pitch;     /* of the copy */
    int64_t plane_pitch;   /* of the copy */
    int64_t output_pitch;  /* of the rows that the kernel writes, unless it is in_place */
    int64_t planes;        /* channels of all images */
    int64_t plane_block;   /* of an item */
    int64_t copy_bytes;    /* what lies in the workspace, in this order */
    int64_t sums_bytes;    /* the kernel's output, unless it is in_place */
    int64_t line_bytes;    /* one row on its way from or to another type */
    int64_t weights_bytes; /* of one filter, in the order of the tables */
    int64_t classes_bytes; /* gops_depthwise_class of each class */
    int64_t offsets_bytes; /* int64_t of each segment and single tap */
    int64_t order_bytes;   /* int64_t of each tap: which weight */
} gops_depthwise;

/* The taps of one class of outputs along an axis, in the order of their data: tap
 * first + i * step at position + i * spacing of the copy. */
typedef struct gops_depthwise_taps {
    int64_t count;
    int64_t first, step;
    int64_t position;
} gops_depthwise_taps;

/* The taps of one class of outputs, as gops_depthwise_rows wants them. */
typedef struct gops_depthwise_class {
    int64_t segments, singles, chunk;
    int64_t offset, weight; /* where its own begin */
} gops_depthwise_class;

/* The parts of an item's workspace. */
typedef struct gops_depthwise_workspace {
    void *copy;
    void *sums;
    void *line;
    void *weights;
    gops_depthwise_class *classes;
    int64_t *offsets;
    int64_t *order;
} gops_depthwise_workspace;

static inline const gops_depthwise *gops_depthwise_read(const gops_plan *plan)
{
    return (const gops_depthwise *)(const void *)plan->parameters.bytes;
}

/* depthwise_axes.c: the axes of a plan of either operation, each one block; refuses more
 * than one input channel in a group, more than 3 spatial axes and very large strides of a
 * transposed convolution. */
gops_status gops_depthwise_axes(const gops_plan *plan, gops_depthwise_axis axis[3],
                                gops_error *error);

/* depthwise_axes.c: the taps of class rho. */
gops_depthwise_taps gops_depthwise_list(const gops_depthwise_axis *axis, int transposed,
                                        int64_t rho);

/* depthwise_axes.c: which of the positions `first` to first + count - 1 have an output of
 * class rho: from first + *begin to first + the result - 1. */
int64_t gops_depthwise_outputs(const gops_depthwise_axis *axis, int transposed, int64_t rho,
                               int64_t first, int64_t count, int64_t *begin);

/* The output of class rho of a position. */
static inline int64_t gops_depthwise_output(const gops_depthwise_axis *axis, int transposed,
                                            int64_t position, int64_t rho)
{
    return transposed ? position * axis->stride + rho : position;
}

/* depthwise_tables.c: fills in the classes, offsets and order. */
void gops_depthwise_tables(const gops_depthwise *p, const gops_depthwise_workspace *parts);

/* depthwise_pack.c: the weights as both direct methods want them, so that a filter serves
 * whichever is chosen for a size: in their own order, and from a byte on in that of bundles. */
int64_t gops_depthwise_filter_bytes(const gops_plan *plan);
int64_t gops_depthwise_blockeds_from(const gops_plan *plan);
void gops_depthwise_pack(const gops_plan *plan, const void *weights, void *packed);

/* depthwise_run.c */
void gops_depthwise_run(const gops_plan *plan, const gops_job *job, int64_t item, void *workspace);

#endif
