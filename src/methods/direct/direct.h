/*
 * direct.h: runs of neighbouring outputs of a row, or of some rows one below the other, for
 * many output channels, read from the data where it lies.
 *
 *     sums[spot][channel] (+)= sum over taps whose window is inside the data, and input channels c:
 *         weights[tap][c][channel]
 *             * data[(c * plane + outer + inner) + row * row_step + spot * stride]
 *
 * A strip keeps `vectors` vectors of sums for `spots` outputs of `height` rows in registers: a
 * vector for each output, a channel in each lane, or, where `joined` is not 1, one for `joined`
 * neighbouring outputs, which have their lanes side by side: lane l is channel l / joined of output
 * l % joined. So 8 channels, or 24, fill vectors of 16. Taps that fall on padding are not computed:
 * a tap of the last axis comes with the range of spots for which it is inside, a row of taps with
 * the range of rows, and those that are outside for all are not listed. Weights lie packed as the
 * lanes want them, each `joined` times:
 * weights[(tap * channels_in + c) * vectors * lanes + channel * joined]. Distances are in values.
 */
#ifndef GOPS_DIRECT_H
#define GOPS_DIRECT_H

#include "types/types.h"

#include <stdint.h>

enum { GOPS_DIRECT_LINE = 64 }; /* bytes of the caches' lines */

/* A tap, or a row of taps, relative to the strip's first spot. */
typedef struct gops_direct_tap {
    int64_t data;  /* from spot 0's place in the data */
    int64_t tap;   /* its number; those of the row and of the tap within it are added */
    int64_t range; /* gops_direct_range: a tap's, of spots; a row's, of rows of outputs */
} gops_direct_tap;

/* Memory that will be needed later: before each tap the next `count` of the `left` places, `step`
 * bytes from one to the next, are asked for. */
typedef struct gops_direct_ahead {
    const unsigned char *next;
    int64_t step, count, left;
} gops_direct_ahead;

/* What a strip asks for. Its own outputs too: a store waits for its line, and behind it those of
 * the next strip's sums that have no register. */
enum { GOPS_DIRECT_WEIGHTS, GOPS_DIRECT_ROWS, GOPS_DIRECT_OUTPUTS, GOPS_DIRECT_AHEADS };

typedef struct gops_direct_work {
    const void *data; /* the first channel */
    int64_t start;    /* where spot 0 would meet tap 0; may be outside, and is then not read */
    int64_t row_step; /* from where a spot meets a tap to where the one below does */
    int64_t plane;    /* from one channel of the data to the next */
    int64_t channels_in;
    const gops_direct_tap *rows, *taps; /* of the outer axes, of the last one */
    int64_t row_count, tap_count;
    const void *weights;
    /* NULL, or where the strip's sums are kept between blocks of input channels. */
    void *sums;
    int64_t accumulate; /* not 0: they are there already */
    /* NULL, or where complete sums go: output[channel * output_ld + row * output_row + spot] for
     * `channels` channels, `count_rows` rows and `count` spots. */
    void *output;
    int64_t output_ld, output_row, channels, count_rows, count;
    const void *bounds, *bias; /* epilogue.h: NULL, or applied to complete sums */
    gops_direct_ahead *ahead;  /* GOPS_DIRECT_AHEADS of them, which go on as places are asked for */
    int64_t asks;              /* 0: only for weights */
} gops_direct_work;

typedef struct gops_direct_size {
    int32_t vectors; /* that `joined` spots have */
    int32_t height;
    int32_t spots; /* a multiple of joined */
    int32_t stride;
    int32_t joined;
} gops_direct_size;

typedef struct gops_direct_kernel {
    gops_direct_size size;
    void (*run)(const gops_direct_work *work);
} gops_direct_kernel;

/* The strips of one compute type; the list ends with vectors 0. */
typedef struct gops_direct_kernels {
    int64_t lanes;
    const gops_direct_kernel *list;
} gops_direct_kernels;

/* The most spots that the range of a tap may lack at one end of the strip. There is a loop for each
 * range, and for each range of rows as well: of strips of several rows, and of those that are long
 * because outputs share vectors, only what pads of 3 cut. */
static inline __attribute__((always_inline)) int64_t gops_direct_cut(gops_direct_size size)
{
    enum { CUT = 3 };
    return size.height > 1 || size.joined > 1 ? CUT : size.spots - 1;
}

/* The number of a range, first to last - 1 of `size`, of which one end is the strip's own: 0 all,
 * then those that lack 1 to `cut` at the beginning, then those that lack as many at the end. */
static inline int64_t gops_direct_range(int64_t size, int64_t cut, int64_t first, int64_t last)
{
    return last == size ? first : cut + size - last;
}

#endif
