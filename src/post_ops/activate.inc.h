/*
 * activate.inc.h: activations in vectors, made of exp for arguments that are not positive.
 *
 * exp(y). With n the integer next to y / ln 2, exp(y) = 2^n exp(r), where r = y - n ln 2 is within
 * +-0.35. ln 2 is the sum of LN2_HIGH, whose product with n is exact, and LN2_LOW. n is found by
 * adding 1.5 * 2^FRACTION_BITS, which rounds to an integer and leaves it in the low bits; shifted up
 * into the exponent, they make 2^n. exp(r) is (A + B) / (A - B), Pade's approximation, where A has the
 * even powers of r and B the odd ones. It has half the terms of a polynomial, and costs no division:
 * what it is for divides anyway, as in
 *
 *     x / (1 + exp(y)) = x (A - B) / (A - B + 2^n (A + B))
 *
 * Beyond +-NEAR, 2^n is no normal number. Upwards it need not be, because 1 + exp(y) is 1 before. The
 * other way, which is 0 but for a few numbers, is a branch that networks hardly ever take. There
 * 2^SCALE exp(y) is computed, and the last multiplication takes the factor away, when what is below all
 * numbers has been made 0: processors take long to make denormals. So the result is
 * rounded once where it is a denormal, and no digits are lost where it is not: x * sigmoid(x) is a
 * normal number for some x whose sigmoid is none.
 *
 * tanh(x) = -e / (2 + e) and elu need e = exp(y) - 1 to its last digits, where exp(r) is
 * 1 + (r + r^2 P(r)):
 *
 *     e = 2^n (r + r^2 P(r)) + (2^n - 1)
 *
 * where n = 0 makes the last term 0, and n < 0 cancels little.
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
 * Parameters:
 *
 *   C                   type: float or double
 *   BITS                type: the unsigned integer of its size
 *   LANES               int: the elements of a vector register
 *   NAME(symbol)        puts the type's name in front of a symbol
 *   FRACTION_BITS, EXPONENT_BIAS
 *                       int: of the type's format
 *   LN2_HIGH, LN2_LOW   double: above
 *   ANY_ABOVE, FUSED    associations for _Generic: activate.isa.c
 *   EXP_EVEN, EXP_ODD   doubles: A, and B / r, of powers of r^2, from the constant terms up. They are
 *                       so small that A - B is at most 1.
 *   EXP_COEFFICIENTS    doubles: P, from the constant term up
 *   NEAR                int: exp(+-NEAR) is a normal number, and 1 + exp(-NEAR) is 1
 *   SCALE, DOWN         int, double: above; 2^-SCALE
 *   EXP_END             int: where exp(y), times any y, is below all numbers
 *   TANH_END            int: where exp(y) - 1 is -1
 *   GELU_NEAR           int: Phi(-GELU_NEAR) is a normal number
 *   RATIO_NUMERATOR, RATIO_DENOMINATOR
 *                       doubles: R, from the constant terms up; the denominator's last, 1, is left
 *                       out
 *   RATIO_END           double: where a Phi(-a) is below all numbers
 */
#include "isa/vectors.inc.h"
#include "post_ops/epilogue.inc.h"

typedef BITS NAME(bits) __attribute__((vector_size(LANES * sizeof(BITS))));
typedef struct NAME(fraction) {
    NAME(vector) over, under;
} NAME(fraction);

#define raise NAME(raise)
#define lower NAME(lower)
#define clamp NAME(clamp)
#define bits NAME(bits)
#define fraction NAME(fraction)
#define compare_above NAME(compare_above)
#define any_above NAME(any_above)
#define multiply_add NAME(multiply_add)
#define add_exact NAME(add_exact)
#define polynomial NAME(polynomial)
#define reduce NAME(reduce)
#define exp_of_rest NAME(exp_of_rest)
#define near_exp NAME(near_exp)
#define times_far_exp NAME(times_far_exp)
#define expm1 NAME(expm1)
#define minus_magnitude NAME(minus_magnitude)
#define over_1_plus_exp NAME(over_1_plus_exp)
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

/* A vector of one number. */
#define constant(number) broadcast((C)(number))
#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

GOPS_INLINE vector raise(vector low, vector x)
{
    return (vector) _Generic((x), GOPS_RAISES default : NAME(at_least))(low, x);
}

GOPS_INLINE vector lower(vector high, vector x)
{
    return (vector) _Generic((x), GOPS_LOWERS default : NAME(at_most))(high, x);
}

GOPS_INLINE bool compare_above(vector x, vector limit)
{
    const __typeof__(x > limit) above = x > limit;
    bool any = false;
    for (int i = 0; i < LANES; i++) {
        any |= above[i] != 0;
    }
    return any;
}

/* Whether a lane of x is above `limit`, which few are. */
GOPS_INLINE bool any_above(vector x, const C limit)
{
    return __builtin_expect(_Generic((x), ANY_ABOVE default
                                     : compare_above)(x, constant(limit)),
                            false);
}

GOPS_INLINE vector multiply_add(vector a, vector b, vector c)
{
    return a * b + c;
}

/* a b + c, where a b is exact. Then a fused multiply-add gives the same bits. */
GOPS_INLINE vector add_exact(vector a, vector b, vector c)
{
    return (vector) _Generic((a), FUSED default : multiply_add)(a, b, c);
}

/* From the constant term up. */
GOPS_INLINE vector polynomial(vector x, const C *coefficients, const int count)
{
    vector sum = constant(coefficients[count - 1]);
    GOPS_UNROLL
    for (int i = count - 2; i >= 0; i--) {
        sum = sum * x + constant(coefficients[i]);
    }
    return sum;
}

/* r of y, and 2^(n + exponent). n is that of `about`, which is y or next to it. */
GOPS_INLINE vector reduce(vector y, vector about, const int exponent, vector *power)
{
    const vector rounding =
        constant((C)1.5 * (C)((BITS)1 << FRACTION_BITS) + (C)(EXPONENT_BIAS + exponent));
    const vector rounded = about * constant(1.44269504088896340736) + rounding;
    const vector n = rounded - rounding;
    *power = (vector)((bits)rounded << FRACTION_BITS);
    return add_exact(n, constant(-LN2_HIGH), y) - n * constant(LN2_LOW);
}

/* 2^n exp(r), where power is 2^n */
GOPS_INLINE fraction exp_of_rest(vector r, vector power)
{
    static const C even[] = {EXP_EVEN}, odd[] = {EXP_ODD};
    const vector square = r * r;
    const vector a = polynomial(square, even, COUNT(even));
    const vector b = r * polynomial(square, odd, COUNT(odd));
    return (fraction){(a + b) * power, a - b};
}

/* exp(y) for y from -NEAR to NEAR */
GOPS_INLINE fraction near_exp(vector y)
{
    vector power;
    const vector r = reduce(y, y, 0, &power);
    return exp_of_rest(r, power);
}

/* factor exp(y) for y below -NEAR */
GOPS_INLINE vector times_far_exp(vector factor, vector y)
{
    vector power;
    const vector near = raise(constant(EXP_END), y);
    const vector r = reduce(near, near, SCALE, &power);
    const fraction e = exp_of_rest(r, power);
    const vector value = factor * (e.over / e.under);
    return GOPS_SELECT(y < EXP_END, factor * 0, value) * constant(DOWN);
}

/* factor / (1 + exp(y)) */
GOPS_INLINE vector over_1_plus_exp(vector factor, vector y)
{
    const fraction e = near_exp(raise(constant(-NEAR), y));
    const vector value = factor * e.under / (e.under + e.over);
    return any_above(y, NEAR) ? GOPS_SELECT(y > NEAR, times_far_exp(factor, -y), value) : value;
}

/* exp(y) - 1 for y that is not positive */
GOPS_INLINE vector expm1(vector y)
{
    static const C coefficients[] = {EXP_COEFFICIENTS};
    vector power;
    y = raise(constant(TANH_END), y);
    const vector r = reduce(y, y, 0, &power);
    const vector less_1 = r + r * r * polynomial(r, coefficients, COUNT(coefficients));
    return add_exact(power, less_1, power - 1);
}

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
    const vector r = reduce(square, square + rest, exponent, &power) + rest;
    return exp_of_rest(r, power);
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
    const vector value = raise((vector){0}, x) - a * normal(a, 0);
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
    const fraction e = near_exp(clamp(x, constant(-NEAR), constant(-TANH_END)));
    const vector twice = e.under + e.under, w = e.over * (e.over + twice);
    const vector value = x * (w / (w + e.under * twice));
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

/* Defines the loops of an activation. The last vector of a row overlaps the one before it, and is
 * loaded before that changes; values that fill no vector are filled up. An element's bits do not depend
 * on how many follow it. */
#define LOOP(function)                                                                             \
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
    static void NAME(function##_all)(const gops_activate_rows *rows, C alpha, C beta)              \
    {                                                                                              \
        for (int64_t i = 0; i < rows->rows; i++) {                                                 \
            NAME(function##_row)                                                                   \
            ((C *)rows->to + i * rows->to_ld, (const C *)rows->from + i * rows->from_ld,           \
             rows->count, alpha, beta);                                                            \
        }                                                                                          \
    }

LOOP(leaky_relu)
LOOP(sigmoid)
LOOP(hyperbolic_tangent)
LOOP(hard_swish)
LOOP(swish)
LOOP(gelu)
LOOP(elu)
LOOP(mish)
LOOP(hard_sigmoid)

#define CASE(kind, function)                                                                       \
    case GOPS_ACTIVATION_##kind:                                                                   \
        NAME(function##_all)(rows, alpha, beta);                                                   \
        break;

static void NAME(activate)(const gops_activate_rows *rows, const gops_activation *activation)
{
    const C alpha = (C)activation->alpha, beta = (C)activation->beta;
    switch (activation->kind) {
        CASE(LEAKY_RELU, leaky_relu)
        CASE(SIGMOID, sigmoid)
        CASE(TANH, hyperbolic_tangent)
        CASE(HARD_SWISH, hard_swish)
        CASE(SWISH, swish)
        CASE(GELU, gelu)
        CASE(ELU, elu)
        CASE(MISH, mish)
        CASE(HARD_SIGMOID, hard_sigmoid)
    default:
        break; /* post_ops.inc.h does the others */
    }
}

#undef CASE
#undef LOOP
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
#undef multiply_add
#undef add_exact
#undef constant
#undef polynomial
#undef reduce
#undef exp_of_rest
#undef near_exp
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
