/*
 * lanes_transpose.inc.h: transposes bytes by registers of 64, where AVX-512 has shuffles of bytes.
 *
 * A register holds 16 channels of pixels i, i + 16, i + 32 and i + 48. Interleaving bytes within 16, as
 * isa/transpose.inc.h does, leaves 64 neighbouring pixels of a channel in each. Rows of an output often
 * lie a power of 2 apart and share a few lines of the first level cache; a single store of all that a
 * row gets waits for them once.
 */

/* 16 channels of pixels 0, 16, 32 and 48. */
GOPS_INLINE __m512i load_pixels(const unsigned char *from, int64_t ld)
{
    __m128i part[4];
    GOPS_UNROLL
    for (int i = 0; i < 4; i++) {
        part[i] = _mm_loadu_si128((const void *)(from + 16 * i * ld));
    }
    const __m512i low = _mm512_inserti32x4(_mm512_castsi128_si512(part[0]), part[1], 1);
    return _mm512_inserti32x4(_mm512_inserti32x4(low, part[2], 2), part[3], 3);
}

/* 64 pixels of 16 channels. */
GOPS_INLINE void transpose_block(unsigned char *to, int64_t to_ld, const unsigned char *from,
                                 int64_t from_ld)
{
    __m512i rows[16], next[16];
    GOPS_UNROLL
    for (int j = 0; j < 16; j++) {
        rows[j] = load_pixels(from + j * from_ld, from_ld);
    }
    GOPS_UNROLL
    for (int bits = 1; bits < 16; bits *= 2) {
        GOPS_UNROLL
        for (int i = 0; i < 8; i++) {
            next[2 * i] = _mm512_unpacklo_epi8(rows[i], rows[i + 8]);
            next[2 * i + 1] = _mm512_unpackhi_epi8(rows[i], rows[i + 8]);
        }
        GOPS_UNROLL
        for (int i = 0; i < 16; i++) {
            rows[i] = next[i];
        }
    }
    GOPS_UNROLL
    for (int j = 0; j < 16; j++) {
        _mm512_storeu_si512((void *)(to + j * to_ld), rows[j]);
    }
}

/* Whole registers where rows share lines of the cache; elsewhere they gain nothing. The last block ends
 * with the last pixel. */
static void transpose_bytes(void *to, int64_t to_ld, const void *from, int64_t from_ld,
                            int64_t channels, int64_t pixels)
{
    enum { SHARED = 2048, PIXELS = 64 };
    const int64_t whole = to_ld % SHARED == 0 && pixels >= PIXELS ? channels / 16 * 16 : 0;
    for (int64_t i = 0; whole > 0 && i < pixels; i += PIXELS) {
        const int64_t at = gops_min(i, pixels - PIXELS);
        for (int64_t c = 0; c < whole; c += 16) {
            transpose_block((unsigned char *)to + c * to_ld + at, to_ld,
                            (const unsigned char *)from + at * from_ld + c, from_ld);
        }
    }
    if (whole < channels) {
        u8_transpose((unsigned char *)to + whole * to_ld, to_ld,
                     (const unsigned char *)from + whole, from_ld, channels - whole, pixels);
    }
}
