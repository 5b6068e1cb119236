/* implicit_tile.isa.c: the register tiles of each compute type, for one instruction set. */
#include "methods/implicit/implicit_tile.h"

#include "isa/register.h"
#include "isa/vector.h"

#include <stddef.h>
#include <string.h>

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
    TILE(3, 9) TILE(3, 4) TILE(3, 1)                                                               \
    TILE(2, 14) TILE(2, 7) TILE(2, 3)                                                              \
    TILE(1, 14) TILE(1, 7) TILE(1, 3)
/* clang-format on */
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
/* clang-format on */
enum { GOPS_MAX_SUMS = 12, GOPS_MAX_VECTORS = 3 };
#endif

#define EACH_COMPUTE "methods/implicit/implicit_tile.inc.h"
#define EACH_INTEGER
#include "isa/each_compute.inc.h"

static const gops_tiles *const tiles[GOPS_COMPUTES] = {
    [GOPS_COMPUTE_F32] = &f32_tiles, [GOPS_COMPUTE_F64] = &f64_tiles,
    [GOPS_COMPUTE_U16] = &u16_tiles, [GOPS_COMPUTE_U32] = &u32_tiles,
    [GOPS_COMPUTE_U64] = &u64_tiles,
};

const struct gops_implicit_kernels GOPS_ISA_NAME(gops_implicit_kernels) = {
    .tiles = tiles,
    .padded_input = GOPS_ISA_NAME(gops_padded_input_table),
};
