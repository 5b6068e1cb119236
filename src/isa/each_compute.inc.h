/*
 * isa/each_compute.inc.h: includes a template for each compute type.
 *
 * Parameters:
 *
 *   EACH_COMPUTE   string: the template, in which are defined:
 *
 *       C                type: the compute type
 *       LANES            int: the elements of a vector register
 *       NAME(symbol)     puts the type's name in front of a symbol
 *       LOW, HIGH, EVEN, EVEN_ODD
 *                        lists of LANES indices for __builtin_shufflevector (lanes.h)
 *       REGISTER, MASK, INTRINSIC(operation)
 *                        with AVX-512: the types of a register and of a mask of its lanes; the
 *                        intrinsic function of an operation
 *
 *   EACH_INTEGER   optional: if defined, also for the integers modulo 2^16, 2^32 and 2^64
 */
#include "isa/lanes.h"

#define C float
#define LANES LANES_OF_4
#define NAME(symbol) f32_##symbol
#if GOPS_VECTOR_BYTES == 64
#define REGISTER __m512
#define MASK __mmask16
#define INTRINSIC(operation) _mm512_##operation##_ps
#endif
#include "isa/one_compute.inc.h"

#define C double
#define LANES LANES_OF_8
#define NAME(symbol) f64_##symbol
#if GOPS_VECTOR_BYTES == 64
#define REGISTER __m512d
#define MASK __mmask8
#define INTRINSIC(operation) _mm512_##operation##_pd
#endif
#include "isa/one_compute.inc.h"

#ifdef EACH_INTEGER
#define C uint16_t
#define LANES LANES_OF_2
#define NAME(symbol) u16_##symbol
#if GOPS_VECTOR_BYTES == 64
#define REGISTER __m512i
#define MASK __mmask32
#define INTRINSIC(operation) _mm512_##operation##_epi16
#endif
#include "isa/one_compute.inc.h"

#define C uint32_t
#define LANES LANES_OF_4
#define NAME(symbol) u32_##symbol
#if GOPS_VECTOR_BYTES == 64
#define REGISTER __m512i
#define MASK __mmask16
#define INTRINSIC(operation) _mm512_##operation##_epi32
#endif
#include "isa/one_compute.inc.h"

#define C uint64_t
#define LANES LANES_OF_8
#define NAME(symbol) u64_##symbol
#if GOPS_VECTOR_BYTES == 64
#define REGISTER __m512i
#define MASK __mmask8
#define INTRINSIC(operation) _mm512_##operation##_epi64
#endif
#include "isa/one_compute.inc.h"
#endif
