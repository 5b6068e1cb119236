/*
 * subconv.h: a transposed convolution as sub-convolutions with stride 1.
 *
 * Output pixel o of an axis gets what data pixel i and tap k give where
 *
 *     o = i * stride + k * dilation - pad_begin.
 *
 * Write o + lead = j * stride + residue with 0 <= residue < stride. Tap k gives to outputs of one
 * residue only: the one with k * dilation - pad_begin + lead = shift * stride + residue. Then
 * i = j - shift. So the outputs of each residue are a convolution of the data over the positions j,
 * with stride 1 and some of the taps: a sub-convolution. The outputs of the sub-convolutions
 * interleave. Sub-convolutions that read the same shifts of the data are computed as more output
 * channels of one matrix product. A row of this product is an (output channel, residue) pair, with
 * the residue as the fastest index.
 *
 * Any `lead` is right. With lead 0 the positions begin with the first output, and none lies before
 * it. If pad_begin - lead is a multiple of the stride, more sub-convolutions read the same shifts:
 * all do where the stride divides the size of the kernel. An axis with one data pixel may take any
 * stride, because i is 0. With a stride larger than the outputs each tap has a residue of its own,
 * and no tap multiplies padding.
 */
#ifndef GOPS_SUBCONV_H
#define GOPS_SUBCONV_H

#include "methods/implicit/tiles/implicit_tile.h"
#include "plan/plan.h"

#include <stdbool.h>

/* How the outputs are split into sub-convolutions. */
typedef enum gops_subconv_split {
    GOPS_SUBCONV_BY_DATA,   /* pad_begin - lead is a multiple of the stride */
    GOPS_SUBCONV_BY_OUTPUT, /* lead is 0 */
    GOPS_SUBCONV_BY_TAP,    /* each tap of an axis with one data pixel has a residue of its own */
    GOPS_SUBCONV_SPLITS,
} gops_subconv_split;

typedef struct gops_subconv_axis {
    int64_t output, kernel, dilation, stride;
    int64_t lead, pad; /* pad is pad_begin - lead */
    int64_t max_shift;
    int64_t gcd;      /* of stride and dilation */
    int64_t tap_step; /* stride / gcd: from a tap to the next one of the same residue */
    int64_t inverse;  /* of dilation / gcd modulo tap_step */
} gops_subconv_axis;

typedef struct gops_subconv_geometry {
    int axes;
    gops_subconv_split split;
    gops_subconv_axis axis[GOPS_MAX_SPATIAL];
    /* The convolution with stride 1 of which all sub-convolutions are a part: from the data to the
     * positions j, with a tap for each shift. */
    gops_axis conv[GOPS_MAX_SPATIAL];
} gops_subconv_geometry;

enum {
    GOPS_MAX_SUBCONVS = 1 << 16,
    GOPS_MAX_SUBCONVS_BY_TAP = 1 << 12,
};

/* Splits a transposed convolution. False where that gives too many sub-convolutions, an axis is too
 * long, or the split is the same as by data. */
bool gops_subconv_split_axes(const gops_conv_geometry *conv, gops_subconv_split split,
                             gops_subconv_geometry *geometry);

/* Of one axis, residues that read the same shifts: begin to begin + count - 1. Each has `taps`
 * taps, and number t of these reads the data shifted by shift + t * step; it is tap
 * first + t * tap_step of the filter, where `first` depends on the residue. With no taps the
 * outputs are 0. */
typedef struct gops_subconv_residues {
    int64_t begin, count;
    int64_t taps, shift, step;
} gops_subconv_residues;

/* Sub-convolutions that are computed as one matrix product. */
typedef struct gops_subconv_product {
    gops_subconv_residues axis[GOPS_MAX_SPATIAL];
    int64_t count; /* of sub-convolutions: the product of axis[].count */
    int64_t taps;  /* the product of axis[].taps */
} gops_subconv_product;

void gops_subconv_first_product(const gops_subconv_geometry *geometry,
                                gops_subconv_product *product);
/* False after the last. */
bool gops_subconv_next_product(const gops_subconv_geometry *geometry,
                               gops_subconv_product *product);

/* Products of equal size. Those without taps are not counted. */
typedef struct gops_subconv_kind {
    int64_t count, taps; /* as in gops_subconv_product */
    int64_t times;       /* how many such products there are */
} gops_subconv_kind;

enum {
    /* The most kinds of residues with taps that an axis has. With a dilation of 1 these are runs
     * that end where the shift or the number of taps changes; else single residues with t or t + 1
     * taps. */
    GOPS_SUBCONV_AXIS_KINDS = 4,
    GOPS_SUBCONV_KINDS = 64,
};

typedef struct gops_subconv_kinds {
    gops_subconv_kind kind[GOPS_SUBCONV_KINDS];
    int64_t kinds;
    int64_t products, subconvs;   /* of all kinds */
    int64_t min_count, max_count; /* sub-convolutions of a product */
    int64_t taps;                 /* the sum over the products */
} gops_subconv_kinds;

/* False where there are more than GOPS_SUBCONV_KINDS. */
bool gops_subconv_count_kinds(const gops_subconv_geometry *geometry, gops_subconv_kinds *kinds);

/* How many sub-convolutions there are: the product of the strides. */
int64_t gops_subconv_count(const gops_subconv_geometry *geometry);

/* Axis `a` of a product with taps, as a convolution: with its taps in the order of the data. */
gops_axis gops_subconv_product_axis(const gops_subconv_geometry *geometry,
                                    const gops_subconv_product *product, int a);

/* The offsets of the taps of a product, for the first channel. `pitch` is from one position of an
 * axis to the next in the padded input. */
void gops_subconv_offsets(const gops_subconv_geometry *geometry,
                          const gops_subconv_product *product, const int64_t *pitch,
                          int64_t *offsets);

/* The weights of a tile. */
typedef struct gops_subconv_tile {
    const unsigned char *weights; /* of the first channel of the panel */
    const int32_t *zero_points;   /* quantized plans: from the same channel on */
    int64_t first, count, mr;     /* rows first to first + count - 1 of a product, then zeros */
    unsigned char *to;
    uint32_t *sums; /* quads: of the weights of each row, to which they are added; else NULL */
    int64_t planes; /* of the padded input */
    gops_tile_form form;
} gops_subconv_tile;

/* Packs them: [channels_in * taps][mr], or for lanes and blocked inputs in the order of lanes.h, with the last tap
 * as the first. */
void gops_subconv_pack_tile(const gops_plan *plan, const gops_subconv_geometry *geometry,
                            const gops_subconv_product *product, const gops_subconv_tile *tile);

#endif
