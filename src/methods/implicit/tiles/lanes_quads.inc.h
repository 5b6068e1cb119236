/*
 * lanes_quads.inc.h: interleaves four rows of bytes to quads (lanes.h).
 *
 * Unpacking the bytes of rows 0 and 1, and of 2 and 3, and then the pairs of both makes quads in
 * their order, but only within 16 bytes. So for wider registers the rows are permuted first, such
 * that each result is made of neighbours.
 *
 * Parameter: byte_rows
 *
 * Defines lane_of, interleave_block and, where GOPS_LANES_ROWS is defined, interleave_row.
 */

GOPS_INLINE uint32_t lane_of(const byte_rows *rows, int64_t at)
{
    uint32_t quad = 0;
    for (int c = 0; c < GOPS_LANES_QUAD; c++) {
        quad |= (uint32_t)(rows->row[c][at] ^ rows->flip) << (8 * c);
    }
    return quad;
}

#ifndef GOPS_EMULATED_ISA

/* The quads of 16 bytes of each row. */
GOPS_INLINE void quads_of_16(const __m128i row[4], __m128i quads[4])
{
    const __m128i low01 = _mm_unpacklo_epi8(row[0], row[1]);
    const __m128i low23 = _mm_unpacklo_epi8(row[2], row[3]);
    const __m128i high01 = _mm_unpackhi_epi8(row[0], row[1]);
    const __m128i high23 = _mm_unpackhi_epi8(row[2], row[3]);
    quads[0] = _mm_unpacklo_epi16(low01, low23);
    quads[1] = _mm_unpackhi_epi16(low01, low23);
    quads[2] = _mm_unpacklo_epi16(high01, high23);
    quads[3] = _mm_unpackhi_epi16(high01, high23);
}

/* 16, 8 or 4 pixels. */
GOPS_INLINE void interleave_block(const byte_rows *rows, int64_t at, const int length, uint32_t *to)
{
    const __m128i flip = _mm_set1_epi8((char)rows->flip);
    __m128i row[4], quads[4];
    GOPS_UNROLL
    for (int c = 0; c < 4; c++) {
        row[c] = _mm_xor_si128(gops_load_bytes(rows->row[c] + at, length), flip);
    }
    quads_of_16(row, quads);
    GOPS_UNROLL
    for (int i = 0; i < length / 4; i++) {
        _mm_storeu_si128((void *)(to + at + 4 * i), quads[i]);
    }
}

#ifdef __AVX512BW__

/* A row is made with its padding: a load for which a position is outside of the data leaves the zero
 * point there. */
#define GOPS_LANES_ROWS

/* The pixels of 32 positions that lie 2 apart; a mask has two bits for each. */
GOPS_INLINE __m256i load_halves(const uint8_t *from, uint64_t mask, __m512i padding)
{
    const uint64_t even = UINT64_C(0x5555555555555555);
    return _mm512_cvtepi16_epi8(_mm512_mask_loadu_epi8(padding, mask & even, from));
}

/* Positions `at` to at + 63, as far as there are. */
GOPS_INLINE void interleave_64(const byte_rows *rows, const gops_lanes_row *row, const int stride,
                               int64_t at, uint32_t *to)
{
    const __m512i flip = _mm512_set1_epi8((char)rows->flip);
    const __m512i padding = _mm512_set1_epi8((char)(rows->zero ^ rows->flip));
    const int64_t count = row->length - at, from = stride * (at - row->first);
    const int64_t begin = stride * (row->first - at), end = stride * (row->last - at);
    const uint64_t mask = gops_bits_between(begin, end),
                   next = gops_bits_between(begin - 64, end - 64);
    __m512i bytes[4], quads[4];
    GOPS_UNROLL
    for (int c = 0; c < 4; c++) {
        const uint8_t *at_first = rows->row[c] + from;
        __m512i loaded;
        if (stride == 1) {
            loaded = _mm512_mask_loadu_epi8(padding, mask, at_first);
        } else {
            loaded =
                _mm512_inserti64x4(_mm512_castsi256_si512(load_halves(at_first, mask, padding)),
                                   load_halves(at_first + 64, next, padding), 1);
        }
        bytes[c] = gops_order_words(_mm512_xor_si512(loaded, flip));
    }
    const __m512i low01 = _mm512_unpacklo_epi8(bytes[0], bytes[1]);
    const __m512i low23 = _mm512_unpacklo_epi8(bytes[2], bytes[3]);
    const __m512i high01 = _mm512_unpackhi_epi8(bytes[0], bytes[1]);
    const __m512i high23 = _mm512_unpackhi_epi8(bytes[2], bytes[3]);
    quads[0] = _mm512_unpacklo_epi16(low01, low23);
    quads[1] = _mm512_unpackhi_epi16(low01, low23);
    quads[2] = _mm512_unpacklo_epi16(high01, high23);
    quads[3] = _mm512_unpackhi_epi16(high01, high23);
    GOPS_UNROLL
    for (int i = 0; i < 4; i++) {
        const int64_t left = count - 16 * i;
        if (left >= 16) {
            _mm512_storeu_si512(to + at + 16 * i, quads[i]);
        } else if (left > 0) {
            _mm512_mask_storeu_epi32(to + at + 16 * i, (__mmask16)((1u << left) - 1), quads[i]);
        }
    }
}

/* The last positions of a row, from `at` on: 16 at most. */
GOPS_INLINE void interleave_rest(const byte_rows *rows, const gops_lanes_row *row, const int stride,
                                 int64_t at, uint32_t *to)
{
    const __m128i flip = _mm_set1_epi8((char)rows->flip);
    const __m128i padding = _mm_set1_epi8((char)(rows->zero ^ rows->flip));
    const uint32_t mask = (1u << (row->length - at)) - 1;
    const uint64_t pixels =
        gops_bits_between(stride * (row->first - at), stride * (row->last - at));
    const int64_t from = stride * (at - row->first);
    __m128i bytes[4], quads[4];
    GOPS_UNROLL
    for (int c = 0; c < 4; c++) {
        __m128i loaded;
        if (stride == 1) {
            loaded = _mm_mask_loadu_epi8(padding, (__mmask16)pixels, rows->row[c] + from);
        } else {
            loaded = _mm256_cvtepi16_epi8(
                _mm256_mask_loadu_epi8(_mm256_broadcastsi128_si256(padding),
                                       (__mmask32)(pixels & 0x55555555), rows->row[c] + from));
        }
        bytes[c] = _mm_xor_si128(loaded, flip);
    }
    quads_of_16(bytes, quads);
    GOPS_UNROLL
    for (int i = 0; i < 4; i++) {
        _mm_mask_storeu_epi32(to + at + 4 * i, (__mmask8)(mask >> (4 * i)), quads[i]);
    }
}

GOPS_INLINE void interleave_positions(const byte_rows *rows, const gops_lanes_row *row,
                                      const int stride, uint32_t *to)
{
    int64_t at = 0;
    for (; row->length - at > 16; at += 64) {
        interleave_64(rows, row, stride, at, to);
    }
    if (at < row->length) {
        interleave_rest(rows, row, stride, at, to);
    }
}

/* Neighbours without padding: the last ones end where the row ends. */
GOPS_INLINE void interleave_neighbours(const byte_rows *rows, int64_t count, uint32_t *to)
{
    const gops_lanes_row all = {.last = 64, .length = 64, .stride = 1};
    for (int64_t i = 0; count >= 64 && i < count; i += 64) {
        const int64_t at = gops_min(i, count - 64);
        const byte_rows some = {
            {rows->row[0] + at, rows->row[1] + at, rows->row[2] + at, rows->row[3] + at},
            rows->flip,
            rows->zero};
        interleave_64(&some, &all, 1, 0, to + at);
    }
    for (int64_t i = 0; count < 64 && i < count; i += 16) {
        interleave_block(rows, gops_min(i, count - 16), 16, to);
    }
}

/* `rows` begin with the first pixel. */
GOPS_INLINE void interleave_row(const byte_rows *rows, const gops_lanes_row *row, uint32_t padding,
                                uint32_t *to)
{
    const bool whole = row->first == 0 && row->last == row->length && row->stride == 1;
    if (whole && row->length >= 16) {
        interleave_neighbours(rows, row->length, to);
    } else if (row->stride == 1 || row->last - row->first < 2) {
        interleave_positions(rows, row, 1, to);
    } else if (row->stride == 2) {
        interleave_positions(rows, row, 2, to);
    } else {
        for (int64_t i = 0; i < row->length; i++) {
            const int64_t pixel = (i - row->first) * row->stride;
            to[i] = i >= row->first && i < row->last ? lane_of(rows, pixel) : padding;
        }
    }
}

#else
#define HAS_BLOCKS
#endif
#endif
