/*
 * lanes_transpose.inc.h: transposes bytes by registers of 64, where AVX-512 has shuffles of bytes.
 *
 * A register holds 16 channels of four pixels. Of 16 pixels, those of pixels i, i + 4, i + 8 and i + 12 are in register
 * i: interleaving bytes twice makes lanes of four neighbouring pixels of a channel, and ordering these a run of 16
 * pixels in each 128 bits. That is 12 shuffles where interleaving within 16 bytes, as isa/transpose.inc.h does, takes
 * 64 of shorter ones.
 *
 * Rows of an output often lie a power of 2 apart and share a few lines of the first level cache; a single store of all
 * that a row gets waits for them once. So there a register holds pixels i, i + 16, i + 32 and i + 48, and interleaving
 * bytes within 16 leaves 64 neighbouring pixels of a channel in each.
 */

/* 16 channels of four pixels, which lie `ld` from each other. */
GOPS_INLINE __m512i load_pixels(const unsigned char *from, int64_t ld)
{
    __m128i part[4];
    GOPS_UNROLL
    for (int i = 0; i < 4; i++) {
        part[i] = _mm_loadu_si128((const void *)(from + i * ld));
    }
    const __m512i low = _mm512_inserti32x4(_mm512_castsi128_si512(part[0]), part[1], 1);
    return _mm512_inserti32x4(_mm512_inserti32x4(low, part[2], 2), part[3], 3);
}

/* 16 pixels of 16 channels. */
GOPS_INLINE void transpose_16(unsigned char *to, int64_t to_ld, const unsigned char *from,
                              int64_t from_ld)
{
    __m512i pixels[4], channels[4];
    GOPS_UNROLL
    for (int i = 0; i < 4; i++) {
        pixels[i] = load_pixels(from + i * from_ld, 4 * from_ld);
    }
    const __m512i low02 = _mm512_unpacklo_epi8(pixels[0], pixels[2]);
    const __m512i low13 = _mm512_unpacklo_epi8(pixels[1], pixels[3]);
    const __m512i high02 = _mm512_unpackhi_epi8(pixels[0], pixels[2]);
    const __m512i high13 = _mm512_unpackhi_epi8(pixels[1], pixels[3]);
    channels[0] = _mm512_unpacklo_epi8(low02, low13);
    channels[1] = _mm512_unpackhi_epi8(low02, low13);
    channels[2] = _mm512_unpacklo_epi8(high02, high13);
    channels[3] = _mm512_unpackhi_epi8(high02, high13);
    GOPS_UNROLL
    for (int i = 0; i < 4; i++, to += 4 * to_ld) {
        const __m512i rows = gops_order_words(channels[i]);
        _mm_storeu_si128((void *)to, _mm512_castsi512_si128(rows));
        _mm_storeu_si128((void *)(to + to_ld), _mm512_extracti32x4_epi32(rows, 1));
        _mm_storeu_si128((void *)(to + 2 * to_ld), _mm512_extracti32x4_epi32(rows, 2));
        _mm_storeu_si128((void *)(to + 3 * to_ld), _mm512_extracti32x4_epi32(rows, 3));
    }
}

/* 64 pixels of 16 channels. */
GOPS_INLINE void transpose_block(unsigned char *to, int64_t to_ld, const unsigned char *from,
                                 int64_t from_ld)
{
    __m512i rows[16], next[16];
    GOPS_UNROLL
    for (int j = 0; j < 16; j++) {
        rows[j] = load_pixels(from + j * from_ld, 16 * from_ld);
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

/* The last block ends with the last pixel. */
static void transpose_bytes(void *to, int64_t to_ld, const void *from, int64_t from_ld,
                            int64_t channels, int64_t pixels)
{
    enum { SHARED = 2048, CHANNELS = 16 };
    const bool shared = to_ld % SHARED == 0 && pixels >= 64;
    const int64_t whole = pixels >= 16 ? channels / CHANNELS * CHANNELS : 0;
    const int64_t block = shared ? 64 : 16;
    for (int64_t i = 0; shared && whole > 0 && i < pixels; i += block) {
        const int64_t at = gops_min(i, pixels - block);
        for (int64_t c = 0; c < whole; c += CHANNELS) {
            transpose_block((unsigned char *)to + c * to_ld + at, to_ld,
                            (const unsigned char *)from + at * from_ld + c, from_ld);
        }
    }
    for (int64_t c = 0; !shared && c < whole; c += CHANNELS) {
        for (int64_t i = 0; i < pixels; i += block) {
            const int64_t at = gops_min(i, pixels - block);
            transpose_16((unsigned char *)to + c * to_ld + at, to_ld,
                         (const unsigned char *)from + at * from_ld + c, from_ld);
        }
    }
    if (whole < channels) {
        u8_transpose((unsigned char *)to + whole * to_ld, to_ld,
                     (const unsigned char *)from + whole, from_ld, channels - whole, pixels);
    }
}
