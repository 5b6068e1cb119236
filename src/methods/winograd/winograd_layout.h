/* winograd_layout.h: how Winograd's convolution is cut; winograd_conv.c. */
#ifndef GOPS_WINOGRAD_LAYOUT_H
#define GOPS_WINOGRAD_LAYOUT_H

#include "base/checked.h"
#include "methods/winograd/winograd.h"
#include "plan/plan.h"

/* Tiles beside each other and below each other cover an image's outputs; they are counted row by
 * row. Blocks of tiles and blocks of output channels are cut evenly: gops_winograd_begin. */
typedef struct gops_winograd_layout {
    gops_winograd_form form;
    int64_t m, positions;     /* of a tile: outputs on each axis; P * P */
    int64_t row_tiles, tiles; /* of a row, of an image */
    int64_t block_tiles;      /* of the largest block */
    int64_t tile_blocks;      /* of an image */
    int64_t segment_tiles;    /* transformed by one call */
    int64_t depth_vectors;    /* of input channels */
    int64_t vectors;          /* of output channels */
    int64_t channel_blocks;   /* of output channels */
    int64_t block_vectors;    /* of the largest block */
    /* One work item has the products of a block of tiles with `item_blocks` blocks of channels. If
     * that is not all, several items read the transformed data: items before a barrier, `depth_items`
     * for each block of tiles, write them to the shared workspace, points_bytes for each block. */
    int64_t item_blocks, block_items, depth_items, points_bytes;
    bool weights_beyond_l2;                   /* the second level cache does not hold them */
    int64_t points_ld, points_block, sums_ld; /* winograd.h */
    /* The workspace of a worker: pixels, then these. */
    int64_t points_from, sums_from, outputs_from;
} gops_winograd_layout;

static inline const gops_winograd_layout *gops_winograd_layout_of(const gops_plan *plan)
{
    return gops_read_parameters(plan);
}

/* Where part i begins of `count` parts that something is cut into evenly. */
static inline int64_t gops_winograd_begin(int64_t whole, int64_t count, int64_t i)
{
    return whole / count * i + whole % count * i / count;
}

gops_status gops_winograd_prepare(gops_plan *plan, gops_winograd_form form, int64_t worker_limit,
                                  gops_error *error);

#endif
