/*
 * direct.h: the kernels of direct convolution: register tiles over the data where it lies, without
 * a copy.
 *
 *     sums[pixel][channel] (+)= sum over the taps that are inside the data, and input channels c:
 *         weights[tap][c][channel]
 *             * data[c * plane + offset of the tap + row * row_step + pixel * stride]
 *
 * A tile is MR output channels by NR output pixels, which are `pixels` neighbours of each of `rows`
 * rows. Its sums stay in registers. A vector has a channel in each lane, for one pixel; or, where
 * `per_vector` is more than 1, for so many neighbouring pixels: lane l is channel l / per_vector of
 * pixel l % per_vector. So 8 channels, or 24, fill vectors of 16 lanes too. With `vectors` vectors
 * for each pixel (or for each per_vector of them), MR is vectors * lanes / per_vector.
 *
 * Taps that fall on padding are not computed. A tap of the last axis comes with the range of pixels
 * for which it is inside the data, a row of taps with the range of rows. Taps that are outside for
 * all pixels are not listed. Weights are packed as the lanes need them, each per_vector times:
 * weights[(tap * channels_in + c) * vectors * lanes + channel * per_vector]. Distances are in
 * values.
 */
#ifndef GOPS_DIRECT_H
#define GOPS_DIRECT_H

#include "isa/register.h"
#include "types/types.h"

#include <stdbool.h>
#include <stdint.h>

/* A tap, or a row of taps, relative to the first pixel of a tile. */
typedef struct gops_direct_tap {
    int64_t data;  /* from where pixel 0 reads tap 0 to where it reads this one */
    int64_t tap;   /* its number; a row's and a tap's are added */
    int64_t range; /* gops_direct_range: a tap's, of pixels; a row's, of output rows */
} gops_direct_tap;

/* Memory to prefetch: before each tap the next `count` of the `left` addresses, `step` bytes apart. */
typedef struct gops_direct_prefetch {
    const unsigned char *next;
    int64_t step, count, left;
} gops_direct_prefetch;

/* What a tile prefetches: weights of the next block; data of the row below; and its own outputs,
 * because a store that waits for its line also holds up the stores of the next tile. */
enum {
    GOPS_DIRECT_PREFETCH_WEIGHTS,
    GOPS_DIRECT_PREFETCH_ROW,
    GOPS_DIRECT_PREFETCH_OUTPUTS,
    GOPS_DIRECT_PREFETCHES,
};

typedef struct gops_direct_work {
    const void *data; /* the first channel */
    int64_t start;    /* where pixel 0 reads tap 0; if that is outside, it is not read */
    int64_t row_step; /* from where a pixel reads a tap to where the one below does */
    int64_t plane;    /* from one channel of the data to the next */
    int64_t channels_in;
    const gops_direct_tap *rows, *taps; /* of the outer axes, of the last axis */
    int64_t row_count, tap_count;
    const void *weights;
    void *sums;      /* NULL, or where the tile's sums are kept between blocks of input channels */
    bool accumulate; /* add to the sums that are kept there */
    /* NULL, or where complete sums go: output[channel * output_ld + row * output_row + pixel] for
     * `channels` channels, `output_rows` rows and `output_pixels` pixels. */
    void *output;
    int64_t output_ld, output_row, channels, output_rows, output_pixels;
    const void *bounds, *bias;      /* NULL, or the epilogue (epilogue.h) of complete sums */
    gops_direct_prefetch *prefetch; /* GOPS_DIRECT_PREFETCHES of them; they advance */
    bool prefetches_all;            /* if not, only weights */
} gops_direct_work;

typedef struct gops_direct_size {
    int32_t vectors; /* of channels, for per_vector pixels */
    int32_t rows;
    int32_t pixels; /* of each row; a multiple of per_vector */
    int32_t stride;
    int32_t per_vector; /* pixels that share a vector */
} gops_direct_size;

typedef struct gops_direct_tile {
    gops_direct_size size;
    void (*run)(const gops_direct_work *work);
} gops_direct_tile;

/* The tiles of one compute type; the list ends with vectors 0. */
typedef struct gops_direct_kernels {
    int64_t lanes;
    const gops_direct_tile *tiles;
} gops_direct_kernels;

/* The most pixels that the range of a tap may lack at one end of a row of the tile. There is a loop
 * for each range, and for each range of rows as well. So tiles of several rows, and the wide ones
 * whose pixels share vectors, have only the ranges that pads of up to 3 leave. */
GOPS_INLINE int64_t gops_direct_max_cut(gops_direct_size size)
{
    enum { CUT = 3 };
    return size.rows > 1 || size.per_vector > 1 ? CUT : size.pixels - 1;
}

/* The number of the range first to last - 1 of `size` pixels or rows, of which one end is 0 or `size`:
 * 0 for all, then those that lack 1 to `max_cut` at the beginning, then those that lack as many at
 * the end. */
static inline int64_t gops_direct_range(int64_t size, int64_t max_cut, int64_t first, int64_t last)
{
    return last == size ? first : max_cut + size - last;
}

#endif
