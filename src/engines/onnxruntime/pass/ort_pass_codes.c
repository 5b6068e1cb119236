/*
 * ort_pass_codes.c: copies 8-bit integers, or what a table makes of them.
 *
 * A table of 256 bytes fills four registers of AVX-512. VBMI finds 64 bytes at once in two of them, by 7 bits; the
 * eighth says which two.
 */
#include "engines/onnxruntime/pass/ort_pass_codes.h"

#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

static void look_up(uint8_t *restrict to, const uint8_t *restrict from, int64_t count,
                    const uint8_t *restrict codes)
{
    for (int64_t i = 0; i < count; i++) {
        to[i] = codes[from[i]];
    }
}

#ifdef __x86_64__
#define TARGET __attribute__((target("avx512f,avx512bw,avx512vbmi")))

TARGET static inline __m512i find_64(const __m512i *codes, __m512i from)
{
    const __m512i low = _mm512_permutex2var_epi8(codes[0], from, codes[1]);
    const __m512i high = _mm512_permutex2var_epi8(codes[2], from, codes[3]);
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(from), low, high);
}

TARGET static void look_up_by_vbmi(uint8_t *to, const uint8_t *from, int64_t count,
                                   const uint8_t *codes)
{
    enum { LANES = 64 };
    __m512i table[GOPS_ORT_CODES / LANES];
    for (int i = 0; i < GOPS_ORT_CODES / LANES; i++) {
        table[i] = _mm512_loadu_si512((const void *)(codes + i * LANES));
    }
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        const __m512i found = find_64(table, _mm512_loadu_si512((const void *)(from + i)));
        _mm512_storeu_si512((void *)(to + i), found);
    }
    if (i < count) {
        const __mmask64 mask = ~(__mmask64)0 >> (LANES - (count - i));
        const __m512i found = find_64(table, _mm512_maskz_loadu_epi8(mask, from + i));
        _mm512_mask_storeu_epi8(to + i, mask, found);
    }
}
#endif

static void copy(const gops_ort_pass *pass, uint8_t *to, const uint8_t *from, int64_t count)
{
    if (pass->codes == NULL) {
        memcpy(to, from, (size_t)count);
        return;
    }
#ifdef __x86_64__
    if (pass->vectors == GOPS_ORT_VBMI) {
        look_up_by_vbmi(to, from, count, pass->codes);
        return;
    }
#endif
    look_up(to, from, count, pass->codes);
}

void gops_ort_pass_codes(const gops_ort_pass *pass, const gops_ort_pass_operands *operands,
                         int64_t first, int64_t last)
{
    const uint8_t *data = operands->data;
    uint8_t *output = operands->output;
    copy(pass, output + first * pass->plane, data + first * pass->plane,
         (last - first) * pass->plane);
}
