/* implicit_sizes.h: the sizes of the register tiles of an instruction set; implicit_tile.inc.h. */
#ifndef GOPS_IMPLICIT_SIZES_H
#define GOPS_IMPLICIT_SIZES_H

#if defined(__AVX512F__) || defined(__aarch64__)
/* 32 vector registers. */
/* clang-format off */
#define GOPS_PIXEL_TILES(TILE)                                                                     \
    TILE(8, 3) TILE(8, 1)                                                                          \
    TILE(4, 6) TILE(4, 2)                                                                          \
    TILE(3, 7) TILE(3, 2)                                                                          \
    TILE(2, 8) TILE(2, 2)                                                                          \
    TILE(1, 8) TILE(1, 2)
#define GOPS_CHANNEL_TILES(TILE)                                                                   \
    TILE(4, 6) TILE(4, 4) TILE(4, 3) TILE(4, 1)                                                    \
    TILE(3, 8) TILE(3, 4) TILE(3, 1)                                                               \
    TILE(2, 14) TILE(2, 7) TILE(2, 3)                                                              \
    TILE(1, 14) TILE(1, 7) TILE(1, 3)
/* clang-format on */
#define GOPS_BLOCKED_TILES(TILE) GOPS_CHANNEL_TILES(TILE)
enum { GOPS_MAX_SUMS = 28, GOPS_MAX_VECTORS = 4 };
#else
/* clang-format off */
#define GOPS_PIXEL_TILES(TILE)                                                                     \
    TILE(4, 3) TILE(4, 1)                                                                          \
    TILE(2, 6) TILE(2, 2)                                                                          \
    TILE(1, 8) TILE(1, 2)
#define GOPS_CHANNEL_TILES(TILE)                                                                   \
    TILE(3, 4) TILE(3, 1)                                                                          \
    TILE(2, 6) TILE(2, 3) TILE(2, 1)                                                               \
    TILE(1, 12) TILE(1, 6) TILE(1, 2)
/* Of every size, so that columns are split evenly: 49 are four times 6 and five times 5. The first is for a lone
 * column, of which fewer sums would wait for each other. */
#define GOPS_BLOCKED_TILES(TILE)                                                                   \
    TILE(8, 1)                                                                                     \
    TILE(3, 4) TILE(3, 3) TILE(3, 2) TILE(3, 1)                                                    \
    TILE(2, 6) TILE(2, 5) TILE(2, 4) TILE(2, 3) TILE(2, 2) TILE(2, 1)                              \
    TILE(1, 12) TILE(1, 6) TILE(1, 2)
/* clang-format on */
enum { GOPS_MAX_SUMS = 12, GOPS_MAX_VECTORS = 3 };
#endif

#endif
