/* depthwise_pairs_method.h: the parameters of depthwise/pairs. */
#ifndef GOPS_DEPTHWISE_PAIRS_METHOD_H
#define GOPS_DEPTHWISE_PAIRS_METHOD_H

#include "methods/depthwise/depthwise_method.h"
#include "methods/depthwise/depthwise_pairs.h"

/* A channel of the data is a plane; a batch of them is copied before their outputs are computed. */
typedef struct gops_pairs_plan {
    gops_depthwise_axis axis[3];
    int64_t pitch, plane; /* of the copy: rows of a residue, and planes of z, in values */
    int64_t residue;      /* between the residues along y */
    int64_t copy;         /* between the copies of a batch */
    int64_t positions;    /* of a channel's outputs, with what whole blocks store beyond them */
    int64_t row_pairs;    /* of a row of the kernel */
    int64_t pairs;
    int64_t planes, plane_block; /* channels of all images; of an item */
    int64_t batch;               /* planes */
    int64_t begin[4];            /* of the parts of the workspace */
} gops_pairs_plan;

/* depthwise_pairs_run.c */
void gops_depthwise_pairs_pack(const gops_plan *plan, const void *weights,
                               const int32_t *zero_points, void *packed);
void gops_depthwise_pairs_run(const gops_plan *plan, const gops_job *job, int64_t item,
                              void *workspace);

#endif
