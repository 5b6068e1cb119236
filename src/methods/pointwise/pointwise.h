/*
 * pointwise.h: the matrix product of convolutions whose kernel is 1 everywhere, which need
 * neither column matrix nor table of taps.
 *
 *     sums[channel][pixel] (+)= sum over input channels k of
 *         weights[k][channel] * data[k * data_ld + pixel]
 *
 * A tile keeps some channels by some vectors of neighbouring pixels in registers while k runs, and
 * by a pixel or two after them, of each of which a vector holds all channels: 49
 * pixels are three vectors of 16 and 1, not four vectors. All distances are in values of the
 * compute type.
 */
#ifndef GOPS_POINTWISE_H
#define GOPS_POINTWISE_H

#include "types/types.h"

#include <stdint.h>

/* The weights that a tile asks the caches for are so many bytes ahead. In a network they come from
 * memory, since other layers were there in between, and a processor by itself looks no further than
 * a page. With weights not used for 160 MB, 1024 -> 2048 channels on 7x7 went from 1.39 to 0.94 ms,
 * 512 -> 1024 on 14x14 from 1.21 to 1.04; 2 KB, 8 KB and 16 KB were no better. */
enum { GOPS_POINTWISE_AHEAD = 4096 };

/* What one call does: blocks of channels, one after the other, over the pixels of one panel. */
typedef struct gops_pointwise_work {
    const void *data; /* whole vectors, and the odd pixels, can be read */
    int64_t data_ld;  /* from one k to the next */
    int64_t depth;    /* how many k; at least 1 */
    /* NULL, or what the next call will read as `data`, with the same data_ld, for the caches to
     * fetch. */
    const void *next;
    /* [block][k][channels of the tile]; where there are odd pixels a vector can be read from each k
     * on. */
    const void *weights;
    int64_t blocks;
    /* NULL, or where sums are kept between blocks of k: for each block [channel][vector], then a
     * vector for each odd pixel. */
    void *sums;
    int64_t accumulate; /* not 0: they are there already */
    /* NULL, or where complete sums go: output[channel * output_ld + pixel], `count` pixels; of
     * a tile without odd pixels the last vector need not be whole, those before it are. */
    void *output;
    int64_t output_ld, count;
    /* NULL, or two values: the sums plus the bias and the residual are put between them when they
     * are written. epilogue.h */
    const void *bounds;
    const void *bias; /* of the first channel; bias_step, 1 or 0, from one to the next */
    int64_t bias_step;
    const void *residual; /* NULL, or laid out like the output */
} gops_pointwise_work;

typedef void gops_pointwise_run_fn(const gops_pointwise_work *work);

enum { GOPS_POINTWISE_PIXELS = 64 }; /* of a panel, and more than it can have */

/* Pixels of a panel that lie `step` apart in a row of the data. */
typedef struct gops_pointwise_segment {
    int64_t from; /* the first of them, from the channel's first pixel */
    int64_t count;
} gops_pointwise_segment;

/* A panel of pixels that do not lie together. */
typedef struct gops_pointwise_panel {
    const gops_pointwise_segment *segments;
    int64_t count; /* of segments */
    int64_t step;
    int64_t ld; /* from one k to the next; whole vectors */
} gops_pointwise_panel;

typedef struct gops_pointwise {
    int64_t lanes;
    int64_t channels, vectors; /* of the largest tile */
    int64_t odd;               /* the most odd pixels; 0 where registers are too few */
    /* The tile of c channels by v vectors and o odd pixels, where these come after the most
     * vectors: tiles[(c - 1) * (vectors + odd) + v + o - 1]. */
    gops_pointwise_run_fn *const *tiles;
    /* Writes to[k * vectors * lanes + i] = from[k * from_ld + i] for i < count, and 0 for those
     * beyond it. */
    void (*gather)(void *to, int64_t vectors, const void *from, int64_t from_ld, int64_t depth,
                   int64_t count);
    /* Writes to[k * ld + i] = pixel i of the panel of from[k * from_ld], 0 for those beyond the
     * last, less than a vector, and at the end up to a vector more. */
    void (*pick)(void *to, const gops_pointwise_panel *panel, const void *from, int64_t from_ld,
                 int64_t depth);
} gops_pointwise;

#endif
