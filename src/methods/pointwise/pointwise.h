/*
 * pointwise.h: the kernels of pointwise convolutions, whose kernel is 1 on every axis. They are a
 * matrix product of the weights with the data where it lies:
 *
 *     sums[channel][pixel] (+)= sum over input channels k of
 *         weights[k][channel] * data[k * data_ld + pixel]
 *
 * There are two forms: a vector holds pixels, or it holds channels (gops_pointwise_channels_work).
 *
 * Where it holds pixels, a register tile holds MR output channels by some vectors of neighbouring
 * pixels while k runs. One or two tail pixels may follow the vectors; for each of them one vector
 * holds all MR channels. So 49 pixels are three vectors of 16 and a tail of 1, not four vectors.
 * All distances are in values of the compute type.
 */
#ifndef GOPS_POINTWISE_H
#define GOPS_POINTWISE_H

#include "types/types.h"

#include <stdbool.h>
#include <stdint.h>

/* Weights are prefetched so many bytes ahead. In a network they come from memory, since other
 * layers ran in between, and the processor's own prefetch stops at the end of a page. With weights
 * not used for 160 MB, 1024 -> 2048 channels on 7x7 went from 1.39 to 0.94 ms (Zen 5). */
enum { GOPS_POINTWISE_PREFETCH_BYTES = 4096 };

/* Pixels with a stride are gathered from few lines of each plane, which hardware does not prefetch: so many channels
 * ahead. In ResNet-50 256 -> 512 on 56x56 takes 0.93 of the time without, 512 -> 1024 on 28x28 0.95; 12 ahead 0.93 and
 * 0.96; layers whose data the second level cache holds take as long (Zen 3). */
enum { GOPS_POINTWISE_GATHER_AHEAD = 24 };

/* The work of one call: blocks of output channels, one after the other, over one panel of pixels.
 */
typedef struct gops_pointwise_work {
    const void *data; /* the panel: whole vectors, then the tail, can be read for each k */
    int64_t data_ld;  /* from one k to the next */
    int64_t depth;    /* how many k; at least 1 */
    /* NULL, or where the first block copies the panel for those after it, in whole vectors. */
    void *copy;
    /* Of gops_pointwise.large_tiles: each block computes so many panels, which follow each other in next, output
     * and residual, and lie steps apart in the data and the copy. */
    int64_t panels, data_step, copy_step;
    /* NULL, or the data of the next call: prefetched. */
    const void *next;
    int64_t next_ld;  /* from one k to the next there */
    bool far_weights; /* they are prefetched meanwhile, too */
    /* [block][k][MR]. With a tail a vector can be read at each k, also at the last. */
    const void *weights;
    int64_t blocks;
    /* NULL, or where sums are kept between blocks of k: for each block of channels
     * [channel][vector], then a vector for each tail pixel. */
    void *sums;
    bool accumulate; /* add to the sums that are kept there */
    /* NULL, or where complete sums go: output[channel * output_ld + pixel] for `count` pixels.
     * Without a tail the last vector may be cut off by `count`; those before it are whole. */
    void *output;
    int64_t output_ld, count;
    /* NULL, or low and high: the epilogue (epilogue.h) of sums that go to the output. */
    const void *bounds;
    const void *bias; /* of the first channel; bias_step, 1 or 0, from one to the next */
    int64_t bias_step;
    const void *residual; /* NULL, or laid out like the output */
} gops_pointwise_work;

typedef void gops_pointwise_tile_fn(const gops_pointwise_work *work);

enum { GOPS_POINTWISE_MAX_PIXELS = 64 }; /* more than any panel has */

/* The pixels of a panel that one row of the data has; they lie a stride apart. */
typedef struct gops_pointwise_row {
    int64_t from; /* the first of them, from the channel's first pixel */
    int64_t count;
} gops_pointwise_row;

/* How the pixels of a panel are gathered, which do not lie together. */
typedef struct gops_pointwise_gather {
    const gops_pointwise_row *rows;
    int64_t row_count;
    int64_t stride;
    int64_t ld; /* from one k to the next in the copy; whole vectors */
} gops_pointwise_gather;

/*
 * The form for few pixels, in which a vector holds output channels: a tile is some vectors of
 * channels by some pixels, here called columns, which may lie anywhere. So one pixel fills vectors
 * too, and pixels of several images share a tile. Each weight is read once for a tile, in the order
 * in which it lies in memory.
 */
typedef struct gops_pointwise_channels_work {
    const void *const *columns; /* where each column of the tile has its first k */
    int64_t data_ld;            /* from one k to the next */
    int64_t depth;
    const void *weights; /* [k][vectors * lanes] */
    bool prefetches;     /* no tile before used these weights */
    /* NULL, or the sums of earlier blocks of k, to be added to: [column][vectors * lanes]. */
    const void *kept;
    void *output; /* output[column * output_ld + channel] for `channels` channels */
    int64_t output_ld, channels;
    /* NULL, or low and high: the epilogue (epilogue.h) of complete sums. */
    const void *bounds;
    const void *bias;     /* vectors * lanes values */
    const void *residual; /* NULL, or residual[column * residual_ld + channel] */
    int64_t residual_ld;
} gops_pointwise_channels_work;

typedef void gops_pointwise_channels_fn(const gops_pointwise_channels_work *work);

enum {
    GOPS_POINTWISE_MAX_COLUMNS = 6, /* at least what any tile has */
    /* Weights are prefetched so many bytes ahead, into the first level cache. Into the second one,
     * 2048 -> 1000 channels took 1.13 of the time (Zen 5). */
    GOPS_POINTWISE_STREAM_BYTES = 8192,
};

typedef struct gops_pointwise {
    int64_t lanes;
    int64_t mr, vectors; /* of the largest tile */
    int64_t max_tail;    /* 0 where there are too few registers for a tail */
    /* The tile of m channels, v vectors and t tail pixels. A tail only follows the most vectors:
     * tiles[(m - 1) * (vectors + max_tail) + v + t - 1]. */
    gops_pointwise_tile_fn *const *tiles;
    /* The tile of m channels and the most vectors for outputs that leave the second level cache: large_tiles[m - 1].
     * It prefetches the output and keeps no sums. */
    gops_pointwise_tile_fn *const *large_tiles;
    /* to[k * vectors * lanes + i] = from[k * from_ld + i] for i < count, and 0 for larger i. */
    void (*copy_panel)(void *to, int64_t vectors, const void *from, int64_t from_ld, int64_t depth,
                       int64_t count);
    /* to[k * ld + i] = pixel i of the panel of from[k * from_ld], and 0 after the last one, which
     * is less than a vector. Writes up to a vector beyond the end. */
    void (*gather_panel)(void *to, const gops_pointwise_gather *gather, const void *from,
                         int64_t from_ld, int64_t depth);
    /* The other form: the tile of v vectors and c columns is
     * column_tiles[(v - 1) * max_columns + c - 1]. */
    int64_t column_vectors, max_columns;
    gops_pointwise_channels_fn *const *column_tiles;
    /* to[channel * to_ld + column] = from[column * from_ld + channel] */
    void (*transpose)(void *to, int64_t to_ld, const void *from, int64_t from_ld, int64_t channels,
                      int64_t columns);
} gops_pointwise;

#endif
