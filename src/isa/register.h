/* register.h: keeps the sums of a register tile in registers. */
#ifndef GOPS_ISA_REGISTER_H
#define GOPS_ISA_REGISTER_H

#include "isa/vector.h"

#if defined(GOPS_EMULATED_ISA)
/* Its vectors fit in no register. */
#elif defined(GOPS_MEMORY_SANITIZER)
/* It would take a vector in a register for a use of all lanes. */
#elif defined(__AVX512F__)
#define GOPS_VECTOR_REGISTER "v"
#elif defined(__x86_64__)
#define GOPS_VECTOR_REGISTER "x"
#elif defined(__aarch64__)
#define GOPS_VECTOR_REGISTER "w"
#endif

#ifdef GOPS_VECTOR_REGISTER
/* Keeps gcc from folding the load of x into each multiplication that uses it, which would load x as
 * often as the tile has rows. */
#define GOPS_IN_REGISTER(x) __asm__("" : "+" GOPS_VECTOR_REGISTER(x))
#else
#define GOPS_IN_REGISTER(x) (void)0
#endif

/* Keeps x in its register up to this point. Only with 32 registers: with 16, gcc spills sums
 * instead, and the tiles of direct convolution took 2.2 times as long with AVX2. */
#if defined(GOPS_VECTOR_REGISTER) && (defined(__AVX512F__) || defined(__aarch64__))
#define GOPS_STAYS(x) __asm__ volatile("" : : GOPS_VECTOR_REGISTER(x))
#else
#define GOPS_STAYS(x) (void)0
#endif

/* Makes the value of an integer unknown to the compiler. It then computes what depends on the
 * integer where it is used, instead of ahead into more registers than there are. */
#define GOPS_OPAQUE(integer) __asm__("" : "+r"(integer))

/* GOPS_INLINE begins the definition of a function whose sizes are to be constants where it is inlined;
 * GOPS_UNROLL, on a line of its own, unrolls the loop that follows. Without optimization neither gains
 * anything, and a sanitizer's checks in all the copies of a function take compilers minutes; nor does
 * emulated AMX, whose tests take as long, where the copies were 1.4 of 1.7 MB. */
#if defined(__OPTIMIZE__) && !defined(GOPS_EMULATED_ISA)
#define GOPS_INLINE static inline __attribute__((always_inline))
#ifdef __clang__
#define GOPS_UNROLL _Pragma("clang loop unroll(full)")
#else
#define GOPS_UNROLL _Pragma("GCC unroll 32")
#endif
#else
#define GOPS_INLINE static inline
#define GOPS_UNROLL
#endif

#endif
