/* lanes_blocks.vnni.isa.c: makes the blocked padded input of a quantized plan (lanes.h). Channels beyond
 * the last one have weights of 0; they repeat the first of the block, or lie where nothing reads them. */
#include "methods/implicit/tiles/lanes.h"

#include "base/checked.h"
#include "isa/bits.h"
#include "isa/register.h"
#include "methods/implicit/tiles/lanes_bytes.h"

#include <string.h>

#define T uint8_t
#define LANE lane_block
#define lane_rows block_rows

#ifdef GOPS_LANES_BLOCKED

#define HAS_ROW(from) true
#define UNPACK_LOW _mm512_unpacklo_epi8
#define UNPACK_HIGH _mm512_unpackhi_epi8
#define MASK_LOAD(mask, from) _mm_maskz_loadu_epi8((__mmask16)(mask), from)
#include "methods/implicit/tiles/lanes_blocks.inc.h"

#define FILLS_UP(first) (first)
#include "methods/implicit/tiles/lanes_input.inc.h"

void GOPS_ISA_NAME(gops_lanes_blocks)(const gops_padded_input *padded, const int64_t *origin,
                                      int64_t channels, const gops_lanes_source *source,
                                      uint32_t *to)
{
    const block_rows rows = {.begin = source->data,
                             .end = source->data + (channels - 1) * source->apart +
                                    padded->data_pixels,
                             .apart = source->apart,
                             .flip = source->flip};
    lane_block padding;
    memset(&padding, source->zero, sizeof padding);
    make_input(padded, origin, channels, source->data, source->apart, &rows, padding,
               (lane_block *)(void *)to);
}

#ifdef GOPS_HAS_AMX
#define JOINED gops_lanes_joined
#define LOAD_128(mask, padding, from) _mm_mask_loadu_epi8(padding, (__mmask16)(mask), from)
#define LOAD_256(mask, padding, from) _mm256_mask_loadu_epi8(padding, (__mmask32)(mask), from)
#define LOAD_512(mask, padding, from) _mm512_mask_loadu_epi8(padding, (__mmask64)(mask), from)
#define FILL_512(value) _mm512_set1_epi8((char)(value))
#define EVEN_256 _mm256_cvtepi16_epi8
#include "methods/implicit/tiles/lanes_joined.inc.h"
#endif

#elif defined(GOPS_PAIRS_BLOCKED)

enum { CHANNELS = GOPS_LANES_BLOCK * GOPS_LANES_PAIR };

/* A position of a block. */
typedef struct lane_block {
    uint32_t lane[GOPS_LANES_BLOCK];
} lane_block;

/* The rows of bytes of its channels. */
typedef struct block_rows {
    const uint8_t *row[CHANNELS];
    uint8_t flip, zero;
} block_rows;

#include "methods/implicit/tiles/lanes_blocks_pairs.inc.h"

#define FILLS_UP(first) NULL
#include "methods/implicit/tiles/lanes_input.inc.h"

void GOPS_ISA_NAME(gops_lanes_blocks)(const gops_padded_input *padded, const int64_t *origin,
                                      int64_t channels, const gops_lanes_source *source,
                                      uint32_t *to)
{
    const block_rows rows = {.flip = source->flip, .zero = source->zero};
    make_input(padded, origin, channels, source->data, source->apart, &rows, (lane_block){{0}},
               (lane_block *)(void *)to);
}

#endif
