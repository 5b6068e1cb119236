/*
 * types/types.h: what the library can do with an element type.
 *
 * A type is a storage format (T) and the compute type (C) that its values are multiplied and added
 * in. One row of functions says how to get from T to C and back; everything else works on C. Rows
 * come from one file, types/type_rows.c, which is compiled once for each instruction set.
 */
#ifndef GOPS_TYPES_TYPES_H
#define GOPS_TYPES_TYPES_H

#include <groupops/tensor.h>

#include "lower/window.h"

typedef enum gops_compute {
    GOPS_COMPUTE_F32,
    GOPS_COMPUTE_F64,
    GOPS_COMPUTES /* how many there are */
} gops_compute;

/* Bytes of one value of the compute type. */
static inline int64_t gops_compute_bytes(gops_compute compute)
{
    return compute == GOPS_COMPUTE_F64 ? 8 : 4;
}

/* The moments of a group; its mean is center + rest. */
typedef struct gops_moments {
    double center, rest;
    double variance;
} gops_moments;

typedef struct gops_type_row {
    gops_type type;
    gops_compute compute;
    /* T and C are the same format: data needs no conversion and may be used where it lies. */
    int plain;
    /* `count` values that lie together, T to C and C to T; rounds once, to nearest even. */
    void (*load)(void *to, const void *from, int64_t count);
    void (*store)(void *to, const void *from, int64_t count);
    /* lower/im2col.inc.h */
    void (*im2col)(const gops_window *window, const gops_columns *part, const void *data,
                   void *columns);
    /* kernels/norm.inc.h */
    gops_moments (*norm_statistics)(const void *data, int64_t count);
    void (*norm_apply)(void *output, const void *data, int64_t count, const gops_moments *moments,
                       double factor, double bias);
    double (*value)(const void *from, int64_t index);
} gops_type_row;

#endif
