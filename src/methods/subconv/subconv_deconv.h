/* subconv_deconv.h: what the parts of the method `subconv` share. */
#ifndef GOPS_SUBCONV_DECONV_H
#define GOPS_SUBCONV_DECONV_H

#include "methods/implicit/implicit_layout.h"
#include "methods/implicit/lanes_run.h"
#include "methods/subconv/subconv.h"
#include "post_ops/epilogue.h"

#include <assert.h>

typedef struct gops_subconv_parameters {
    gops_implicit implicit; /* its boxes are of positions j (subconv.h) */
    gops_subconv_split split;
    bool single_position; /* there is one position, and the sums of a channel are its outputs */
    /* A panel: some output channels, of which the sums of all sub-convolutions are kept at a time:
     * a row for each channel and sub-convolution that has taps. */
    int64_t panel_channels;
    int64_t panel_weights; /* values of the packed filter for a whole panel */
    int64_t products;      /* that have taps */
    int64_t subconvs;      /* of them all */
    int64_t panel_depth;   /* the sum of their depths */
    /* Where these begin in the workspace, in bytes, after what `implicit` has there: the rows of
     * sums of each sub-convolution, the sizes of the products, a part of an output row, and
     * the rows of each residue. */
    int64_t rows_begin, products_begin, output_row_begin, residues_begin;
} gops_subconv_parameters;

static_assert(sizeof(gops_subconv_parameters) <= GOPS_PARAMETER_BYTES,
              "parameters outgrow the plan's room");

static inline const gops_subconv_parameters *gops_subconv_read(const gops_plan *plan)
{
    return gops_read_parameters(plan);
}

/* The rows that hold the sums of a sub-convolution: `row` for the panel's first channel, and `step`
 * rows further for each next one. Row -1: it has no taps. */
typedef struct gops_subconv_row {
    int64_t row, step;
} gops_subconv_row;

/* A product with taps: its sub-convolutions, its taps and its depth. */
typedef struct gops_subconv_product_size {
    int64_t count, taps, depth;
    int64_t rows_before;   /* the sub-convolutions of the products before it */
    gops_axis outer, last; /* gops_subconv_product_axis */
} gops_subconv_product_size;

/* A work item in execution. */
typedef struct gops_subconv_work {
    gops_implicit_item item;
    const gops_epilogue *epilogue; /* NULL, or what the tiles apply */
    gops_subconv_geometry geometry;
    int64_t sums_ld;             /* from one row of the sums to the next */
    const unsigned char *filter; /* the packed weights of the item's channels */
    gops_lanes_filter lanes;     /* of quads: the sums are those of the item's channels */
    int64_t sum_bytes;           /* of what the tiles leave */
    gops_transpose_fn *transpose;
    gops_interleave_fn *interleave;
    bool finished; /* what the tiles leave are the outputs */
    /* Quantized plans: the item's gops_lanes_values. */
    uint32_t first[GOPS_EPILOGUE_CHANNELS];
    float scale[GOPS_EPILOGUE_CHANNELS];
} gops_subconv_work;

/* subconv_plan.c */

/* Lays out the split, form and tile that cost least; false where none fits. */
bool gops_subconv_plan(gops_plan *plan, int64_t worker_limit);
/* Values of the packed filter for a panel of `channels` channels, and for a whole group. */
int64_t gops_subconv_panel_weights(const gops_plan *plan, const gops_subconv_parameters *p,
                                   const gops_subconv_kinds *kinds, int64_t channels);
int64_t gops_subconv_group_weights(const gops_plan *plan, const gops_subconv_geometry *geometry);

/* subconv_store.c: interleaves the sums of the columns of the pass, of which `first` is the first, of
 * all sub-convolutions of the item's channels c to c + count - 1, into the output. */
void gops_subconv_store(const gops_subconv_work *work, int64_t first, int64_t c, int64_t count);

/* subconv_run.c */
void gops_subconv_run(const gops_plan *plan, const gops_job *job, int64_t index, void *workspace);

#endif
