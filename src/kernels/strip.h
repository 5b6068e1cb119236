/*
 * kernels/strip.h: runs of neighbouring outputs of a row, for many output channels, read from the
 * data where it lies.
 *
 *     sums[spot][channel] (+)= sum over taps whose window is inside the data, and input channels c:
 *         weights[tap][c][channel] * data[(c * plane + outer + inner) + spot * stride]
 *
 * A strip keeps `vectors` vectors of channels for each of `spots` outputs in registers. Taps that
 * fall on padding are not computed: a tap of the last axis comes with the range of spots for which
 * it is inside, and rows of taps that are outside are not listed at all. Weights lie packed:
 * weights[(tap * channels_in + c) * vectors * lanes + channel]. All distances are in values.
 */
#ifndef GOPS_KERNELS_STRIP_H
#define GOPS_KERNELS_STRIP_H

#include <stdint.h>

enum { GOPS_STRIP_LINE = 64 }; /* bytes of the caches' lines */

/* A tap, or a row of taps, relative to the strip's first spot. */
typedef struct gops_strip_tap {
    int64_t data;  /* from spot 0's place in the data */
    int64_t tap;   /* its number; those of the row and of the tap within it are added */
    int64_t range; /* gops_strip_range, of a tap within a row */
} gops_strip_tap;

typedef struct gops_strip_work {
    const void *data; /* the first channel */
    int64_t start;    /* where spot 0 would meet tap 0; may be outside, and is then not read */
    int64_t plane;    /* from one channel of the data to the next */
    int64_t channels_in;
    const gops_strip_tap *rows, *taps; /* of the outer axes, of the last one */
    int64_t row_count, tap_count;
    const void *weights;
    /* NULL, or where the strip's sums are kept between blocks of input channels. */
    void *sums;
    int64_t accumulate; /* not 0: they are there already */
    /* NULL, or where complete sums go: output[channel * output_ld + spot] for `channels` channels
     * and `count` spots. */
    void *output;
    int64_t output_ld, channels, count;
    const void *bounds, *bias; /* store/trim.h: NULL, or applied to complete sums */
    /* Memory that will be needed later: before each tap the next ahead_bytes of it are asked for,
     * whole lines. */
    const unsigned char *ahead;
    int64_t ahead_bytes;
} gops_strip_work;

typedef struct gops_strip {
    int32_t vectors;
    int32_t spots;
    int32_t stride;
    void (*run)(const gops_strip_work *work);
} gops_strip;

/* The strips of one compute type; the list ends with vectors 0. */
typedef struct gops_strips {
    int64_t lanes;
    const gops_strip *list;
} gops_strips;

/* The number of a range of spots, first to last - 1, of which one end is the strip's own:
 * 0 all, then those without spots at the beginning, then those without spots at the end. */
static inline int64_t gops_strip_range(int64_t spots, int64_t first, int64_t last)
{
    return last == spots ? first : spots - 1 + last;
}

#endif
