/* depthwise_pairs_method.h: the parameters of depthwise/pairs. */
#ifndef GOPS_DEPTHWISE_PAIRS_METHOD_H
#define GOPS_DEPTHWISE_PAIRS_METHOD_H

#include "methods/depthwise/depthwise_method.h"
#include "methods/depthwise/pairs/depthwise_pairs.h"

/* A channel of the data is a plane; a batch of them is copied before their outputs are computed. */
typedef struct gops_pairs_plan {
    gops_depthwise_axis axis[3];
    int64_t pitch, plane; /* of the copy: rows of a residue, and planes of z, in values */
    int64_t residue;      /* between the residues along y */
    int64_t copy;         /* between the copies of a batch */
    int64_t depth;        /* planes of z */
    int64_t positions;    /* of a sub-convolution, with what whole blocks store beyond them */
    int64_t row_pairs;    /* of a row of the kernel */
    int64_t pairs;
    int64_t planes, plane_block; /* channels of all images; of an item */
    int64_t batch;               /* planes */
    struct {
        int64_t copy, codes, offsets, subconvs, sums, row;
    } begin; /* of the parts of the workspace */
} gops_pairs_plan;

/* A sub-convolution of a block, or all of a convolution. */
typedef struct gops_pairs_subconv {
    int64_t rows;    /* of outputs; 0 if the block has none of it */
    int64_t pairs;   /* as the next two ones, of gops_depthwise_pairs_call */
    int64_t offsets; /* number of the first one */
    int64_t weights; /* number of its first pair in a filter */
    bool odd_by_itself;
} gops_pairs_subconv;

/* The taps along an axis that belong to one sub-convolution: from a first one on, which is less than
 * axis->every. To which residue of outputs they belong depends on the padding; how filters are packed
 * does not. */
static inline int64_t gops_pairs_taps(const gops_depthwise_axis *axis, int64_t first)
{
    return first < axis->kernel ? (axis->kernel - 1 - first) / axis->every + 1 : 0;
}

/* Of a row of so many taps; see depthwise_pairs.vnni.isa.c. */
static inline bool gops_pairs_odd_by_itself(const gops_depthwise_axis *x, int64_t taps)
{
    return x->step == 1 && x->spacing == 1 && taps % 2 == 0;
}

static inline int64_t gops_pairs_of_row(const gops_depthwise_axis *x, int64_t taps)
{
    return x->spacing > 1 ? taps : gops_ceil_div(taps, 2);
}

/* depthwise_pairs_pack.c */
void gops_depthwise_pairs_pack(const gops_plan *plan, const void *weights,
                               const int32_t *zero_points, void *packed);

/* depthwise_pairs_run.c */
void gops_depthwise_pairs_run(const gops_plan *plan, const gops_job *job, int64_t item,
                              void *workspace);

#endif
