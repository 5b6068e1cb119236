/* register.h: what keeps a tile of sums in registers. */
#ifndef GOPS_ISA_REGISTER_H
#define GOPS_ISA_REGISTER_H

#if defined(__AVX512F__)
#define GOPS_VECTOR_REGISTER "v"
#elif defined(__x86_64__)
#define GOPS_VECTOR_REGISTER "x"
#elif defined(__aarch64__)
#define GOPS_VECTOR_REGISTER "w"
#endif

#ifdef GOPS_VECTOR_REGISTER
/* Keeps gcc from folding a load into each of the multiplications that use it, which would make as
 * many loads of it as there are rows in a tile. */
#define GOPS_IN_REGISTER(x) __asm__("" : "+" GOPS_VECTOR_REGISTER(x))
#else
#define GOPS_IN_REGISTER(x) (void)0
#endif

/* Keeps a value's register from being taken for something else before this, where there are 32 of
 * them: with 16 gcc spills sums instead, and the strips of AVX2 took 2.2 times as long. */
#if defined(__AVX512F__) || defined(__aarch64__)
#define GOPS_STAYS(x) __asm__ volatile("" : : GOPS_VECTOR_REGISTER(x))
#else
#define GOPS_STAYS(x) (void)0
#endif

/* Keeps the compiler from computing things of an integer ahead, to keep in more registers than
 * there are. */
#define GOPS_OPAQUE(integer) __asm__("" : "+r"(integer))

#ifdef __clang__
#define GOPS_UNROLL _Pragma("unroll")
#else
#define GOPS_UNROLL _Pragma("GCC unroll 32")
#endif

#endif
