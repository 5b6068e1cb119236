/*
 * lanes_pairs.inc.h: interleaves two rows of bytes to pairs of 16 bits (lanes.h), the first in the
 * lower half, and subtracts the zero point.
 *
 * Parameter: byte_rows
 *
 * Defines lane_of and, where HAS_BLOCKS is defined, interleave_block.
 */

GOPS_INLINE uint32_t lane_of(const byte_rows *rows, int64_t at)
{
    return gops_pair_of(rows->row[0][at] ^ rows->flip, rows->row[1][at] ^ rows->flip, rows->zero);
}

#ifdef __SSE2__
#define HAS_BLOCKS

/* 16, 8 or 4 pixels. */
GOPS_INLINE void interleave_block(const byte_rows *rows, int64_t at, const int length, uint32_t *to)
{
    const __m128i flip = _mm_set1_epi8((char)rows->flip);
    const __m128i first = _mm_xor_si128(gops_load_bytes(rows->row[0] + at, length), flip);
    const __m128i second = _mm_xor_si128(gops_load_bytes(rows->row[1] + at, length), flip);
    const __m128i bytes = _mm_unpacklo_epi8(first, second);
    if (length == 4) {
        const __m128i wide = _mm_unpacklo_epi8(bytes, _mm_setzero_si128());
        _mm_storeu_si128((void *)(to + at), _mm_sub_epi16(wide, _mm_set1_epi16(rows->zero)));
        return;
    }
    gops_store_pairs(to + at, bytes, rows->zero);
    if (length == 16) {
        gops_store_pairs(to + at + 8, _mm_unpackhi_epi8(first, second), rows->zero);
    }
}

#endif
