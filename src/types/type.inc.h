/* Wants T, C, LOAD(T) -> C, STORE(C) -> T, NAME(symbol), and ROW: the initializer of name, type,
 * compute, plain and exact_k. Floating point types: VALUE(T) -> double and ROUND(double) -> T;
 * integers: WRAPPED, the unsigned type of C's size. May have LOAD_BLOCK(to, from, length) and
 * STORE_BLOCK(to, from, length), conversions of 16, 8 or 4 values, or WIDEN, NARROW
 * (types/widen.h), LANES_LOAD and LANES_STORE (types/small_float.h); ELEMENT; SHIFTED. Defines the
 * row NAME(row) and takes the macros away. */
#include "methods/gemm/im2col.inc.h"
#include "methods/implicit/padded_input.inc.h"
#include "post_ops/post_ops.inc.h"

static inline __attribute__((always_inline)) void
NAME(store_block)(T *restrict to, const C *restrict from, int length)
{
#ifdef STORE_BLOCK
    STORE_BLOCK(to, from, length);
#elif defined(NARROW)
    uint32_t codes[16];
    GOPS_SMALL_BLOCK(gops_lanes_bits, gops_lanes_floats, LANES_STORE, STORE, codes, from, length)
    NARROW(to, codes, length);
#else
    for (int i = 0; i < length; i++) {
        to[i] = STORE(from[i]);
    }
#endif
}

#ifdef VALUE
#include "methods/norm/norm.inc.h"
#endif

static void NAME(load)(void *to, const void *from, int64_t count)
{
    NAME(copy_run)(to, from, 1, count);
}

static void NAME(store)(void *to, const void *from, int64_t count)
{
    GOPS_IN_BLOCKS(NAME(store_block), (T *)to, (const C *)from, count, STORE)
}

#ifdef WRAPPED
#define CUT_OFF(value) (T)(value)
static inline __attribute__((always_inline)) void
NAME(store_wrapped_block)(T *restrict to, const WRAPPED *restrict from, int length)
{
    for (int i = 0; i < length; i++) {
        to[i] = CUT_OFF(from[i]);
    }
}

static void NAME(store_wrapped)(void *to, const void *from, int64_t count)
{
    GOPS_IN_BLOCKS(NAME(store_wrapped_block), (T *)to, (const WRAPPED *)from, count, CUT_OFF)
}
#undef CUT_OFF
#endif

#ifdef SHIFTED
static void NAME(take_off)(void *values, int64_t count, double zero)
{
    NAME(shift_run)(values, count, (C)zero);
}
#endif

static const gops_type_row NAME(row) = {
    ROW,
    .bytes = sizeof(T),
    .load = NAME(load),
    .store = NAME(store),
    .im2col = NAME(im2col),
    .frame = NAME(frame),
    .fuse = NAME(fuse),
#ifdef SHIFTED
    .take_off = NAME(take_off),
#endif
#ifdef WRAPPED
    .store_wrapped = NAME(store_wrapped),
#endif
#ifdef VALUE
    .norm_statistics = NAME(norm_statistics),
    .norm_apply = NAME(norm_apply),
    .norm_keep = NAME(norm_keep),
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
#undef LOAD_BLOCK
#undef WIDEN
#undef NARROW
#undef LANES_LOAD
#undef LANES_STORE
#undef ROUND_IN_BLOCKS
#undef NORM_IN_DOUBLES
#undef STORE_BLOCK
#undef WRAPPED
#undef ELEMENT
#undef SHIFTED
