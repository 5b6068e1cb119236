/* Wants NAME(vector), NAME(symbol). */
/* epilogue.inc.h: a vector of sums with its bias, between two bounds, as epilogue.h says. */

static inline __attribute__((always_inline)) NAME(vector)
    NAME(raise)(NAME(vector) low, NAME(vector) x)
{
    return GOPS_SELECT(x < low, low, x);
}

static inline __attribute__((always_inline)) NAME(vector)
    NAME(lower)(NAME(vector) high, NAME(vector) x)
{
    return GOPS_SELECT(x > high, high, x);
}

static inline __attribute__((always_inline)) NAME(vector)
    NAME(between)(NAME(vector) sum, NAME(vector) low, NAME(vector) high)
{
    sum = (NAME(vector)) _Generic((sum), GOPS_RAISES default : NAME(raise))(low, sum);
    return (NAME(vector)) _Generic((sum), GOPS_LOWERS default : NAME(lower))(high, sum);
}

static inline __attribute__((always_inline)) NAME(vector)
    NAME(trimmed)(NAME(vector) sum, NAME(vector) bias, NAME(vector) low, NAME(vector) high)
{
    return NAME(between)(sum + bias, low, high);
}
