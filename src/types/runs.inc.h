/*
 * types/runs.inc.h: copies runs of elements and converts them.
 *
 * Parameters: those of an element type, which types/each_type.inc.h lists: T, C, LOAD, STORE, NAME;
 * LOAD_BLOCK and STORE_BLOCK, or WIDEN, NARROW, LANES_LOAD and LANES_STORE, where defined; SHIFTED.
 */
#include "isa/lanes.h"

static inline __attribute__((always_inline)) void
NAME(load_block)(C *restrict to, const T *restrict from, int length)
{
#ifdef LOAD_BLOCK
    LOAD_BLOCK(to, from, length);
#elif defined(WIDEN)
    int32_t wide[16];
    WIDEN(wide, from, length);
#ifdef LANES_LOAD
    GOPS_SMALL_BLOCK(gops_lanes_floats, gops_lanes_bits, LANES_LOAD, LOAD, to, wide, length)
#else
    for (int i = 0; i < length; i++) {
        to[i] = LOAD(wide[i]);
    }
#endif
#else
    for (int i = 0; i < length; i++) {
        to[i] = LOAD(from[i]);
    }
#endif
}

/* Every second of 2 * length - 1 elements, where T is C. They are loaded as two vectors that
 * overlap in one element, so that nothing behind the last element is read. */
#define TAKE_HALF(length, ...)                                                                     \
    static inline __attribute__((always_inline)) void NAME(take_half_##length)(C * to,             \
                                                                               const T *from)      \
    {                                                                                              \
        typedef T vector __attribute__((vector_size((length) * sizeof(T))));                       \
        vector low, high;                                                                          \
        memcpy(&low, from, sizeof low);                                                            \
        memcpy(&high, from + (length)-1, sizeof high);                                             \
        low = __builtin_shufflevector(low, high, __VA_ARGS__);                                     \
        memcpy(to, &low, sizeof low);                                                              \
    }
TAKE_HALF(4, EVEN_ODD_4)
TAKE_HALF(8, EVEN_ODD_8)
TAKE_HALF(16, EVEN_ODD_16)
#undef TAKE_HALF

#define TAKE_HALVES(length)                                                                        \
    if (count >= (length) && (length) * sizeof(T) <= GOPS_VECTOR_BYTES) {                          \
        for (int64_t i = 0; i < count; i += (length)) {                                            \
            const int64_t place = i < count - (length) ? i : count - (length);                     \
            NAME(take_half_##length)(to + place, from + 2 * place);                                \
        }                                                                                          \
        return;                                                                                    \
    }
static inline void NAME(copy_halves)(C *restrict to, const T *restrict from, int64_t count)
{
    if (sizeof(T) == sizeof(C)) {
        TAKE_HALVES(16)
        TAKE_HALVES(8)
        TAKE_HALVES(4)
    }
    for (int64_t i = 0; i < count; i++) {
        to[i] = LOAD(from[2 * i]);
    }
}
#undef TAKE_HALVES

static inline void NAME(copy_run)(C *restrict to, const T *restrict from, int64_t stride,
                                  int64_t count)
{
    if (stride == 1) {
        GOPS_IN_BLOCKS(NAME(load_block), to, from, count, LOAD)
    } else if (stride == 2) {
        NAME(copy_halves)(to, from, count);
    } else {
        for (int64_t i = 0; i < count; i++) {
            to[i] = LOAD(from[i * stride]);
        }
    }
}

#ifdef SHIFTED
static inline void NAME(shift_run)(C *to, int64_t count, C zero)
{
    for (int64_t i = 0; i < count; i++) {
        to[i] -= zero;
    }
}
#endif

static inline void NAME(zero_run)(C *to, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        to[i] = 0;
    }
}

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
