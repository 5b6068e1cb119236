/*
 * depthwise_rows_plan.h: the parameters of `depthwise/rows`.
 *
 * Both operations are sums over the taps of a block: a padded copy of a part of a channel, which
 * depthwise_rows.inc.h reads. A convolution with stride s along x deinterleaves the rows of its
 * copy into s residues, so that output t finds the data of tap k at t + m of residue r, next to the
 * data of output t + 1 (k * d = m * s + r; depthwise_method.h).
 */
#ifndef GOPS_DEPTHWISE_ROWS_PLAN_H
#define GOPS_DEPTHWISE_ROWS_PLAN_H

#include "methods/depthwise/depthwise_method.h"

typedef struct gops_depthwise_rows_plan {
    gops_depthwise_axis axis[3]; /* Z, Y, X */
    bool transposed;
    bool in_place;          /* the kernel writes the output tensor itself */
    int64_t residues;       /* that rows of the copy are deinterleaved into */
    int64_t residue_pitch;  /* all pitches count elements of the compute type */
    int64_t row_pitch;      /* of the copy */
    int64_t plane_pitch;    /* of the copy */
    int64_t output_pitch;   /* of the rows that the kernel writes, unless it is in_place */
    int64_t planes;         /* channels of all images */
    int64_t plane_block;    /* planes of an item */
    int64_t copy_bytes;     /* the workspace holds these, in this order */
    int64_t sums_bytes;     /* the kernel's output, unless it is in_place */
    int64_t staging_bytes;  /* one row that is converted or interleaved */
    int64_t weights_bytes;  /* of one filter, in the order of the tables */
    int64_t subconvs_bytes; /* a gops_depthwise_subconv for each sub-convolution */
    int64_t offsets_bytes;  /* an int64_t for each tap column and single tap */
    int64_t order_bytes;    /* an int64_t for each tap: the index of its weight */
} gops_depthwise_rows_plan;

/* The taps of a sub-convolution, as gops_depthwise_rows wants them. */
typedef struct gops_depthwise_subconv {
    int64_t tap_columns, single_taps, column_taps;
    int64_t offset, weight; /* indices of its first offset and its first weight */
} gops_depthwise_subconv;

/* The workspace of an item. */
typedef struct gops_depthwise_rows_workspace {
    void *copy;
    void *sums;
    void *staging;
    void *weights;
    gops_depthwise_subconv *subconvs;
    int64_t *offsets;
    int64_t *order;
} gops_depthwise_rows_workspace;

static inline const gops_depthwise_rows_plan *gops_depthwise_rows_read(const gops_plan *plan)
{
    return gops_read_parameters(plan);
}

/* depthwise_rows_tables.c: fills in the sub-convolutions, offsets and order. */
void gops_depthwise_rows_tables(const gops_depthwise_rows_plan *p,
                                const gops_depthwise_rows_workspace *ws);

/* depthwise_rows_run.c */
void gops_depthwise_rows_run(const gops_plan *plan, const gops_job *job, int64_t item,
                             void *workspace);

#endif
