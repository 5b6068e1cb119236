/* pair_product.h: adds products of pairs of 16 bits to 32-bit sums, for one instruction set (lanes.h). */
#ifndef GOPS_IMPLICIT_PAIR_PRODUCT_H
#define GOPS_IMPLICIT_PAIR_PRODUCT_H

#include "isa/lanes.h"
#include "isa/register.h"

#include <stdint.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

/* GOPS_ADD_PAIRS(sum, data, weight): a statement. All are vectors of LANES_OF_4 values of 32 bits; the halves
 * of data and weights have a sign, and are not both the least number. */
#if defined(__AVX512BW__)
#define GOPS_ADD_PAIRS(sum, data, weight)                                                          \
    ((sum) += (__typeof__(sum))_mm512_madd_epi16((__m512i)(data), (__m512i)(weight)))
#elif defined(__AVX2__)
#ifdef GOPS_VECTOR_REGISTER
/* Left to itself gcc adds the products of several steps of K first, and spills; or adds into another
 * register and moves the sum back. */
#define GOPS_ADD_IN_PLACE(sum, products)                                                           \
    __asm__("vpaddd %1, %0, %0" : "+" GOPS_VECTOR_REGISTER(sum) : GOPS_VECTOR_REGISTER(products))
#else
#define GOPS_ADD_IN_PLACE(sum, products) ((sum) += (__typeof__(sum))(products))
#endif
#define GOPS_ADD_PAIRS(sum, data, weight)                                                          \
    do {                                                                                           \
        const __m256i products = _mm256_madd_epi16((__m256i)(data), (__m256i)(weight));            \
        GOPS_ADD_IN_PLACE(sum, products);                                                          \
    } while (0)
#ifndef GOPS_MEMORY_SANITIZER /* which cannot follow assembly */
/* The same for a weight in memory, `const vector *`, which gcc would load into a register. */
#define GOPS_ADD_PAIRS_FROM(sum, data, weight)                                                     \
    do {                                                                                           \
        __m256i product_;                                                                          \
        __asm__("vpmaddwd %2, %1, %0" : "=x"(product_) : "x"(data), "m"(*(weight)));               \
        (sum) += (__typeof__(sum))product_;                                                        \
        GOPS_IN_REGISTER(sum);                                                                     \
    } while (0)
#endif
#elif defined(__SSE2__)
#define GOPS_ADD_PAIRS(sum, data, weight)                                                          \
    ((sum) += (__typeof__(sum))_mm_madd_epi16((__m128i)(data), (__m128i)(weight)))
#else
typedef uint32_t gops_pair_bits __attribute__((vector_size(LANES_OF_4 * sizeof(uint32_t))));
typedef int32_t gops_pair_half __attribute__((vector_size(LANES_OF_4 * sizeof(int32_t))));

/* The sum of the products of the lower and of the upper 16 bits. */
GOPS_INLINE gops_pair_bits gops_pair_products(gops_pair_bits data, gops_pair_bits weight)
{
    const gops_pair_half low =
        ((gops_pair_half)(data << 16) >> 16) * ((gops_pair_half)(weight << 16) >> 16);
    const gops_pair_half high = ((gops_pair_half)data >> 16) * ((gops_pair_half)weight >> 16);
    return (gops_pair_bits)low + (gops_pair_bits)high;
}
#define GOPS_ADD_PAIRS(sum, data, weight)                                                          \
    ((sum) += (__typeof__(sum))gops_pair_products((gops_pair_bits)(data), (gops_pair_bits)(weight)))
#endif

#endif
