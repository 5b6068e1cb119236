/* pointwise_layout.h: how a pointwise convolution is cut; pointwise_conv.c, pointwise_channels.c. */
#ifndef GOPS_POINTWISE_LAYOUT_H
#define GOPS_POINTWISE_LAYOUT_H

#include "base/checked.h"
#include "methods/pointwise/pointwise.h"
#include "plan/items.h"
#include "plan/plan.h"

/* A number split into `count` parts that differ by at most 1: `larger` parts of size + 1, then the
 * others of `size`. */
typedef struct gops_even_split {
    int64_t count, size, larger;
} gops_even_split;

typedef struct gops_pointwise_layout {
    gops_even_split blocks; /* of C_OUT: the channels of a tile */
    gops_even_split panels; /* of the pixels, in units, the larger ones last: panel_units */
    int64_t unit; /* a vector; or 1 where panels have the most vectors and a tail after them */
    int64_t depth_block; /* input channels at a time */
    /* The data of an image and group does not stay in half of the L2; its weights do not. */
    bool data_beyond_l2, weights_beyond_l2;
    bool gathers; /* strides: the pixels of a panel are gathered */
    bool copies;  /* the first block of output channels copies each panel for the others */
    /* With at most so many workers outputs are large, and whole panels of the most vectors take the tiles for that;
     * copies_large, in place of `copies`, says whether these are copied. */
    int32_t large_workers;
    bool copies_large;
    /* Several items read each panel: items before a barrier gather all of them, each once, to the
     * shared workspace, panel_bytes each. */
    bool shared_panels;
    int64_t panel_bytes;
    gops_items items;
    int64_t item_blocks, item_panels; /* of an item, at most */
    int64_t max_panels;               /* that are computed at a time */
    int64_t copy_bytes; /* the workspace of a worker begins with copies of max_panels panels */
    /* After them in the workspace. */
    int64_t sums_from, outputs_from;
} gops_pointwise_layout;

/* The same for the form whose vectors hold channels. A run is the pixels of an image; where images
 * have a single pixel, it is the pixels of all images. The pixels of a run are its columns. */
typedef struct gops_pointwise_channels_layout {
    gops_even_split blocks; /* of C_OUT in vectors */
    gops_even_split panels; /* of the columns of a run */
    gops_even_split depths; /* of C_IN */
    int64_t runs, columns;
    bool across_images;
    gops_items items; /* of a run */
    /* The workspace of a worker: sums [column][channel], then the same transposed. */
    int64_t transposed_from;
} gops_pointwise_channels_layout;

static inline const gops_pointwise_channels_layout *
gops_pointwise_channels_layout_of(const gops_plan *plan)
{
    return gops_read_parameters(plan);
}

static inline const gops_pointwise_layout *gops_pointwise_layout_of(const gops_plan *plan)
{
    return gops_read_parameters(plan);
}

static inline gops_even_split gops_split_evenly(int64_t whole, int64_t max)
{
    const int64_t count = gops_ceil_div(whole, max);
    return (gops_even_split){count, whole / count, whole % count};
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

/* Refuses types, kernels other than 1 and outputs on padding. */
gops_status gops_pointwise_check(const gops_plan *plan, gops_error *error);

/* Lists the data pixels that `count` output pixels from `pixel` on read, by rows; their number. */
int64_t gops_pointwise_list_rows(const gops_conv_geometry *conv, int64_t pixel, int64_t count,
                                 gops_pointwise_row *rows);

/* The methods'. */
gops_status gops_pointwise_prepare(gops_plan *plan, int64_t worker_limit, gops_error *error);
gops_status gops_pointwise_channels_prepare(gops_plan *plan, int64_t worker_limit,
                                            gops_error *error);

#endif
