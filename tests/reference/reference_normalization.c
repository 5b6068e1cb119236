/* reference_normalization.c: mean and variance in long double, then every value, with the bound of
 * its error. */
#include "reference.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "elements.h"
#include "guarded_memory.h"

/*
 * The bound. Write m and v for the exact mean and variance of a group of n elements, d = x - m,
 * D = max |d|, r = 1 / sqrt(v + epsilon), so that y = s r d + b. u is the unit roundoff in which an
 * element is computed (that of f64 for f64, else that of f32), w = 2^-53.
 *
 * Mean. A mean far above the spread must cost nothing, so the sums must run over
 * differences x - x0 from some x0 within the data, |x - x0| <= 2 D (or be as good as that), and
 * 10^7 elements may not cost more than a few ulp either, so the sums must be as good as pairwise
 * ones, in which an element passes through h additions, h = log2(n) + 16 (16 elements added in
 * turn at the bottom). Then
 *     |mean - m| <= e,   e = 2 (h + 3) w D.
 * Types below f64 may find the differences in floats and add up to 16 of them in floats, in
 * two such steps, 6 additions: 7 roundings in u of differences whose mean square is 2 v where x0
 * is within a standard deviation of the mean:
 *     e = 2 (h + 3) w D + 7 u sqrt(2 v)   and, for the moments themselves, |mean - m| <= e.
 * Variance. Around a mean that is off by at most e, the mean square is v + e^2, each square adds
 * two roundings, the sum h: its relative error is at most (h + 4) w + e^2 / (v + epsilon). In
 * floats a square about x0 has 3 roundings and 6 additions, 9 u of 2 v, and what is taken off, at
 * most v, is off by 2 e sqrt(v): p = 18 u + 2 e / sqrt(v), or 0 for f64. The square root halves it;
 * adding epsilon, the root and the reciprocal round once each, in w: q = ((h + 4) w + e^2 / (v +
 * epsilon) + p) / 2 + 3 w. Element. x - mean, the rounding of r to the type computed in, the
 * product with it, and the one with s: 4 roundings of s r d; the sum with b: one of y. Types below f64
 * may add to b what a float leaves of the mean, before each element: c = 1 rounding of b, or 0 for f64.
 * Storing: one rounding v_T of y. So |computed - y| <= |s| r (e + (q + 4 u) (|d| + e)) (1 + 8 u) + c u |b|
 * + (u + v_T) |y| + eta_T / 2. (1 + 8 u) covers the products of roundings. What lies below: r d may underflow, by
 * eta |s| at most.
 *
 * The reference itself sums differences from the first element pairwise in long double; its error
 * is that of the same formulas with w = LDBL_EPSILON / 2, and less than a thousandth of the bound.
 */

enum { PAIRWISE_BASE = 8 };

typedef struct group {
    long double mean; /* of the differences from x0 */
    long double variance;
    long double largest;    /* |x - m| */
    long double r, e, q, c; /* as above */
    long double u, v_t;
    long double eta, eta_t;
} group;

static long double sum_powers(const long double *x, int64_t count, long double mean, int power)
{
    if (count > PAIRWISE_BASE)
        return sum_powers(x, count / 2, mean, power) +
               sum_powers(x + count / 2, count - count / 2, mean, power);
    long double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += power == 2 ? (x[i] - mean) * (x[i] - mean) : x[i];
    return sum;
}

static group statistics(gops_type type, const long double *difference, int64_t count,
                        long double epsilon)
{
    gops_type computed = type == GOPS_F64 ? GOPS_F64 : GOPS_F32;
    long double w = gops_test_unit_roundoff(GOPS_F64);
    long double h = log2l((long double)count) + 16;
    group g = {.u = gops_test_unit_roundoff(computed),
               .v_t = gops_test_unit_roundoff(type),
               .c = type == GOPS_F64 ? 0 : 1,
               .eta = gops_test_smallest(computed),
               .eta_t = gops_test_smallest(type)};
    g.mean = sum_powers(difference, count, 0, 1) / (long double)count;
    g.variance = sum_powers(difference, count, g.mean, 2) / (long double)count;
    for (int64_t i = 0; i < count; i++)
        g.largest = fmaxl(g.largest, fabsl(difference[i] - g.mean));
    g.r = 1 / sqrtl(g.variance + epsilon);
    long double spread = sqrtl(g.variance), floats = type == GOPS_F64 ? 0 : g.u;
    g.e = 2 * (h + 3) * w * g.largest + 7 * floats * sqrtl(2) * spread;
    long double p = floats * (18 + 14 * sqrtl(2));
    g.q = ((h + 4) * w + g.e * g.e * g.r * g.r + p) / 2 + 3 * w;
    return g;
}

static long double bound_of(const group *g, long double d, long double s, long double b,
                            long double y, long double *error)
{
    long double u = g->u;
    long double element =
        fabsl(s) * g->r * (g->e + (g->q + 4 * u) * (fabsl(d) + g->e)) * (1 + 8 * u);
    *error = element + u * (g->c * fabsl(b) + fabsl(y)) + g->eta * fabsl(s);
    return *error + g->v_t * fabsl(y) + g->eta_t / 2;
}

void gops_reference_norm(const gops_tensor *data, const void *values, const void *scale,
                         const void *bias, const gops_norm_attributes *attributes,
                         gops_reference_result *result)
{
    int64_t count = gops_test_elements(data);
    int64_t channels = data->dims[1];
    int64_t per_channel = count == 0 ? 0 : count / (data->dims[0] * channels);
    int64_t per_group = per_channel * (channels / attributes->num_groups);
    long double *differences = gops_test_allocate((size_t)per_group * sizeof *differences);
    *result = (gops_reference_result){.tensor = *data};
    result->value = gops_test_allocate((size_t)count * sizeof *result->value);
    result->bound = gops_test_allocate((size_t)count * sizeof *result->bound);
    result->error = gops_test_allocate((size_t)count * sizeof *result->error);
    for (int64_t start = 0; start < count; start += per_group) {
        long double x0 = gops_test_get_real(data->type, values, start);
        for (int64_t i = 0; i < per_group; i++)
            differences[i] = gops_test_get_real(data->type, values, start + i) - x0;
        group g = statistics(data->type, differences, per_group, (long double)attributes->epsilon);
        for (int64_t i = 0; i < per_group; i++) {
            int64_t channel = (start + i) / per_channel % channels;
            long double d = differences[i] - g.mean;
            long double s = gops_test_get_real(data->type, scale, channel);
            long double b = gops_test_get_real(data->type, bias, channel);
            long double y = s * d * g.r + b;
            result->value[start + i] = y;
            result->bound[start + i] = bound_of(&g, d, s, b, y, &result->error[start + i]);
        }
    }
    free(differences);
}
