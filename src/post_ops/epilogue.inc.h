/*
 * epilogue.inc.h: applies the epilogue to vectors of sums; the formula is in epilogue.h. A NaN
 * passes through.
 *
 * Parameters:
 *
 *   NAME(symbol)   puts the type's name in front of a symbol
 *   NAME(vector)   type: a vector of the compute type
 *
 * The template that includes this one calls NAME(clamp) and NAME(epilogue).
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

#undef epilogue_vector
#undef at_least
#undef at_most
#undef clamp
#undef epilogue
