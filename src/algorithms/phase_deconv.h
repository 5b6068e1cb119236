/* algorithms/phase_deconv.h: what the two halves of the transposed convolution by phases share. */
#ifndef GOPS_ALGORITHMS_PHASE_DECONV_H
#define GOPS_ALGORITHMS_PHASE_DECONV_H

#include "algorithms/implicit_layout.h"
#include "algorithms/phase.h"

#include <assert.h>

typedef struct gops_phase_parameters {
    gops_implicit implicit; /* its box: data pixels shifted by none, u of algorithms/phase.h */
    int64_t span;           /* output channels at a time, whose sums of all phases are kept */
    int64_t rows;           /* (output channel, phase) pairs of a span that have taps */
    int64_t weights;        /* values of the packed filter for a whole span */
    /* The workspace: where each phase's sums are, a row of the output, pointers to rows. */
    int64_t table_from, line_from, pointers_from, block_from;
} gops_phase_parameters;

static_assert(sizeof(gops_phase_parameters) <= GOPS_PARAMETER_BYTES,
              "parameters outgrow the plan's room");

static inline const gops_phase_parameters *gops_phase_read(const gops_plan *plan)
{
    return (const gops_phase_parameters *)(const void *)plan->parameters.bytes;
}

/* Where the sums of a phase are: row `row` for the span's first channel, each next one's `step`
 * rows further; row -1: the phase has no taps. */
typedef struct gops_phase_row {
    int64_t row, step;
} gops_phase_row;

/* What one item works on. */
typedef struct gops_phase_piece {
    const gops_plan *plan;
    const gops_job *job;
    gops_box box;
    gops_segments segments;
    const unsigned char *filter; /* of the part of the channels */
    int64_t channel;             /* its first, counted over all groups */
    int64_t element;             /* of the output: that channel's first */
    int64_t channels;
    unsigned char *workspace;
} gops_phase_piece;

/* The first u of an axis: where output 0 is. */
static inline int64_t gops_phase_first(const gops_axis *axis)
{
    return axis->pad_begin / axis->stride;
}

/* phase_deconv.c: values of a group's packed filter. */
int64_t gops_phase_group_weights(const gops_plan *plan);
/* What the frame sees of the axes. */
void gops_phase_axes(const gops_conv_geometry *conv, gops_implicit_axis *axis);

/* phase_store.c: interleaves the sums of spots first to first + spots - 1, all phases of `count`
 * channels from the part's channel c on, into the output. */
void gops_phase_store(const gops_phase_piece *at, int64_t first, int64_t spots, int64_t c,
                      int64_t count);

/* phase_run.c */
void gops_phase_run(const gops_plan *plan, const gops_job *job, int64_t item, void *workspace);

#endif
