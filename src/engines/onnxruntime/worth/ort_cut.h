/* ort_cut.h: a choice among many where it matters what becomes of the neighbours. */
#ifndef GROUPOPS_ENGINES_ORT_CUT_H
#define GROUPOPS_ENGINES_ORT_CUT_H

#include <stdbool.h>
#include <stddef.h>

/* What it costs if one of the two is taken and the other is not. */
typedef struct gops_ort_border {
    size_t one, other;
    double cost; /* not below 0 */
} gops_ort_border;

/* Sets taken[i] so that the gains of those that are taken, less the costs of borders, have the largest
 * sum; among choices of one sum, the one that takes the fewest. False: no memory. */
bool gops_ort_cut(const double *gains, size_t count, const gops_ort_border *borders,
                  size_t border_count, bool *taken);

#endif
