/*
 * depthwise_method.h: what the forms of `depthwise` share: spatial axes, taps and packed weights.
 *
 * rows and blocked have folders of their own; image has those that read the image where it lies, masked and shuffle;
 * permuted and pairs are of 8 bits.
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
 * one, `subconvs` in both cases: outputs t * subconvs + r.
 *
 * rows and blocked are sums over the taps of a block: a padded copy of a part of a channel, whose
 * elements are values in rows, and vectors in blocked. For a convolution with stride s along x,
 * rows deinterleaves the rows of its copy into s residues, so that output t finds the data of tap k
 * at t + m of residue r, next to the data of output t + 1.
 */
#ifndef GOPS_DEPTHWISE_METHOD_H
#define GOPS_DEPTHWISE_METHOD_H

#include "base/checked.h"
#include "methods/depthwise/depthwise.h"
#include "plan/plan.h"

#include <stdbool.h>

typedef struct gops_depthwise_axis {
    int64_t data, kernel, output, stride, dilation, pad;
    bool transposed;
    int64_t subconvs;      /* 1 of a convolution, s of a transposed one */
    int64_t count;         /* positions */
    int64_t block, blocks; /* positions of a block, the last one may have fewer; number of blocks */
    int64_t step;          /* in the copy, between positions: s of a convolution, else 1 */
    int64_t shift;         /* of data 0 in the copy from position 0 on: p, or m of a transposed
                        convolution's last tap */
    int64_t reach;         /* in the copy, from the first tap to the last */
    int64_t spacing;       /* in the copy, between neighbouring taps of a sub-convolution */
    int64_t every;         /* those are so many taps of the kernel apart */
} gops_depthwise_axis;

/* depthwise_axes.c: the three axes Z, Y, X of a plan, each one block; those that the operation
 * lacks have length 1. Refuses more than one input channel in a group, more than 3 spatial axes and
 * very large strides of a transposed convolution. */
gops_status gops_depthwise_axes(const gops_plan *plan, gops_depthwise_axis axis[3],
                                gops_error *error);

/* Values of the compute type in a vector, which are the channels of a block of depthwise/blocked. A set that takes the
 * kernels of another one has registers of the same size. */
static inline int64_t gops_depthwise_lanes(const gops_plan *plan)
{
    return plan->kernels->vector_bytes / gops_compute_bytes(plan->type->compute);
}

/* Nanoseconds in which each item fills its copy, `bytes`, with zeros. Of a copy within the first level cache
 * that is part of what an item takes; taps far apart make copies of gigabytes. 1 MB takes 25 us (Zen 3). */
static inline double gops_depthwise_clear_ns(const gops_plan *plan, int64_t bytes)
{
    enum { BYTES_A_NS = 40 };
    return (double)plan->items * (double)gops_max(bytes - plan->machine.l1_bytes, 0) / BYTES_A_NS;
}

/* Whether there is but one image along Z. */
static inline bool gops_depthwise_is_flat(const gops_depthwise_axis *z)
{
    return z->data == 1 && z->pad == 0 && z->output == 1 && z->kernel == 1;
}

/* Positions of a block along an axis. */
typedef struct gops_depthwise_range {
    int64_t first, count;
} gops_depthwise_range;

/* gops_taps_inside of such an axis. */
static inline gops_range gops_depthwise_taps_inside(const gops_depthwise_axis *axis, int64_t output)
{
    return gops_taps_inside(&(gops_axis){.data = axis->data,
                                         .kernel = axis->kernel,
                                         .stride = axis->stride,
                                         .dilation = axis->dilation,
                                         .pad_begin = axis->pad},
                            output);
}

/* A sub-convolution along an axis. Its taps are in the order of their data: tap first + i * step is
 * at position + i * spacing of the copy. */
typedef struct gops_depthwise_taps {
    int64_t residue;
    int64_t outputs; /* the positions of the block that have outputs are the first ones */
    int64_t count;   /* of taps */
    int64_t first, step;
    int64_t position;
} gops_depthwise_taps;

/* depthwise_axes.c: that of a residue; a convolution has one. */
gops_depthwise_taps gops_depthwise_find_taps(const gops_depthwise_axis *axis,
                                             gops_depthwise_range block, int64_t residue);

/* Cuts an axis into as many equal blocks as make them at most `block` long. */
static inline void gops_depthwise_cut(gops_depthwise_axis *axis, int64_t block)
{
    axis->blocks = gops_ceil_div(axis->count, gops_clamp(block, 1, axis->count));
    axis->block = gops_ceil_div(axis->count, axis->blocks);
}

/* Elements of the copy of a block along an axis. */
static inline int64_t gops_depthwise_extent(const gops_depthwise_axis *axis)
{
    return (axis->block - 1) * axis->step + axis->reach + 1;
}

/* The taps of a sub-convolution, as gops_depthwise_rows wants them. */
typedef struct gops_depthwise_subconv {
    int64_t residue[3];
    int64_t count[3]; /* the positions of the block that have outputs are the first ones */
    const gops_depthwise_tap *taps;
    int64_t tap_columns, single_taps, column_taps;
} gops_depthwise_subconv;

/* The workspace of an item of rows or blocked. */
typedef struct gops_depthwise_workspace {
    unsigned char *copy;
    unsigned char *sums;              /* the kernel's output, unless that is the tensor */
    unsigned char *staging;           /* what is converted, interleaved or stored by gops_store */
    gops_depthwise_subconv *subconvs; /* X inmost */
    gops_depthwise_tap *taps;
    unsigned char *weights; /* rows: a filter's, in the order of its taps */
    int64_t *positions;     /* blocked: for each pixel of the data its index in the copy */
} gops_depthwise_workspace;

/* The padded copy and the workspace of rows and blocked. Pitches are in elements of the copy. */
typedef struct gops_depthwise_layout {
    gops_depthwise_axis axis[3]; /* Z, Y, X */
    bool columns;                /* tap columns where there are taps below each other */
    int64_t stride, residues;    /* that rows of the copy are deinterleaved by, and into */
    int64_t residue_pitch, row_pitch, plane_pitch;
    /* Where the parts of the workspace begin, in bytes. */
    struct {
        int64_t copy, sums, staging, subconvs, taps, weights, positions;
    } begin;
} gops_depthwise_layout;

/* depthwise_layout.c: lays out the workspace and returns its bytes. The arguments are the bytes of
 * these parts. */
int64_t gops_depthwise_lay_out(gops_depthwise_layout *layout, int64_t copy, int64_t sums,
                               int64_t staging, int64_t weights, int64_t positions);

/* depthwise_layout.c: divides the workspace and fills in sub-convolutions and taps of a block. */
gops_depthwise_workspace gops_depthwise_divide(const gops_depthwise_layout *layout,
                                               const gops_depthwise_range block[3],
                                               void *workspace);

/* A block of channels of depthwise/blocked whose data are copied without padding. */
typedef struct gops_depthwise_planes {
    const void *data, *weights;
    void *output;
    int64_t vector_bytes;
    const void *bounds, *bias; /* as gops_depthwise_rows */
} gops_depthwise_planes;

/* depthwise_plane.c: the kernel for such a block, or NULL where the copy must be padded; and all outputs by it. */
gops_depthwise_plane_fn *gops_depthwise_find_plane(const gops_depthwise_kernels *kernels,
                                                   const gops_depthwise_axis axis[3]);
void gops_depthwise_run_planes(gops_depthwise_plane_fn *kernel, const gops_depthwise_axis axis[3],
                               const gops_depthwise_planes *planes);

/* The parameters of depthwise/rows. */
typedef struct gops_depthwise_rows_plan {
    gops_depthwise_layout layout;
    bool in_place;       /* the kernel writes the output tensor itself */
    int64_t planes;      /* channels of all images */
    int64_t plane_block; /* planes of an item */
} gops_depthwise_rows_plan;

/* depthwise_rows_run.c */
void gops_depthwise_rows_run(const gops_plan *plan, const gops_job *job, int64_t item,
                             void *workspace);

/* The parameters of the forms that read the image where it lies. */
typedef struct gops_depthwise_image_plan {
    gops_depthwise_axis axis[3];
    gops_depthwise_image_fn *kernel;
    int64_t row_block, row_blocks; /* rows of outputs of an item; blocks of an image */
    int64_t filters;               /* output channels of the whole batch */
    int64_t filter_block;          /* filters of an item */
    int64_t call_filters;          /* of a call of the kernel */
    bool converts;                 /* the data type is not its own compute type */
    int64_t copy_bytes; /* of the converted data, which lie in the workspace before the sums */
} gops_depthwise_image_plan;

/* Converts the pixels of so many channels of the data, which then follow each other. */
static inline void gops_depthwise_load(const gops_plan *plan, void *to, const void *from,
                                       int64_t channels)
{
    const int64_t pixels = plan->conv.data_pixels, plane = plan->data_plane;
    const int64_t together = plane == pixels ? channels : 1;
    for (int64_t c = 0; c < channels; c += together) {
        plan->type->load((unsigned char *)to + c * pixels * gops_compute_bytes(plan->type->compute),
                         (const unsigned char *)from + c * plane * plan->type->bytes,
                         together * pixels);
    }
}

/* depthwise_image_run.c */
void gops_depthwise_image_run(const gops_plan *plan, const gops_job *job, int64_t item,
                              void *workspace);

/* depthwise_pack.c: the weights twice, so that one packed filter serves every form but `permuted` and `pairs`: in
 * their own order, and from byte gops_depthwise_blocked_offset on as [blocks, C_OUT, taps, lanes]. */
int64_t gops_depthwise_filter_bytes(const gops_plan *plan);
int64_t gops_depthwise_blocked_offset(const gops_plan *plan);
void gops_depthwise_pack(const gops_plan *plan, const void *weights, const int32_t *zero_points,
                         void *packed);

#endif
