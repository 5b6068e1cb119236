/*
 * depthwise_pairs_rows.inc.h: copies rows for depthwise_pairs.vnni.isa.c.
 *
 * A row is covered by pieces of N elements, the largest that fit it; the last two may overlap. So
 * all rows but those longer than the largest pieces have two.
 */

/* Widens N bytes. */
GOPS_INLINE void widen_piece(int16_t *to, const uint8_t *from, uint8_t flip, int16_t zero,
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

/* TWO: of at most 2 * N columns. */
GOPS_INLINE void widen_rows(const gops_depthwise_pairs_rows *rows, const int N, const bool TWO)
{
    const int64_t last = rows->columns - N, count = rows->rows;
    const int64_t from_step = rows->from_step, to_step = rows->to_step;
    const uint8_t flip = rows->flip, *from = rows->from;
    const int16_t zero = rows->zero;
    int16_t *to = rows->to;
    for (int64_t row = 0; row < count; row++, from += from_step, to += to_step) {
        if (TWO) {
            widen_piece(to, from, flip, zero, N);
        } else {
            for (int64_t i = 0; i < last; i += N) {
                widen_piece(to + i, from + i, flip, zero, N);
            }
        }
        widen_piece(to + last, from + last, flip, zero, N);
    }
}

GOPS_INLINE void copy_rows(const gops_depthwise_pairs_rows *rows, const int N, const bool TWO)
{
    const int64_t last = rows->columns - N, count = rows->rows;
    const int64_t from_step = rows->from_step, to_step = rows->to_step;
    const uint8_t *from = rows->from;
    uint8_t *to = rows->to;
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

static void widen(const gops_depthwise_pairs_rows *rows)
{
    enum { MOST = LANES_OF_2 };
    const int64_t columns = rows->columns;
    if (columns > 2 * MOST) {
        widen_rows(rows, MOST, false);
    } else if (columns >= 32 && MOST >= 32) {
        widen_rows(rows, 32, true);
    } else if (columns >= 16 && MOST >= 16) {
        widen_rows(rows, 16, true);
    } else if (columns >= 8) {
        widen_rows(rows, 8, true);
    } else if (columns >= 4) {
        widen_rows(rows, 4, true);
    } else {
        widen_rows(rows, 1, false);
    }
}

static void copy(const gops_depthwise_pairs_rows *rows)
{
    const int64_t columns = rows->columns;
    if (columns > 64) {
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
GOPS_INLINE void interleave_piece(uint8_t *to, const uint8_t *even, const uint8_t *odd, const int N)
{
#if defined(__SSE2__)
    if (N == 16) {
        const __m128i first = _mm_loadu_si128((const void *)even);
        const __m128i second = _mm_loadu_si128((const void *)odd);
        _mm_storeu_si128((void *)to, _mm_unpacklo_epi8(first, second));
        _mm_storeu_si128((void *)(to + 16), _mm_unpackhi_epi8(first, second));
        return;
    }
    if (N == 8) {
        const __m128i first = _mm_loadl_epi64((const void *)even);
        const __m128i second = _mm_loadl_epi64((const void *)odd);
        _mm_storeu_si128((void *)to, _mm_unpacklo_epi8(first, second));
        return;
    }
#endif
    for (int i = 0; i < N; i++) {
        to[2 * i] = even[i];
        to[2 * i + 1] = odd[i];
    }
}

/* A row of two ways, in pieces of N. */
GOPS_INLINE void interleave_two(uint8_t *to, const uint8_t *even, const uint8_t *odd,
                                int64_t columns, const int N)
{
    const int64_t last = columns / 2 - N;
    for (int64_t i = 0; i < last; i += N) {
        interleave_piece(to + 2 * i, even + i, odd + i, N);
    }
    interleave_piece(to + 2 * last, even + last, odd + last, N);
    if (columns % 2 != 0) {
        to[columns - 1] = even[columns / 2];
    }
}

static void interleave(const gops_depthwise_pairs_rows *rows)
{
    const int64_t columns = rows->columns, ways = rows->ways;
    for (int64_t row = 0; row < rows->rows; row++) {
        const uint8_t *from = rows->from + row * rows->from_step;
        uint8_t *to = (uint8_t *)rows->to + row * rows->to_step;
        if (ways == 2 && columns >= 32) {
            interleave_two(to, from, from + rows->apart, columns, 16);
            continue;
        }
        if (ways == 2 && columns >= 16) {
            interleave_two(to, from, from + rows->apart, columns, 8);
            continue;
        }
        for (int64_t way = 0; way < ways; way++, from += rows->apart) {
            const uint8_t *next = from;
            for (int64_t i = way; i < columns; i += ways) {
                to[i] = *next++;
            }
        }
    }
}
