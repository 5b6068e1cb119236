/* winograd_sizes.h: the sizes of the register tiles of an instruction set; winograd_product.inc.h. */
#ifndef GOPS_WINOGRAD_SIZES_H
#define GOPS_WINOGRAD_SIZES_H

#include <stdint.h>

/* TILE(vectors, tiles): register tiles have up to 24 sums in 32 registers, or 12 in 16, so that the
 * weights of all vectors and a broadcast value have one too. */
#define GOPS_WINOGRAD_ROW(TILE, vectors)                                                           \
    TILE(vectors, 1)                                                                               \
    TILE(vectors, 2)                                                                               \
    TILE(vectors, 3)                                                                               \
    TILE(vectors, 4)                                                                               \
    TILE(vectors, 5)                                                                               \
    TILE(vectors, 6)
#if defined(__AVX512F__) || defined(__aarch64__)
#define GOPS_WINOGRAD_LONG_ROW(TILE, vectors)                                                      \
    GOPS_WINOGRAD_ROW(TILE, vectors)                                                               \
    TILE(vectors, 7)                                                                               \
    TILE(vectors, 8)
#define GOPS_WINOGRAD_TILES(TILE)                                                                  \
    GOPS_WINOGRAD_LONG_ROW(TILE, 1)                                                                \
    GOPS_WINOGRAD_LONG_ROW(TILE, 2)                                                                \
    GOPS_WINOGRAD_LONG_ROW(TILE, 3)                                                                \
    GOPS_WINOGRAD_ROW(TILE, 4)
enum { GOPS_WINOGRAD_MAX_VECTORS = 4, GOPS_WINOGRAD_MAX_TILES = 8, GOPS_WINOGRAD_MAX_SUMS = 24 };
static const int64_t max_tiles[GOPS_WINOGRAD_MAX_VECTORS] = {8, 8, 8, 6};
#else
#define GOPS_WINOGRAD_TILES(TILE)                                                                  \
    GOPS_WINOGRAD_ROW(TILE, 1)                                                                     \
    GOPS_WINOGRAD_ROW(TILE, 2)
enum { GOPS_WINOGRAD_MAX_VECTORS = 2, GOPS_WINOGRAD_MAX_TILES = 6, GOPS_WINOGRAD_MAX_SUMS = 12 };
static const int64_t max_tiles[GOPS_WINOGRAD_MAX_VECTORS] = {6, 6};
#endif

#endif
