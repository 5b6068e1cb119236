/*
 * reference.h: the three operations as plain loops over the definition.
 *
 * Floating point types are computed in long double, integers modulo 2^64 (of which the result
 * modulo any smaller power of two is a part). Shares no code with the library.
 */
#ifndef GROUPOPS_REFERENCE_H
#define GROUPOPS_REFERENCE_H

#include "reference_geometry.h"

typedef struct gops_reference_result {
    gops_tensor tensor;
    /* Floating point types: the expected elements, how far from them correct ones may lie, and how
     * far before they are rounded to the type. */
    long double *value;
    long double *bound;
    long double *error;
    long double *once; /* convolutions: what one rounding of each of an element's terms comes to */
    uint64_t *integer; /* integer types: the expected elements modulo 2^64 */
    /* Quantized convolutions (reference_quantized.h): real elements are equal, a zero's sign and all;
     * integers are no more than so many away. */
    int exact;
    int64_t steps;
} gops_reference_result;

void gops_reference_result_destroy(gops_reference_result *result);

/* What ConvInteger subtracts before it multiplies; padding contributes nothing. */
typedef struct gops_reference_zero_points {
    int64_t data;
    const int64_t *filter; /* one for each of the groups * c_out output channels; NULL: 0 */
} gops_reference_zero_points;

/* The convolutions. `geometry` comes from reference_geometry.h; the result has the type of
 * geometry->output, data and filter may have others of the same kind. `zero_points` NULL: all 0.
 *
 * The bound: an output element is a sum of k products a b (those with padding are exact zeros). In
 * an accumulator of unit roundoff u (f64: 2^-53, else f32: 2^-24), in any order, cut up in any way,
 * with or without fused multiply-add, a product takes part in one multiplication and at most k - 1
 * additions, so that (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1)
 *     |computed - exact| <= k u / (1 - k u) sum |a| |b|  +  k eta / 2,
 * where eta, the smallest number of the accumulator, is for products that underflow. Storing it in
 * a type of unit roundoff v adds one rounding, v (|exact| + that) + eta_v / 2. The reference's own
 * sum has the same bound with the u of long double, which is added.
 */
void gops_reference_conv(const gops_reference_geometry *geometry, gops_type data_type,
                         const void *data, gops_type filter_type, const void *filter,
                         const gops_reference_zero_points *zero_points,
                         gops_reference_result *result);
void gops_reference_deconv(const gops_reference_geometry *geometry, gops_type data_type,
                           const void *data, gops_type filter_type, const void *filter,
                           const gops_reference_zero_points *zero_points,
                           gops_reference_result *result);

/* GroupNormalization; `data` describes data and result. The bound is derived in the source. */
void gops_reference_norm(const gops_tensor *data, const void *values, const void *scale,
                         const void *bias, const gops_norm_attributes *attributes,
                         gops_reference_result *result);

#endif
