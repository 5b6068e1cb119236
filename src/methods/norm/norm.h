/* norm.h: what normalizes a group, for each element type. */
#ifndef GOPS_NORM_H
#define GOPS_NORM_H

#include "methods/norm/moments.h"
#include "types/types.h"

/* What normalizes a group. */
typedef struct gops_scaling {
    gops_moments moments;
    double inverse;           /* 1 / sqrt(variance + epsilon) */
    const void *scale, *bias; /* of its channels, in the type */
    int64_t pixels;           /* of a channel */
    int streams;              /* outputs may go past the caches */
} gops_scaling;

/* For each instruction set, by row; NULL for integers. norm.inc.h, norm_floats.inc.h */
struct gops_norm_kernels {
    /* The moments of `count` elements; `ahead` is NULL, or where as many elements will be written
     * next. */
    gops_moments (*statistics[GOPS_ROWS])(const void *data, int64_t count, void *ahead);
    /* Elements first to end - 1 of a group; the first of them are at `output` and `data`. */
    void (*apply[GOPS_ROWS])(void *output, const void *data, int64_t first, int64_t end,
                             const gops_scaling *scaling);
    /* The same, with outputs in C, not rounded yet. */
    void (*keep[GOPS_ROWS])(void *output, const void *data, int64_t first, int64_t end,
                            const gops_scaling *scaling);
};

#endif
