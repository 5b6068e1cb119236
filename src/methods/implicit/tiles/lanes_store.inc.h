/*
 * lanes_store.inc.h: what implicit_store.inc.h is for quantized plans: sums begin with what
 * corrects for zero points, and are requantized before they are stored.
 *
 * Parameters: LANES and NAME of isa/each_compute.inc.h, for values of 32 bits; the vector of
 * isa/vectors.inc.h, as `vector`; GOPS_MAX_NR; f32_vector, f32_broadcast and f32_clamp
 */
#include "isa/order_words.h"

#define start_tile NAME(start_tile)
#define store_tile NAME(store_tile)
#define store_sums NAME(store_sums)
#define real_of NAME(real_of)
#define scale_of NAME(scale_of)
#define store_floats NAME(store_floats)
#define byte_epilogue_of NAME(byte_epilogue_of)
#define narrow NAME(narrow)
#define are_joined NAME(are_joined)
#define store_bytes NAME(store_bytes)
#define store_groups NAME(store_groups)
#define store_requantized NAME(store_requantized)

typedef int32_t NAME(signed_vector) __attribute__((vector_size(LANES * sizeof(int32_t))));
typedef uint8_t NAME(byte_vector) __attribute__((vector_size(LANES), aligned(1), may_alias));

GOPS_INLINE void start_tile(const gops_tile_work *work, const int vectors, const int nr,
                            const bool channels_form, vector *sum)
{
    const uint32_t *first = work->accumulate ? NULL : work->bias;
    GOPS_UNROLL
    for (int i = 0; i < vectors; i++) {
        vector value = {0};
        if (first != NULL) {
            value = channels_form ? *(const vector *)(first + i * LANES) : broadcast(first[i]);
        }
        GOPS_UNROLL
        for (int j = 0; j < nr; j++) {
            sum[i * nr + j] = value;
        }
    }
}

/* What each vector of sums becomes: the integer or float in each of its lanes. */
GOPS_INLINE f32_vector real_of(vector sum, f32_vector scale)
{
    return __builtin_convertvector((NAME(signed_vector))sum, f32_vector) * scale;
}

GOPS_INLINE void store_sums(const gops_tile_work *work, const int row, const int vectors,
                            const int nr, const int64_t step, const vector *sum)
{
    GOPS_UNROLL
    for (int j = 0; j < nr; j++) {
        C *to = (C *)work->sums + work->sum_offsets[j];
        GOPS_UNROLL
        for (int i = 0; i < vectors; i++) {
            *(vector *)(to + (row + i) * step) = sum[i * nr + j];
        }
    }
}

/* The scale of vector i. */
GOPS_INLINE f32_vector scale_of(const gops_lanes_epilogue *by, const int i,
                                const bool channels_form)
{
    return channels_form ? *(const f32_vector *)(by->scale + i * LANES)
                         : f32_broadcast(by->scale[i]);
}

GOPS_INLINE void store_floats(const gops_tile_work *work, const int row, const int vectors,
                              const int nr, const int64_t step, const bool channels_form,
                              const vector *sum)
{
    const gops_lanes_epilogue *by = work->bounds;
    const f32_vector low = f32_broadcast(by->low), high = f32_broadcast(by->high);
    GOPS_UNROLL
    for (int i = 0; i < vectors; i++) {
        const f32_vector scale = scale_of(by, row + i, channels_form);
        GOPS_UNROLL
        for (int j = 0; j < nr; j++) {
            float *to = (float *)work->sums + work->sum_offsets[j] + (row + i) * step;
            *(f32_vector *)to = f32_clamp(real_of(sum[i * nr + j], scale), low, high);
        }
    }
}

/* Rounds to nearest even, adds the zero point, narrows and clamps. The bounds are applied to the
 * bytes: rounding does not change which of two numbers is the larger. Numbers that a conversion to an
 * integer does not hold become the least one; for those above it, `may_overflow`. */
#if GOPS_REGISTER_BYTES == 64
enum { NARROWED_VECTORS = 4 };
typedef __m512i NAME(byte_register);
#define NARROW(operation) _mm512_##operation
#define NARROW_BITS(operation) _mm512_##operation##_si512
#elif GOPS_VECTOR_BYTES == 32
enum { NARROWED_VECTORS = 4 };
typedef __m256i NAME(byte_register);
#define NARROW(operation) _mm256_##operation
#define NARROW_BITS(operation) _mm256_##operation##_si256
#elif GOPS_VECTOR_BYTES == 16 && defined(__SSE2__)
enum { NARROWED_VECTORS = 4 };
typedef __m128i NAME(byte_register);
#define NARROW(operation) _mm_##operation
#define NARROW_BITS(operation) _mm_##operation##_si128
#else
enum { NARROWED_VECTORS = 1 };
#endif

/* The values of gops_lanes_epilogue as vectors: stores of bytes may change what they are read from, as
 * far as compilers know. */
typedef struct NAME(byte_epilogue) {
#ifdef NARROW
    bool may_overflow;
    bool pack_clamps; /* packing with saturation is the clamp: no other bounds, `middle` is 0 */
    f32_vector high;
    NAME(byte_register) middle, least, most, flip;
#else
    f32_vector low, high;
    uint32_t zero;
#endif
} NAME(byte_epilogue);

GOPS_INLINE NAME(byte_epilogue) byte_epilogue_of(const gops_lanes_epilogue *by)
{
    return (NAME(byte_epilogue)){
        .high = f32_broadcast(by->high),
#ifdef NARROW
        .may_overflow = by->may_overflow,
        .pack_clamps =
            !by->may_overflow && by->middle == 0 && by->least == 0 && by->most == UINT8_MAX,
        .middle = NARROW(set1_epi16)((int16_t)by->middle),
        .least = NARROW(set1_epi8)((char)by->least),
        .most = NARROW(set1_epi8)((char)by->most),
        .flip = NARROW(set1_epi8)(by->flip),
#else
        .low = f32_broadcast(by->low),
        .zero = (uint32_t)by->zero,
#endif
    };
}

#ifdef NARROW
/* The bytes of that many vectors: in each 128 bits, those of all of them. */
GOPS_INLINE NAME(byte_register)
    narrow(f32_vector *real, const NAME(byte_epilogue) * by, const bool pack_clamps)
{
    NAME(byte_register) number[NARROWED_VECTORS];
    if (!pack_clamps && by->may_overflow) {
        GOPS_UNROLL
        for (int v = 0; v < NARROWED_VECTORS; v++) {
            real[v] = (f32_vector)NARROW(min_ps)((__typeof__(NARROW(setzero_ps)()))real[v],
                                                 (__typeof__(NARROW(setzero_ps)()))by->high);
        }
    }
    GOPS_UNROLL
    for (int v = 0; v < NARROWED_VECTORS; v++) {
        number[v] = NARROW(cvtps_epi32)((__typeof__(NARROW(setzero_ps)()))real[v]);
    }
    NAME(byte_register) front = NARROW(packs_epi32)(number[0], number[1]);
    NAME(byte_register) back = NARROW(packs_epi32)(number[2], number[3]);
    if (!pack_clamps) {
        front = NARROW(adds_epi16)(front, by->middle);
        back = NARROW(adds_epi16)(back, by->middle);
    }
    NAME(byte_register) bytes = NARROW(packus_epi16)(front, back);
    if (!pack_clamps) {
        bytes = NARROW(min_epu8)(NARROW(max_epu8)(bytes, by->least), by->most);
    }
    return NARROW_BITS(xor)(bytes, by->flip);
}
#endif

/* `real` are that many vectors, to[v] is where the bytes of number v go: with `joined`, behind those
 * of the one before. */
GOPS_INLINE void store_bytes(unsigned char *const *to, const bool joined, f32_vector *real,
                             const NAME(byte_epilogue) * by, const bool pack_clamps)
{
#if GOPS_REGISTER_BYTES == 64
    const __m512i bytes = gops_order_words(narrow(real, by, pack_clamps));
    if (joined) {
        _mm512_storeu_si512((void *)to[0], bytes);
        return;
    }
    _mm_storeu_si128((void *)to[0], _mm512_castsi512_si128(bytes));
    _mm_storeu_si128((void *)to[1], _mm512_extracti32x4_epi32(bytes, 1));
    _mm_storeu_si128((void *)to[2], _mm512_extracti32x4_epi32(bytes, 2));
    _mm_storeu_si128((void *)to[3], _mm512_extracti32x4_epi32(bytes, 3));
#elif GOPS_VECTOR_BYTES == 32
    const __m256i bytes = gops_order_words(narrow(real, by, pack_clamps));
    if (joined) {
        _mm256_storeu_si256((void *)to[0], bytes);
        return;
    }
    const __m128d low = _mm256_castpd256_pd128((__m256d)bytes);
    const __m128d high = _mm256_extractf128_pd((__m256d)bytes, 1);
    _mm_storel_pd((void *)to[0], low);
    _mm_storeh_pd((void *)to[1], low);
    _mm_storel_pd((void *)to[2], high);
    _mm_storeh_pd((void *)to[3], high);
#elif defined(NARROW)
    const __m128i bytes = narrow(real, by, pack_clamps);
    if (joined) {
        _mm_storeu_si128((void *)to[0], bytes);
        return;
    }
    GOPS_UNROLL
    for (int v = 0; v < NARROWED_VECTORS; v++) {
        const uint32_t four = ((vector)bytes)[v];
        memcpy(to[v], &four, sizeof four);
    }
#else
    (void)joined;
    (void)pack_clamps;
    const f32_vector bounded = f32_clamp(real[0], by->low, by->high) + GOPS_ROUNDING;
    const vector bits = (vector)bounded + broadcast(by->zero);
    *(NAME(byte_vector) *)to[0] = __builtin_convertvector(bits, NAME(byte_vector));
#endif
}

/* Whether the vectors of a group of NARROWED_VECTORS, in the order of the output, are neighbours there. In
 * the channels form columns are equally far apart, but for the last one, which may be repeated. */
GOPS_INLINE bool are_joined(const int64_t *at, const int vectors, const int nr,
                            const bool channels_form)
{
    const int length = vectors * LANES;
    bool joined = vectors * nr >= NARROWED_VECTORS;
    if (channels_form) {
        return joined && (nr == 1 || (at[1] - at[0] == length &&
                                      at[nr - 1] - at[0] == (int64_t)(nr - 1) * length));
    }
    if (nr % NARROWED_VECTORS == 0) {
        GOPS_UNROLL
        for (int j = 1; j < nr; j++) {
            joined &= at[j] - at[j - 1] == LANES;
        }
    }
    return joined && nr % NARROWED_VECTORS == 0;
}

/* Vectors are taken in the order of the output; with the last group, some are stored again. */
GOPS_INLINE void store_groups(const gops_tile_work *work, const int row, const int vectors,
                              const int nr, const int64_t step, const bool channels_form,
                              const vector *sum, const NAME(byte_epilogue) * bounds,
                              const bool pack_clamps)
{
    const gops_lanes_epilogue *by = work->bounds;
    const bool joined = are_joined(work->sum_offsets, vectors, nr, channels_form);
    const int count = vectors * nr;
    unsigned char *start[GOPS_MAX_NR];
    GOPS_UNROLL
    for (int j = 0; j < nr; j++) {
        start[j] = (unsigned char *)work->sums + work->sum_offsets[j];
    }
    GOPS_UNROLL
    for (int group = 0; group < count; group += NARROWED_VECTORS) {
        const int at = group + NARROWED_VECTORS > count && count >= NARROWED_VECTORS
                           ? count - NARROWED_VECTORS
                           : group;
        f32_vector real[NARROWED_VECTORS];
        unsigned char *to[NARROWED_VECTORS];
        GOPS_UNROLL
        for (int v = 0; v < NARROWED_VECTORS; v++) {
            const int n = at + v < count ? at + v : count - 1;
            const int i = channels_form ? n % vectors : n / nr;
            const int j = channels_form ? n / vectors : n % nr;
            real[v] = real_of(sum[i * nr + j], scale_of(by, row + i, channels_form));
            to[v] = start[j] + (row + i) * step;
        }
        store_bytes(to, joined, real, bounds, pack_clamps);
    }
}

GOPS_INLINE void store_requantized(const gops_tile_work *work, const int row, const int vectors,
                                   const int nr, const int64_t step, const bool channels_form,
                                   const vector *sum)
{
    const NAME(byte_epilogue) bounds = byte_epilogue_of(work->bounds);
#ifdef NARROW
    if (bounds.pack_clamps) {
        store_groups(work, row, vectors, nr, step, channels_form, sum, &bounds, true);
        return;
    }
#endif
    store_groups(work, row, vectors, nr, step, channels_form, sum, &bounds, false);
}

GOPS_INLINE void store_tile(const gops_tile_work *work, const int row, const int vectors,
                            const int nr, const int64_t step, const bool channels_form, vector *sum)
{
    const gops_lanes_epilogue *by = work->bounds;
    if (work->accumulate) {
        GOPS_UNROLL
        for (int i = 0; i < vectors * nr; i++) {
            const C *at = (const C *)work->sums + work->sum_offsets[i % nr];
            sum[i] += *(const vector *)(at + (row + i / nr) * step);
        }
    }
    if (by == NULL) {
        store_sums(work, row, vectors, nr, step, sum);
    } else if (by->to_8_bit) {
        store_requantized(work, row, vectors, nr, step, channels_form, sum);
    } else {
        store_floats(work, row, vectors, nr, step, channels_form, sum);
    }
}

#undef start_tile
#undef store_tile
