/*
 * lanes_wide_bytes.inc.h: stores the sums of a tile of AMX (lanes_wide.inc.h) as bytes. They are
 * requantized as they lie, in rows of channels, and transposed as bytes: a quarter of the values. Of
 * rows of outputs that are shorter than 16 pixels, a part is stored.
 *
 * Parameters: those of lanes_store.inc.h, and WIDE_ROWS and WIDE_VALUES
 */

static inline bool stores_wide_bytes(const gops_tile_work *work)
{
    const gops_lanes_epilogue *by = work->bounds;
    return by != NULL && by->to_8_bit && !work->accumulate;
}

#if GOPS_REGISTER_BYTES == 64

/* The bytes of four pixels: in each 128 bits, of one pixel after the other, those of four channels. */
GOPS_INLINE __m512i narrow_wide(const C *sums, const f32_vector scale,
                                const NAME(byte_epilogue) * by, const bool pack_clamps)
{
    f32_vector real[NARROWED_VECTORS];
    GOPS_UNROLL
    for (int i = 0; i < NARROWED_VECTORS; i++) {
        real[i] = real_of(*(const vector *)(sums + i * WIDE_ROWS), scale);
    }
    return narrow(real, by, pack_clamps);
}

/* 16 pixels of 16 channels, of which `pixels` of `count` are stored: those of a channel go to `to`, and
 * each further one's `ld` behind. */
GOPS_INLINE void store_wide_part(const C *sums, const f32_vector scale,
                                 const NAME(byte_epilogue) * by, unsigned char *to, int64_t ld,
                                 int64_t count, int64_t pixels, const bool pack_clamps)
{
    /* Within 128 bits: the four pixels of each of four channels. */
    const __m512i channels =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    __m512i four[4], pair[4], all[4];
    GOPS_UNROLL
    for (int i = 0; i < 4; i++) {
        four[i] = _mm512_shuffle_epi8(narrow_wide(sums + i * 4 * WIDE_ROWS, scale, by, pack_clamps),
                                      channels);
    }
    pair[0] = _mm512_unpacklo_epi32(four[0], four[1]);
    pair[1] = _mm512_unpackhi_epi32(four[0], four[1]);
    pair[2] = _mm512_unpacklo_epi32(four[2], four[3]);
    pair[3] = _mm512_unpackhi_epi32(four[2], four[3]);
    /* 128 bits of number i are the pixels of channels i, i + 4, i + 8 and i + 12. */
    all[0] = _mm512_unpacklo_epi64(pair[0], pair[2]);
    all[1] = _mm512_unpackhi_epi64(pair[0], pair[2]);
    all[2] = _mm512_unpacklo_epi64(pair[1], pair[3]);
    all[3] = _mm512_unpackhi_epi64(pair[1], pair[3]);
    if (count >= WIDE_ROWS && pixels == WIDE_ROWS) {
        GOPS_UNROLL
        for (int i = 0; i < 4; i++) {
            _mm_storeu_si128((void *)(to + i * ld), _mm512_castsi512_si128(all[i]));
            _mm_storeu_si128((void *)(to + (i + 4) * ld), _mm512_extracti32x4_epi32(all[i], 1));
            _mm_storeu_si128((void *)(to + (i + 8) * ld), _mm512_extracti32x4_epi32(all[i], 2));
            _mm_storeu_si128((void *)(to + (i + 12) * ld), _mm512_extracti32x4_epi32(all[i], 3));
        }
        return;
    }
    const __mmask16 mask = (__mmask16)((1u << pixels) - 1);
    for (int64_t i = 0; i < gops_min(count, WIDE_ROWS); i++, to += ld) {
        _mm_mask_storeu_epi8(to, mask, ((const __m128i *)all)[i % 4 * 4 + i / 4]);
    }
}

#else

GOPS_INLINE void store_wide_part(const C *sums, const f32_vector scale,
                                 const NAME(byte_epilogue) * by, unsigned char *to, int64_t ld,
                                 int64_t count, int64_t pixels, const bool pack_clamps)
{
    for (int64_t pixel = 0; pixel < pixels; pixel++, sums += WIDE_ROWS) {
        unsigned char bytes[WIDE_ROWS], *at = bytes;
        f32_vector real = real_of(*(const vector *)sums, scale);
        store_bytes(&at, false, &real, by, pack_clamps);
        for (int64_t i = 0; i < gops_min(count, WIDE_ROWS); i++) {
            to[i * ld + pixel] = bytes[i];
        }
    }
}

#endif

/* Stores the sums, [pixels j][channels i][16][16]. */
GOPS_INLINE void store_wide_parts(const gops_tile_work *work, const int mr, const int nr,
                                  const C *sums, const NAME(byte_epilogue) * bounds,
                                  const bool pack_clamps)
{
    const gops_lanes_epilogue *by = work->bounds;
    for (int j = 0; j < nr; j++) {
        unsigned char *to = (unsigned char *)work->sums + work->sum_offsets[j];
        for (int row = 0; row < mr; row += WIDE_ROWS, sums += WIDE_VALUES) {
            store_wide_part(sums, *(const f32_vector *)(by->scale + row), bounds,
                            to + row * work->sums_ld, work->sums_ld, work->channels - row,
                            work->pixels, pack_clamps);
        }
    }
}

GOPS_INLINE void store_wide_bytes(const gops_tile_work *work, const int mr, const int nr,
                                  const C *sums)
{
    const NAME(byte_epilogue) bounds = byte_epilogue_of(work->bounds);
#ifdef NARROW
    if (bounds.pack_clamps) {
        store_wide_parts(work, mr, nr, sums, &bounds, true);
        return;
    }
#endif
    store_wide_parts(work, mr, nr, sums, &bounds, false);
}
