/* integer_gemm.isa.c: integer_gemm.inc.h for 16, 32 and 64 bits. */
#include "methods/gemm/gemm_kernels.h"

#include "isa/first_lanes.h"
#include "isa/vector.h"

#include <string.h>

typedef uint16_t u16_vector __attribute__((vector_size(GOPS_VECTOR_BYTES), aligned(2), may_alias));
typedef uint32_t u32_vector __attribute__((vector_size(GOPS_VECTOR_BYTES), aligned(4), may_alias));
typedef uint64_t u64_vector __attribute__((vector_size(GOPS_VECTOR_BYTES), aligned(8), may_alias));

#define MULTIPLY_AND_ADD(sum, a, row) ((sum) += (a) * (row))
#define SAME(sum) (sum)

#if defined(__AVX512F__)

static inline __mmask32 first_lanes(int count)
{
    return (__mmask32)((1u << count) - 1);
}

#define LOAD_LANES_16(from, count) _mm512_maskz_loadu_epi16(first_lanes(count), from)
#define LOAD_LANES_32(from, count) _mm512_maskz_loadu_epi32((__mmask16)first_lanes(count), from)
#define LOAD_LANES_64(from, count) _mm512_maskz_loadu_epi64((__mmask8)first_lanes(count), from)
#define STORE_LANES_16(to, count, vector)                                                          \
    _mm512_mask_storeu_epi16(to, first_lanes(count), (__m512i)(vector))
#define STORE_LANES_32(to, count, vector)                                                          \
    _mm512_mask_storeu_epi32(to, (__mmask16)first_lanes(count), (__m512i)(vector))
#define STORE_LANES_64(to, count, vector)                                                          \
    _mm512_mask_storeu_epi64(to, (__mmask8)first_lanes(count), (__m512i)(vector))
enum { TILE_ROWS = 8 };

#elif defined(__AVX2__)

/* Pairs of lanes, and the last lane, which may have been left out. */
static inline __m256i load_lanes_16(const uint16_t *from, int count)
{
    static const uint16_t masks[31] = {[15] = 0xffff};
    const __m256i last = _mm256_loadu_si256((const void *)(masks + 16 - count));
    return _mm256_or_si256(
        _mm256_maskload_epi32((const void *)from, gops_first_lanes_32(count / 2)),
        _mm256_and_si256(_mm256_set1_epi16((short)from[count - 1]), last));
}

#define LOAD_LANES_16(from, count) load_lanes_16(from, count)
#define STORE_LANES_16(to, count, vector) memcpy(to, &(vector), (size_t)(count)*2)
#define LOAD_LANES_32(from, count)                                                                 \
    _mm256_maskload_epi32((const void *)(from), gops_first_lanes_32(count))
#define LOAD_LANES_64(from, count)                                                                 \
    _mm256_maskload_epi64((const void *)(from), gops_first_lanes_64(count))
#ifdef GOPS_MEMORY_SANITIZER
#define STORE_LANES_32(to, count, vector) memcpy(to, &(vector), (size_t)(count)*4)
#define STORE_LANES_64(to, count, vector) memcpy(to, &(vector), (size_t)(count)*8)
#else
#define STORE_LANES_32(to, count, vector)                                                          \
    _mm256_maskstore_epi32((void *)(to), gops_first_lanes_32(count), (__m256i)(vector))
#define STORE_LANES_64(to, count, vector)                                                          \
    _mm256_maskstore_epi64((void *)(to), gops_first_lanes_64(count), (__m256i)(vector))
#endif
enum { TILE_ROWS = 6 };

/*
 * AVX2 multiplies no 64-bit integers. With a = a1 2^32 + a0, and b the same way,
 *
 *     a b = a0 b0 + 2^32 (a1 b0 + a0 b1)   modulo 2^64,
 *
 * where only the lower 32 bits of the sum in brackets count. So a vector of sums is two vectors:
 * `low` sums the 64-bit products of the lower halves; `cross` sums the 32-bit products of b and of
 * a with its halves exchanged, whose two lanes of each pair are added at the end.
 */
typedef struct u64_sum {
    __m256i low, cross;
} u64_sum;

static inline __attribute__((always_inline)) void add_u64(u64_sum *sum, uint64_t a, __m256i row)
{
    const __m256i broadcast = _mm256_set1_epi64x((long long)a);
    const __m256i exchanged = _mm256_shuffle_epi32(broadcast, _MM_SHUFFLE(2, 3, 0, 1));
    sum->low = _mm256_add_epi64(sum->low, _mm256_mul_epu32(broadcast, row));
    sum->cross = _mm256_add_epi32(sum->cross, _mm256_mullo_epi32(exchanged, row));
}

static inline __attribute__((always_inline)) __m256i total_u64(const u64_sum *sum)
{
    const __m256i pairs = _mm256_add_epi32(sum->cross, _mm256_srli_epi64(sum->cross, 32));
    return _mm256_add_epi64(sum->low, _mm256_slli_epi64(pairs, 32));
}

#define C uint64_t
#define SUM u64_sum
#define ADD(sum, a, row) add_u64(&(sum), a, (__m256i)(row))
#define TOTAL(sum) total_u64(&(sum))
#define MR 4
#define NR 1

#else

#define LANES_FUNCTIONS(bits)                                                                      \
    static inline u##bits##_vector load_lanes_##bits(const uint##bits##_t *from, int count)        \
    {                                                                                              \
        u##bits##_vector lanes = {0};                                                              \
        for (int i = 0; i < count; i++) {                                                          \
            lanes[i] = from[i];                                                                    \
        }                                                                                          \
        return lanes;                                                                              \
    }                                                                                              \
    static inline void store_lanes_##bits(uint##bits##_t *to, int count, u##bits##_vector vector)  \
    {                                                                                              \
        for (int i = 0; i < count; i++) {                                                          \
            to[i] = vector[i];                                                                     \
        }                                                                                          \
    }
LANES_FUNCTIONS(16)
LANES_FUNCTIONS(32)
LANES_FUNCTIONS(64)

#define LOAD_LANES_16(from, count) load_lanes_16(from, count)
#define LOAD_LANES_32(from, count) load_lanes_32(from, count)
#define LOAD_LANES_64(from, count) load_lanes_64(from, count)
#define STORE_LANES_16(to, count, vector) store_lanes_16(to, count, vector)
#define STORE_LANES_32(to, count, vector) store_lanes_32(to, count, vector)
#define STORE_LANES_64(to, count, vector) store_lanes_64(to, count, vector)
enum { TILE_ROWS = 4 };

#ifdef __SSE2__

#include <emmintrin.h>

/* SSE2 multiplies no vectors of 32-bit integers, but the even lanes of two vectors to 64 bits. So a
 * vector of sums is two vectors, for the even and the odd lanes; the lower halves of their lanes
 * are the sums. */
typedef struct u32_sum {
    __m128i even, odd;
} u32_sum;

static inline __attribute__((always_inline)) void add_u32(u32_sum *sum, uint32_t a, __m128i row)
{
    const __m128i broadcast = _mm_set1_epi32((int)a);
    sum->even = _mm_add_epi64(sum->even, _mm_mul_epu32(broadcast, row));
    sum->odd = _mm_add_epi64(sum->odd, _mm_mul_epu32(broadcast, _mm_srli_epi64(row, 32)));
}

static inline __attribute__((always_inline)) __m128i total_u32(const u32_sum *sum)
{
    const __m128i even = _mm_srli_epi64(_mm_slli_epi64(sum->even, 32), 32);
    return _mm_or_si128(even, _mm_slli_epi64(sum->odd, 32));
}

#define SUM_32 u32_sum
#define ADD_32(sum, a, row) add_u32(&(sum), a, (__m128i)(row))
#define TOTAL_32(sum) total_u32(&(sum))
#define NR_32 1

#endif

#endif

#ifndef SUM_32
#define SUM_32 u32_vector
#define ADD_32 MULTIPLY_AND_ADD
#define TOTAL_32 SAME
#endif
#if defined(__AVX2__) && !defined(__AVX512F__)
enum { TILE_VECTORS = 2 };
#else
enum { TILE_VECTORS = 3 };
#endif
#ifndef NR_32
#define NR_32 TILE_VECTORS
#endif

#ifndef C
#define C uint64_t
#define SUM u64_vector
#define ADD MULTIPLY_AND_ADD
#define TOTAL SAME
#define MR TILE_ROWS
#define NR 3
#endif
#define LANES (GOPS_VECTOR_BYTES / 8)
#define LOAD_LANES LOAD_LANES_64
#define STORE_LANES STORE_LANES_64
#define NAME(symbol) u64_##symbol
#include "methods/gemm/integer_gemm.inc.h"

#define C uint16_t
#define SUM u16_vector
#define ADD MULTIPLY_AND_ADD
#define TOTAL SAME
#define LANES (GOPS_VECTOR_BYTES / 2)
#define LOAD_LANES LOAD_LANES_16
#define STORE_LANES STORE_LANES_16
#define MR TILE_ROWS
#define NR TILE_VECTORS
#define NAME(symbol) u16_##symbol
#include "methods/gemm/integer_gemm.inc.h"

#define C uint32_t
#define SUM SUM_32
#define ADD ADD_32
#define TOTAL TOTAL_32
#define LANES (GOPS_VECTOR_BYTES / 4)
#define LOAD_LANES LOAD_LANES_32
#define STORE_LANES STORE_LANES_32
#define MR TILE_ROWS
#define NR NR_32
#define NAME(symbol) u32_##symbol
#include "methods/gemm/integer_gemm.inc.h"

gops_integer_gemm_fn *const GOPS_ISA_NAME(gops_integer_gemm_table)[GOPS_COMPUTES] = {
    [GOPS_COMPUTE_U16] = u16_integer_gemm,
    [GOPS_COMPUTE_U32] = u32_integer_gemm,
    [GOPS_COMPUTE_U64] = u64_integer_gemm,
};
