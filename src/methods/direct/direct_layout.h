/* direct_layout.h: how a convolution is cut into strips; direct_conv.c. */
#ifndef GOPS_DIRECT_LAYOUT_H
#define GOPS_DIRECT_LAYOUT_H

#include "methods/direct/direct.h"
#include "plan/plan.h"

typedef struct gops_direct_layout {
    const gops_direct_kernel *strip;
    int64_t height, spots; /* of a strip: rows of outputs, outputs of each */
    int64_t width;         /* its channels */
    const gops_direct_kernel
        *rest;             /* of the last block of a group's channels, as high and as wide */
    int64_t padded;        /* C_OUT, and what fills the last block */
    int64_t strips;        /* of a row; the last one may be shorter */
    int64_t before, after; /* strips at the row's ends whose taps an edge may cut */
    int64_t entries;       /* of all lists of taps */
    int64_t depth_block;   /* input channels at a time */
    /* Strips beside each other are a line; planes of outputs (of the last two axes) have rows and
     * lines, of which the last may be less high. */
    int64_t plane_rows, plane_lines;
    int64_t lines;   /* of all planes */
    int64_t chunk;   /* lines at a time */
    int64_t fetches; /* not 0: the data comes from beyond the second level cache */
    int64_t claims;  /* not 0: the outputs go there */
    /* How items divide the work: groups, blocks of output channels, lines. */
    int64_t share, part, parts, band, bands;
    /* The workspace: the lists of taps, then these. */
    int64_t counts_from, rows_from, sums_from, outputs_from;
} gops_direct_layout;

static inline const gops_direct_layout *gops_direct_layout_of(const gops_plan *plan)
{
    return gops_read_parameters(plan);
}

/* Bytes of a group's packed weights for its first `channels` channels: of all blocks before, or
 * for `padded`, of all. */
static inline int64_t gops_direct_weights(const gops_plan *plan, int64_t channels)
{
    return channels * gops_direct_layout_of(plan)->strip->size.joined * plan->conv.k *
           gops_compute_bytes(plan->type->compute);
}

/* Fills in the plan but for `why`, as its method's `prepare`. */
gops_status gops_direct_lay_out(gops_plan *plan, int64_t worker_limit, gops_error *error);

/* The taps of an axis that meet data for an output: *first to *last - 1, none where equal. */
void gops_direct_taps_inside(const gops_axis *axis, int64_t output, int64_t *first, int64_t *last);

/* Of outputs begin to begin + count - 1 of an axis those for which a tap meets data, counted from
 * the first: *first to *last - 1, none where equal. */
void gops_direct_outputs_inside(const gops_axis *axis, int64_t begin, int64_t count, int64_t tap,
                                int64_t *first, int64_t *last);

/* The first row of a line, counted over all planes. */
static inline int64_t gops_direct_row(const gops_direct_layout *p, int64_t line)
{
    return line / p->plane_lines * p->plane_rows + line % p->plane_lines * p->height;
}

/* Strips that no edge cuts have one list of taps in common: the first after those `before`. */
static inline int64_t gops_direct_list(const gops_direct_layout *p, int64_t strip)
{
    return strip < p->before              ? strip
           : strip < p->strips - p->after ? p->before
                                          : strip - (p->strips - p->after) + p->before + 1;
}

/* Writes all lists of the last axis' taps, and where each ends. */
void gops_direct_list_taps(const gops_plan *plan, gops_direct_tap *taps, int64_t *ends);

#endif
