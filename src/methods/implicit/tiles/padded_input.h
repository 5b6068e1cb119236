/*
 * padded_input.h: the padded copy of a part of the input that implicit GEMM reads.
 *
 * The copy holds a box of the data in the compute type, one channel after the other, with zeros
 * where the box reaches outside the data. The pixels form of the tiles wants outputs that are
 * neighbours to read neighbours. So for it, along an axis with a stride, the pixels with equal
 * residue modulo the stride lie together, and residues that no tap meets are left out. In a channel
 * the residues of all axes come first, then the positions:
 * [residue z][residue y][residue x][z][y][x].
 */
#ifndef GOPS_IMPLICIT_PADDED_INPUT_H
#define GOPS_IMPLICIT_PADDED_INPUT_H

#include <groupops/tensor.h>

#include "base/checked.h"
#include "types/types.h"

#include <stdint.h>

/* Position j of residue q is data pixel origin + j * stride + (q * residue_step) % stride. */
typedef struct gops_padded_axis {
    int64_t data;
    int64_t stride;
    int64_t residue_step;
    int64_t residues;
    int64_t length; /* positions of a residue */
} gops_padded_axis;

typedef struct gops_padded_input {
    int64_t axes;
    gops_padded_axis axis[GOPS_MAX_SPATIAL];
    int64_t data_pixels;
    int64_t data_plane; /* from one channel of the data to the next */
    int64_t positions;  /* the product of axis[].length */
    int64_t values;     /* of a channel: residues times positions */
    int64_t plane;      /* from one channel to the next */
} gops_padded_input;

/* The positions of an axis that are inside the data, for one residue: first to last - 1. */
typedef struct gops_padded_range {
    int64_t first, last;
    int64_t pitch; /* values of the copy from one position to the next */
    int64_t from;  /* where the data pixel of position `first` lies */
    int64_t step;  /* data pixels from one position to the next */
} gops_padded_range;

/* The ranges of all axes, for one residue of each; the box begins at data pixel origin[a]. */
static inline void gops_padded_ranges(const gops_padded_input *padded, const int64_t *origin,
                                      const int64_t *residue, gops_padded_range *range)
{
    int64_t pitch = 1, pixels = 1;
    for (int a = (int)padded->axes - 1; a >= 0; a--) {
        const gops_padded_axis *axis = &padded->axis[a];
        const int64_t start = origin[a] + residue[a] * axis->residue_step % axis->stride;
        gops_padded_range *of = &range[a];
        of->first = gops_clamp(gops_ceil_div(-start, axis->stride), 0, axis->length);
        of->last =
            gops_clamp(gops_ceil_div(axis->data - start, axis->stride), of->first, axis->length);
        of->pitch = pitch;
        /* Where the stride is beyond the data there is one position at most, and no step. */
        of->step = gops_min(axis->stride, axis->data) * pixels;
        of->from = of->first < of->last ? (start + of->first * axis->stride) * pixels : 0;
        pitch *= axis->length;
        pixels *= axis->data;
    }
}

/* Steps to the next combination of residues, in the order of the copy. */
static inline void gops_padded_next_residue(const gops_padded_input *padded, int64_t *residue)
{
    for (int a = (int)padded->axes - 1; a >= 0 && ++residue[a] == padded->axis[a].residues; a--) {
        residue[a] = 0;
    }
}

/* Copies `channels` channels of `data` into `to`; the box begins at data pixel origin[a] of each
 * axis. */
typedef void gops_padded_input_fn(const gops_padded_input *padded, const int64_t *origin,
                                  int64_t channels, const void *data, void *to);

#ifdef GOPS_ISA
extern gops_padded_input_fn *const GOPS_ISA_NAME(gops_padded_input_table)[GOPS_ROWS];
#endif

#endif
