/*
 * implicit_tile.h: register tiles of the matrix product that has no column matrix.
 *
 *     sums[channel][spot] (+)= sum over k of weights[k][channel] * frame[spots[spot] + offsets[k]]
 *
 * A tile keeps `channels` x `spots` sums in registers while k runs. There are two forms:
 *
 *   pixels    a spot is a vector of `lanes` neighbouring pixels; weights are broadcast. Channel i's
 *             sums of spot j go to sums[i * sums_ld + places[j]], `lanes` of them.
 *   channels  a spot is one pixel, broadcast; `channels` is a multiple of `lanes` and the weights
 *             of a k are vectors. Spot j's sums go to sums[places[j]], `channels` of them.
 *
 * Weights lie packed: weights[k * channels + i]. All sizes are in values of the compute type.
 */
#ifndef GOPS_IMPLICIT_TILE_H
#define GOPS_IMPLICIT_TILE_H

#include "methods/implicit/padded_input.h"
#include "types/types.h"

#include <stdint.h>

typedef struct gops_tile_work {
    const void *frame;
    const int64_t *spots;
    const int64_t *offsets;
    int64_t depth; /* how many k */
    const void *weights;
    void *sums;
    const int64_t *places;
    int64_t sums_ld;
    int64_t accumulate; /* not 0: adds to the sums that are there */
    /* NULL, or two values: the sums plus the bias, one value a channel, are put between them when
     * they are stored. epilogue.h */
    const void *bounds;
    const void *bias;
    /* NULL, or what is added besides, laid out like the sums; for the pixels form. */
    const void *residual;
} gops_tile_work;

typedef void gops_tile_run_fn(const gops_tile_work *work);

typedef struct gops_tile {
    int32_t channels;
    int32_t spots;
    gops_tile_run_fn *run;
} gops_tile;

enum {
    GOPS_MAX_SPOTS = 14, /* of any tile */
};

/* The tiles of one compute type. Lists end with channels 0; of one number of channels, tiles with
 * more spots come first, and channels descend. */
typedef struct gops_tiles {
    int64_t lanes;
    const gops_tile *pixels;
    const gops_tile *channels;
    /* Writes to[i * to_ld + j] = from[j * from_ld + i] for i < channels, j < pixels; both sides may
     * have any alignment, nothing else is read or written. */
    void (*transpose)(void *to, int64_t to_ld, const void *from, int64_t from_ld, int64_t channels,
                      int64_t pixels);
    /* Writes to[i * rows + j] = from[j][i] for i < count, j < rows; 0 where from[j] is NULL. */
    void (*interleave)(void *to, const void *const *from, int64_t rows, int64_t count);
} gops_tiles;

/* Copies `channels` channels of `data` into `to`; the box begins at data pixel origin[a] of each
 * axis. padded_input.inc.h */
typedef void gops_padded_input_fn(const gops_padded_input *frame, const int64_t *origin,
                                  int64_t channels, const void *data, void *to);

/* For each instruction set. */
struct gops_implicit_kernels {
    const gops_tiles *const *tiles;            /* by compute type */
    gops_padded_input_fn *const *padded_input; /* by row */
};

#ifdef GOPS_ISA
extern gops_padded_input_fn *const GOPS_ISA_NAME(gops_padded_input_table)[GOPS_ROWS];
#endif

#endif
