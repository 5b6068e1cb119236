/* Wants T, C, LOAD(T) -> C, STORE(C) -> T, NAME(symbol), and ROW: the initializer of type, compute,
 * plain and exact_k. Floating point types: VALUE(T) -> double and ROUND(double) -> T; integers:
 * WRAPPED, the unsigned type of C's size. May have LOAD_RUN(to, from, count) and STORE_RUN(to,
 * from, count), the conversions of a run of values, and SHIFTED. Defines the row NAME(row) and
 * takes the macros away. */
#include "lower/im2col.inc.h"
#ifdef VALUE
#include "kernels/norm.inc.h"
#endif

static void NAME(load)(void *to, const void *from, int64_t count)
{
    NAME(copy_run)(to, from, 1, count);
}

static void NAME(store)(void *to, const void *from, int64_t count)
{
#ifdef STORE_RUN
    STORE_RUN(to, from, count);
#else
    const C *values = from;
    T *stored = to;
    for (int64_t i = 0; i < count; i++) {
        stored[i] = STORE(values[i]);
    }
#endif
}

#ifdef WRAPPED
static void NAME(store_wrapped)(void *to, const void *from, int64_t count)
{
    const WRAPPED *values = from;
    T *stored = to;
    for (int64_t i = 0; i < count; i++) {
        stored[i] = (T)values[i];
    }
}
#endif

#ifdef SHIFTED
static void NAME(take_off)(void *values, int64_t count, double zero)
{
    NAME(shift_run)(values, count, (C)zero);
}
#endif

static const gops_type_row NAME(row) = {
    ROW,
    .load = NAME(load),
    .store = NAME(store),
    .im2col = NAME(im2col),
#ifdef SHIFTED
    .take_off = NAME(take_off),
#endif
#ifdef WRAPPED
    .store_wrapped = NAME(store_wrapped),
#endif
#ifdef VALUE
    .norm_statistics = NAME(norm_statistics),
    .norm_apply = NAME(norm_apply),
    .value = NAME(value),
#endif
};

#undef T
#undef C
#undef LOAD
#undef STORE
#undef VALUE
#undef ROUND
#undef NAME
#undef ROW
#undef LOAD_RUN
#undef STORE_RUN
#undef WRAPPED
#undef SHIFTED
