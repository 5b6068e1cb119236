/* kernels/strip.c: kernels/strip.inc.h for the floating point types. */
#include "kernels/strip.h"

#include "kernels/kernels.h"
#include "kernels/lanes.h"
#include "kernels/register.h"
#include "kernels/vector.h"

#include <stddef.h>
#include <string.h>

/* Vectors of channels, rows, spots, stride: 28 sums, and 32 registers, or 12 and 16. Spots are
 * divisors of what images usually measure, of the sizes halved from 224. */
#if defined(__AVX512F__) || defined(__aarch64__)
#define GOPS_STRIP_SIZES(STRIP, stride)                                                            \
    STRIP(4, 1, 7, stride)                                                                         \
    STRIP(4, 1, 4, stride)                                                                         \
    STRIP(3, 1, 8, stride)                                                                         \
    STRIP(3, 1, 7, stride)                                                                         \
    STRIP(3, 1, 4, stride)                                                                         \
    STRIP(2, 2, 7, stride)                                                                         \
    STRIP(2, 1, 14, stride)                                                                        \
    STRIP(2, 1, 7, stride)                                                                         \
    STRIP(2, 1, 4, stride)                                                                         \
    STRIP(1, 4, 7, stride)                                                                         \
    STRIP(1, 2, 14, stride)                                                                        \
    STRIP(1, 1, 14, stride)                                                                        \
    STRIP(1, 1, 7, stride)                                                                         \
    STRIP(1, 1, 4, stride)
enum { GOPS_STRIP_SUMS = 28, GOPS_STRIP_VECTORS = 4 };
#else
#define GOPS_STRIP_SIZES(STRIP, stride)                                                            \
    STRIP(3, 1, 4, stride)                                                                         \
    STRIP(2, 1, 6, stride)                                                                         \
    STRIP(2, 1, 4, stride)                                                                         \
    STRIP(1, 1, 7, stride)                                                                         \
    STRIP(1, 1, 4, stride)
enum { GOPS_STRIP_SUMS = 12, GOPS_STRIP_VECTORS = 3 };
#endif
#define GOPS_STRIPS(STRIP) GOPS_STRIP_SIZES(STRIP, 1) GOPS_STRIP_SIZES(STRIP, 2)

#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

#define C float
#define LANES (GOPS_VECTOR_BYTES / 4)
#define LOW LOW_OF_4_BYTES
#define HIGH HIGH_OF_4_BYTES
#define NAME(symbol) f32_##symbol
#ifdef __AVX512F__
#define GOPS_QUADS
#define GOPS_MASKED_STORE(to, mask, value)                                                         \
    _mm512_mask_storeu_ps(to, (__mmask16)(mask), (__m512)(value))
#endif
#include "kernels/strip.inc.h"

#define C double
#define LANES (GOPS_VECTOR_BYTES / 8)
#define LOW LOW_OF_8_BYTES
#define HIGH HIGH_OF_8_BYTES
#define NAME(symbol) f64_##symbol
#ifdef __AVX512F__
#define GOPS_MASKED_STORE(to, mask, value)                                                         \
    _mm512_mask_storeu_pd(to, (__mmask8)(mask), (__m512d)(value))
#endif
#include "kernels/strip.inc.h"

const gops_strips *const GOPS_ISA_NAME(gops_strip_table)[GOPS_COMPUTES] = {
    [GOPS_COMPUTE_F32] = &f32_strips,
    [GOPS_COMPUTE_F64] = &f64_strips,
};
