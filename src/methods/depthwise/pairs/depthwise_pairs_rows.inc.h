/*
 * depthwise_pairs_rows.inc.h: copies rows for depthwise_pairs.vnni.isa.c.
 *
 * A row is covered by blocks of N elements, the largest that fit it; the last two may overlap. So
 * all rows but those longer than the largest blocks have two. Short rows, but for the last one of a
 * plane, are one block that is longer: what it has beyond the row falls on padding, which is zero, or on
 * the next row, which replaces it.
 */

/* Widens N bytes. */
GOPS_INLINE void widen_block(int16_t *to, const uint8_t *from, uint8_t flip, int16_t zero,
                             const int N)
{
#if defined(__AVX512BW__)
    if (N == 32) {
        const __m256i bytes =
            _mm256_xor_si256(_mm256_loadu_si256((const void *)from), _mm256_set1_epi8((char)flip));
        _mm512_storeu_si512(to,
                            _mm512_sub_epi16(_mm512_cvtepu8_epi16(bytes), _mm512_set1_epi16(zero)));
        return;
    }
#endif
#if defined(__AVX2__)
    if (N == 16) {
        const __m128i bytes =
            _mm_xor_si128(_mm_loadu_si128((const void *)from), _mm_set1_epi8((char)flip));
        _mm256_storeu_si256((void *)to,
                            _mm256_sub_epi16(_mm256_cvtepu8_epi16(bytes), _mm256_set1_epi16(zero)));
        return;
    }
#endif
#if defined(__SSE2__)
    if (N == 8 || N == 4) {
        __m128i bytes = _mm_setzero_si128();
        memcpy(&bytes, from, (size_t)N);
        bytes =
            _mm_unpacklo_epi8(_mm_xor_si128(bytes, _mm_set1_epi8((char)flip)), _mm_setzero_si128());
        const __m128i values = _mm_sub_epi16(bytes, _mm_set1_epi16(zero));
        memcpy(to, &values, (size_t)N * sizeof *to);
        return;
    }
#endif
    for (int i = 0; i < N; i++) {
        to[i] = (int16_t)((from[i] ^ flip) - zero);
    }
}

/* Widens a row of `columns` in N / 2 to N bytes, which can all be read; those beyond it become 0. */
GOPS_INLINE void widen_whole(int16_t *to, const uint8_t *from, uint8_t flip, int16_t zero,
                             int64_t columns, const int N)
{
#if defined(__AVX2__)
    if (N == 16) {
        const __m256i index =
            _mm256_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        const __m256i inside = _mm256_cmpgt_epi16(_mm256_set1_epi16((int16_t)columns), index);
        const __m128i bytes =
            _mm_xor_si128(_mm_loadu_si128((const void *)from), _mm_set1_epi8((char)flip));
        const __m256i values =
            _mm256_sub_epi16(_mm256_cvtepu8_epi16(bytes), _mm256_set1_epi16(zero));
        _mm256_storeu_si256((void *)to, _mm256_and_si256(values, inside));
        return;
    }
#endif
#if defined(__SSE2__)
    if (N == 8) {
        const __m128i index = _mm_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7);
        const __m128i inside = _mm_cmpgt_epi16(_mm_set1_epi16((int16_t)columns), index);
        const __m128i bytes =
            _mm_xor_si128(_mm_loadl_epi64((const void *)from), _mm_set1_epi8((char)flip));
        const __m128i values =
            _mm_sub_epi16(_mm_unpacklo_epi8(bytes, _mm_setzero_si128()), _mm_set1_epi16(zero));
        _mm_storeu_si128((void *)to, _mm_and_si128(values, inside));
        return;
    }
#endif
    for (int i = 0; i < N; i++) {
        to[i] = (int16_t)(i < columns ? (from[i] ^ flip) - zero : 0);
    }
}

GOPS_INLINE void widen_whole_rows(const gops_depthwise_pairs_rows *rows, const int N)
{
    const int64_t columns = rows->columns, last = columns - N / 2, count = rows->rows;
    const int64_t from_step = rows->from_step, to_step = rows->to_step;
    const uint8_t flip = rows->flip;
    const int16_t zero = rows->zero;
    for (int64_t plane = 0; plane < rows->planes; plane++) {
        const uint8_t *from = rows->from + plane * rows->from_plane;
        int16_t *to = (int16_t *)rows->to + plane * rows->to_plane;
        for (int64_t row = 1; row < count; row++, from += from_step, to += to_step) {
            widen_whole(to, from, flip, zero, columns, N);
        }
        widen_block(to, from, flip, zero, N / 2);
        widen_block(to + last, from + last, flip, zero, N / 2);
    }
}

/* TWO: of at most 2 * N columns. */
GOPS_INLINE void widen_plane(const gops_depthwise_pairs_rows *rows, int64_t plane, const int N,
                             const bool TWO)
{
    const int64_t last = rows->columns - N, count = rows->rows;
    const int64_t from_step = rows->from_step, to_step = rows->to_step;
    const uint8_t flip = rows->flip, *from = rows->from + plane * rows->from_plane;
    const int16_t zero = rows->zero;
    int16_t *to = (int16_t *)rows->to + plane * rows->to_plane;
    for (int64_t row = 0; row < count; row++, from += from_step, to += to_step) {
        if (TWO) {
            widen_block(to, from, flip, zero, N);
        } else {
            for (int64_t i = 0; i < last; i += N) {
                widen_block(to + i, from + i, flip, zero, N);
            }
        }
        widen_block(to + last, from + last, flip, zero, N);
    }
}

GOPS_INLINE void widen_rows(const gops_depthwise_pairs_rows *rows, const int N, const bool TWO)
{
    for (int64_t plane = 0; plane < rows->planes; plane++) {
        widen_plane(rows, plane, N, TWO);
    }
}

/* Rows of N / 2 to N bytes, without gaps between them where they go. */
GOPS_INLINE void copy_whole_rows(const gops_depthwise_pairs_rows *rows, const int N)
{
    const int64_t columns = rows->columns, last = columns - N / 2, count = rows->rows;
    const int64_t from_step = rows->from_step;
    for (int64_t plane = 0; plane < rows->planes; plane++) {
        const uint8_t *from = rows->from + plane * rows->from_plane;
        uint8_t *to = (uint8_t *)rows->to + plane * rows->to_plane;
        for (int64_t row = 1; row < count; row++, from += from_step, to += columns) {
            memcpy(to, from, (size_t)N);
        }
        memcpy(to, from, (size_t)N / 2);
        memcpy(to + last, from + last, (size_t)N / 2);
    }
}

GOPS_INLINE void copy_plane(const gops_depthwise_pairs_rows *rows, int64_t plane, const int N,
                            const bool TWO)
{
    const int64_t last = rows->columns - N, count = rows->rows;
    const int64_t from_step = rows->from_step, to_step = rows->to_step;
    const uint8_t *from = rows->from + plane * rows->from_plane;
    uint8_t *to = (uint8_t *)rows->to + plane * rows->to_plane;
    for (int64_t row = 0; row < count; row++, from += from_step, to += to_step) {
        if (TWO) {
            memcpy(to, from, (size_t)N);
        } else {
            for (int64_t i = 0; i < last; i += N) {
                memcpy(to + i, from + i, (size_t)N);
            }
        }
        memcpy(to + last, from + last, (size_t)N);
    }
}

GOPS_INLINE void copy_rows(const gops_depthwise_pairs_rows *rows, const int N, const bool TWO)
{
    for (int64_t plane = 0; plane < rows->planes; plane++) {
        copy_plane(rows, plane, N, TWO);
    }
}

static void widen(const gops_depthwise_pairs_rows *rows)
{
    enum { MAX_LANES = LANES_OF_2 };
    const int64_t columns = rows->columns;
    if (columns >= 4 && columns <= 8) {
        widen_whole_rows(rows, 8);
    } else if (columns > 8 && columns <= 16 && MAX_LANES >= 16) {
        widen_whole_rows(rows, 16);
    } else if (columns > 2 * MAX_LANES) {
        widen_rows(rows, MAX_LANES, false);
    } else if (columns >= 32 && MAX_LANES >= 32) {
        widen_rows(rows, 32, true);
    } else if (columns >= 16 && MAX_LANES >= 16) {
        widen_rows(rows, 16, true);
    } else if (columns >= 8) {
        widen_rows(rows, 8, true);
    } else {
        widen_rows(rows, 1, false);
    }
}

static void copy(const gops_depthwise_pairs_rows *rows)
{
    const int64_t columns = rows->columns;
    const bool gapless = rows->to_step == columns;
    if (gapless && columns >= 4 && columns <= 8) {
        copy_whole_rows(rows, 8);
    } else if (gapless && columns > 8 && columns <= 16) {
        copy_whole_rows(rows, 16);
    } else if (gapless && columns > 16 && columns <= 32) {
        copy_whole_rows(rows, 32);
    } else if (columns > 64) {
        copy_rows(rows, 32, false);
    } else if (columns >= 32) {
        copy_rows(rows, 32, true);
    } else if (columns >= 16) {
        copy_rows(rows, 16, true);
    } else if (columns >= 8) {
        copy_rows(rows, 8, true);
    } else if (columns >= 4) {
        copy_rows(rows, 4, true);
    } else {
        copy_rows(rows, 1, false);
    }
}

/* Interleaves N bytes of two ways. */
GOPS_INLINE void interleave_two(uint8_t *to, const uint8_t *even, const uint8_t *odd, const int N)
{
#if defined(__SSE2__)
    __m128i first = _mm_setzero_si128(), second = first;
    memcpy(&first, even, (size_t)N);
    memcpy(&second, odd, (size_t)N);
    const __m128i low = _mm_unpacklo_epi8(first, second);
    if (N == 16) {
        const __m128i high = _mm_unpackhi_epi8(first, second);
        _mm_storeu_si128((void *)to, low);
        _mm_storeu_si128((void *)(to + 16), high);
    } else {
        memcpy(to, &low, (size_t)(2 * N));
    }
#else
    for (int i = 0; i < N; i++) {
        to[2 * i] = even[i];
        to[2 * i + 1] = odd[i];
    }
#endif
}

/* Of more ways: those of even numbers, those of odd ones, then both results. */
GOPS_INLINE void interleave_four(uint8_t *to, const uint8_t *from, int64_t apart, const int N)
{
    uint8_t even[32], odd[32];
    interleave_two(even, from, from + 2 * apart, N);
    interleave_two(odd, from + apart, from + 3 * apart, N);
    interleave_two(to, even, odd, N);
    interleave_two(to + 2 * N, even + N, odd + N, N);
}

GOPS_INLINE void interleave_eight(uint8_t *to, const uint8_t *from, int64_t apart, const int N)
{
    uint8_t even[64], odd[64];
    interleave_four(even, from, 2 * apart, N);
    interleave_four(odd, from + apart, 2 * apart, N);
    GOPS_UNROLL
    for (int i = 0; i < 4; i++) {
        interleave_two(to + i * 2 * N, even + i * N, odd + i * N, N);
    }
}

GOPS_INLINE void interleave_block(uint8_t *to, const uint8_t *from, int64_t apart, const int WAYS,
                                  const int N)
{
    if (WAYS == 2) {
        interleave_two(to, from, from + apart, N);
    } else if (WAYS == 4) {
        interleave_four(to, from, apart, N);
    } else if (WAYS == 8) {
        interleave_eight(to, from, apart, N);
    } else {
        GOPS_UNROLL
        for (int i = 0; i < N * WAYS; i++) {
            to[i] = from[i % WAYS * apart + i / WAYS];
        }
    }
}

/* Columns of at least N bytes of each way; the last two blocks may overlap. */
GOPS_INLINE void interleave_rows(const gops_depthwise_pairs_rows *rows, const int WAYS, const int N)
{
    const int64_t columns = rows->columns, apart = rows->apart, last = columns / WAYS - N;
    const int64_t from_step = rows->from_step, to_step = rows->to_step, count = rows->rows;
    const uint8_t *from = rows->from;
    uint8_t *to = rows->to;
    for (int64_t row = 0; row < count; row++, from += from_step, to += to_step) {
        for (int64_t i = 0; i < last; i += N) {
            interleave_block(to + i * WAYS, from + i, apart, WAYS, N);
        }
        interleave_block(to + last * WAYS, from + last, apart, WAYS, N);
        for (int64_t i = columns / WAYS * WAYS; i < columns; i++) {
            to[i] = from[i % WAYS * apart + i / WAYS];
        }
    }
}

/* Of any number of ways. */
static void interleave_bytes(const gops_depthwise_pairs_rows *rows)
{
    const int64_t columns = rows->columns, ways = rows->ways;
    for (int64_t row = 0; row < rows->rows; row++) {
        uint8_t *to = (uint8_t *)rows->to + row * rows->to_step;
        for (int64_t way = 0; way < ways; way++) {
            const uint8_t *from = rows->from + row * rows->from_step + way * rows->apart;
            for (int64_t i = way; i < columns; i += ways) {
                to[i] = *from++;
            }
        }
    }
}

static void interleave_plane(const gops_depthwise_pairs_rows *rows)
{
    const int64_t ways = rows->ways, bytes = rows->columns / ways;
    if (ways == 2 && bytes >= 16) {
        interleave_rows(rows, 2, 16);
    } else if (ways == 2 && bytes >= 8) {
        interleave_rows(rows, 2, 8);
    } else if (ways == 2 && bytes >= 4) {
        interleave_rows(rows, 2, 4);
    } else if (ways == 3 && bytes >= 4) {
        interleave_rows(rows, 3, 4);
    } else if (ways == 4 && bytes >= 16) {
        interleave_rows(rows, 4, 16);
    } else if (ways == 4 && bytes >= 4) {
        interleave_rows(rows, 4, 4);
    } else if (ways == 8 && bytes >= 16) {
        interleave_rows(rows, 8, 16);
    } else if (ways == 8 && bytes >= 4) {
        interleave_rows(rows, 8, 4);
    } else {
        interleave_bytes(rows);
    }
}

static void interleave(const gops_depthwise_pairs_rows *rows)
{
    gops_depthwise_pairs_rows plane = *rows;
    for (int64_t i = 0; i < rows->planes; i++) {
        interleave_plane(&plane);
        plane.from += rows->from_plane;
        plane.to = (uint8_t *)plane.to + rows->to_plane;
    }
}
