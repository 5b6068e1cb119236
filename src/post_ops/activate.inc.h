/*
 * activate.inc.h: activations in vectors, made of exp (exp.inc.h) for arguments that are not positive.
 *
 * tanh(x) = -e / (2 + e), where e = exp(-2 |x|) - 1, with x's sign.
 *
 * gelu(x) = x Phi(x) = max(x, 0) - a Phi(-a), where a = |x|. Phi(-a) = exp(-a^2 / 2) R(a), with R, the
 * ratio of Mills over sqrt(2 pi), between 0.5 and 0.01. R is a ratio of polynomials whose coefficients
 * are all positive, so that no digits cancel. So that exp keeps its digits, a^2 is the sum of h^2,
 * exact as h is the upper half of a's digits, and (a - h) (a + h).
 *
 * Roundings are those of the steps as they are written: activate.isa.c. Comparisons are written so
 * that NaN passes through; lanes beyond the last element and lanes that are not selected may hold
 * anything. Errors in units of the last place are in tests/unit/test_activations.c.
 *
 * Parameters: those of exp.inc.h, and
 *
 *   GELU_NEAR           int: Phi(-GELU_NEAR) is a normal number
 *   RATIO_NUMERATOR, RATIO_DENOMINATOR
 *                       doubles: R, from the constant terms up; the denominator's last, 1, is left
 *                       out
 *   RATIO_END           double: where a Phi(-a) is below all numbers
 */
#include "post_ops/exp.inc.h"

#define minus_magnitude NAME(minus_magnitude)
#define sigmoid NAME(sigmoid)
#define swish NAME(swish)
#define hyperbolic_tangent NAME(hyperbolic_tangent)
#define bell NAME(bell)
#define normal NAME(normal)
#define far_gelu NAME(far_gelu)
#define gelu NAME(gelu)
#define elu NAME(elu)
#define mish NAME(mish)
#define hard_sigmoid NAME(hard_sigmoid)
#define leaky_relu NAME(leaky_relu)
#define hard_swish NAME(hard_swish)

GOPS_INLINE vector minus_magnitude(vector x)
{
    return (vector)((bits)x | (bits)constant(-0.0));
}

GOPS_INLINE vector sigmoid(vector x, C alpha, C beta)
{
    (void)alpha, (void)beta;
    return over_1_plus_exp(constant(1), -x);
}

GOPS_INLINE vector swish(vector x, C alpha, C beta)
{
    (void)beta;
    return over_1_plus_exp(x, x * -alpha);
}

GOPS_INLINE vector hyperbolic_tangent(vector x, C alpha, C beta)
{
    (void)alpha, (void)beta;
    const vector e = expm1(2 * minus_magnitude(x));
    const bits sign = (bits)constant(-0.0), magnitude = (bits)(e / (2 + e)) & ~sign;
    return (vector)(magnitude | ((bits)x & sign));
}

/* 2^exponent exp(-a^2 / 2) */
GOPS_INLINE fraction bell(vector a, const int exponent)
{
    const vector high = (vector)((bits)a & ~(((BITS)1 << (FRACTION_BITS / 2 + 1)) - 1));
    const vector square = high * high * (C)-0.5;
    const vector rest = (a - high) * (a + high) * (C)-0.5;
    vector power;
    fraction e = exp_of_rest(reduce(square, square + rest, exponent, &power) + rest);
    e.over *= power;
    return e;
}

/* 2^exponent Phi(-a) for a from 0 */
GOPS_INLINE vector normal(vector a, const int exponent)
{
    static const C above[] = {RATIO_NUMERATOR}, below[] = {RATIO_DENOMINATOR, 1};
    const fraction e = bell(a, exponent);
    return e.over * polynomial(a, above, COUNT(above)) /
           (e.under * polynomial(a, below, COUNT(below)));
}

/* gelu for x below -GELU_NEAR */
GOPS_INLINE vector far_gelu(vector x)
{
    const vector value = x * normal(lower(constant(RATIO_END), -x), SCALE);
    return GOPS_SELECT(x < -(C)RATIO_END, x * 0, value) * constant(DOWN);
}

GOPS_INLINE vector gelu(vector x, C alpha, C beta)
{
    (void)alpha, (void)beta;
    const vector magnitude = (vector)((bits)x & ~(bits)constant(-0.0));
    const vector a = lower(constant(GELU_NEAR), magnitude);
    const vector value = multiply_add(-a, normal(a, 0), raise((vector){0}, x));
    return any_above(-x, GELU_NEAR) ? GOPS_SELECT(x < -GELU_NEAR, far_gelu(x), value) : value;
}

GOPS_INLINE vector elu(vector x, C alpha, C beta)
{
    (void)beta;
    return GOPS_SELECT(x < 0, alpha * expm1(minus_magnitude(x)), x);
}

/* With e = exp(x) and w = e (e + 2), tanh(log(1 + e)) is w / (w + 2); here both are multiplied by the
 * square of e's denominator. */
GOPS_INLINE vector mish(vector x, C alpha, C beta)
{
    (void)alpha, (void)beta;
    vector power;
    const vector near = clamp(x, constant(-NEAR), constant(-TANH_END));
    const fraction e = exp_of_rest(reduce(near, near, 0, &power));
    const vector over = e.over * power, twice = e.under + e.under;
    const vector w = over * (over + twice);
    const vector value = x * (w / multiply_add(e.under, twice, w));
    return any_above(-x, NEAR) ? GOPS_SELECT(x < -NEAR, times_far_exp(x, x), value) : value;
}

GOPS_INLINE vector hard_sigmoid(vector x, C alpha, C beta)
{
    return clamp(x * alpha + beta, (vector){0}, constant(1));
}

GOPS_INLINE vector leaky_relu(vector x, C alpha, C beta)
{
    (void)beta;
    return GOPS_SELECT(x < 0, x * alpha, x);
}

GOPS_INLINE vector hard_swish(vector x, C alpha, C beta)
{
    (void)alpha, (void)beta;
    return x * (clamp(x + 3, (vector){0}, constant(6)) * constant(1.0 / 6));
}

/* Every activation: what stands behind GOPS_ACTIVATION_, and its function. */
/* clang-format off */
#define EACH_ACTIVATION(ROW)                                                                       \
    ROW(LEAKY_RELU, leaky_relu) ROW(SIGMOID, sigmoid) ROW(TANH, hyperbolic_tangent)                \
    ROW(HARD_SWISH, hard_swish) ROW(SWISH, swish) ROW(GELU, gelu) ROW(ELU, elu) ROW(MISH, mish)    \
    ROW(HARD_SIGMOID, hard_sigmoid)
/* clang-format on */

/* Defines the loops of an activation. The last vector of a row overlaps the one before it, and is
 * loaded before that changes; values that fill no vector are filled up. But one or two values at the ends of rows, as
 * those of 49 pixels have, are computed by columns: such a vector would wait for the stores of a tile. An element's
 * bits do not depend on where it lies. */
#define LOOP(kind, function)                                                                       \
    static void NAME(function##_row)(C * to, const C *from, int64_t count, C alpha, C beta)        \
    {                                                                                              \
        vector last = {0};                                                                         \
        int64_t i = 0;                                                                             \
        if (count < LANES) {                                                                       \
            memcpy(&last, from, (size_t)count * sizeof(C));                                        \
            last = function(last, alpha, beta);                                                    \
            memcpy(to, &last, (size_t)count * sizeof(C));                                          \
            return;                                                                                \
        }                                                                                          \
        last = *(const vector *)(from + count - LANES);                                            \
        for (; i + LANES <= count; i += LANES) {                                                   \
            *(vector *)(to + i) = function(*(const vector *)(from + i), alpha, beta);              \
        }                                                                                          \
        if (i < count) {                                                                           \
            *(vector *)(to + count - LANES) = function(last, alpha, beta);                         \
        }                                                                                          \
    }                                                                                              \
    static void NAME(function##_column)(const gops_activate_rows *rows, int64_t column, C alpha,   \
                                        C beta)                                                    \
    {                                                                                              \
        const C *from = (const C *)rows->from + column;                                            \
        C *to = (C *)rows->to + column;                                                            \
        for (int64_t left = rows->rows; left > 0; left -= LANES) {                                 \
            const int64_t count = left < LANES ? left : LANES;                                     \
            C values[LANES] = {0};                                                                 \
            for (int64_t i = 0; i < count; i++, from += rows->from_ld) {                           \
                values[i] = *from;                                                                 \
            }                                                                                      \
            *(vector *)values = function(*(const vector *)values, alpha, beta);                    \
            for (int64_t i = 0; i < count; i++, to += rows->to_ld) {                               \
                *to = values[i];                                                                   \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void NAME(function##_all)(const gops_activate_rows *rows, C alpha, C beta)              \
    {                                                                                              \
        const int64_t rest = rows->count % LANES;                                                  \
        const int64_t columns = rows->count > LANES && rest <= LANES / 8 ? rest : 0;               \
        for (int64_t i = 0; i < rows->rows; i++) {                                                 \
            NAME(function##_row)                                                                   \
            ((C *)rows->to + i * rows->to_ld, (const C *)rows->from + i * rows->from_ld,           \
             rows->count - columns, alpha, beta);                                                  \
        }                                                                                          \
        for (int64_t i = rows->count - columns; i < rows->count; i++) {                            \
            NAME(function##_column)(rows, i, alpha, beta);                                         \
        }                                                                                          \
    }

EACH_ACTIVATION(LOOP)

#define CASE(kind, function)                                                                       \
    case GOPS_ACTIVATION_##kind:                                                                   \
        NAME(function##_all)(rows, alpha, beta);                                                   \
        break;

static void NAME(activate)(const gops_activate_rows *rows, const gops_activation *activation)
{
    const C alpha = (C)activation->alpha, beta = (C)activation->beta;
    switch (activation->kind) {
        EACH_ACTIVATION(CASE)
    default:
        break; /* post_ops.inc.h does the others */
    }
}

#undef CASE
#undef LOOP
#undef EACH_ACTIVATION
#undef COUNT
#undef vector
#undef broadcast
#undef raise
#undef lower
#undef clamp
#undef bits
#undef fraction
#undef compare_above
#undef any_above
#undef apart
#undef multiply_add
#undef add_exact
#undef constant
#undef polynomial
#undef reduce
#undef exp_of_rest
#undef times_far_exp
#undef expm1
#undef minus_magnitude
#undef over_1_plus_exp
#undef sigmoid
#undef swish
#undef hyperbolic_tangent
#undef bell
#undef normal
#undef far_gelu
#undef gelu
#undef elu
#undef mish
#undef hard_sigmoid
#undef leaky_relu
#undef hard_swish
#undef C
#undef BITS
#undef LANES
#undef NAME
#undef MULTIPLY_ADD
#undef FRACTION_BITS
#undef EXPONENT_BIAS
#undef LN2_HIGH
#undef LN2_LOW
#undef EXP_EVEN
#undef EXP_ODD
#undef EXP_COEFFICIENTS
#undef NEAR
#undef SCALE
#undef DOWN
#undef EXP_END
#undef TANH_END
#undef GELU_NEAR
#undef RATIO_NUMERATOR
#undef RATIO_DENOMINATOR
#undef RATIO_END
