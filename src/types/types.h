/*
 * types/types.h: what the library can do with an element type.
 *
 * A type is a storage format (T) and the compute type (C) that its values are multiplied and added
 * in. One row of functions says how to get from T to C and back; everything else works on C. Rows
 * come from one file, type_rows.isa.c, which is compiled once for each instruction set.
 */
#ifndef GOPS_TYPES_TYPES_H
#define GOPS_TYPES_TYPES_H

#include <groupops/plan.h>

#include "methods/implicit/padded_input.h"
#include "methods/gemm/window.h"
#include "methods/norm/moments.h"

typedef enum gops_compute {
    GOPS_COMPUTE_F32,
    GOPS_COMPUTE_F64,
    GOPS_COMPUTE_U32, /* integers modulo 2^32 */
    GOPS_COMPUTE_U64, /* integers modulo 2^64 */
    GOPS_COMPUTES     /* how many there are */
} gops_compute;

/* Bytes of one value of the compute type. */
static inline int64_t gops_compute_bytes(gops_compute compute)
{
    return compute == GOPS_COMPUTE_F64 || compute == GOPS_COMPUTE_U64 ? 8 : 4;
}

/* The unsigned compute type of the same size, in which sums of integers beyond exact_k go on. */
static inline gops_compute gops_compute_wrapped(gops_compute compute)
{
    return gops_compute_bytes(compute) == 8 ? GOPS_COMPUTE_U64 : GOPS_COMPUTE_U32;
}

/* Some types have a second row. */
typedef enum gops_type_variant {
    GOPS_TYPE_USUAL,
    GOPS_TYPE_SATURATING, /* 8-bit floats: overflow becomes the largest finite value */
    GOPS_TYPE_SHIFTED,    /* 8-bit integers: im2col takes off gops_columns.zero */
    GOPS_TYPE_MODULAR,    /* 8- and 16-bit integers: computed in integers, not for a BLAS */
    GOPS_TYPE_VARIANTS    /* how many there are */
} gops_type_variant;

/* What normalizes a group. */
typedef struct gops_scaling {
    gops_moments moments;
    double inverse;           /* 1 / sqrt(variance + epsilon) */
    const void *scale, *bias; /* of its channels, in the type */
    int64_t pixels;           /* of a channel */
    int streams;              /* outputs may go past the caches */
} gops_scaling;

typedef struct gops_type_row {
    const char *name;
    gops_type type;
    int32_t bytes; /* of an element */
    gops_compute compute;
    /* T and C are the same format: data needs no conversion and may be used where it lies. */
    int plain;
    /* The sum of so many products is exact in C, or of any number (INT64_MAX). */
    int64_t exact_k;
    /* `count` values that lie together, T to C and C to T; rounds once, to nearest even. */
    void (*load)(void *to, const void *from, int64_t count);
    void (*store)(void *to, const void *from, int64_t count);
    /* Integers: from gops_compute_wrapped(compute), modulo 2^bits; NULL for floating point. */
    void (*store_wrapped)(void *to, const void *from, int64_t count);
    /* The shifted variant: takes `zero` off loaded values. NULL for all others. */
    void (*take_off)(void *values, int64_t count, double zero);
    /* im2col.inc.h */
    void (*im2col)(const gops_window *window, const gops_columns *part, const void *data,
                   void *columns);
    /* padded_input.inc.h */
    void (*frame)(const gops_padded_input *frame, const int64_t *origin, int64_t channels,
                  const void *data, void *to);
    /* post_ops.inc.h: floating point values in C, integers in T; bias is one value of T or NULL,
     * residual `count` of them or NULL */
    void (*fuse)(void *values, const void *bias, const void *residual, int64_t count,
                 const gops_activation *activation);
    /* norm.inc.h, norm_floats.inc.h; NULL for integers */
    gops_moments (*norm_statistics)(const void *data, int64_t count, void *ahead);
    void (*norm_apply)(void *output, const void *data, int64_t first, int64_t end,
                       const gops_scaling *scaling);
    /* The same, with outputs in C, not rounded yet. */
    void (*norm_keep)(void *output, const void *data, int64_t first, int64_t end,
                      const gops_scaling *scaling);
} gops_type_row;

#endif
