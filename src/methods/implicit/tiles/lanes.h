/*
 * lanes.h: implicit GEMM for quantized plans, and for bf16 where that may be relaxed: several input
 * channels to a value.
 *
 * A value of the padded input and of the packed weights is 32 bits which hold one pixel, or one
 * weight, of neighbouring input channels: a lane. A step of a tile multiplies all of them and adds
 * the products to one sum. All else is as for other types: there are only fewer planes, one for
 * each lane of channels, and K is their number times the taps. Lanes are of these kinds:
 *
 *   quads  Four channels of 8 bits, data without and weights with a sign: one instruction of
 *          AVX-VNNI and AVX512-VNNI. With x' = x for u8 and x + 128 for i8, which flips the highest
 *          bit, and w' = w for i8 and w - 128 for u8, and zero points likewise,
 *
 *              sum of (x' - zx') (w' - zw')
 *                  = sum of x' w' - zx' * sum of w' - zw' * (sum of x' - K * zx').
 *
 *          The sum of w' is made when the filter is packed. That of x', over the window of each
 *          output, is needed only where zw' is not 0: it is the product with weights of 1, which
 *          follow the packed filter. Padding in the copy is zx', so that it adds nothing.
 *   pairs  Two channels of 16 bits, one instruction of SSE2, AVX2 and AVX-512. x - zx and w - zw are
 *          within -255 to 255, so zero points are subtracted as data and weights are copied.
 *   bf16   Two channels as they are, one instruction of AVX512-BF16, which adds to floats.
 *
 * Channels that only fill the last lane up have weights of 0, whatever their data.
 *
 * The order of K is [tap of the outermost axis][block of GOPS_LANES_BLOCK planes][tap of the other
 * axes][plane of the block]; lanes_ranges.c says why. 16 steps, 64 bytes, are what a tile of AMX takes at
 * a time (lanes_wide.inc.h). For it the last block is filled up with planes of zeros, and the padded input
 * is blocked, [block of planes][position][plane of the block], so that each position begins a cache line. It
 * is, too, for tiles of single pixels with AVX512-VNNI where the first level cache does not hold it, and for
 * those of pairs with AVX2 and less: such a tile takes a pixel of each plane of a block in turn. Pairs then
 * have a multiple of GOPS_BLOCKED_STEPS planes, the last of which may have weights of 0.
 *
 * Few channels leave most of a block empty. So for AMX taps may be joined (gops_lanes_join): a position is then
 * one of an output along the last axis, and its planes are those of all taps of that axis, and of several taps
 * of the axis before it where they fit into a block: [tap][tap][plane of the data]. 3 x 3 taps of 32 channels take
 * 3 x 2 blocks where they took 9, of 16 channels 3, of 4 channels one.
 */
#ifndef GOPS_IMPLICIT_LANES_H
#define GOPS_IMPLICIT_LANES_H

#include "methods/implicit/tiles/implicit_tile.h"
#include "post_ops/epilogue.h"

enum { GOPS_LANES_BLOCK = 16, GOPS_LANES_QUAD = 4, GOPS_LANES_PAIR = 2 };

/* What a tile makes of its sums before it stores them: post_ops/requantize.h. */
typedef struct gops_lanes_epilogue {
    const float *scale; /* by channel of the tile */
    float low, high;
    int32_t zero;
    bool to_8_bit; /* stores bytes; if not, floats */
    /* For bytes without a sign, which `flip` makes i8 of: the zero point, and what `low` and `high`
     * become. */
    int32_t middle;
    uint8_t least, most;
    int8_t flip;
    bool may_overflow; /* products with the scale may be beyond what 32 bits hold */
} gops_lanes_epilogue;

/* Where the data of a lane comes from: channels that lie `apart` elements from each other, as many
 * as there are; u8, i8 with `flip` 0x80, or of joined taps bf16; and the zero point of the flipped data. */
typedef struct gops_lanes_source {
    const uint8_t *data;
    int64_t apart;
    uint8_t flip, zero;
} gops_lanes_source;

/* A row of the padded input: of `length` positions first to last - 1 are pixels of the data, which
 * lie `stride` apart, and the others padding. */
typedef struct gops_lanes_row {
    int64_t first, last, length, stride;
} gops_lanes_row;

/* Makes the padded input of `channels` channels. */
typedef void gops_lanes_input_fn(const gops_padded_input *padded, const int64_t *origin,
                                 int64_t channels, const gops_lanes_source *source, uint32_t *to);

/* Joined taps. Along the last axis neither strides nor padding are left. */
typedef struct gops_lanes_join {
    int64_t taps; /* of the last axis, each in every position */
    /* So many taps of the axis before it are in a position, `row_dilation` pixels apart. */
    int64_t rows;
    int64_t planes; /* of the data: of one tap */
    int64_t row_dilation;
    int64_t data, stride, dilation, pad; /* of the last axis */
} gops_lanes_join;

/* Makes the blocked padded input of joined taps; the origin of the last axis is the first output. */
typedef void gops_lanes_joined_fn(const gops_padded_input *padded, const gops_lanes_join *join,
                                  const int64_t *origin, int64_t channels,
                                  const gops_lanes_source *source, uint32_t *to);

/* One instruction set has one kind of lanes. */
struct gops_lanes_kernels {
    /* sum_offsets and sums_ld count what is stored: values of 32 bits or bytes. `bias`, unless NULL,
     * is what the sums begin with, `bounds` the epilogue. */
    gops_tiles tiles;
    gops_lanes_input_fn *input, *blocks; /* makes it blocked; NULL where there is none */
    gops_lanes_joined_fn *joined;        /* with AMX alone */
    /* Those of gops_tiles for bytes. The transpose may read 15 bytes behind the last row. */
    gops_transpose_fn *transpose_bytes;
    gops_interleave_fn *interleave_bytes;
    /* sums[i] -= factor * of[i]. */
    void (*subtract)(uint32_t *sums, const uint32_t *of, uint32_t factor, int64_t count);
};

/* The kernels of bf16. */
struct gops_bf16_kernels {
    gops_tiles tiles; /* sums and epilogue are those of f32 */
    gops_padded_input_fn *input, *blocks;
    gops_lanes_joined_fn *joined;
};

#ifdef GOPS_ISA
extern gops_lanes_input_fn GOPS_ISA_NAME(gops_lanes_input);
extern gops_padded_input_fn GOPS_ISA_NAME(gops_lanes_input_bf16);
extern gops_lanes_input_fn GOPS_ISA_NAME(gops_lanes_blocks);
extern gops_padded_input_fn GOPS_ISA_NAME(gops_lanes_blocks_bf16);
extern gops_lanes_joined_fn GOPS_ISA_NAME(gops_lanes_joined);
extern gops_lanes_joined_fn GOPS_ISA_NAME(gops_lanes_joined_bf16);

/* Lanes of 8 bits are quads; if not, pairs. */
#if defined(__AVX512VNNI__) || defined(__AVXVNNI__) || defined(GOPS_EMULATED_ISA)
#define GOPS_LANES_QUADS
enum { GOPS_LANE_CHANNELS = GOPS_LANES_QUAD };
#else
enum { GOPS_LANE_CHANNELS = GOPS_LANES_PAIR };
#endif
/* There are blocked inputs; of pairs, which have tiles of their own (implicit_blocked.inc.h). */
#if defined(__AVX512VNNI__) || defined(GOPS_EMULATED_ISA)
#define GOPS_LANES_BLOCKED
#elif !defined(GOPS_LANES_QUADS) && !defined(__AVX512F__)
#define GOPS_PAIRS_BLOCKED
#endif
#endif

#endif
