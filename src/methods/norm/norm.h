/* norm.h: the kernels of group normalization, for each element type. */
#ifndef GOPS_NORM_H
#define GOPS_NORM_H

#include "types/types.h"

#include <stdbool.h>

/* The mean and the variance of a set of elements, found block by block. The mean is center + rest:
 * two numbers, so that f64 loses no digits of it. */
typedef struct gops_moments {
    double count; /* of elements, at least 1 */
    double center, rest;
    double squares; /* the sum of the squared distances from the mean */
} gops_moments;

/* Adds the elements of `other` to those of `moments`: the update of Chan, Golub and LeVeque
 * (norm.inc.h). The order of the merges fixes the last bits. */
static inline void gops_moments_merge(gops_moments *moments, const gops_moments *other)
{
    const double count = moments->count + other->count;
    const double weight = other->count / count;
    const double distance = (other->center - moments->center) + (other->rest - moments->rest);
    moments->rest += distance * weight;
    moments->squares += other->squares + distance * distance * (moments->count * weight);
    moments->count = count;
}

/* How a group is normalized. */
typedef struct gops_scaling {
    gops_moments moments;
    double inverse;           /* 1 / sqrt(variance + epsilon) */
    const void *scale, *bias; /* of the group's channels, in the element type */
    int64_t pixels;           /* of a channel */
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
