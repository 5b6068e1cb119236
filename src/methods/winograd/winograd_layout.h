/* winograd_layout.h: how Winograd's convolution is cut; winograd_conv.c. */
#ifndef GOPS_WINOGRAD_LAYOUT_H
#define GOPS_WINOGRAD_LAYOUT_H

#include "base/checked.h"
#include "methods/winograd/winograd.h"
#include "plan/plan.h"

#include <stdbool.h>

/* Tiles beside each other and below each other cover an image's outputs; they are counted row by
 * row. Blocks of tiles and blocks of output channels are cut evenly, by gops_part. */
typedef struct gops_winograd_layout {
    gops_winograd_form form;
    /* Along each axis: how many outputs, or positions of a transposed convolution, tiles cover; and
     * the first pixel of the data that the first of them reads. */
    int64_t outputs[2], begin[2];
    /* Rows of the product for an output channel: 1, or transposed the product of the strides; and of
     * the product of a group: C_OUT * repeat. */
    int64_t repeat, rows;
    int64_t m, points, positions; /* of a tile: outputs and P on each axis; P * P */
    int64_t row_tiles, tiles;     /* of a row, of an image */
    int64_t block_tiles;          /* of the largest block */
    int64_t tile_blocks;          /* of an image */
    /* Whose data, and whose sums, one call transforms. */
    int64_t input_tiles, output_tiles;
    int64_t depth;          /* steps of a product: input channels, or pairs of them */
    int64_t channels;       /* of a vector: of input channels */
    int64_t depth_vectors;  /* of input channels */
    int64_t vectors;        /* of output channels */
    int64_t channel_blocks; /* of output channels */
    int64_t block_vectors;  /* of the largest block */
    /* `block_items` work items share the products of a block of tiles. If they share its transformed data too, items
     * before a barrier, `depth_items` for each block of tiles (else 0), write it to the shared workspace, points_bytes
     * for each block. */
    int64_t block_items, depth_items, points_bytes;
    bool weights_beyond_l2;                   /* the second level cache does not hold them */
    int64_t points_ld, points_block, sums_ld; /* winograd.h */
    /* The workspace of a worker: pixels, then these. Quantized plans have outputs twice, before and
     * after they are transposed. */
    int64_t points_from, sums_from, outputs_from, transposed_from;
} gops_winograd_layout;

static inline const gops_winograd_layout *gops_winograd_layout_of(const gops_plan *plan)
{
    return gops_read_parameters(plan);
}

/* A block of tiles of an image and group. */
typedef struct gops_winograd_block {
    int64_t image, group;
    gops_range tiles;
} gops_winograd_block;

/* The tiles of a row from `tile` on, of those before `last`, that one call transforms: at most `most`. */
static inline int64_t gops_winograd_row_tiles(const gops_winograd_layout *p, int64_t tile,
                                              int64_t last, int64_t most)
{
    const int64_t row = p->row_tiles - tile % p->row_tiles;
    return gops_min(gops_min(row, most), last - tile);
}

/* Where the weights of a row begin in a packed filter, counted over all groups, and the rows of its block:
 * [position][step][rows]. Counts values. */
typedef struct gops_winograd_row {
    int64_t from, width;
} gops_winograd_row;

gops_winograd_row gops_winograd_find_row(const gops_plan *plan, int64_t row_of_all);

gops_status gops_winograd_prepare(gops_plan *plan, gops_winograd_form form, int64_t worker_limit,
                                  gops_error *error);

/* winograd_conv.c */

void gops_winograd_run(const gops_plan *plan, const gops_job *job, int64_t index, void *workspace);

#endif
