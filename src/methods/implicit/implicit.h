/*
 * implicit.h: what the implicit convolution and its transposed form share.
 *
 * Both are matrix products sums[channels x pixels] = weights[channels x depth] * columns, where
 * column k is the frame (padded_input.h) shifted by an entry of an offset table; a register tile
 * (implicit_tile.h) does `tile` channels by a few spots of it. One work item makes a box of the
 * output pixels of one image and group, for a part of the channels:
 *
 *     copy the box's input into the frame, unless the input can serve where it lies
 *     for each chunk of spots:                  the sums stay in the first level cache
 *         for each block of `tile` channels:
 *             for each block of depth:          the weights stay in the first level cache
 *                 for each tile of spots: add to the sums
 *             convert and store the sums
 */
#ifndef GOPS_IMPLICIT_H
#define GOPS_IMPLICIT_H

#include "methods/implicit/implicit_tile.h"
#include "plan/plan.h"

/* A range of indices on every axis: of the output pixels, or of what stands for them. */
typedef struct gops_box {
    int64_t begin[GOPS_MAX_SPATIAL];
    int64_t count[GOPS_MAX_SPATIAL];
} gops_box;

typedef struct gops_implicit {
    gops_padded_input frame;
    int64_t pitch[GOPS_MAX_SPATIAL]; /* frame values from one pixel of an axis to the next */
    int64_t depth;                   /* K: C_IN times taps */
    int64_t depth_block;
    int64_t tile;  /* channels of a tile */
    int64_t chunk; /* spots at a time */
    /* How items divide the work: one index of the axes before `cut`, `band` of axis cut, all of the
     * axes after it; `part` channels of C_OUT. */
    int64_t cut, band, bands;
    int64_t part, parts;
    int8_t pixels;   /* the form of the tiles */
    int8_t in_place; /* the frame is the input itself */
    int8_t direct;   /* tiles can write the output themselves: every spot is within a segment, the
                        last vector ends where its segment ends, and depth is one block */
    int8_t dense;    /* a segment has no gaps; else it runs through the frame's gaps between rows */
    int32_t merged;  /* how many of the last axes a segment runs through */
    /* The workspace: the frame, then these. */
    int64_t offsets_from, spots_from, places_from, sums_from, turned_from;
} gops_implicit;

/* The pixels of a box in the order of the frame: `count` segments, each `rows` rows of `width`
 * pixels that begin `pitch` apart; a spot begins every `step` positions of a segment's `length`. */
typedef struct gops_segments {
    int64_t rows, width, pitch, length;
    int64_t step;
    int64_t spots; /* of one segment */
    int64_t last;  /* where the last of them begins */
    int64_t count;
    int64_t direct; /* tiles can write the output themselves */
} gops_segments;

/* One product over a chunk of spots and a block of channels. */
typedef struct gops_implicit_pass {
    const gops_tile *tiles; /* the form's list */
    int64_t width;          /* channels of the tile */
    const void *frame;
    const int64_t *offsets;
    int64_t depth, depth_block;
    int64_t streams; /* not 0: the weights come from beyond the second level cache */
    const unsigned char *weights;
    int64_t bytes; /* of a value in the compute type */
    const int64_t *spots, *places;
    int64_t count; /* of spots */
    void *sums;
    int64_t sums_ld;
    const void *bounds, *bias, *residual; /* for complete sums: implicit_tile.h */
} gops_implicit_pass;

/* implicit_product.c */
void gops_implicit_multiply(const gops_implicit_pass *pass);
gops_segments gops_implicit_segments(const gops_implicit *p, int axes, int64_t lanes,
                                     const gops_box *box);
/* Lists spots first to first + count - 1, and then, because a tile may take more than are left,
 * repeats the last. A place is a pixel of the box where `direct`, else the spots' sums lie side by
 * side, `apart` values from one to the next. */
void gops_implicit_list_spots(const gops_implicit *p, int axes, const gops_segments *segments,
                              const gops_box *box, int64_t first, int64_t count, int direct,
                              int64_t apart, int64_t *spots, int64_t *places);
/* The channels of the tile for a block that has `left` channels before the end. */
int64_t gops_implicit_width(const gops_tile *tiles, int pixels, int64_t tile, int64_t left);
/* C_OUT, and what pads the last block. */
int64_t gops_implicit_padded(const gops_implicit *p, const gops_tiles *tiles, int64_t channels);

/* Refuses a plan for which no tile could be laid out: for its budget where `roomy` says that one
 * could be without a bound. */
gops_status gops_implicit_refuse(const gops_plan *plan, int64_t worker_limit, int roomy,
                                 gops_error *error);

/* implicit_store.c */

/* Writes a block of weights as a tile reads them: to[k * width + i] = weight k of channel i for
 * k < depth, and 0 for channels beyond `channels`. In the tensor, weights of neighbouring channels
 * are `channel_step` bytes apart, those of neighbouring k `depth_step`. */
void gops_implicit_pack_block(const gops_type_row *type, const unsigned char *from,
                              int64_t channel_step, int64_t depth_step, int64_t depth,
                              int64_t channels, int64_t width, unsigned char *to);

/* Sums in the workspace: those of spots first to first + count - 1, side by side, of each of some
 * channels. */
typedef struct gops_rows {
    void *sums;
    int64_t sums_ld;
    int64_t first, count;
    int64_t channels;
    int64_t channel; /* the first of them, counted over all groups */
    int64_t element; /* of the output: the box's first pixel in that channel */
} gops_rows;

/* Stores them, without what lies between the box's rows. */
void gops_implicit_store_rows(const gops_plan *plan, const gops_job *job,
                              const gops_segments *segments, const gops_rows *rows);

static inline const gops_tile *gops_implicit_tiles(const gops_implicit *p, const gops_tiles *tiles)
{
    return p->pixels ? tiles->pixels : tiles->channels;
}

#endif
