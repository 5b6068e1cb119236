/*
 * exp.inc.h: exp in vectors, for activate.inc.h.
 *
 * With n the integer next to y / ln 2, exp(y) = 2^n exp(r), where r = y - n ln 2 is within +-0.35. ln 2
 * is the sum of LN2_HIGH, whose product with n is exact, and LN2_LOW. n is found by adding
 * 1.5 * 2^FRACTION_BITS, which rounds to an integer and leaves it in the low bits; shifted up into the
 * exponent, they make 2^n. exp(r) is (A + B) / (A - B), Pade's approximation, where A has the even
 * powers of r and B the odd ones. It has half the terms of a polynomial, and costs no division: what it
 * is for divides anyway, as in
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
 * tanh and elu need e = exp(y) - 1 to its last digits, where exp(r) is 1 + (r + r^2 P(r)):
 *
 *     e = 2^n (r + r^2 P(r)) + (2^n - 1)
 *
 * where n = 0 makes the last term 0, and n < 0 cancels little.
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
 *   MULTIPLY_ADD(a, b, c)
 *                       expression: a b + c, rounded once or twice
 *   EXP_EVEN, EXP_ODD   doubles: A, and B / r, of powers of r^2, from the constant terms up. They are
 *                       so small that A - B is at most 1.
 *   EXP_COEFFICIENTS    doubles: P, from the constant term up
 *   NEAR                int: exp(+-NEAR) is a normal number, and 1 + exp(-NEAR) is 1
 *   SCALE, DOWN         int, double: above; 2^-SCALE
 *   EXP_END             int: where exp(y), times any y, is below all numbers
 *   TANH_END            int: where exp(y) - 1 is -1
 *
 * activate.inc.h undefines all but ANY_ABOVE and FUSED.
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
#define apart NAME(apart)
#define multiply_add NAME(multiply_add)
#define add_exact NAME(add_exact)
#define polynomial NAME(polynomial)
#define reduce NAME(reduce)
#define exp_of_rest NAME(exp_of_rest)
#define times_far_exp NAME(times_far_exp)
#define expm1 NAME(expm1)
#define over_1_plus_exp NAME(over_1_plus_exp)

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

/* a b + c, the product and the sum rounded. */
GOPS_INLINE vector apart(vector a, vector b, vector c)
{
    return a * b + c;
}

GOPS_INLINE vector multiply_add(vector a, vector b, vector c)
{
    return (vector)MULTIPLY_ADD(a, b, c);
}

/* a b + c, where a b is exact. Then a fused multiply-add gives the same bits. */
GOPS_INLINE vector add_exact(vector a, vector b, vector c)
{
    return (vector) _Generic((a), FUSED default : apart)(a, b, c);
}

/* From the constant term up. */
GOPS_INLINE vector polynomial(vector x, const C *coefficients, const int count)
{
    vector sum = constant(coefficients[count - 1]);
    GOPS_UNROLL
    for (int i = count - 2; i >= 0; i--) {
        sum = multiply_add(sum, x, constant(coefficients[i]));
    }
    return sum;
}

/* r of y, and 2^(n + exponent). n is that of `about`, which is y or next to it. */
GOPS_INLINE vector reduce(vector y, vector about, const int exponent, vector *power)
{
    const vector rounding =
        constant((C)1.5 * (C)((BITS)1 << FRACTION_BITS) + (C)(EXPONENT_BIAS + exponent));
    const vector rounded = multiply_add(about, constant(1.44269504088896340736), rounding);
    const vector n = rounded - rounding;
    *power = (vector)((bits)rounded << FRACTION_BITS);
    return multiply_add(n, constant(-LN2_LOW), add_exact(n, constant(-LN2_HIGH), y));
}

/* exp(r) */
GOPS_INLINE fraction exp_of_rest(vector r)
{
    static const C even[] = {EXP_EVEN}, odd[] = {EXP_ODD};
    const vector square = r * r;
    const vector a = polynomial(square, even, COUNT(even));
    const vector b_over_r = polynomial(square, odd, COUNT(odd));
    return (fraction){multiply_add(r, b_over_r, a), multiply_add(-r, b_over_r, a)};
}

/* factor exp(y) for y below -NEAR */
GOPS_INLINE vector times_far_exp(vector factor, vector y)
{
    vector power;
    const vector near = raise(constant(EXP_END), y);
    const vector r = reduce(near, near, SCALE, &power);
    const fraction e = exp_of_rest(r);
    const vector value = factor * (e.over * power / e.under);
    return GOPS_SELECT(y < EXP_END, factor * 0, value) * constant(DOWN);
}

/* factor / (1 + exp(y)) */
GOPS_INLINE vector over_1_plus_exp(vector factor, vector y)
{
    vector power;
    const vector near = raise(constant(-NEAR), y);
    const fraction e = exp_of_rest(reduce(near, near, 0, &power));
    const vector value = factor * e.under / multiply_add(e.over, power, e.under);
    return any_above(y, NEAR) ? GOPS_SELECT(y > NEAR, times_far_exp(factor, -y), value) : value;
}

/* exp(y) - 1 for y that is not positive */
GOPS_INLINE vector expm1(vector y)
{
    static const C coefficients[] = {EXP_COEFFICIENTS};
    vector power;
    y = raise(constant(TANH_END), y);
    const vector r = reduce(y, y, 0, &power);
    const vector less_1 = multiply_add(r * r, polynomial(r, coefficients, COUNT(coefficients)), r);
    return add_exact(power, less_1, power - 1);
}
