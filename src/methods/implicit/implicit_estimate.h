/* implicit_estimate.h: what an implicit product costs. */
#ifndef GOPS_IMPLICIT_ESTIMATE_H
#define GOPS_IMPLICIT_ESTIMATE_H

#include "methods/implicit/implicit.h"

/* Estimated nanoseconds of `depth` steps of all tiles over `columns` columns for `channels`
 * channels. */
double gops_implicit_product_cost(const gops_plan *plan, const gops_implicit *p, int64_t channels,
                                  int64_t columns, int64_t depth);

/* Estimated nanoseconds of copying so many values in so many runs. */
double gops_implicit_copy_cost(double values, double runs);

/* The same for the padded input of a box. */
double gops_implicit_input_cost(const gops_plan *plan, const gops_implicit *p);

/* Estimated nanoseconds of a convolution, whose boxes have `columns` columns. */
double gops_implicit_conv_cost(const gops_plan *plan, const gops_implicit *p, int64_t columns);

/* Columns of a block where all weights of a group come from beyond the second level cache; whether they do. */
enum { GOPS_IMPLICIT_COLUMNS_BEYOND_L2 = 512 };
bool gops_implicit_weights_beyond_l2(const gops_plan *plan, const gops_implicit *p);

#endif
