/* lanes_tile_bf16.bf16.isa.c: the register tiles of pairs of bf16, for one instruction set. */
#include "methods/implicit/tiles/lanes.h"

#include "isa/lanes.h"
#include "isa/register.h"
#include "isa/vector.h"
#include "methods/implicit/tiles/implicit_sizes.h"

#include <stddef.h>
#include <string.h>

#define FLOATS "methods/implicit/tiles/implicit_store.inc.h"
#include "methods/implicit/tiles/lanes_floats.inc.h"

#define NAME(symbol) u32_##symbol
#define C uint32_t
#define LANES LANES_OF_4
#define LOW GOPS_PASTE(LOW, LANES)
#define HIGH GOPS_PASTE(HIGH, LANES)

#ifdef GOPS_EMULATED_ISA
#include "isa/bf16_product.h"

typedef uint32_t pair_bits __attribute__((vector_size(LANES * sizeof(uint32_t))));
typedef float pair_sums __attribute__((vector_size(LANES * sizeof(float))));

GOPS_INLINE pair_bits add_pairs(pair_bits sums, pair_bits data, pair_bits weights)
{
    pair_sums real = (pair_sums)sums;
    for (int i = 0; i < LANES; i++) {
        real[i] = gops_bf16_add_pair(real[i], data[i], weights[i]);
    }
    return (pair_bits)real;
}
#define MULTIPLY_ADD(sum, data, weight)                                                            \
    ((sum) = (u32_vector)add_pairs((pair_bits)(sum), (pair_bits)(data), (pair_bits)(weight)))
#else
#include <immintrin.h>

#define MULTIPLY_ADD(sum, data, weight)                                                            \
    ((sum) = (u32_vector)_mm512_dpbf16_ps((__m512)(sum), (__m512bh)(data), (__m512bh)(weight)))
#endif

#ifdef GOPS_HAS_AMX
#define WIDE_PRODUCT gops_amx_pairs
#define WIDE_FIRST(work) ((const uint32_t *)NULL) /* the bias is added in the end */
#endif
#define STEPS 1
#define SHORT_STEPS 1
#define ROWS 0
#define BLOCKED 1
#define START_AND_STORE "methods/implicit/tiles/lanes_store_bf16.inc.h"
#include "methods/implicit/tiles/implicit_tile.inc.h"

const struct gops_bf16_kernels GOPS_ISA_NAME(gops_bf16_kernels) = {
    .tiles = {LANES_OF_4, GOPS_LANES_PAIR, u32_pixels_list, u32_channels_list, u32_transpose,
              u32_interleave, WIDE_CALLS(u32), NULL, NULL, NULL, ROWS},
    .input = GOPS_ISA_NAME(gops_lanes_input_bf16),
#ifdef GOPS_HAS_AMX
    .blocks = GOPS_ISA_NAME(gops_lanes_blocks_bf16),
    .joined = GOPS_ISA_NAME(gops_lanes_joined_bf16),
#endif
};
