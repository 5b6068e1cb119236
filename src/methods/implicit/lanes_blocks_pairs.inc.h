/*
 * lanes_blocks_pairs.inc.h: interleaves the rows of a block of planes of pairs (lanes.h): a position of
 * the blocked padded input is a cache line of 16-bit values of neighbouring channels, from which the zero
 * point is subtracted.
 *
 * Interleaving 16 rows of 16 bytes as isa/transpose.inc.h has it transposes them.
 *
 * Parameter: block_rows
 */

#ifdef __SSE2__

/* The bytes of a register that are loaded from rows of `length` pixels. */
GOPS_INLINE __m128i load_bytes(const uint8_t *from, const int length, uint8_t flip)
{
    int32_t four;
    __m128i bytes;
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

/* 16 channels of a pixel. */
GOPS_INLINE void store_channels(uint32_t *to, __m128i bytes, uint8_t zero)
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

/* `length` pixels, 16, 8 or 4, of channels `first` to first + 15 of the block. */
GOPS_INLINE void interleave_channels(const block_rows *rows, const int first, int64_t at,
                                     const int length, lane_block *to)
{
    __m128i bytes[16], next[16];
    GOPS_UNROLL
    for (int i = 0; i < 16; i++) {
        bytes[i] = load_bytes(rows->row[first + i] + at, length, rows->flip);
    }
    GOPS_UNROLL
    for (int bits = 1; bits < 16; bits *= 2) {
        GOPS_UNROLL
        for (int i = 0; i < 8; i++) {
            next[2 * i] = _mm_unpacklo_epi8(bytes[i], bytes[i + 8]);
            next[2 * i + 1] = _mm_unpackhi_epi8(bytes[i], bytes[i + 8]);
        }
        GOPS_UNROLL
        for (int i = 0; i < 16; i++) {
            bytes[i] = next[i];
        }
    }
    GOPS_UNROLL
    for (int i = 0; i < length; i++) {
        store_channels(to[at + i].lane + first / GOPS_LANES_PAIR, bytes[i], rows->zero);
    }
}

/* The first `channels` of a position, CHANNELS or half of them. The last pixels end where the run ends. */
GOPS_INLINE void interleave_pixels(const block_rows *rows, int channels, lane_block *to,
                                   int64_t count, const int length)
{
    for (int64_t i = 0; i < count; i += length) {
        const int64_t at = gops_min(i, count - length);
        interleave_channels(rows, 0, at, length, to);
        if (channels == CHANNELS) {
            interleave_channels(rows, CHANNELS / 2, at, length, to);
        }
    }
}

#endif

/* Rows that are NULL have weights of 0; where these are all of the second half, no step of K takes them. */
static void interleave(const block_rows *some, lane_block *to, int64_t count)
{
    const int channels = some->row[CHANNELS / 2] != NULL ? CHANNELS : CHANNELS / 2;
    const block_rows *rows = some;
    block_rows all;
    if (some->row[channels - 1] == NULL) {
        all = *some;
        rows = &all;
        for (int c = 0; c < channels; c++) {
            all.row[c] = some->row[c] != NULL ? some->row[c] : some->row[0];
        }
    }
#ifdef __SSE2__
    if (count >= 4) {
        if (count >= 16) {
            interleave_pixels(rows, channels, to, count, 16);
        } else if (count >= 8) {
            interleave_pixels(rows, channels, to, count, 8);
        } else {
            interleave_pixels(rows, channels, to, count, 4);
        }
        return;
    }
#endif
    for (int64_t i = 0; i < count; i++) {
        for (int c = 0; c < channels; c += GOPS_LANES_PAIR) {
            const int32_t low = (rows->row[c][i] ^ rows->flip) - rows->zero;
            const int32_t high = (rows->row[c + 1][i] ^ rows->flip) - rows->zero;
            to[i].lane[c / GOPS_LANES_PAIR] = ((uint32_t)low & 0xffff) | (uint32_t)high << 16;
        }
    }
}
