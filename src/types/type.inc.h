/* types/type.inc.h: the row of a type, NAME(row). Its parameters are those of an element type,
 * which types/each_type.inc.h lists. */
#include "types/runs.inc.h"

static void NAME(load)(void *to, const void *from, int64_t count)
{
    NAME(copy_run)(to, from, 1, count);
}

static void NAME(store)(void *to, const void *from, int64_t count)
{
    GOPS_IN_BLOCKS(NAME(store_block), (T *)to, (const C *)from, count, STORE)
}

#ifdef SHIFTED
static void NAME(subtract_zero)(void *values, int64_t count, uint32_t zero)
{
    NAME(shift_run)(values, count, zero);
}
#endif

static const gops_type_row NAME(row) = {
    ROW,
    .index = NAME(index),
    .bytes = sizeof(T),
    .load = NAME(load),
    .store = NAME(store),
#ifdef SHIFTED
    .subtract_zero = NAME(subtract_zero),
#endif
};
