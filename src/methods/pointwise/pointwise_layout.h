/* pointwise_layout.h: how a pointwise convolution is cut; pointwise_conv.c. */
#ifndef GOPS_POINTWISE_LAYOUT_H
#define GOPS_POINTWISE_LAYOUT_H

#include "methods/pointwise/pointwise.h"
#include "plan/plan.h"

/* A number split into `count` parts that differ by at most 1: `larger` parts of size + 1, then the
 * others of `size`. */
typedef struct gops_even_split {
    int64_t count, size, larger;
} gops_even_split;

typedef struct gops_pointwise_layout {
    gops_even_split blocks; /* of C_OUT: the channels of a tile */
    gops_even_split panels; /* of the pixels, in units */
    int64_t unit; /* a vector; or 1 where panels have the most vectors and a tail after them */
    int64_t depth_block; /* input channels at a time */
    bool data_beyond_l2; /* the data of an image and group does not stay in half of the L2 */
    bool gathers;        /* strides: the pixels of a panel are gathered */
    bool copies;         /* panels are copied, because their lines would evict each other */
    /* How many groups, blocks and panels one work item has. */
    int64_t item_groups, item_blocks, item_panels;
    /* How many work items the blocks of a group, and its panels, are cut into. */
    int64_t block_items, panel_items;
    /* The workspace of a worker: a panel, then these. */
    int64_t sums_from, outputs_from;
} gops_pointwise_layout;

static inline const gops_pointwise_layout *gops_pointwise_layout_of(const gops_plan *plan)
{
    return gops_read_parameters(plan);
}

static inline int64_t gops_even_size(const gops_even_split *split, int64_t i)
{
    return split->size + (i < split->larger);
}

/* Where part i begins. */
static inline int64_t gops_even_begin(const gops_even_split *split, int64_t i)
{
    return i * split->size + (i < split->larger ? i : split->larger);
}

/* Channels whose outputs lie in the workspace at a time, where gops_store applies the post-ops. */
enum { GOPS_POINTWISE_STORE_CHANNELS = 32 };

/* The method's. */
gops_status gops_pointwise_prepare(gops_plan *plan, int64_t worker_limit, gops_error *error);

#endif
