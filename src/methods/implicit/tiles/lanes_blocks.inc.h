/*
 * lanes_blocks.inc.h: interleaves the rows of a block of planes (lanes.h): a position of the blocked
 * padded input is a cache line of neighbouring channels.
 *
 * Each 128 bits of a register take as many pixels of one row as they hold, and four of them the rows of
 * four parts of the channels. Interleaving such registers as isa/transpose.inc.h has it transposes pixels
 * and channels within each 128 bits.
 *
 * Parameters:
 *
 *   T               type: an element of the data, of 8 or of 16 bits
 *   HAS_ROW(from)   expression: whether a row exists; if not, its elements are 0
 *   UNPACK_LOW, UNPACK_HIGH, MASK_LOAD
 *                   with AVX-512: names of intrinsics, which interleave the lower and the upper halves of
 *                   each 128 bits of two registers, and load the lanes of a mask of a register of 128 bits
 */
#include "isa/register.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { CHANNELS = 64 / sizeof(T), PIXELS = 16 / sizeof(T), CHANNELS_OF_LANE = 4 / sizeof(T) };

/* A position of a block. The first channel of a lane is in its lowest bits. */
typedef struct lane_block {
    uint32_t lane[CHANNELS / CHANNELS_OF_LANE];
} lane_block;

/* The rows of the channels of a block. Those of the data lie `apart` elements from each other, between
 * `begin` and `end`. */
typedef struct block_rows {
    const T *row[CHANNELS];
    const T *begin, *end;
    int64_t apart;
    T flip;
} block_rows;

#if defined(__AVX512BW__) && !defined(GOPS_EMULATED_ISA)
#include <immintrin.h>

/* Whether PIXELS elements of each row, from `at` on, may be read. */
GOPS_INLINE bool are_inside(const block_rows *rows, int64_t at)
{
    const uintptr_t first = (uintptr_t)rows->row[0];
    const int64_t reach = (rows->apart * (CHANNELS - 1) + at + PIXELS) * (int64_t)sizeof(T);
    return first >= (uintptr_t)rows->begin && first + (uintptr_t)reach <= (uintptr_t)rows->end;
}

GOPS_INLINE __m128i load_pixels(const T *from, int64_t at, const bool whole, uint32_t mask)
{
    if (!HAS_ROW(from)) {
        return _mm_setzero_si128();
    }
    return whole ? _mm_loadu_si128((const void *)(from + at)) : MASK_LOAD(mask, from + at);
}

/* Each `stride`th of PIXELS neighbours from number `at` on, as far as they are among the first `count`;
 * with `whole`, all of them may be read. */
GOPS_INLINE void interleave_block(const block_rows *rows, int64_t at, const bool whole,
                                  const int stride, int64_t count, lane_block *to)
{
    const uint32_t mask = (1u << count) - 1;
    const __m128i flip = sizeof(T) == 1 ? _mm_set1_epi8((char)rows->flip) : _mm_setzero_si128();
    __m512i pixels[PIXELS], next[PIXELS];
    GOPS_UNROLL
    for (int i = 0; i < PIXELS; i++) {
        const T *const *row = rows->row + i;
        __m512i four = _mm512_castsi128_si512(load_pixels(row[0], at, whole, mask));
        four = _mm512_inserti32x4(four, load_pixels(row[PIXELS], at, whole, mask), 1);
        four = _mm512_inserti32x4(four, load_pixels(row[2 * PIXELS], at, whole, mask), 2);
        four = _mm512_inserti32x4(four, load_pixels(row[3 * PIXELS], at, whole, mask), 3);
        pixels[i] = _mm512_xor_si512(four, _mm512_broadcast_i32x4(flip));
    }
    GOPS_UNROLL
    for (int bits = 1; bits < PIXELS; bits *= 2) {
        GOPS_UNROLL
        for (int i = 0; i < PIXELS / 2; i++) {
            next[2 * i] = UNPACK_LOW(pixels[i], pixels[i + PIXELS / 2]);
            next[2 * i + 1] = UNPACK_HIGH(pixels[i], pixels[i + PIXELS / 2]);
        }
        GOPS_UNROLL
        for (int i = 0; i < PIXELS; i++) {
            pixels[i] = next[i];
        }
    }
    to += at / stride;
    GOPS_UNROLL
    for (int i = 0; i < PIXELS; i += stride) {
        if (i < count) {
            _mm512_storeu_si512((void *)(to + i / stride), pixels[i]);
        }
    }
}

/* `count` pixels that lie `stride` apart. */
GOPS_INLINE void interleave_run(const block_rows *rows, const int stride, lane_block *to,
                                int64_t count)
{
    const int64_t span = (count - 1) * stride + 1;
    for (int64_t at = 0; at < span; at += PIXELS) {
        const int64_t length = gops_min(span - at, PIXELS);
        if (length == PIXELS || are_inside(rows, at)) {
            interleave_block(rows, at, true, stride, length, to);
        } else {
            interleave_block(rows, at, false, stride, length, to);
        }
    }
}

/* The same of rows that share sets of the first level cache: PIXELS of each take a part of its line, which would be
 * gone when the next part is wanted. So the lines of all are copied first. */
static void interleave_lines(const block_rows *rows, const int stride, lane_block *to,
                             int64_t count)
{
    enum { LINE = GOPS_CACHE_LINE / sizeof(T) };
    const int64_t span = (count - 1) * stride + 1;
    T lines[CHANNELS][LINE] __attribute__((aligned(64)));
    block_rows copied = {
        .begin = lines[0], .end = lines[CHANNELS], .apart = LINE, .flip = rows->flip};
    for (int64_t at = 0; at < span; at += LINE) {
        const int64_t length = gops_min(span - at, LINE);
        for (int c = 0; c < CHANNELS; c++) {
            const bool has = HAS_ROW(rows->row[c]);
            copied.row[c] = has ? lines[c] : NULL;
            if (has && length == LINE) {
                memcpy(lines[c], rows->row[c] + at, sizeof lines[c]);
            } else if (has) {
                memcpy(lines[c], rows->row[c] + at, (size_t)length * sizeof(T));
            }
        }
        if (stride == 1) {
            interleave_run(&copied, 1, to + at, length);
        } else {
            interleave_run(&copied, 2, to + at / 2, (length + 1) / 2);
        }
    }
}

/* Whether so many lines of one set are more than its ways. */
static inline bool share_sets(const block_rows *rows)
{
    enum { SHARING = 2048 };
    return rows->apart * (int64_t)sizeof(T) % SHARING == 0;
}

/* A row is made with its padding. */
#define GOPS_LANES_ROWS

/* `rows` begin with the first pixel. */
static void interleave_row(const block_rows *rows, const gops_lanes_row *row, lane_block padding,
                           lane_block *to)
{
    const int64_t count = row->last - row->first;
    for (int64_t i = 0; i < row->first; i++) {
        to[i] = padding;
    }
    for (int64_t i = row->last; i < row->length; i++) {
        to[i] = padding;
    }
    to += row->first;
    if (row->stride <= 2 && share_sets(rows)) {
        interleave_lines(rows, (int)row->stride, to, count);
    } else if (row->stride == 1 || count < 2) {
        interleave_run(rows, 1, to, count);
    } else if (row->stride == 2) {
        interleave_run(rows, 2, to, count);
    } else {
        for (int64_t i = 0; i < count; i++) {
            block_rows one = *rows;
            for (int c = 0; c < CHANNELS; c++) {
                one.row[c] = HAS_ROW(rows->row[c]) ? rows->row[c] + i * row->stride : NULL;
            }
            interleave_run(&one, 1, to + i, 1);
        }
    }
}

#else

static void interleave(const block_rows *rows, lane_block *to, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        to[i] = (lane_block){{0}};
        for (int c = 0; c < CHANNELS; c++) {
            const T *from = rows->row[c];
            const uint32_t value = HAS_ROW(from) ? (T)(from[i] ^ rows->flip) : 0;
            const int bit = c % CHANNELS_OF_LANE * (int)sizeof(T) * 8;
            to[i].lane[c / CHANNELS_OF_LANE] |= value << bit;
        }
    }
}

#endif
