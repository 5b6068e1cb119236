/*
 * winograd.h: the kernels of Winograd's convolution, F(2,3) and F(4,3) on both axes; winograd_conv.c
 * derives it. F(3,2) serves transposed ones (winograd_deconv.c).
 *
 * A tile is M x M outputs of one channel, M = 2, 3 or 4, and reads P x P pixels of the data, one less
 * than M and the taps. It has P x P positions: the products of the transformed data with the
 * transformed weights. In all buffers a vector has neighbouring channels in its lanes, so that the
 * transforms, in registers, do not depend on where in an image a tile lies. Input channels are padded
 * with zeros to whole vectors:
 *
 *     pixels   [row][column][lanes]: of one vector of channels, with its padding
 *     points   [position][vector of channels][tile][lanes]: the transformed data
 *     weights  [position][input channel][vectors * lanes]: of a block of output channels
 *     sums     [position][tile][vectors * lanes]: their products, summed over input channels
 *
 * Distances are in values. Quantized plans have F(2,3) and F(3,2), of values that are pairs of channels
 * (winograd_quantized.c): pixels and points have twice as many channels as lanes.
 */
#ifndef GOPS_WINOGRAD_H
#define GOPS_WINOGRAD_H

#include "isa/isa.h"
#include "types/types.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum gops_winograd_form {
    GOPS_WINOGRAD_F2,   /* F(2,3) */
    GOPS_WINOGRAD_F3,   /* F(3,2) */
    GOPS_WINOGRAD_F4,   /* F(4,3) */
    GOPS_WINOGRAD_FORMS /* how many there are */
} gops_winograd_form;

/* The outputs and the pixels of a tile, on each axis. */
static inline int64_t gops_winograd_outputs(gops_winograd_form form)
{
    return form == GOPS_WINOGRAD_F2 ? 2 : form == GOPS_WINOGRAD_F3 ? 3 : 4;
}

static inline int64_t gops_winograd_points(gops_winograd_form form)
{
    return form == GOPS_WINOGRAD_F4 ? 6 : 4;
}

/* Copies the pixels of neighbouring tiles of a row, for one vector of channels, and transforms
 * them. */
typedef struct gops_winograd_input {
    const void *data;      /* the first channel's first pixel */
    int64_t channels;      /* up to a vector's lanes; the others are 0 */
    int64_t plane;         /* from one channel to the next */
    int64_t height, width; /* of the data */
    int64_t top, left;     /* the first tile's first pixel, which may lie on padding */
    int64_t tiles;
    void *pixels;      /* scratch: P rows, as many columns as the tiles read, in whole vectors */
    void *points;      /* of position 0 */
    int64_t points_ld; /* from one position to the next */
    /* Of quantized plans: u8, or i8 with `flip` 0x80; and the zero point of the flipped data. */
    uint8_t flip, zero;
} gops_winograd_input;

/* Pixels of a row, at most and as in->pixels has them, in quantized plans: they are transposed together. */
enum { GOPS_WINOGRAD_PAIRS_COLUMNS = 16 };

/* Multiplies all positions of some tiles with a block of output channels. */
typedef struct gops_winograd_product {
    const void *points, *weights;
    void *sums;
    int64_t positions, tiles;
    int64_t depth;        /* input channels, or pairs of them */
    int64_t vectors;      /* of output channels */
    int64_t points_ld;    /* from one position to the next */
    int64_t points_block; /* from one vector of channels to the next */
    int64_t sums_ld;      /* from one position to the next */
    bool prefetches;      /* the weights, which the second level cache does not hold */
} gops_winograd_product;

/* Transforms the sums of neighbouring tiles of a row, applies the epilogue, and stores them. */
typedef struct gops_winograd_output {
    const void *sums; /* of the first tile's position 0 */
    int64_t sums_ld;
    int64_t vectors;  /* of channels */
    int64_t channels; /* that exist */
    int64_t tiles;
    int64_t rows, columns;            /* of outputs that exist, at most M and M * tiles */
    void *pixels;                     /* scratch: M rows of so many columns, in whole vectors */
    void *output;                     /* the first channel's first output */
    int64_t output_plane, output_row; /* from one channel, and from one row, to the next */
    /* Of the epilogue: post_ops/epilogue.h; bounds NULL: none. Quantized plans have a gops_lanes_epilogue,
     * and `bias` is what is added to sums. They leave [row][column][vectors * lanes] in `pixels`: M rows of
     * M * tiles columns, of sums, bytes or floats. */
    const void *bounds, *bias;
} gops_winograd_output;

typedef struct gops_winograd_kernels {
    int64_t lanes;
    int64_t max_vectors;      /* of a block of output channels */
    const int64_t *max_tiles; /* of a register tile, by its vectors - 1 */
    void (*input[GOPS_WINOGRAD_FORMS])(const gops_winograd_input *input);
    void (*multiply)(const gops_winograd_product *product);
    void (*output[GOPS_WINOGRAD_FORMS])(const gops_winograd_output *output);
} gops_winograd_kernels;

#ifdef GOPS_ISA
extern const gops_winograd_kernels GOPS_ISA_NAME(gops_winograd_pairs);
extern const gops_winograd_kernels *const GOPS_ISA_NAME(gops_winograd_table)[GOPS_COMPUTES];
#endif

#endif
