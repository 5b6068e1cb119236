/* kernels/tile.c: kernels/tile.inc.h for each compute type, in vectors of the instruction set. */
#include "kernels/kernels.h"
#include "kernels/vector.h"

#include <stddef.h>
#include <string.h>

#if defined(__AVX512F__) || defined(__aarch64__)
/* 32 vector registers. */
#define GOPS_PIXEL_TILES(TILE)                                                                     \
    TILE(8, 3)                                                                                     \
    TILE(8, 1)                                                                                     \
    TILE(4, 6) TILE(4, 2) TILE(3, 7) TILE(3, 2) TILE(2, 8) TILE(2, 2) TILE(1, 8) TILE(1, 2)
#define GOPS_CHANNEL_TILES(TILE)                                                                   \
    TILE(4, 6)                                                                                     \
    TILE(4, 4)                                                                                     \
    TILE(4, 3)                                                                                     \
    TILE(4, 1) TILE(3, 9) TILE(3, 4) TILE(3, 1) TILE(2, 14) TILE(2, 7) TILE(2, 3) TILE(1, 14)      \
        TILE(1, 7) TILE(1, 3)
enum { GOPS_MOST_SUMS = 28, GOPS_MOST_VECTORS = 4 };
#else
#define GOPS_PIXEL_TILES(TILE) TILE(4, 3) TILE(4, 1) TILE(2, 6) TILE(2, 2) TILE(1, 8) TILE(1, 2)
#define GOPS_CHANNEL_TILES(TILE)                                                                   \
    TILE(3, 4) TILE(3, 1) TILE(2, 6) TILE(2, 3) TILE(2, 1) TILE(1, 12) TILE(1, 6) TILE(1, 2)
enum { GOPS_MOST_SUMS = 12, GOPS_MOST_VECTORS = 3 };
#endif

#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

#define LOW_2 0, 2
#define HIGH_2 1, 3
#define LOW_4 0, 4, 1, 5
#define HIGH_4 2, 6, 3, 7
#define LOW_8 0, 8, 1, 9, 2, 10, 3, 11
#define HIGH_8 4, 12, 5, 13, 6, 14, 7, 15
#define LOW_16 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH_16 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31

#if GOPS_VECTOR_BYTES == 64
#define LANES_32 16
#define LOW_32 LOW_16
#define HIGH_32 HIGH_16
#define LANES_64 8
#define LOW_64 LOW_8
#define HIGH_64 HIGH_8
#elif GOPS_VECTOR_BYTES == 32
#define LANES_32 8
#define LOW_32 LOW_8
#define HIGH_32 HIGH_8
#define LANES_64 4
#define LOW_64 LOW_4
#define HIGH_64 HIGH_4
#else
#define LANES_32 4
#define LOW_32 LOW_4
#define HIGH_32 HIGH_4
#define LANES_64 2
#define LOW_64 LOW_2
#define HIGH_64 HIGH_2
#endif

#define C float
#define LANES LANES_32
#define LOW LOW_32
#define HIGH HIGH_32
#define NAME(symbol) f32_##symbol
#include "kernels/tile.inc.h"
#include "kernels/tile_set.inc.h"
#include "kernels/tile_transpose.inc.h"

#define C double
#define LANES LANES_64
#define LOW LOW_64
#define HIGH HIGH_64
#define NAME(symbol) f64_##symbol
#include "kernels/tile.inc.h"
#include "kernels/tile_set.inc.h"
#include "kernels/tile_transpose.inc.h"

#define C uint32_t
#define LANES LANES_32
#define LOW LOW_32
#define HIGH HIGH_32
#define NAME(symbol) u32_##symbol
#include "kernels/tile.inc.h"
#include "kernels/tile_set.inc.h"
#include "kernels/tile_transpose.inc.h"

#define C uint64_t
#define LANES LANES_64
#define LOW LOW_64
#define HIGH HIGH_64
#define NAME(symbol) u64_##symbol
#include "kernels/tile.inc.h"
#include "kernels/tile_set.inc.h"
#include "kernels/tile_transpose.inc.h"

const gops_tiles *const GOPS_ISA_NAME(gops_tile_table)[GOPS_COMPUTES] = {
    [GOPS_COMPUTE_F32] = &f32_tiles,
    [GOPS_COMPUTE_F64] = &f64_tiles,
    [GOPS_COMPUTE_U32] = &u32_tiles,
    [GOPS_COMPUTE_U64] = &u64_tiles,
};
