/* pointwise.isa.c: pointwise.inc.h for the floating point types. */
#include "methods/pointwise/pointwise.h"

#include "isa/lanes.h"
#include "isa/register.h"
#include "isa/vector.h"

#include <stddef.h>
#include <string.h>

/* Channels by vectors of pixels: 24 sums, and 32 registers, or 12 and 16. Less channels are for
 * numbers that the most do not divide. Odd pixels want two registers more, each of all channels:
 * with AVX2 three vectors and one of them took 1.6 times as long as estimated. */
#if defined(__AVX512F__)
enum { GOPS_POINTWISE_ODD = 2 };
#define GOPS_POINTWISE_ODDS(TILE, channels) TILE(channels, 3, 1) TILE(channels, 3, 2)
#else
enum { GOPS_POINTWISE_ODD = 0 };
#define GOPS_POINTWISE_ODDS(TILE, channels)
#endif
#define GOPS_POINTWISE_ROW(TILE, channels)                                                         \
    TILE(channels, 1, 0)                                                                           \
    TILE(channels, 2, 0) TILE(channels, 3, 0) GOPS_POINTWISE_ODDS(TILE, channels)
#define GOPS_POINTWISE_FOUR(TILE)                                                                  \
    GOPS_POINTWISE_ROW(TILE, 1)                                                                    \
    GOPS_POINTWISE_ROW(TILE, 2)                                                                    \
    GOPS_POINTWISE_ROW(TILE, 3)                                                                    \
    GOPS_POINTWISE_ROW(TILE, 4)
#if defined(__AVX512F__) || defined(__aarch64__)
#define GOPS_POINTWISE_TILES(TILE)                                                                 \
    GOPS_POINTWISE_FOUR(TILE)                                                                      \
    GOPS_POINTWISE_ROW(TILE, 5)                                                                    \
    GOPS_POINTWISE_ROW(TILE, 6)                                                                    \
    GOPS_POINTWISE_ROW(TILE, 7)                                                                    \
    GOPS_POINTWISE_ROW(TILE, 8)
enum { GOPS_POINTWISE_CHANNELS = 8 };
#else
#define GOPS_POINTWISE_TILES(TILE) GOPS_POINTWISE_FOUR(TILE)
enum { GOPS_POINTWISE_CHANNELS = 4 };
#endif
enum { GOPS_POINTWISE_VECTORS = 3 };

#define C float
#define LANES (GOPS_VECTOR_BYTES / 4)
#define EVEN EVEN_OF_4_BYTES
#define EVEN_ODD EVEN_ODD_OF_4_BYTES
#define NAME(symbol) f32_##symbol
#ifdef __AVX512F__
#define GOPS_FIRST(count) (__mmask16)((1u << (count)) - 1)
#define GOPS_LOAD_FIRST(from, count) (f32_vector) _mm512_maskz_loadu_ps(GOPS_FIRST(count), from)
#define GOPS_STORE_FIRST(to, count, value)                                                         \
    _mm512_mask_storeu_ps(to, GOPS_FIRST(count), (__m512)(value))
#endif
#include "methods/pointwise/pointwise.inc.h"

#define C double
#define LANES (GOPS_VECTOR_BYTES / 8)
#define EVEN EVEN_OF_8_BYTES
#define EVEN_ODD EVEN_ODD_OF_8_BYTES
#define NAME(symbol) f64_##symbol
#ifdef __AVX512F__
#define GOPS_FIRST(count) (__mmask8)((1u << (count)) - 1)
#define GOPS_LOAD_FIRST(from, count) (f64_vector) _mm512_maskz_loadu_pd(GOPS_FIRST(count), from)
#define GOPS_STORE_FIRST(to, count, value)                                                         \
    _mm512_mask_storeu_pd(to, GOPS_FIRST(count), (__m512d)(value))
#endif
#include "methods/pointwise/pointwise.inc.h"

const gops_pointwise *const GOPS_ISA_NAME(gops_pointwise_table)[GOPS_COMPUTES] = {
    [GOPS_COMPUTE_F32] = &f32_pointwise,
    [GOPS_COMPUTE_F64] = &f64_pointwise,
};
