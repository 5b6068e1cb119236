/*
 * lanes_input.vnni.isa.c: makes the padded input of a quantized plan, several channels to a value
 * (lanes.h).
 *
 * Channels beyond the last one repeat the first of the lane: their weights are 0.
 */
#include "methods/implicit/tiles/lanes.h"

#include "base/checked.h"
#include "isa/bits.h"
#include "isa/order_words.h"
#include "isa/register.h"
#include "isa/vector.h"
#include "methods/implicit/tiles/lanes_bytes.h"

#include <stddef.h>

enum { CHANNELS = GOPS_LANE_CHANNELS };

/* The rows of bytes of one lane's channels. */
typedef struct byte_rows {
    const uint8_t *row[CHANNELS];
    uint8_t flip, zero;
} byte_rows;

#ifdef GOPS_LANES_QUADS
#include "methods/implicit/tiles/lanes_quads.inc.h"
#else
#include "methods/implicit/tiles/lanes_pairs.inc.h"
#endif

#ifndef GOPS_LANES_ROWS
#ifdef HAS_BLOCKS

/* The last block ends where the run ends. */
GOPS_INLINE void interleave_blocks(const byte_rows *rows, uint32_t *to, int64_t count,
                                   const int length)
{
    for (int64_t i = 0; i < count; i += length) {
        interleave_block(rows, gops_min(i, count - length), length, to);
    }
}

#endif

static void interleave(const byte_rows *rows, uint32_t *to, int64_t count)
{
#ifdef HAS_BLOCKS
    if (count >= 16) {
        interleave_blocks(rows, to, count, 16);
        return;
    }
    if (count >= 8) {
        interleave_blocks(rows, to, count, 8);
        return;
    }
    if (count >= 4) {
        interleave_blocks(rows, to, count, 4);
        return;
    }
#endif
    for (int64_t i = 0; i < count; i++) {
        to[i] = lane_of(rows, i);
    }
}

#endif

/* What a pixel of padding is, in all channels: the zero point. */
static uint32_t padding_of(const gops_lanes_source *source)
{
#ifdef GOPS_LANES_QUADS
    return source->zero * UINT32_C(0x01010101);
#else
    (void)source;
    return 0;
#endif
}

#define T uint8_t
#define LANE uint32_t
#define FILLS_UP(first) (first)
#define lane_rows byte_rows
#include "methods/implicit/tiles/lanes_input.inc.h"

void GOPS_ISA_NAME(gops_lanes_input)(const gops_padded_input *padded, const int64_t *origin,
                                     int64_t channels, const gops_lanes_source *source,
                                     uint32_t *to)
{
    const byte_rows rows = {.flip = source->flip, .zero = source->zero};
    make_input(padded, origin, channels, source->data, source->apart, &rows, padding_of(source),
               to);
}
