/*
 * padded_input.h: the padded copy of a group's input that the implicit product reads.
 *
 * A frame holds a box of the data, with zeros where the box reaches outside, in the compute type,
 * one channel after the other. Where the pixels form of the tiles wants it, along an axis with a
 * stride, every stride-th pixel lies together:
 * the pixels of one residue of the stride are a phase, and only phases that a tap meets are there.
 * So outputs that are neighbours read neighbours, whatever the stride. In a channel the phases of
 * all axes come first, then the positions: [phase z][phase y][phase x][z][y][x].
 */
#ifndef GOPS_IMPLICIT_PADDED_INPUT_H
#define GOPS_IMPLICIT_PADDED_INPUT_H

#include <groupops/tensor.h>

#include <stdint.h>

/* Position j of phase q is data pixel origin + j * stride + (q * turn) % stride. */
typedef struct gops_padded_axis {
    int64_t data;
    int64_t stride;
    int64_t turn;
    int64_t phases;
    int64_t length; /* positions of a phase */
} gops_padded_axis;

typedef struct gops_padded_input {
    int64_t axes;
    gops_padded_axis axis[GOPS_MAX_SPATIAL];
    int64_t data_pixels;
    int64_t positions; /* the product of axis[].length */
    int64_t plane;     /* values from one channel to the next: phases times positions */
} gops_padded_input;

/* The positions of an axis that are inside the data, for one phase: first to last - 1. */
typedef struct gops_padded_range {
    int64_t first, last;
    int64_t block; /* values from one position to the next */
    int64_t from;  /* the data pixel of the first */
    int64_t step;  /* data pixels from one to the next */
} gops_padded_range;

#endif
