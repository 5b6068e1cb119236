/* difference.h: where two arrays of one type differ. */
#ifndef GOPS_NPY_DIFFERENCE_H
#define GOPS_NPY_DIFFERENCE_H

#include <groupops/tensor.h>

#include <stdbool.h>

/* How many of the worst elements are kept. */
enum { GOPS_DIFFERENCE_MAX_WORST = 8 };

/* The distance of a NaN from what is none. */
#define GOPS_DIFFERENCE_NAN UINT64_MAX

typedef struct gops_distance {
    int64_t index; /* of the element, in the order of memory */
    /* The values of the type that are passed on the way from the one element to the other: the
     * difference of integers, and 1 for neighbouring floats; both zeros are one value. */
    uint64_t ulp;
    double difference; /* of the values; NaN where one of them is NaN */
} gops_distance;

typedef struct gops_difference {
    int64_t different; /* elements whose ulp is not 0 */
    int64_t beyond;    /* elements that are further apart than is allowed */
    int kept;
    gops_distance worst[GOPS_DIFFERENCE_MAX_WORST]; /* by ulp, the worst first */
    gops_distance largest;                          /* by difference; index -1 where none differs */
} gops_difference;

/* An element may be `max_ulp` or `max_difference` apart. */
gops_difference gops_difference_find(gops_type type, const void *a, const void *b, int64_t count,
                                     uint64_t max_ulp, double max_difference);

/* The element as text that tells it from all others: room for GOPS_ELEMENT_BYTES. */
enum { GOPS_ELEMENT_BYTES = 40 };
void gops_element_text(gops_type type, const void *elements, int64_t index, char *text);

#endif
