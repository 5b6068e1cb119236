/*
 * lanes_pairs.inc.h: interleaves two rows of bytes to pairs of 16 bits (lanes.h), the first in the
 * lower half, and subtracts the zero point.
 *
 * Parameter: byte_rows
 */

GOPS_INLINE uint32_t pair_of(const byte_rows *rows, int64_t at)
{
    const int32_t low = (rows->row[0][at] ^ rows->flip) - rows->zero;
    const int32_t high = (rows->row[1][at] ^ rows->flip) - rows->zero;
    return ((uint32_t)low & 0xffff) | (uint32_t)high << 16;
}

#ifdef __SSE2__

GOPS_INLINE __m128i load_bytes(const uint8_t *from, const int length, uint8_t flip)
{
    __m128i bytes;
    int32_t four;
    if (length == 16) {
        bytes = _mm_loadu_si128((const void *)from);
    } else if (length == 8) {
        bytes = _mm_loadl_epi64((const void *)from);
    } else {
        memcpy(&four, from, sizeof four);
        bytes = _mm_cvtsi32_si128(four);
    }
    return _mm_xor_si128(bytes, _mm_set1_epi8((char)flip));
}

/* The pairs of 8 pixels, whose bytes are interleaved. */
GOPS_INLINE void store_8(uint32_t *to, __m128i bytes, uint8_t zero)
{
#ifdef __AVX2__
    const __m256i wide = _mm256_cvtepu8_epi16(bytes);
    _mm256_storeu_si256((void *)to, _mm256_sub_epi16(wide, _mm256_set1_epi16(zero)));
#else
    const __m128i none = _mm_setzero_si128(), subtracted = _mm_set1_epi16(zero);
    _mm_storeu_si128((void *)to, _mm_sub_epi16(_mm_unpacklo_epi8(bytes, none), subtracted));
    _mm_storeu_si128((void *)(to + 4), _mm_sub_epi16(_mm_unpackhi_epi8(bytes, none), subtracted));
#endif
}

/* 16, 8 or 4 pixels. */
GOPS_INLINE void interleave_block(const byte_rows *rows, int64_t at, const int length, uint32_t *to)
{
    const __m128i first = load_bytes(rows->row[0] + at, length, rows->flip);
    const __m128i second = load_bytes(rows->row[1] + at, length, rows->flip);
    const __m128i bytes = _mm_unpacklo_epi8(first, second);
    if (length == 4) {
        const __m128i wide = _mm_unpacklo_epi8(bytes, _mm_setzero_si128());
        _mm_storeu_si128((void *)(to + at), _mm_sub_epi16(wide, _mm_set1_epi16(rows->zero)));
        return;
    }
    store_8(to + at, bytes, rows->zero);
    if (length == 16) {
        store_8(to + at + 8, _mm_unpackhi_epi8(first, second), rows->zero);
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

#endif

static void interleave(const byte_rows *rows, uint32_t *to, int64_t count)
{
#ifdef __SSE2__
    if (count >= 4) {
        if (count >= 16) {
            interleave_blocks(rows, to, count, 16);
        } else if (count >= 8) {
            interleave_blocks(rows, to, count, 8);
        } else {
            interleave_blocks(rows, to, count, 4);
        }
        return;
    }
#endif
    for (int64_t i = 0; i < count; i++) {
        to[i] = pair_of(rows, i);
    }
}
