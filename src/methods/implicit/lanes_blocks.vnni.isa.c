/* lanes_blocks.vnni.isa.c: makes the blocked padded input of a quantized plan (lanes.h). Channels beyond
 * the last one repeat the first of the block: their weights are 0. */
#include "methods/implicit/lanes.h"

#include "base/checked.h"

#include <string.h>

#ifdef GOPS_LANES_BLOCKED

#define T uint8_t
#define HAS_ROW(from) true
#define UNPACK_LOW _mm512_unpacklo_epi8
#define UNPACK_HIGH _mm512_unpackhi_epi8
#define MASK_LOAD(mask, from) _mm_maskz_loadu_epi8((__mmask16)(mask), from)
#include "methods/implicit/lanes_blocks.inc.h"

#define LANE lane_block
#define FILLS_UP(first) (first)
#define lane_rows block_rows
#include "methods/implicit/lanes_input.inc.h"

void GOPS_ISA_NAME(gops_lanes_blocks)(const gops_padded_input *padded, const int64_t *origin,
                                      int64_t channels, const gops_lanes_source *source,
                                      uint32_t *to)
{
    const block_rows rows = {.begin = source->data,
                             .end = source->data + channels * source->apart,
                             .apart = source->apart,
                             .flip = source->flip};
    lane_block padding;
    memset(&padding, source->zero, sizeof padding);
    make_input(padded, origin, channels, source->data, source->apart, &rows, padding,
               (lane_block *)(void *)to);
}
#endif
