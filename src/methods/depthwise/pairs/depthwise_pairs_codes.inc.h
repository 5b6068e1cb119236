/*
 * depthwise_pairs_codes.inc.h: codes of sums, for depthwise_pairs.vnni.isa.c.
 *
 * GROUP vectors of sums become the bytes of a register at once, by packing with saturation. That
 * works on parts of 16 bytes, so that the bytes are brought in order at last; vectors of even and
 * of odd outputs alternate where STEP is 1. Numbers that an i32 does not hold are converted to the
 * least i32. For those too small that is right, they are clamped upwards; so only the upper bound is
 * applied before the conversion.
 */

/* What gops_depthwise_pairs_call says of codes. */
typedef struct rounding {
    float scale, high;
    int16_t middle;
    uint8_t least, flip;
} rounding;

GOPS_INLINE rounding rounding_of(const gops_depthwise_pairs_call *call, float scale)
{
    return (rounding){scale, call->high, call->middle, call->least, call->flip};
}

#if GOPS_REGISTER_BYTES == 64 || GOPS_VECTOR_BYTES == 32
/* Within 16 bytes, those of vectors 0 and 1 by turns, then those of 2 and 3. */
#define ALTERNATE _mm_setr_epi8(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15)
#if GOPS_REGISTER_BYTES == 64
#define CODES(operation) _mm512_##operation
typedef __m512 real_register;
typedef __m512i code_register;

GOPS_INLINE code_register by_turns(code_register codes)
{
    return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7),
                                    _mm512_shuffle_epi8(codes, _mm512_broadcast_i32x4(ALTERNATE)));
}
#else
#define CODES(operation) _mm256_##operation
typedef __m256 real_register;
typedef __m256i code_register;

GOPS_INLINE code_register by_turns(code_register codes)
{
    return _mm256_permute4x64_epi64(
        _mm256_shuffle_epi8(codes, _mm256_broadcastsi128_si256(ALTERNATE)), 0xd8);
}
#endif

GOPS_INLINE void store_codes(uint8_t *to, const words *sums, const rounding *by, const int STEP)
{
    const real_register scale = CODES(set1_ps)(by->scale), high = CODES(set1_ps)(by->high);
    const code_register middle = CODES(set1_epi16)(by->middle);
    code_register number[GROUP];
    GOPS_UNROLL
    for (int v = 0; v < GROUP; v++) {
        const real_register real = CODES(mul_ps)(CODES(cvtepi32_ps)((code_register)sums[v]), scale);
        number[v] = CODES(cvtps_epi32)(CODES(min_ps)(real, high));
    }
    const code_register first = CODES(adds_epi16)(CODES(packs_epi32)(number[0], number[1]), middle);
    const code_register last = CODES(adds_epi16)(CODES(packs_epi32)(number[2], number[3]), middle);
    code_register codes =
        CODES(max_epu8)(CODES(packus_epi16)(first, last), CODES(set1_epi8)((char)by->least));
    codes ^= CODES(set1_epi8)((char)by->flip);
    codes = STEP == 1 ? by_turns(codes) : gops_order_words(codes);
    memcpy(to, &codes, sizeof codes);
}
#elif defined(__SSE2__) && GOPS_VECTOR_BYTES == 16
GOPS_INLINE void store_codes(uint8_t *to, const words *sums, const rounding *by, const int STEP)
{
    const __m128 scale = _mm_set1_ps(by->scale), high = _mm_set1_ps(by->high);
    const __m128i middle = _mm_set1_epi16(by->middle);
    __m128i number[GROUP], half[GROUP / 2];
    GOPS_UNROLL
    for (int v = 0; v < GROUP; v++) {
        const __m128 real = _mm_mul_ps(_mm_cvtepi32_ps((__m128i)sums[v]), scale);
        number[v] = _mm_cvtps_epi32(_mm_min_ps(real, high));
    }
    GOPS_UNROLL
    for (int v = 0; v < GROUP; v += 2) {
        const __m128i low = STEP == 1 ? _mm_unpacklo_epi32(number[v], number[v + 1]) : number[v];
        const __m128i last =
            STEP == 1 ? _mm_unpackhi_epi32(number[v], number[v + 1]) : number[v + 1];
        half[v / 2] = _mm_adds_epi16(_mm_packs_epi32(low, last), middle);
    }
    const __m128i codes =
        _mm_max_epu8(_mm_packus_epi16(half[0], half[1]), _mm_set1_epi8((char)by->least));
    _mm_storeu_si128((void *)to, _mm_xor_si128(codes, _mm_set1_epi8((char)by->flip)));
}
#else
/* Adding and subtracting 1.5 * 2^23 rounds (post_ops/requantize.h); `low` is that of the codes. */
GOPS_INLINE void store_codes(uint8_t *to, const words *sums, const rounding *by, const int STEP)
{
    typedef float floats __attribute__((vector_size(LANES * sizeof(float))));
    typedef uint8_t bytes __attribute__((vector_size(LANES)));
    const float least = (float)(by->least - by->middle);
    const floats low = least - (floats){0}, high = by->high - (floats){0};
    GOPS_UNROLL
    for (int v = 0; v < GROUP; v++) {
        words sum = sums[v];
        if (STEP == 1) {
            const int even = v / 2 * 2;
            sum = v % 2 == 0 ? __builtin_shufflevector(sums[even], sums[even + 1],
                                                       GOPS_PASTE(LOW, LANES_OF_4))
                             : __builtin_shufflevector(sums[even], sums[even + 1],
                                                       GOPS_PASTE(HIGH, LANES_OF_4));
        }
        floats real = __builtin_convertvector((signed_words)sum, floats) * by->scale;
        real = GOPS_SELECT(real > low, real, low);
        real = GOPS_SELECT(real < high, real, high) + GOPS_ROUNDING;
        const words code = ((words)real + (uint32_t)(by->middle - GOPS_ROUNDING_BITS)) ^ by->flip;
        const bytes narrow = __builtin_convertvector(code, bytes);
        memcpy(to + v * LANES, &narrow, sizeof narrow);
    }
}
#endif
