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

/* `length` pixels, 16, 8 or 4, of channels `first` to first + 15 of the block. */
GOPS_INLINE void interleave_channels(const block_rows *rows, const int first, int64_t at,
                                     const int length, lane_block *to)
{
    const __m128i flip = _mm_set1_epi8((char)rows->flip);
    __m128i bytes[16], next[16];
    GOPS_UNROLL
    for (int i = 0; i < 16; i++) {
        bytes[i] = _mm_xor_si128(gops_load_bytes(rows->row[first + i] + at, length), flip);
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
        gops_store_pairs(to[at + i].lane + first / GOPS_LANES_PAIR, bytes[i], rows->zero);
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
            to[i].lane[c / GOPS_LANES_PAIR] = gops_pair_of(
                rows->row[c][i] ^ rows->flip, rows->row[c + 1][i] ^ rows->flip, rows->zero);
        }
    }
}
