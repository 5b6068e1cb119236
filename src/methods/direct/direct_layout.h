/* direct_layout.h: how a direct convolution is cut; direct_conv.c. */
#ifndef GOPS_DIRECT_LAYOUT_H
#define GOPS_DIRECT_LAYOUT_H

#include "base/checked.h"
#include "methods/direct/direct.h"
#include "plan/items.h"
#include "plan/plan.h"

/* Tiles beside each other are a tile row. A plane of outputs (of the last two axes) has tile rows,
 * of which the last may have fewer rows. */
typedef struct gops_direct_layout {
    const gops_direct_tile *tile;
    const gops_direct_tile *last_tile; /* of a group's last block: fewer vectors, else alike */
    int64_t mr, rows, pixels;          /* of a tile: channels; rows of outputs; pixels of each */
    int64_t padded_channels;           /* C_OUT, and what fills the last block */
    int64_t row_tiles;                 /* tiles of a tile row */
    int64_t left_tiles, right_tiles;   /* tiles at the ends, whose taps an edge may cut */
    int64_t apart;                     /* of tiles behind the left ones, in pixels */
    int64_t tap_entries;               /* of all lists of taps */
    int64_t depth_block;               /* input channels at a time */
    int64_t plane_rows, plane_tile_rows;
    int64_t tile_rows;       /* of all planes */
    int64_t block_tile_rows; /* tile rows at a time */
    bool data_beyond_l2;     /* the data of an image and group does not stay in half of the L2 */
    bool prefetches_outputs; /* nor do its outputs */
    gops_items items;        /* panels are tile rows */
    /* The workspace of a worker: the lists of taps, then these. */
    int64_t ends_from, rows_from, sums_from, outputs_from;
    int64_t worker_bytes;
    double cost; /* gops_plan's */
} gops_direct_layout;

static inline const gops_direct_layout *gops_direct_layout_of(const gops_plan *plan)
{
    return gops_read_parameters(plan);
}

/* The bytes of packed weights for `channels` output channels of a group: those of whole blocks, or
 * padded_channels. */
static inline int64_t gops_direct_weight_bytes(const gops_plan *plan, int64_t channels)
{
    return channels * gops_direct_layout_of(plan)->tile->size.per_vector * plan->conv.k *
           gops_compute_bytes(plan->type->compute);
}

/* The method's. */
gops_status gops_direct_prepare(gops_plan *plan, int64_t worker_limit, gops_error *error);

/* How many taps any output of the first axis has inside the data, from *first on (or NULL), times all taps of the
 * others: of a filter with more planes than the data only some are read. */
static inline int64_t gops_direct_used_taps(const gops_conv_geometry *conv, int64_t *first)
{
    const gops_axis *axis = &conv->axis[0];
    const int64_t begin = gops_taps_inside(axis, axis->output - 1).begin;
    const int64_t end = gops_taps_inside(axis, 0).end;
    const int64_t inner = conv->taps / axis->kernel;
    if (first != NULL) {
        *first = begin < end ? begin * inner : 0;
    }
    return begin < end ? (end - begin) * inner : conv->taps;
}

/* The outputs of begin to begin + count - 1 for which a tap is inside the data, counted from
 * `begin`: *first to *last - 1, or none. */
static inline void gops_direct_outputs_inside(const gops_axis *axis, int64_t begin, int64_t count,
                                              int64_t tap, int64_t *first, int64_t *last)
{
    const int64_t at = tap * axis->dilation - axis->pad_begin;
    const int64_t at_first = begin * axis->stride + at;
    *first = 0, *last = count;
    if (at_first < 0 || at_first + (count - 1) * axis->stride >= axis->data) {
        *first = gops_clamp(gops_ceil_div(-at, axis->stride) - begin, 0, count);
        *last = gops_clamp(gops_floor_div(axis->data - 1 - at, axis->stride) + 1 - begin, *first,
                           count);
    }
}

/* The first row of a tile row, counted over all planes. */
static inline int64_t gops_direct_first_row(const gops_direct_layout *p, int64_t tile_row)
{
    return tile_row / p->plane_tile_rows * p->plane_rows + tile_row % p->plane_tile_rows * p->rows;
}

/* Where a tile begins behind `left` of `size` outputs, and others that are `apart`. */
static inline int64_t gops_direct_begin(int64_t tile, int64_t size, int64_t left, int64_t apart)
{
    const int64_t before = gops_min(tile, left);
    return before * size + (tile - before) * apart;
}

/* Where a tile of a tile row begins. */
static inline int64_t gops_direct_column(const gops_direct_layout *p, int64_t tile)
{
    return gops_direct_begin(tile, p->pixels, p->left_tiles, p->apart);
}

/* How many pixels of `output` a tile computes that begins at `column`. */
static inline int64_t gops_direct_columns(const gops_direct_layout *p, int64_t tile, int64_t column,
                                          int64_t output)
{
    return gops_min(tile < p->left_tiles ? p->pixels : p->apart, output - column);
}

/* The number of a tile's list of taps. Tiles that no edge cuts share one list, the first after
 * those of left_tiles. */
static inline int64_t gops_direct_tap_list(const gops_direct_layout *p, int64_t tile)
{
    return tile < p->left_tiles ? tile
           : tile < p->row_tiles - p->right_tiles
               ? p->left_tiles
               : tile - (p->row_tiles - p->right_tiles) + p->left_tiles + 1;
}

#endif
