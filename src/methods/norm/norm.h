/* norm.h: the kernels of group normalization, for each element type. */
#ifndef GOPS_NORM_H
#define GOPS_NORM_H

#include <groupops/plan.h>

#include "types/types.h"

#include <stdbool.h>

/* How a group is normalized. */
typedef struct gops_scaling {
    gops_moments moments;
    double inverse;           /* 1 / sqrt(variance + epsilon) */
    const void *scale, *bias; /* of the group's channels, in the element type */
    int64_t pixels;           /* of a channel */
    double least, most;       /* `apply` clamps values to these before it rounds; or infinities */
    bool nontemporal;         /* outputs may be stored past the caches */
} gops_scaling;

/* For one instruction set, by row; NULL for integers. norm.inc.h, norm_floats.inc.h */
struct gops_norm_kernels {
    /* The moments of `count` elements. `output` is NULL, or the `count` elements that are written
     * next, which the kernel prefetches. */
    gops_moments (*measure[GOPS_ROWS])(const void *data, int64_t count, void *output);
    /* Normalizes elements first to end - 1 of a group. `output` and `data` point to element
     * `first`. */
    void (*apply[GOPS_ROWS])(void *output, const void *data, int64_t first, int64_t end,
                             const gops_scaling *scaling);
    /* The same, with outputs in the compute type, not rounded yet. */
    void (*apply_unrounded[GOPS_ROWS])(void *output, const void *data, int64_t first, int64_t end,
                                       const gops_scaling *scaling);
};

#endif
