/* subconv_deconv.h: what the parts of the transposed convolution by phases share. */
#ifndef GOPS_SUBCONV_DECONV_H
#define GOPS_SUBCONV_DECONV_H

#include "methods/implicit/implicit_layout.h"
#include "methods/subconv/subconv.h"
#include "post_ops/epilogue.h"

#include <assert.h>

typedef struct gops_subconv_parameters {
    gops_implicit implicit; /* its box: positions j of subconv.h */
    gops_subconv_form form;
    int32_t single;   /* there is one position, and a channel's outputs are its phases' sums */
    int64_t span;     /* output channels at a time, whose sums of all phases are kept */
    int64_t rows;     /* (output channel, phase) pairs of a span that have taps */
    int64_t weights;  /* values of the packed filter for a whole span */
    int64_t products; /* that have taps */
    /* The workspace: where each phase's sums are, the products, a row of the output, pointers to
     * rows. */
    int64_t table_from, products_from, line_from, pointers_from, block_from;
} gops_subconv_parameters;

static_assert(sizeof(gops_subconv_parameters) <= GOPS_PARAMETER_BYTES,
              "parameters outgrow the plan's room");

static inline const gops_subconv_parameters *gops_subconv_read(const gops_plan *plan)
{
    return gops_read_parameters(plan);
}

/* Where the sums of a phase are: row `row` for the span's first channel, each next one's `step`
 * rows further; row -1: the phase has no taps. */
typedef struct gops_subconv_row {
    int64_t row, step;
} gops_subconv_row;

/* A product with taps: phases for each channel, and the depth. */
typedef struct gops_subconv_product {
    int64_t count, depth;
} gops_subconv_product;

/* What one item works on. */
typedef struct gops_subconv_piece {
    const gops_plan *plan;
    const gops_job *job;
    gops_subconv_view view;
    gops_box box;
    gops_segments segments;
    int64_t sums_ld;             /* from one row of the sums to the next */
    const unsigned char *filter; /* of the part of the channels */
    int64_t channel;             /* its first, counted over all groups */
    int64_t element;             /* of the output: that channel's first */
    int64_t channels;
    unsigned char *workspace;
    const gops_job *whole; /* job, and what the tiles do of it */
    const gops_epilogue *trim;
} gops_subconv_piece;

/* phase_plan.c: lays out the form and tile that cost least; 0 where none fits. */
int gops_subconv_plan(gops_plan *plan, int64_t worker_limit);
/* phase_plan.c: values of the packed filter for a span of so many channels, and of a whole group's.
 */
int64_t gops_subconv_span_weights(const gops_plan *plan, const gops_subconv_parameters *p,
                                  const gops_subconv_kinds *kinds, int64_t channels);
int64_t gops_subconv_group_weights(const gops_plan *plan, const gops_subconv_view *view);
/* phase_plan.c: what the frame sees of the axes. */
void gops_subconv_axes(const gops_subconv_view *view, gops_implicit_axis *axis);

/* phase_store.c: interleaves the sums of spots first to first + spots - 1, all phases of `count`
 * channels from the part's channel c on, into the output. */
void gops_subconv_store(const gops_subconv_piece *at, int64_t first, int64_t spots, int64_t c,
                        int64_t count);

/* phase_run.c */
void gops_subconv_run(const gops_plan *plan, const gops_job *job, int64_t item, void *workspace);

#endif
