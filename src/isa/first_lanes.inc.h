/*
 * isa/first_lanes.inc.h: loads and stores the first `count` lanes of a vector, from none to all of them.
 *
 * Parameters: C, of 4 or 8 bytes, and NAME of each_compute.inc.h; the vector of vectors.inc.h, as `vector`
 */
#include "isa/first_lanes.h"

#include <string.h>

/* The other lanes are 0. */
GOPS_INLINE vector NAME(load_first)(const C *from, int64_t count)
{
#if GOPS_REGISTER_BYTES == 64
    const unsigned mask = (1u << count) - 1;
    return sizeof(C) == 4 ? (vector)_mm512_maskz_loadu_ps((__mmask16)mask, from)
                          : (vector)_mm512_maskz_loadu_pd((__mmask8)mask, from);
#elif GOPS_VECTOR_BYTES == 32 && defined(__AVX2__)
    return sizeof(C) == 4
               ? (vector)_mm256_maskload_ps((const void *)from, gops_first_lanes_32((int)count))
               : (vector)_mm256_maskload_pd((const void *)from, gops_first_lanes_64((int)count));
#else
    vector value = {0};
    memcpy(&value, from, (size_t)count * sizeof(C));
    return value;
#endif
}

GOPS_INLINE void NAME(store_first)(C *to, int64_t count, vector value)
{
#if GOPS_REGISTER_BYTES == 64
    const unsigned mask = (1u << count) - 1;
    if (sizeof(C) == 4) {
        _mm512_mask_storeu_ps(to, (__mmask16)mask, (__m512)value);
    } else {
        _mm512_mask_storeu_pd(to, (__mmask8)mask, (__m512d)value);
    }
#else
    memcpy(to, &value, (size_t)count * sizeof(C));
#endif
}
