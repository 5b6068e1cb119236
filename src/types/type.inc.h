/* Wants T, C, LOAD(T) -> C, STORE(C) -> T, VALUE(T) -> double, ROUND(double) -> T, NAME(symbol),
 * and ROW: the initializer of type, compute and plain. Defines the row NAME(row) and takes the
 * macros away. */
#include "lower/im2col.inc.h"
#include "kernels/norm.inc.h"

static void NAME(load)(void *to, const void *from, int64_t count)
{
    NAME(copy_run)(to, from, 1, count);
}

static void NAME(store)(void *to, const void *from, int64_t count)
{
    const C *values = from;
    T *stored = to;
    for (int64_t i = 0; i < count; i++) {
        stored[i] = STORE(values[i]);
    }
}

static const gops_type_row NAME(row) = {
    ROW,
    .load = NAME(load),
    .store = NAME(store),
    .im2col = NAME(im2col),
    .norm_statistics = NAME(norm_statistics),
    .norm_apply = NAME(norm_apply),
    .value = NAME(value),
};

#undef T
#undef C
#undef LOAD
#undef STORE
#undef VALUE
#undef ROUND
#undef NAME
#undef ROW
