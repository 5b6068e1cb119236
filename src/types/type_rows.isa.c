/*
 * type_rows.isa.c: the rows of the element types. To add a type, add its two conversions and its
 * row here. Compiled once for each instruction set.
 *
 * Floating point types below f32 are multiplied and added in f32. Integers are exact modulo 2^bits:
 * 8-bit ones in f32 while no sum can leave 24 bits, 16-bit ones in f64 while none can leave 53;
 * exact_k says how many products that is, and beyond it K is cut (algorithms). 32- and 64-bit ones
 * are multiplied as unsigned integers, whose arithmetic is modular already.
 */
#include "isa/isa.h"

#include "base/checked.h"
#include "post_ops/libmvec.h"
#include "types/blocks.h"
#include "types/integer_bits.h"
#include "types/small_float.h"
#include "types/widen.h"
#include "types/types.h"

#include <math.h>
#include "isa/vector.h"

#include <string.h>

#ifdef __F16C__
#include <immintrin.h>
#endif

enum {
    GOPS_NORM_LANES = 32, /* four AVX-512 vectors of double: enough chains to hide the additions */
    FUSE_BLOCK = 16,      /* of post_ops.inc.h: an AVX-512 vector of floats */
    GOPS_NORM_BLOCK = 4096, /* of f64 elements fill the smallest first level cache */
};

#define SAME(value) (value)

#define T float
#define C float
#define LOAD SAME
#define STORE SAME
#define VALUE (double)
#define ROUND (float)
#define NAME(symbol) f32_##symbol
#define ROW                                                                                        \
    .name = "f32", .type = GOPS_F32, .compute = GOPS_COMPUTE_F32, .plain = 1, .exact_k = INT64_MAX
#include "types/type.inc.h"

#define T double
#define C double
#define LOAD SAME
#define STORE SAME
#define VALUE SAME
#define ROUND SAME
#define NORM_IN_DOUBLES
#define NAME(symbol) f64_##symbol
#define ROW                                                                                        \
    .name = "f64", .type = GOPS_F64, .compute = GOPS_COMPUTE_F64, .plain = 1, .exact_k = INT64_MAX
#include "types/type.inc.h"

#ifdef __F16C__
static inline __attribute__((always_inline)) void f16c_load(float *to, const uint16_t *from,
                                                            int length)
{
    if (length == 4) {
        _mm_storeu_ps(to, _mm_cvtph_ps(_mm_loadl_epi64((const __m128i *)(const void *)from)));
    }
#ifdef __AVX512F__
    if (length == 16) {
        _mm512_storeu_ps(to,
                         _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)from)));
        return;
    }
#endif
    for (int i = 0; i + 8 <= length; i += 8) {
        __m128i codes = _mm_loadu_si128((const __m128i *)(const void *)(from + i));
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(codes));
    }
}

static inline __attribute__((always_inline)) void f16c_store(uint16_t *to, const float *from,
                                                             int length)
{
    if (length == 4) {
        __m128i codes = _mm_cvtps_ph(_mm_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT);
        _mm_storel_epi64((__m128i *)(void *)to, codes);
    }
#ifdef __AVX512F__
    if (length == 16) {
        /* All lanes by a mask: without optimization gcc 12's plain form is a macro that warns. */
        _mm256_storeu_si256(
            (__m256i *)(void *)to,
            _mm512_maskz_cvtps_ph(0xffff, _mm512_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT));
        return;
    }
#endif
    for (int i = 0; i + 8 <= length; i += 8) {
        __m128i codes = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
        _mm_storeu_si128((__m128i *)(void *)(to + i), codes);
    }
}

/* The codes are the upper halves of those of f16. */
static inline __attribute__((always_inline)) void f8e5m2_f16c_load(float *to, const uint8_t *from,
                                                                   int length)
{
#ifdef __AVX512F__
    if (length == 16) {
        __m256i codes = _mm256_cvtepu8_epi16(gops_load_128(from));
        _mm512_storeu_ps(to, _mm512_cvtph_ps(_mm256_slli_epi16(codes, 8)));
        return;
    }
#endif
    for (int i = 0; i < length; i += 8) {
        __m128i codes = gops_widen_load(from + i, length == 4 ? 4 : 8);
        __m128i upper = _mm_unpacklo_epi8(_mm_setzero_si128(), codes);
        if (length == 4) {
            _mm_storeu_ps(to, _mm_cvtph_ps(upper));
        } else {
            _mm256_storeu_ps(to + i, _mm256_cvtph_ps(upper));
        }
    }
}

#define LOAD_BLOCK f16c_load
#define STORE_BLOCK f16c_store
#endif
#define T uint16_t
#define C float
#define LOAD(code) gops_f16_load((uint32_t)(code))
#ifndef __F16C__
#define WIDEN gops_widen_u16
#define LANES_LOAD gops_lanes_f16_load
#define NARROW gops_narrow_u16
#define LANES_STORE gops_lanes_f16_store
#endif
#define STORE(value) (uint16_t) gops_f16_store(value)
#define VALUE (double)gops_f16_load
#define ROUND(value) (uint16_t) gops_f16_store(gops_round_to_odd(value))
#define NAME(symbol) f16_##symbol
#define ROW .name = "f16", .type = GOPS_F16, .compute = GOPS_COMPUTE_F32, .exact_k = INT64_MAX
#include "types/type.inc.h"

#define T uint16_t
#define C float
#define LOAD(code) gops_bf16_load((uint32_t)(code))
#define WIDEN gops_widen_u16
#define LANES_LOAD gops_lanes_bf16_load
#define NARROW gops_narrow_u16
#define LANES_STORE gops_lanes_bf16_store
#define STORE(value) (uint16_t) gops_bf16_store(value)
#define VALUE (double)gops_bf16_load
#define ROUND gops_bf16_round
#define NAME(symbol) bf16_##symbol
#define ROW .name = "bf16", .type = GOPS_BF16, .compute = GOPS_COMPUTE_F32, .exact_k = INT64_MAX
#include "types/type.inc.h"

#define T uint8_t
#define C float
#define LOAD(code) gops_f8e4m3_load((uint32_t)(code))
#define WIDEN gops_widen_u8
#define LANES_LOAD gops_lanes_f8e4m3_load
#define NARROW gops_narrow_u8
#define LANES_STORE gops_lanes_f8e4m3_store
#define STORE(value) (uint8_t) gops_f8e4m3_store(value)
#define VALUE (double)gops_f8e4m3_load
#define ROUND(value) (uint8_t) gops_f8e4m3_store(gops_round_to_odd(value))
#define ROUND_IN_BLOCKS
#define NAME(symbol) f8e4m3_##symbol
#define ROW .name = "f8e4m3", .type = GOPS_F8E4M3, .compute = GOPS_COMPUTE_F32, .exact_k = INT64_MAX
#include "types/type.inc.h"

#define T uint8_t
#define C float
#define LOAD(code) gops_f8e4m3_load((uint32_t)(code))
#define WIDEN gops_widen_u8
#define LANES_LOAD gops_lanes_f8e4m3_load
#define NARROW gops_narrow_u8
#define LANES_STORE gops_lanes_f8e4m3_saturate
#define STORE(value) (uint8_t) gops_f8e4m3_saturate(value)
#define VALUE (double)gops_f8e4m3_load
#define ROUND(value) (uint8_t) gops_f8e4m3_saturate(gops_round_to_odd(value))
#define ROUND_IN_BLOCKS
#define NAME(symbol) f8e4m3_saturating_##symbol
#define ROW .name = "f8e4m3", .type = GOPS_F8E4M3, .compute = GOPS_COMPUTE_F32, .exact_k = INT64_MAX
#include "types/type.inc.h"

#define T uint8_t
#define C float
#define LOAD(code) gops_f8e5m2_load((uint32_t)(code))
#ifdef __F16C__
#define LOAD_BLOCK f8e5m2_f16c_load
#else
#define WIDEN gops_widen_u8
#define LANES_LOAD gops_lanes_f8e5m2_load
#endif
#define NARROW gops_narrow_u8
#define LANES_STORE gops_lanes_f8e5m2_store
#define STORE(value) (uint8_t) gops_f8e5m2_store(value)
#define VALUE (double)gops_f8e5m2_load
#define ROUND(value) (uint8_t) gops_f8e5m2_store(gops_round_to_odd(value))
#define NAME(symbol) f8e5m2_##symbol
#define ROW .name = "f8e5m2", .type = GOPS_F8E5M2, .compute = GOPS_COMPUTE_F32, .exact_k = INT64_MAX
#include "types/type.inc.h"

#define T uint8_t
#define C float
#define LOAD(code) gops_f8e5m2_load((uint32_t)(code))
#ifdef __F16C__
#define LOAD_BLOCK f8e5m2_f16c_load
#else
#define WIDEN gops_widen_u8
#define LANES_LOAD gops_lanes_f8e5m2_load
#endif
#define NARROW gops_narrow_u8
#define LANES_STORE gops_lanes_f8e5m2_saturate
#define STORE(value) (uint8_t) gops_f8e5m2_saturate(value)
#define VALUE (double)gops_f8e5m2_load
#define ROUND(value) (uint8_t) gops_f8e5m2_saturate(gops_round_to_odd(value))
#define NAME(symbol) f8e5m2_saturating_##symbol
#define ROW .name = "f8e5m2", .type = GOPS_F8E5M2, .compute = GOPS_COMPUTE_F32, .exact_k = INT64_MAX
#include "types/type.inc.h"

/* 2^24 / 2^14: a product of two i8 is at most 2^14. */
#define T int8_t
#define C float
#define LOAD (float)
#define WIDEN gops_widen_i8
#define STORE(value) (int8_t)(int32_t)(value)
#define WRAPPED uint32_t
#define NAME(symbol) i8_##symbol
#define ROW .name = "i8", .type = GOPS_I8, .compute = GOPS_COMPUTE_F32, .exact_k = 1 << 10
#include "types/type.inc.h"

/* 2^24 / 255^2, rounded down. */
#define T uint8_t
#define C float
#define LOAD (float)
#define WIDEN gops_widen_u8
#define STORE(value) (uint8_t)(int32_t)(value)
#define WRAPPED uint32_t
#define NAME(symbol) u8_##symbol
#define ROW .name = "u8", .type = GOPS_U8, .compute = GOPS_COMPUTE_F32, .exact_k = 258
#include "types/type.inc.h"

/* 2^53 / 2^30. */
#define T int16_t
#define C double
#define LOAD (double)
#define WIDEN gops_widen_i16
#define STORE(value) (int16_t) gops_integer_bits(value)
#define WRAPPED uint64_t
#define NAME(symbol) i16_##symbol
#define ROW .name = "i16", .type = GOPS_I16, .compute = GOPS_COMPUTE_F64, .exact_k = 1 << 23
#include "types/type.inc.h"

/* 2^53 / 65535^2, rounded down. */
#define T uint16_t
#define C double
#define LOAD (double)
#define WIDEN gops_widen_u16
#define STORE(value) (uint16_t) gops_integer_bits(value)
#define WRAPPED uint64_t
#define NAME(symbol) u16_##symbol
#define ROW .name = "u16", .type = GOPS_U16, .compute = GOPS_COMPUTE_F64, .exact_k = 2097216
#include "types/type.inc.h"

#define T uint32_t
#define C uint32_t
#define ELEMENT int32_t
#define LOAD SAME
#define STORE SAME
#define WRAPPED uint32_t
#define NAME(symbol) i32_##symbol
#define ROW                                                                                        \
    .name = "i32", .type = GOPS_I32, .compute = GOPS_COMPUTE_U32, .plain = 1, .exact_k = INT64_MAX
#include "types/type.inc.h"

#define T uint32_t
#define C uint32_t
#define LOAD SAME
#define STORE SAME
#define WRAPPED uint32_t
#define NAME(symbol) u32_##symbol
#define ROW                                                                                        \
    .name = "u32", .type = GOPS_U32, .compute = GOPS_COMPUTE_U32, .plain = 1, .exact_k = INT64_MAX
#include "types/type.inc.h"

#define T uint64_t
#define C uint64_t
#define ELEMENT int64_t
#define LOAD SAME
#define STORE SAME
#define WRAPPED uint64_t
#define NAME(symbol) i64_##symbol
#define ROW                                                                                        \
    .name = "i64", .type = GOPS_I64, .compute = GOPS_COMPUTE_U64, .plain = 1, .exact_k = INT64_MAX
#include "types/type.inc.h"

#define T uint64_t
#define C uint64_t
#define LOAD SAME
#define STORE SAME
#define WRAPPED uint64_t
#define NAME(symbol) u64_##symbol
#define ROW                                                                                        \
    .name = "u64", .type = GOPS_U64, .compute = GOPS_COMPUTE_U64, .plain = 1, .exact_k = INT64_MAX
#include "types/type.inc.h"

/* The 8- and 16-bit integers for our own kernels, which multiply 32-bit integers nearly as fast as
 * floats: sums modulo 2^32 hold the result modulo 2^8 or 2^16, whatever K is. */
#define T int8_t
#define C uint32_t
#define LOAD (uint32_t)(int32_t)
#define WIDEN gops_widen_i8
#define STORE(value) (int8_t)(value)
#define WRAPPED uint32_t
#define NAME(symbol) i8_modular_##symbol
#define ROW .name = "i8", .type = GOPS_I8, .compute = GOPS_COMPUTE_U32, .exact_k = INT64_MAX
#include "types/type.inc.h"

#define T uint8_t
#define C uint32_t
#define LOAD (uint32_t)(int32_t)
#define WIDEN gops_widen_u8
#define STORE(value) (uint8_t)(value)
#define WRAPPED uint32_t
#define NAME(symbol) u8_modular_##symbol
#define ROW .name = "u8", .type = GOPS_U8, .compute = GOPS_COMPUTE_U32, .exact_k = INT64_MAX
#include "types/type.inc.h"

#define T int16_t
#define C uint32_t
#define LOAD (uint32_t)(int32_t)
#define WIDEN gops_widen_i16
#define STORE(value) (int16_t)(value)
#define WRAPPED uint32_t
#define NAME(symbol) i16_modular_##symbol
#define ROW .name = "i16", .type = GOPS_I16, .compute = GOPS_COMPUTE_U32, .exact_k = INT64_MAX
#include "types/type.inc.h"

#define T uint16_t
#define C uint32_t
#define LOAD (uint32_t)(int32_t)
#define WIDEN gops_widen_u16
#define STORE(value) (uint16_t)(value)
#define WRAPPED uint32_t
#define NAME(symbol) u16_modular_##symbol
#define ROW .name = "u16", .type = GOPS_U16, .compute = GOPS_COMPUTE_U32, .exact_k = INT64_MAX
#include "types/type.inc.h"

/* The 8-bit integers less a zero point: differences of up to 255 either way. */
#define T int8_t
#define C float
#define LOAD (float)
#define WIDEN gops_widen_i8
#define SHIFTED
#define STORE(value) (int8_t)(int32_t)(value)
#define WRAPPED uint32_t
#define NAME(symbol) i8_shifted_##symbol
#define ROW .name = "i8", .type = GOPS_I8, .compute = GOPS_COMPUTE_F32, .exact_k = 258
#include "types/type.inc.h"

#define T uint8_t
#define C float
#define LOAD (float)
#define WIDEN gops_widen_u8
#define SHIFTED
#define STORE(value) (uint8_t)(int32_t)(value)
#define WRAPPED uint32_t
#define NAME(symbol) u8_shifted_##symbol
#define ROW .name = "u8", .type = GOPS_U8, .compute = GOPS_COMPUTE_F32, .exact_k = 258
#include "types/type.inc.h"

const gops_type_row *GOPS_ISA_NAME(gops_type_rows)(gops_type type, gops_type_variant variant)
{
    enum { MAX_TYPES = 32 }; /* their numbers are below */
    static const gops_type_row *const rows[GOPS_TYPE_VARIANTS][MAX_TYPES] = {
        {
            [GOPS_F64] = &f64_row,
            [GOPS_F32] = &f32_row,
            [GOPS_F16] = &f16_row,
            [GOPS_BF16] = &bf16_row,
            [GOPS_F8E4M3] = &f8e4m3_row,
            [GOPS_F8E5M2] = &f8e5m2_row,
            [GOPS_I8] = &i8_row,
            [GOPS_I16] = &i16_row,
            [GOPS_I32] = &i32_row,
            [GOPS_I64] = &i64_row,
            [GOPS_U8] = &u8_row,
            [GOPS_U16] = &u16_row,
            [GOPS_U32] = &u32_row,
            [GOPS_U64] = &u64_row,
        },
        [GOPS_TYPE_SATURATING] =
            {
                [GOPS_F8E4M3] = &f8e4m3_saturating_row,
                [GOPS_F8E5M2] = &f8e5m2_saturating_row,
            },
        [GOPS_TYPE_SHIFTED] =
            {
                [GOPS_I8] = &i8_shifted_row,
                [GOPS_U8] = &u8_shifted_row,
            },
        [GOPS_TYPE_MODULAR] =
            {
                [GOPS_I8] = &i8_modular_row,
                [GOPS_I16] = &i16_modular_row,
                [GOPS_U8] = &u8_modular_row,
                [GOPS_U16] = &u16_modular_row,
            },
    };
    if ((size_t)type >= MAX_TYPES) {
        return NULL;
    }
    const gops_type_row *row = rows[variant][type];
    return row != NULL ? row : rows[GOPS_TYPE_USUAL][type];
}
