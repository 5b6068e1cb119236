/*
 * implicit.h: implicit GEMM, which convolutions and sub-convolutions (methods/subconv) share.
 *
 * Both are matrix products sums[channels x pixels] = weights[channels x depth] * columns. The
 * column matrix is never made: its row k is the padded input (padded_input.h), shifted by entry k
 * of an offset table. A register tile (implicit_tile.h) computes MR channels of NR columns. One
 * work item makes a box of the output pixels of one image and group, for a block of the channels:
 *
 *     copy the box's input into the padded input, unless the kernels can read the input itself
 *     for each block of columns:                the sums stay in the L1 cache
 *         for each MR channels:
 *             for each block of depth:          the weights stay in the L1 cache
 *                 for each NR columns: add to the sums
 *             convert and store the sums
 */
#ifndef GOPS_IMPLICIT_H
#define GOPS_IMPLICIT_H

#include "methods/implicit/tiles/implicit_blocked.h"
#include "methods/implicit/tiles/implicit_tile.h"
#include "methods/implicit/lanes_plan.h"
#include "plan/plan.h"
#include "post_ops/requantize.h"

#include <assert.h>
#include <stdbool.h>

/* Of job->kept: the box whose padded input the worker's workspace holds; and what its tables are for, once the offsets
 * are filled in: columns that were last listed for sums that lie side by side (0) or for the output (1). */
enum { GOPS_IMPLICIT_KEPT_BOX, GOPS_IMPLICIT_KEPT_TABLES, GOPS_IMPLICIT_KEPT };
static_assert((int)GOPS_IMPLICIT_KEPT <= (int)GOPS_KEPT,
              "a worker keeps more than there is room for");

/* A range of indices on every axis: of the output pixels, or for subconv of its positions. */
typedef struct gops_box {
    int64_t begin[GOPS_MAX_SPATIAL];
    int64_t count[GOPS_MAX_SPATIAL];
} gops_box;

/* How a plan divides the product. */
typedef struct gops_implicit {
    gops_padded_input padded;
    int64_t pitch[GOPS_MAX_SPATIAL]; /* input values from one pixel of an axis to the next */
    int64_t planes;                  /* of the padded input: gops_implicit_planes */
    int64_t depth;                   /* K: planes times taps */
    int64_t depth_block;
    int64_t column_block;
    gops_tile_form form; /* of the tiles */
    int64_t mr;          /* and their channels */
    /* The box of an item: one index of each axis before `cut`, `cut_pixels` of axis `cut`, all of
     * the axes after it; and its channels: `channel_block` of C_OUT. */
    int64_t cut, cut_pixels, boxes;
    int64_t channel_block, channel_blocks;
    int64_t granule;     /* boxes are cut into multiples of it; 0 in subconv, which does not even
                            them out */
    bool flat;           /* boxes are of one axis with all pixels: gops_implicit_axes */
    bool residues;       /* of the strides lie together: padded_input.h */
    bool in_place;       /* the kernels read the input itself */
    bool aligned;        /* planes of the padded input begin with a cache line */
    bool writes_outputs; /* tiles can write the output: each column is within a run, the last
                            vector ends where its run ends, and depth is one block */
    bool dense;          /* a run has no gaps; if not, it includes the gaps between rows */
    /* Cut for as many threads as the plan has, not as it is estimated: the estimate, which chooses the method and so
     * the bits, is the same for any number of them. */
    bool for_threads;
    int32_t merged; /* how many of the last axes a run spans */
    /* Where the parts of the workspace begin, in bytes; the padded input comes first. */
    int64_t offsets_begin, columns_begin, sum_offsets_begin, sums_begin;
    int64_t transpose_begin; /* sums of a block of columns, before or after their transpose */
    int64_t windows_begin;   /* quantized plans: the sums of windows (lanes.h) */
    int64_t values_begin;    /* and gops_lanes_values */
    int64_t worker_bytes;
    double cost; /* gops_plan's */
} gops_implicit;

/* The pixels of a box in the order of the padded input: `count` runs. A run is `rows` rows of
 * `width` pixels that begin `pitch` apart. Its columns begin every `step` of its `length`
 * positions, except for the last one, which begins at `last`. */
typedef struct gops_pixel_runs {
    int64_t rows, width, pitch, length;
    int64_t step;
    int64_t columns; /* of one run */
    int64_t last;
    int64_t count;
    bool writes_outputs; /* tiles can write the output */
} gops_pixel_runs;

/* Columns of a product whose tiles take `depth` steps of K from step `first` on. */
typedef struct gops_implicit_range {
    int64_t columns, first, depth;
} gops_implicit_range;

enum { GOPS_IMPLICIT_MAX_RANGES = 8 };

/* Rows of outputs at whose ends tiles leave out taps on padding: gops_tile_work. */
typedef struct gops_implicit_rows {
    int64_t length; /* in columns; 0 where no tap is left out */
    int64_t column; /* the first one's number in its row */
    int64_t begin, middle, end;
} gops_implicit_rows;

/* Of the planes that the next item copies: what of one is not prefetched yet, and how many are left with it. */
typedef struct gops_implicit_next {
    const unsigned char *at, *end;
    int64_t bytes, plane_bytes; /* of each, and from one to the next */
    int64_t planes;
} gops_implicit_next;

/* The tiles of `columns` columns: `larger_calls` times the larger one, and then the smaller one. */
typedef struct gops_implicit_split {
    int64_t mr, columns;
    const gops_tile *larger, *smaller;
    int64_t larger_calls;
} gops_implicit_split;

/* One product: a block of columns, for the channels of a tile. */
typedef struct gops_implicit_pass {
    const gops_tile *tiles; /* the list of the form */
    int64_t mr;
    int64_t depth_block;
    int64_t bytes; /* of a value in the compute type */
    int64_t count; /* of columns */
    /* One after the other they make up the columns; 0 where all of these take all of K. There is one
     * block of depth then. */
    int64_t ranges;
    gops_implicit_range range[GOPS_IMPLICIT_MAX_RANGES];
    gops_implicit_rows rows;
    gops_implicit_next next;
    gops_implicit_split split; /* of the product before this one */
    gops_tile_work work; /* of all columns and all of the depth; bounds are for complete sums */
} gops_implicit_pass;

/* A work item in execution. */
typedef struct gops_implicit_item {
    const gops_plan *plan;
    gops_lanes_result result; /* quantized plans: what the tiles leave */
    bool windows;             /* and whether the sums of windows are to be subtracted */
    bool adds;                /* the residual's codes to bytes, when they are stored */
    gops_requantize_sum sum;  /* how */
    gops_lanes_epilogue epilogue;
    gops_lanes_values values;
    const gops_job *job;   /* what is left to do when sums are stored */
    const gops_job *whole; /* with what the tiles' epilogue does */
    gops_box box;
    gops_pixel_runs runs;
    int64_t group, channels;
    int64_t channel;        /* the first */
    int64_t channel_of_all; /* the same, counted over all groups */
    int64_t element;        /* of the output: the first of that channel; the box's first, once the
                               method has added that */
    unsigned char *workspace;
    gops_implicit_pass pass;
} gops_implicit_item;

/* implicit_join.c: how taps of the convolution are joined (lanes.h) for tiles of AMX, and whether they may be. */
gops_lanes_join gops_implicit_join(const gops_plan *plan);
bool gops_implicit_may_join(const gops_plan *plan);

/* implicit_form.c */

/* The form of tiles of `mr` channels in the list of `listed`, CHANNELS, PIXELS or BLOCKED. */
gops_tile_form gops_implicit_form(const gops_plan *plan, gops_tile_form listed, int64_t mr);

/* The form of a plan, once it is known how large its padded input is. */
gops_tile_form gops_implicit_settled_form(const gops_plan *plan, const gops_implicit *p);

/* Whether single pixels of a quantized plan are better read from a blocked input, if that is large enough. */
bool gops_implicit_may_block(const gops_plan *plan);

/* Values of the padded input for each pixel: AMX takes whole blocks of them (lanes.h), and tiles with a list of their
 * own for blocked inputs as many as share an entry of the offset table; the last of them are zeros. */
int64_t gops_implicit_planes(const gops_plan *plan, gops_tile_form form);

/* How many tiles of the plan's MR the next `left` channels begin with. One vector of channels that three at a time
 * would leave over has a load for each multiplication, so two tiles of two vectors take the last four; not in subconv,
 * whose panels, but not their filter, depend on the data's size. */
int64_t gops_implicit_whole_tiles(const gops_plan *plan, const gops_implicit *p, int64_t left);

/* The MR of the tile for the next channels, of which `left` are left. */
int64_t gops_implicit_mr(const gops_plan *plan, const gops_implicit *p, int64_t left);

/* `channels`, and what pads them to whole tiles. */
int64_t gops_implicit_padded_channels(const gops_plan *plan, const gops_implicit *p,
                                      int64_t channels);

/* Planes that the padded input has room for. */
static inline int64_t gops_implicit_copied_planes(const gops_implicit *p)
{
    return gops_tile_is_blocked(p->form) ? gops_round_up(p->planes, GOPS_LANES_BLOCK) : p->planes;
}

/* Whether K is in the order of lanes.h. */
static inline bool gops_implicit_in_blocks(const gops_plan *plan, const gops_implicit *p)
{
    return gops_plan_has_lanes(plan) || p->form == GOPS_TILE_BLOCKED;
}

/* implicit_product.c */

/* Begins item number `index`: finds its box, channels and input, which is copied where it must be.
 * The offset table and the channels' weights are the method's to find. Axes of gops_axis are as the
 * padded input sees them: `output` is what boxes count. */
void gops_implicit_begin(const gops_plan *plan, const gops_implicit *p, const gops_axis *axis,
                         const gops_job *job, int64_t index, void *workspace,
                         gops_implicit_item *item);

/* Ends it, after its last product. */
void gops_implicit_end(const gops_implicit *p, const gops_implicit_item *item);

/* Lists columns first to first + pass.count - 1. A tile may compute more columns than are left, so
 * the last one is repeated GOPS_MAX_NR - 1 times. With `to_output`, sum_offsets count the pixels of
 * the box; if not, the sums of the columns lie side by side, `apart` values from one to the next.
 */
void gops_implicit_list_columns(const gops_implicit *p, const gops_implicit_item *item,
                                int64_t first, bool to_output, int64_t apart);

/* What tiles of AMX are told of `pixels`. */
int64_t gops_implicit_stored_pixels(const gops_implicit *p, const gops_pixel_runs *runs,
                                    bool to_output);

void gops_implicit_multiply(gops_implicit_pass *pass);

/* The tile of `mr` channels for the `left` columns that are left: the largest where they fill it,
 * else the smallest that holds them. */
const gops_tile *gops_implicit_tile(const gops_tile *tiles, int64_t mr, int64_t left);

/* Whether there are smaller tiles of every size, so that columns can be split evenly. */
static inline bool gops_implicit_splits_evenly(const gops_tile *full)
{
    return full[1].mr == full->mr && full[1].nr == full->nr - 1;
}

static inline const gops_tiles *gops_plan_tiles(const gops_plan *plan)
{
    return plan->quantized              ? &plan->kernels->lanes->tiles
           : gops_plan_takes_bf16(plan) ? &plan->kernels->bf16->tiles
                                        : plan->kernels->implicit->tiles[plan->type->compute];
}

/* The channels of the tile that sums windows (lanes.h). */
static inline int64_t gops_implicit_ones_mr(const gops_plan *plan, const gops_implicit *p)
{
    return gops_tile_min_mr(gops_plan_tiles(plan), p->form);
}

/* The values of the padded input, with the vector behind it that runs may read. */
static inline int64_t gops_implicit_padded_values(const gops_plan *plan, const gops_implicit *p)
{
    const int64_t lanes = gops_plan_tiles(plan)->lanes;
    if (p->in_place) {
        return 0;
    }
    return p->padded.plane * gops_implicit_copied_planes(p) +
           lanes * (gops_tile_is_blocked(p->form) ? GOPS_LANES_BLOCK : 1);
}

static inline const gops_tile *gops_implicit_tiles(const gops_plan *plan, const gops_implicit *p)
{
    return gops_tile_list(gops_plan_tiles(plan), p->form);
}

#endif
