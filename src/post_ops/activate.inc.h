/*
 * activate.inc.h: activations in vectors, made of exp for arguments that are not positive.
 *
 * exp(y). With n the integer next to y / ln 2, exp(y) = 2^n exp(r), where r = y - n ln 2 is within
 * +-0.35. ln 2 is the sum of LN2_HIGH, whose product with n is exact, and LN2_LOW. n is found by
 * adding 1.5 * 2^FRACTION_BITS, which rounds to an integer and leaves it in the low bits; shifted up
 * into the exponent, they make 2^n. exp(r) is 1 + (r + r^2 P(r)).
 *
 * Far below 0, exp(y) is a denormal, which has few digits, or none that the processor keeps. There
 * it is computed as 2^SCALE exp(y), and the last multiplication of the activation takes the factor
 * away. Then the result is rounded once where it is a denormal, and no digits are lost where it is
 * not: x * sigmoid(x) is a normal number for some x whose sigmoid is none.
 *
 * tanh(x) = -e / (2 + e) and elu need e = exp(y) - 1 to its last digits:
 *
 *     e = 2^n (r + r^2 P(r)) + (2^n - 1)
 *
 * where n = 0 makes the last term 0, and n < 0 cancels little.
 *
 * gelu(x) = x Phi(x). For a = |x|, Phi(-a) = exp(-a^2 / 2) R(a), with R, the ratio of Mills over
 * sqrt(2 pi), between 0.5 and 0.01. R is a ratio of polynomials whose coefficients are all positive,
 * so that no digits cancel. So that exp keeps its digits, a^2 is the sum of h^2, exact as h is the
 * upper half of a's digits, and (a - h) (a + h).
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
 *   EXP_COEFFICIENTS    doubles: P, from the constant term up
 *   SCALE, DOWN         int, double: above; 2^-SCALE
 *   FAR                 int: below -FAR, exp(y) is computed scaled. It is a normal number at -FAR,
 *                       and the scaled one below 1.
 *   EXP_END             int: where exp(y), times any y, is below all numbers
 *   TANH_END            int: where exp(y) - 1 is -1
 *   RATIO_NUMERATOR, RATIO_DENOMINATOR
 *                       doubles: R, from the constant terms up; the denominator's last, 1, is left
 *                       out
 *   RATIO_END           double: where a Phi(-a) is below all numbers
 */
#include "isa/vectors.inc.h"

typedef BITS NAME(bits) __attribute__((vector_size(LANES * sizeof(BITS))));

#define bits NAME(bits)
#define polynomial NAME(polynomial)
#define reduce NAME(reduce)
#define exp_less_1 NAME(exp_less_1)
#define scaled_exp NAME(scaled_exp)
#define expm1 NAME(expm1)
#define minus_magnitude NAME(minus_magnitude)
#define sigmoid_times NAME(sigmoid_times)
#define sigmoid NAME(sigmoid)
#define swish NAME(swish)
#define hyperbolic_tangent NAME(hyperbolic_tangent)
#define scaled_normal NAME(scaled_normal)
#define gelu NAME(gelu)
#define elu NAME(elu)
#define mish NAME(mish)
#define hard_sigmoid NAME(hard_sigmoid)
#define leaky_relu NAME(leaky_relu)
#define hard_swish NAME(hard_swish)

/* A vector of one number. */
#define constant(number) broadcast((C)(number))
#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

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
    return (y - n * constant(LN2_HIGH)) - n * constant(LN2_LOW);
}

/* exp(r) - 1 */
GOPS_INLINE vector exp_less_1(vector r)
{
    static const C coefficients[] = {EXP_COEFFICIENTS};
    return r + r * r * polynomial(r, coefficients, COUNT(coefficients));
}

/* 2^SCALE exp(y), and 0 for y below `end`. */
GOPS_INLINE vector scaled_exp(vector y, const C end)
{
    vector power;
    const vector r = reduce(y, y, SCALE, &power);
    const vector value = (1 + exp_less_1(r)) * power;
    return GOPS_SELECT(y < end, (vector){0}, value);
}

/* exp(y) - 1 */
GOPS_INLINE vector expm1(vector y)
{
    vector power;
    y = GOPS_SELECT(y < TANH_END, constant(TANH_END), y);
    const vector r = reduce(y, y, 0, &power);
    return power * exp_less_1(r) + (power - 1);
}

GOPS_INLINE vector minus_magnitude(vector x)
{
    return (vector)((bits)x | (bits)constant(-0.0));
}

/* factor / (1 + exp(-x)): for a positive x, factor / (1 + e) with e = exp(-|x|), and for a negative
 * one factor * e / (1 + e). */
GOPS_INLINE vector sigmoid_times(vector factor, vector x)
{
    const vector scaled = scaled_exp(minus_magnitude(x), EXP_END);
    const vector e = scaled * constant(DOWN);
    const __typeof__(x < 0) far = x < -FAR;
    const vector share = GOPS_SELECT(far, scaled, GOPS_SELECT(x < 0, e, constant(1)));
    const vector value = factor * share / (1 + e);
    return GOPS_SELECT(far, value * constant(DOWN), value);
}

GOPS_INLINE vector sigmoid(vector x, C alpha, C beta)
{
    (void)alpha, (void)beta;
    return sigmoid_times(constant(1), x);
}

GOPS_INLINE vector swish(vector x, C alpha, C beta)
{
    (void)beta;
    return sigmoid_times(x, x * alpha);
}

GOPS_INLINE vector hyperbolic_tangent(vector x, C alpha, C beta)
{
    (void)alpha, (void)beta;
    const vector e = expm1(2 * minus_magnitude(x));
    const vector magnitude = -e / (2 + e);
    const bits sign = (bits)constant(-0.0);
    return (vector)(((bits)magnitude & ~sign) | ((bits)x & sign));
}

/* 2^SCALE Phi(-a) for a from 0. */
GOPS_INLINE vector scaled_normal(vector a)
{
    static const C upper[] = {RATIO_NUMERATOR}, lower[] = {RATIO_DENOMINATOR, 1};
    const vector high = (vector)((bits)a & ~(((BITS)1 << (FRACTION_BITS / 2 + 1)) - 1));
    const vector square = high * high * (C)-0.5;
    const vector rest = (a - high) * (a + high) * (C)-0.5;
    vector power;
    const vector r = reduce(square, square + rest, SCALE, &power) + rest;
    const vector numerator = polynomial(a, upper, COUNT(upper));
    const vector ratio = numerator / polynomial(a, lower, COUNT(lower));
    const vector value = (1 + exp_less_1(r)) * power * ratio;
    return GOPS_SELECT(a > (C)RATIO_END, (vector){0}, value);
}

GOPS_INLINE vector gelu(vector x, C alpha, C beta)
{
    (void)alpha, (void)beta;
    const vector tail = scaled_normal((vector)((bits)x & ~(bits)constant(-0.0)));
    const vector below = x * tail * constant(DOWN);
    const vector above = x * (1 - tail * constant(DOWN));
    return GOPS_SELECT(x < 0, below, above);
}

GOPS_INLINE vector elu(vector x, C alpha, C beta)
{
    (void)beta;
    return GOPS_SELECT(x < 0, alpha * expm1(minus_magnitude(x)), x);
}

/* With e = exp(-|x|), tanh(log(1 + exp(x))) is (1 + 2 e) / (1 + 2 e + 2 e^2) for a positive x, and
 * e (2 + e) / (2 + e (2 + e)) for a negative one. */
GOPS_INLINE vector mish(vector x, C alpha, C beta)
{
    (void)alpha, (void)beta;
    const vector scaled = scaled_exp(minus_magnitude(x), EXP_END);
    const vector e = scaled * constant(DOWN);
    const __typeof__(x < 0) far = x < -FAR;
    const vector product = e * (2 + e), above = 1 + 2 * e;
    const vector below = GOPS_SELECT(far, scaled * 2, product);
    const vector upper = GOPS_SELECT(x < 0, below, above);
    const vector lower = GOPS_SELECT(x < 0, 2 + product, above + 2 * (e * e));
    const vector value = x * upper / lower;
    return GOPS_SELECT(far, value * constant(DOWN), value);
}

GOPS_INLINE vector hard_sigmoid(vector x, C alpha, C beta)
{
    const vector line = x * alpha + beta;
    const vector raised = GOPS_SELECT(line < 0, (vector){0}, line);
    return GOPS_SELECT(raised > 1, constant(1), raised);
}

GOPS_INLINE vector leaky_relu(vector x, C alpha, C beta)
{
    (void)beta;
    return GOPS_SELECT(x < 0, x * alpha, x);
}

GOPS_INLINE vector hard_swish(vector x, C alpha, C beta)
{
    (void)alpha, (void)beta;
    const vector raised = GOPS_SELECT(x + 3 < 0, (vector){0}, x + 3);
    return x * GOPS_SELECT(raised > 6, constant(6), raised) / 6;
}

/* Defines the loop of an activation. The last vector overlaps the one before it, and is loaded before
 * that changes; values that fill no vector are filled up. An element's bits do not depend on how many
 * follow it. */
#define LOOP(function)                                                                             \
    static void NAME(function##_all)(C * values, int64_t count, C alpha, C beta)                   \
    {                                                                                              \
        vector last = {0};                                                                         \
        int64_t i = 0;                                                                             \
        if (count < LANES) {                                                                       \
            memcpy(&last, values, (size_t)count * sizeof(C));                                      \
            last = function(last, alpha, beta);                                                    \
            memcpy(values, &last, (size_t)count * sizeof(C));                                      \
            return;                                                                                \
        }                                                                                          \
        last = *(const vector *)(values + count - LANES);                                          \
        for (; i + LANES <= count; i += LANES) {                                                   \
            vector *v = (vector *)(values + i);                                                    \
            *v = function(*v, alpha, beta);                                                        \
        }                                                                                          \
        if (i < count) {                                                                           \
            *(vector *)(values + count - LANES) = function(last, alpha, beta);                     \
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

static void NAME(activate)(C *values, int64_t count, const gops_activation *activation)
{
    const C alpha = (C)activation->alpha, beta = (C)activation->beta;
    switch (activation->kind) {
    case GOPS_ACTIVATION_LEAKY_RELU:
        NAME(leaky_relu_all)(values, count, alpha, beta);
        break;
    case GOPS_ACTIVATION_SIGMOID:
        NAME(sigmoid_all)(values, count, alpha, beta);
        break;
    case GOPS_ACTIVATION_TANH:
        NAME(hyperbolic_tangent_all)(values, count, alpha, beta);
        break;
    case GOPS_ACTIVATION_HARD_SWISH:
        NAME(hard_swish_all)(values, count, alpha, beta);
        break;
    case GOPS_ACTIVATION_SWISH:
        NAME(swish_all)(values, count, alpha, beta);
        break;
    case GOPS_ACTIVATION_GELU:
        NAME(gelu_all)(values, count, alpha, beta);
        break;
    case GOPS_ACTIVATION_ELU:
        NAME(elu_all)(values, count, alpha, beta);
        break;
    case GOPS_ACTIVATION_MISH:
        NAME(mish_all)(values, count, alpha, beta);
        break;
    case GOPS_ACTIVATION_HARD_SIGMOID:
        NAME(hard_sigmoid_all)(values, count, alpha, beta);
        break;
    default:
        break; /* post_ops.inc.h does the others */
    }
}

#undef LOOP
#undef COUNT
#undef vector
#undef broadcast
#undef bits
#undef constant
#undef polynomial
#undef reduce
#undef exp_less_1
#undef scaled_exp
#undef expm1
#undef minus_magnitude
#undef sigmoid_times
#undef sigmoid
#undef swish
#undef hyperbolic_tangent
#undef scaled_normal
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
#undef EXP_COEFFICIENTS
#undef SCALE
#undef DOWN
#undef FAR
#undef EXP_END
#undef TANH_END
#undef RATIO_NUMERATOR
#undef RATIO_DENOMINATOR
#undef RATIO_END
