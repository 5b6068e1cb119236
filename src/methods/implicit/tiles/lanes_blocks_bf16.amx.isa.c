/* lanes_blocks_bf16.amx.isa.c: makes a blocked padded input of bf16 (lanes.h). Channels beyond the last
 * one are zeros: data may be infinite. */
#include "methods/implicit/tiles/lanes.h"

#include "base/checked.h"
#include "isa/bits.h"

#include <stddef.h>
#include <string.h>

#define T uint16_t
#define HAS_ROW(from) ((from) != NULL)
#define UNPACK_LOW _mm512_unpacklo_epi16
#define UNPACK_HIGH _mm512_unpackhi_epi16
#define MASK_LOAD(mask, from) _mm_maskz_loadu_epi16((__mmask8)(mask), from)
#include "methods/implicit/tiles/lanes_blocks.inc.h"

#define LANE lane_block
#define FILLS_UP(first) NULL
#define lane_rows block_rows
#include "methods/implicit/tiles/lanes_input.inc.h"

void GOPS_ISA_NAME(gops_lanes_blocks_bf16)(const gops_padded_input *padded, const int64_t *origin,
                                           int64_t channels, const void *data, void *to)
{
    const block_rows rows = {.begin = data,
                             .end = (const uint16_t *)data + (channels - 1) * padded->data_plane +
                                    padded->data_pixels,
                             .apart = padded->data_plane};
    make_input(padded, origin, channels, data, padded->data_plane, &rows, (lane_block){{0}}, to);
}

#define JOINED gops_lanes_joined_bf16
#define LOAD_128(mask, padding, from) _mm_mask_loadu_epi16(padding, (__mmask8)(mask), from)
#define LOAD_256(mask, padding, from) _mm256_mask_loadu_epi16(padding, (__mmask16)(mask), from)
#define LOAD_512(mask, padding, from) _mm512_mask_loadu_epi16(padding, (__mmask32)(mask), from)
#define FILL_512(value) _mm512_set1_epi16((short)(value))
#define EVEN_256 _mm256_cvtepi32_epi16
#include "methods/implicit/tiles/lanes_joined.inc.h"
