/* pointwise_layout.h: how a pointwise convolution is cut; pointwise_conv.c.
 */
#ifndef GOPS_POINTWISE_LAYOUT_H
#define GOPS_POINTWISE_LAYOUT_H

#include "methods/pointwise/pointwise.h"
#include "plan/plan.h"

/* A number cut into pieces that differ by at most 1: `larger` of size + 1, then those of size. */
typedef struct gops_even_cut {
    int64_t pieces, size, larger;
} gops_even_cut;

typedef struct gops_pointwise_layout {
    gops_even_cut blocks; /* of C_OUT: a tile's channels */
    gops_even_cut
        panels;   /* of the pixels: a tile's vectors, in units of as many pixels as follows */
    int64_t unit; /* a vector, or 1 where there are odd pixels after the vectors */
    int64_t depth_block; /* input channels at a time */
    int64_t fetches;     /* not 0: the data comes from beyond the second level cache */
    int64_t picks;       /* not 0: strides; a panel's pixels are copied together */
    int64_t copies;      /* not 0: panels are copied, whose lines would drive each other away */
    /* How items divide the work: groups, blocks of output channels, panels. */
    int64_t share, part, parts, band, bands;
    /* The workspace: a panel, then these. */
    int64_t sums_from, outputs_from;
} gops_pointwise_layout;

static inline const gops_pointwise_layout *gops_pointwise_layout_of(const gops_plan *plan)
{
    return (const gops_pointwise_layout *)(const void *)plan->parameters.bytes;
}

static inline int64_t gops_piece_size(const gops_even_cut *cut, int64_t piece)
{
    return cut->size + (piece < cut->larger);
}

/* Where the piece begins. */
static inline int64_t gops_piece_begin(const gops_even_cut *cut, int64_t piece)
{
    return piece * cut->size + (piece < cut->larger ? piece : cut->larger);
}

/* Channels whose outputs are kept at a time, where they are stored by what kernels do not do. */
enum { GOPS_POINTWISE_STORED = 32 };

/* Fills in the plan but for `why`, as its method's `prepare`. */
gops_status gops_pointwise_lay_out(gops_plan *plan, int64_t slot_limit, gops_error *error);

#endif
