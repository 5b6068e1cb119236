/* lanes_input_bf16.bf16.isa.c: makes a padded input of pairs of bf16, the first channel in the lower
 * half of a lane. A last channel without a second one is paired with zeros: data may be infinite. */
#include "methods/implicit/tiles/lanes.h"

#include "isa/register.h"

#include <stddef.h>

/* The rows of a lane's channels. */
typedef struct bf16_rows {
    const uint16_t *row[2]; /* the second may be NULL: zeros */
} bf16_rows;

#if defined(__AVX512BW__) && !defined(GOPS_EMULATED_ISA)
#include <immintrin.h>

/* Up to 32 pixels; nothing else is read or written. */
GOPS_INLINE void interleave_32(const bf16_rows *rows, int64_t at, int64_t count, uint32_t *to)
{
    const __m512i order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
    const __mmask32 mask = count >= 32 ? ~(__mmask32)0 : ((__mmask32)1 << count) - 1;
    const __m512i first = _mm512_maskz_loadu_epi16(mask, rows->row[0] + at);
    const __m512i second = rows->row[1] != NULL ? _mm512_maskz_loadu_epi16(mask, rows->row[1] + at)
                                                : _mm512_setzero_si512();
    const __m512i low = _mm512_permutexvar_epi64(order, first);
    const __m512i high = _mm512_permutexvar_epi64(order, second);
    _mm512_mask_storeu_epi32(to + at, (__mmask16)mask, _mm512_unpacklo_epi16(low, high));
    if (count > 16) {
        _mm512_mask_storeu_epi32(to + at + 16, (__mmask16)(mask >> 16),
                                 _mm512_unpackhi_epi16(low, high));
    }
}

static void interleave(const bf16_rows *rows, uint32_t *to, int64_t count)
{
    for (int64_t i = 0; i < count; i += 32) {
        interleave_32(rows, i, count - i, to);
    }
}
#else
static void interleave(const bf16_rows *rows, uint32_t *to, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        to[i] = rows->row[0][i] | (rows->row[1] != NULL ? (uint32_t)rows->row[1][i] << 16 : 0);
    }
}
#endif

#define T uint16_t
#define LANE uint32_t
enum { CHANNELS = 2 };
#define FILLS_UP(first) NULL
#define lane_rows bf16_rows
#include "methods/implicit/tiles/lanes_input.inc.h"

void GOPS_ISA_NAME(gops_lanes_input_bf16)(const gops_padded_input *padded, const int64_t *origin,
                                          int64_t channels, const void *data, void *to)
{
    const bf16_rows rows = {{NULL, NULL}};
    make_input(padded, origin, channels, data, padded->data_plane, &rows, 0, to);
}
