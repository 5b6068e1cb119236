/*
 * subconv.h: a transposed convolution as ordinary ones with stride 1.
 *
 * Output pixel o of an axis gets what data pixel i and tap k give where
 *
 *     o = i * stride + k * dilation - pad_begin.
 *
 * With o + lead = j * stride + phase, 0 <= phase < stride, and k * dilation - pad_begin + lead =
 * shift * stride + phase, that is i = j - shift: the taps of a phase are those with its remainder.
 * So each phase is a convolution of the data over the positions j, with stride 1 and a part of the
 * taps, and the outputs of the phases interleave. Phases that read the same shifts of the data are
 * computed as more output channels of one matrix product: its channels are (output channel, phase)
 * pairs, phase fastest.
 *
 * What `lead` is, is free. Where it is 0 the positions begin with the first output, and no position
 * has outputs that are not there but behind the last one. Where pad_begin - lead is a multiple of
 * the stride, more phases read the same shifts: all do if the stride divides the kernel's size. And
 * an axis with one data pixel may take any stride, as it is multiplied by 0: one that is larger
 * than the outputs makes each tap a phase, so that no tap multiplies padding.
 */
#ifndef GOPS_SUBCONV_H
#define GOPS_SUBCONV_H

#include "plan/plan.h"

typedef enum gops_subconv_form {
    GOPS_SUBCONVS_OF_DATA,   /* pad_begin - lead is a multiple of the stride */
    GOPS_SUBCONVS_OF_OUTPUT, /* lead 0 */
    GOPS_SUBCONVS_OF_TAPS,   /* axes of one data pixel have their taps as phases */
    GOPS_SUBCONV_FORMS,
} gops_subconv_form;

/* An axis as its phases see it. */
typedef struct gops_subconv_side {
    int64_t data, output, kernel, dilation;
    int64_t stride;
    int64_t lead, pad;          /* pad is pad_begin - lead */
    int64_t positions;          /* how many j */
    int64_t least, most;        /* shift of all taps */
    int64_t common, turn, unit; /* gcd(stride, dilation); stride / common; 1 / (dilation / common)
                                   modulo turn */
} gops_subconv_side;

typedef struct gops_subconv_view {
    int axes;
    gops_subconv_form form;
    gops_subconv_side side[GOPS_MAX_SPATIAL];
} gops_subconv_view;

enum {
    GOPS_MAX_SUBCONVS = 1 << 16,
    GOPS_MAX_SUBCONVS_OF_TAPS = 1 << 12,
};

/* False where there are more than GOPS_MAX_SUBCONVS, an axis is too long, or the form has nothing
 * of its own to offer. */
int gops_subconv_look(const gops_conv_geometry *conv, gops_subconv_form form,
                      gops_subconv_view *view);

/* A product: the phases begin to begin + count - 1 of each axis. Tap t of them, of `taps`, reads
 * the data shifted by shift + t * step; it is tap first + t * turn of the filter, where `first`
 * depends on the phase. No taps: the outputs are 0. */
typedef struct gops_subconv_axis {
    int64_t begin, count;
    int64_t taps, shift, step;
} gops_subconv_axis;

typedef struct gops_subconvs {
    gops_subconv_axis axis[GOPS_MAX_SPATIAL];
    int64_t count; /* the product of axis[].count */
    int64_t taps;  /* the product of axis[].taps */
} gops_subconvs;

void gops_subconv_first(const gops_subconv_view *view, gops_subconvs *phases);
/* False after the last. */
int gops_subconv_next(const gops_subconv_view *view, gops_subconvs *phases);

/* Products of one size, those without taps left out. */
typedef struct gops_subconv_kind {
    int64_t count, taps;
    int64_t times; /* how many there are */
} gops_subconv_kind;

enum {
    /* The phases with taps of an axis come in this many kinds: where the dilation is 1 in runs that
     * end where the shift or the number of taps changes, else alone, with t or t + 1 taps. */
    GOPS_SUBCONV_AXIS_KINDS = 4,
    GOPS_SUBCONV_KINDS = 64,
};

typedef struct gops_subconv_kinds {
    gops_subconv_kind kind[GOPS_SUBCONV_KINDS];
    int64_t kinds;
    int64_t products, phases; /* of all kinds */
    int64_t least, most;      /* phases of a product */
    int64_t taps;             /* the sum over the products */
} gops_subconv_kinds;

/* False where there are more kinds than there is room for. */
int gops_subconv_count_kinds(const gops_subconv_view *view, gops_subconv_kinds *kinds);

/* The product of the strides. */
int64_t gops_subconv_count(const gops_subconv_view *view);

/* The frame's shifts for the taps of a product, of all channels; pitch is from one position of an
 * axis to the next, plane from channel to channel. */
void gops_subconv_offsets(const gops_subconv_view *view, const gops_subconvs *phases,
                          const int64_t *pitch, int64_t plane, int64_t channels, int64_t *offsets);

/* The weights of (output channel, phase) pairs first to first + count - 1 of a product, in the
 * layout [channels_in * taps][width] of a tile; 0 beyond count. */
void gops_subconv_pack(const gops_plan *plan, const gops_subconv_view *view,
                       const gops_subconvs *phases, const unsigned char *weights, int64_t first,
                       int64_t count, int64_t width, unsigned char *to);

#endif
