/* moments.h: the mean and the variance of a set of elements, found block by block. */
#ifndef GOPS_NORM_MOMENTS_H
#define GOPS_NORM_MOMENTS_H

/* The mean is center + rest: two numbers, so that f64 loses no digits of it. */
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

#endif
