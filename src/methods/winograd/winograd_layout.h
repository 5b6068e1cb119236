/* winograd_layout.h: how Winograd's convolution is cut; winograd_conv.c. */
#ifndef GOPS_WINOGRAD_LAYOUT_H
#define GOPS_WINOGRAD_LAYOUT_H

#include "base/checked.h"
#include "methods/winograd/winograd.h"
#include "plan/plan.h"

#include <stdbool.h>

/* Tiles beside each other and below each other cover an image's outputs; they are counted row by
 * row. Blocks of tiles and blocks of output channels are cut evenly: gops_winograd_begin. */
typedef struct gops_winograd_layout {
    gops_winograd_form form;
    int64_t m, positions;     /* of a tile: outputs on each axis; P * P */
    int64_t row_tiles, tiles; /* of a row, of an image */
    int64_t block_tiles;      /* of the largest block */
    int64_t tile_blocks;      /* of an image */
    /* Whose data, and whose sums, one call transforms. */
    int64_t input_tiles, output_tiles;
    int64_t depth;          /* steps of a product: input channels, or pairs of them */
    int64_t channels;       /* of a vector: of input channels */
    int64_t depth_vectors;  /* of input channels */
    int64_t vectors;        /* of output channels */
    int64_t channel_blocks; /* of output channels */
    int64_t block_vectors;  /* of the largest block */
    /* One work item has the products of a block of tiles with `item_blocks` blocks of channels. If
     * that is not all, several items read the transformed data: items before a barrier, `depth_items`
     * for each block of tiles, write them to the shared workspace, points_bytes for each block. */
    int64_t item_blocks, block_items, depth_items, points_bytes;
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

/* Where part i begins of `count` parts that something is cut into evenly. */
static inline int64_t gops_winograd_begin(int64_t whole, int64_t count, int64_t i)
{
    return whole / count * i + whole % count * i / count;
}

/* A block of tiles of an image and group. */
typedef struct gops_winograd_block {
    int64_t image, group;
    int64_t first, last; /* tiles first to last - 1 */
} gops_winograd_block;

/* The tiles of a row from `tile` on, of those before `last`, that one call transforms: at most `most`. */
static inline int64_t gops_winograd_segment(const gops_winograd_layout *p, int64_t tile,
                                            int64_t last, int64_t most)
{
    const int64_t row = p->row_tiles - tile % p->row_tiles;
    return gops_min(gops_min(row, most), last - tile);
}

/* Where the weights of an output channel begin in a packed filter, of all groups, and the channels of its
 * block: [position][step][channels]. Counts values. */
typedef struct gops_winograd_row {
    int64_t from, width;
} gops_winograd_row;

gops_winograd_row gops_winograd_find_row(const gops_plan *plan, int64_t channel_of_all);

/* winograd_quantized.c */

void gops_winograd_pack_quantized(const gops_plan *plan, const void *weights,
                                  const int32_t *zero_points, void *packed);

/* Transforms the sums of a block of tiles and of `channels` channels from `channel` on, counted over all
 * groups, and stores them. */
void gops_winograd_store_quantized(const gops_plan *plan, const gops_job *job,
                                   const gops_winograd_block *block, int64_t channel,
                                   int64_t channels, int64_t vectors, unsigned char *workspace);

gops_status gops_winograd_prepare(gops_plan *plan, gops_winograd_form form, int64_t worker_limit,
                                  gops_error *error);

#endif
