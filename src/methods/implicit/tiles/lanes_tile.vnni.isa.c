/* lanes_tile.vnni.isa.c: the register tiles of quantized plans, for one instruction set. */
#include "methods/implicit/tiles/lanes.h"

#include "base/checked.h"
#include "isa/lanes.h"
#include "isa/register.h"
#include "isa/vector.h"
#include "methods/implicit/tiles/implicit_blocked.h"
#include "methods/implicit/tiles/implicit_sizes.h"
#include "methods/implicit/tiles/pair_product.h"
#include "post_ops/requantize.h"

#include <stddef.h>
#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define FLOATS "post_ops/epilogue.inc.h"
#include "methods/implicit/tiles/lanes_floats.inc.h"

#define NAME(symbol) u32_##symbol
#define C uint32_t
#define LANES LANES_OF_4
#define LOW GOPS_PASTE(LOW, LANES)
#define HIGH GOPS_PASTE(HIGH, LANES)

#ifdef GOPS_EMULATED_ISA
typedef uint32_t quad_bits
    __attribute__((vector_size(LANES * sizeof(uint32_t)), aligned(sizeof(uint32_t)), may_alias));
typedef int32_t quad_weight __attribute__((vector_size(LANES * sizeof(int32_t))));

/* The sum of the products of four bytes, of which those of the weights have a sign. Inlined everywhere it
 * took gcc 10 s more. */
static __attribute__((noinline)) void add_quads(quad_bits *sum, const quad_bits *data,
                                                const quad_bits *weight)
{
    GOPS_UNROLL
    for (int i = 0; i < GOPS_LANES_QUAD; i++) {
        const quad_bits byte = *data >> (8 * i) & 0xff;
        const quad_weight value = (quad_weight)(*weight << (24 - 8 * i)) >> 24;
        *sum += byte * (quad_bits)value;
    }
}
#define MULTIPLY_ADD(sum, data, weight)                                                            \
    add_quads((quad_bits *)&(sum), (const quad_bits *)&(data), (const quad_bits *)&(weight))
#elif defined(__AVX512VNNI__)
#define MULTIPLY_ADD(sum, data, weight)                                                            \
    ((sum) = (u32_vector)_mm512_dpbusd_epi32((__m512i)(sum), (__m512i)(data), (__m512i)(weight)))
#elif defined(__AVXVNNI__)
#define MULTIPLY_ADD(sum, data, weight)                                                            \
    ((sum) =                                                                                       \
         (u32_vector)_mm256_dpbusd_avx_epi32((__m256i)(sum), (__m256i)(data), (__m256i)(weight)))
#else
#define MULTIPLY_ADD GOPS_ADD_PAIRS
#endif

#ifdef GOPS_HAS_AMX
#define WIDE_PRODUCT gops_amx_quads
#define WIDE_FIRST(work) ((work)->accumulate ? NULL : (const uint32_t *)(work)->bias)
#define WIDE_BYTES
#endif
#if defined(__SSE2__) && !defined(__AVX512F__) && !defined(GOPS_LANES_QUADS)
/* A pair's product takes a register of its own before it is added, so of 16 fewer are left for sums: 12 where a weight
 * becomes its last product. By AVX2 16 -> 96 on 112x112 took 1.11 times as long by tiles of 4 x 2. */
#undef GOPS_PIXEL_TILES
#undef GOPS_CHANNEL_TILES
/* clang-format off */
#define GOPS_PIXEL_TILES(TILE)                                                                     \
    TILE(6, 2) TILE(6, 1)                                                                          \
    TILE(4, 2) TILE(4, 1)                                                                          \
    TILE(2, 4) TILE(2, 1)                                                                          \
    TILE(1, 6) TILE(1, 2)
#define GOPS_CHANNEL_TILES(TILE)                                                                   \
    TILE(3, 3) TILE(3, 1)                                                                          \
    TILE(2, 5) TILE(2, 2) TILE(2, 1)                                                               \
    TILE(1, 10) TILE(1, 5) TILE(1, 2)
/* clang-format on */
#endif

#ifdef __AVX512VNNI__
/* Four vectors of neighbouring pixels become 64 bytes. */
#undef GOPS_PIXEL_TILES
/* clang-format off */
#define GOPS_PIXEL_TILES(TILE)                                                                     \
    TILE(6, 4) TILE(6, 2) TILE(6, 1)                                                               \
    TILE(4, 4) TILE(4, 1)                                                                          \
    TILE(3, 7) TILE(3, 2)                                                                          \
    TILE(2, 8) TILE(2, 2)                                                                          \
    TILE(1, 8) TILE(1, 2)
/* clang-format on */
#endif

/* 4 x 6 tiles take 0.94 of the time by two steps an iteration, pairs with AVX2 0.97; 2 x 14 ones 1.07 by four, 2 x 7
 * ones 0.93 (Intel Xeon, Granite Rapids). */
#if defined(__AVX512VNNI__)
#define STEPS 2
#define SHORT_STEPS 4
#elif defined(__AVX2__) && !defined(__AVX512F__) && !defined(GOPS_LANES_QUADS)
#define STEPS 2
#define SHORT_STEPS 2
#else
#define STEPS 1
#define SHORT_STEPS 1
#endif
#ifdef GOPS_LANES_BLOCKED
#define BLOCKED GOPS_LANES_BLOCK
#else
#define BLOCKED 1
#endif
#ifdef __AVX512VNNI__
#define ROWS 6
#else
#define ROWS 0
#endif
#define START_AND_STORE "methods/implicit/tiles/lanes_store.inc.h"
#include "methods/implicit/tiles/implicit_tile.inc.h"

/* Tiles of blocked pairs take weights from memory where registers are too few. */
#ifdef GOPS_PAIRS_BLOCKED
#ifdef __SSE2__
#undef GOPS_BLOCKED_TILES
/* clang-format off */
#define GOPS_BLOCKED_TILES(TILE)                                                                   \
    TILE(3, 4) TILE(3, 1)                                                                          \
    TILE(2, 6) TILE(2, 4) TILE(2, 2) TILE(2, 1)                                                    \
    TILE(1, 12) TILE(1, 4) TILE(1, 2)
/* clang-format on */
#endif
#ifdef GOPS_ADD_PAIRS_FROM
#define MULTIPLY_ADD_FROM GOPS_ADD_PAIRS_FROM
#endif
#define BLOCKED_LIST static const gops_tile u32_blocked_list[]
#include "methods/implicit/tiles/implicit_blocked.inc.h"
#define BLOCKED_TILES u32_blocked_list
#else
#define BLOCKED_TILES NULL
#endif

static void subtract(uint32_t *sums, const uint32_t *of, uint32_t factor, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        sums[i] -= factor * of[i];
    }
}

/* Transposes and interleaves bytes as well, 16 at a time on all instruction sets. */
#undef NAME
#undef C
#undef LANES
#undef LOW
#undef HIGH
#define NAME(symbol) u8_##symbol
#define C uint8_t
#define LANES 16
#define LOW LOW_16
#define HIGH HIGH_16
#include "isa/vectors.inc.h"
#include "methods/implicit/tiles/implicit_transpose.inc.h"

#ifdef __AVX512BW__
#include "methods/implicit/tiles/lanes_transpose.inc.h"
#define TRANSPOSE_BYTES transpose_bytes
#else
#define TRANSPOSE_BYTES u8_transpose
#endif

#ifdef GOPS_HAS_AMX
#define PLANES_TILES u32_planes_list
#else
#define PLANES_TILES NULL
#endif

const struct gops_lanes_kernels GOPS_ISA_NAME(gops_lanes_kernels) = {
    .tiles = {LANES_OF_4, GOPS_LANE_CHANNELS, u32_pixels_list, u32_channels_list, u32_transpose,
              u32_interleave, WIDE_CALLS(u32), BLOCKED_TILES, NULL, PLANES_TILES, ROWS},
    .input = GOPS_ISA_NAME(gops_lanes_input),
#if defined(GOPS_LANES_BLOCKED) || defined(GOPS_PAIRS_BLOCKED)
    .blocks = GOPS_ISA_NAME(gops_lanes_blocks),
#endif
#ifdef GOPS_HAS_AMX
    .joined = GOPS_ISA_NAME(gops_lanes_joined),
#endif
    .transpose_bytes = TRANSPOSE_BYTES,
    .interleave_bytes = u8_interleave,
    .subtract = subtract,
};
