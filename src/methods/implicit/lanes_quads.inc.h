/*
 * lanes_quads.inc.h: interleaves four rows of bytes to quads (lanes.h).
 *
 * Unpacking the bytes of rows 0 and 1, and of 2 and 3, and then the pairs of both makes quads in
 * their order, but only within 16 bytes. So for wider registers the rows are permuted first, such
 * that each result is made of neighbours.
 *
 * Parameter: byte_rows
 */

GOPS_INLINE uint32_t quad_of(const byte_rows *rows, int64_t at)
{
    uint32_t quad = 0;
    for (int c = 0; c < GOPS_LANES_QUAD; c++) {
        quad |= (uint32_t)(rows->row[c][at] ^ rows->flip) << (8 * c);
    }
    return quad;
}

#ifdef GOPS_EMULATED_ISA

static void interleave(const byte_rows *rows, uint32_t *to, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        to[i] = quad_of(rows, i);
    }
}

#else

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

#ifdef __AVX512BW__

/* Up to 64 pixels; nothing else is read or written. */
GOPS_INLINE void interleave_64(const byte_rows *rows, int64_t at, int64_t count, uint32_t *to)
{
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i flip = _mm512_set1_epi8((char)rows->flip);
    const __mmask64 mask = count >= 64 ? ~(__mmask64)0 : ((__mmask64)1 << count) - 1;
    __m512i row[4], quads[4];
    GOPS_UNROLL
    for (int c = 0; c < 4; c++) {
        const __m512i bytes = _mm512_maskz_loadu_epi8(mask, rows->row[c] + at);
        row[c] = _mm512_permutexvar_epi32(order, _mm512_xor_si512(bytes, flip));
    }
    const __m512i low01 = _mm512_unpacklo_epi8(row[0], row[1]);
    const __m512i low23 = _mm512_unpacklo_epi8(row[2], row[3]);
    const __m512i high01 = _mm512_unpackhi_epi8(row[0], row[1]);
    const __m512i high23 = _mm512_unpackhi_epi8(row[2], row[3]);
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

/* Up to 16. */
GOPS_INLINE void interleave_rest(const byte_rows *rows, int64_t at, int64_t count, uint32_t *to)
{
    const __m128i flip = _mm_set1_epi8((char)rows->flip);
    const __mmask16 mask = (__mmask16)((1u << count) - 1);
    __m128i row[4], quads[4];
    GOPS_UNROLL
    for (int c = 0; c < 4; c++) {
        row[c] = _mm_xor_si128(_mm_maskz_loadu_epi8(mask, rows->row[c] + at), flip);
    }
    quads_of_16(row, quads);
    GOPS_UNROLL
    for (int i = 0; i < 4; i++) {
        if (count > 4 * i) {
            _mm_mask_storeu_epi32(to + at + 4 * i, (__mmask8)(mask >> (4 * i)), quads[i]);
        }
    }
}

static void interleave(const byte_rows *rows, uint32_t *to, int64_t count)
{
    int64_t i = 0;
    for (; count - i > 16; i += 64) {
        interleave_64(rows, i, count - i, to);
    }
    if (i < count) {
        interleave_rest(rows, i, count - i, to);
    }
}

#else

GOPS_INLINE __m128i load_bytes(const uint8_t *from, int length)
{
    int32_t four;
    if (length == 16) {
        return _mm_loadu_si128((const void *)from);
    }
    if (length == 8) {
        return _mm_loadl_epi64((const void *)from);
    }
    memcpy(&four, from, sizeof four);
    return _mm_cvtsi32_si128(four);
}

/* 16, 8 or 4 pixels. */
GOPS_INLINE void interleave_block(const byte_rows *rows, int64_t at, const int length, uint32_t *to)
{
    const __m128i flip = _mm_set1_epi8((char)rows->flip);
    __m128i row[4], quads[4];
    GOPS_UNROLL
    for (int c = 0; c < 4; c++) {
        row[c] = _mm_xor_si128(load_bytes(rows->row[c] + at, length), flip);
    }
    quads_of_16(row, quads);
    GOPS_UNROLL
    for (int i = 0; i < length / 4; i++) {
        _mm_storeu_si128((void *)(to + at + 4 * i), quads[i]);
    }
}

/* The last block ends where the run ends. */
GOPS_INLINE void interleave_blocks(const byte_rows *rows, uint32_t *to, int64_t count,
                                   const int length)
{
    for (int64_t i = 0; i < count; i += length) {
        interleave_block(rows, gops_min(i, count - length), length, to);
    }
}

static void interleave(const byte_rows *rows, uint32_t *to, int64_t count)
{
    if (count >= 16) {
        interleave_blocks(rows, to, count, 16);
    } else if (count >= 8) {
        interleave_blocks(rows, to, count, 8);
    } else if (count >= 4) {
        interleave_blocks(rows, to, count, 4);
    } else {
        for (int64_t i = 0; i < count; i++) {
            to[i] = quad_of(rows, i);
        }
    }
}

#endif
#endif
