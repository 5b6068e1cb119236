/*
 * epilogue.inc.h: applies the epilogue to vectors of sums; the formula is in epilogue.h. A NaN
 * passes through.
 *
 * Parameters: C and NAME of isa/each_compute.inc.h, and the vector of isa/vectors.inc.h
 *
 * The template that includes this one calls NAME(clamp), NAME(epilogue) and NAME(epilogue_all), or NAME(at_least)
 * and NAME(at_most).
 */
#include "isa/register.h"

/* Not `vector`, which the including template may have defined. */
#define epilogue_vector NAME(vector)
#define at_least NAME(at_least)
#define at_most NAME(at_most)
#define clamp NAME(clamp)
#define epilogue NAME(epilogue)

GOPS_INLINE epilogue_vector at_least(epilogue_vector low, epilogue_vector x)
{
    return GOPS_SELECT(x < low, low, x);
}

GOPS_INLINE epilogue_vector at_most(epilogue_vector high, epilogue_vector x)
{
    return GOPS_SELECT(x > high, high, x);
}

GOPS_INLINE epilogue_vector clamp(epilogue_vector x, epilogue_vector low, epilogue_vector high)
{
    x = (epilogue_vector) _Generic((x), GOPS_RAISES default : at_least)(low, x);
    return (epilogue_vector) _Generic((x), GOPS_LOWERS default : at_most)(high, x);
}

GOPS_INLINE epilogue_vector epilogue(epilogue_vector sum, epilogue_vector bias, epilogue_vector low,
                                     epilogue_vector high)
{
    return clamp(sum + bias, low, high);
}

/* For `count` vectors that have the same bias; bounds are low and high. */
GOPS_INLINE void NAME(epilogue_all)(epilogue_vector *sums, const int count, const C *bounds,
                                    epilogue_vector bias)
{
    const epilogue_vector low = NAME(broadcast)(bounds[0]), high = NAME(broadcast)(bounds[1]);
    GOPS_UNROLL
    for (int i = 0; i < count; i++) {
        sums[i] = epilogue(sums[i], bias, low, high);
    }
}

#undef epilogue_vector
#undef at_least
#undef at_most
#undef clamp
#undef epilogue
