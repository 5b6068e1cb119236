/*
 * libmvec.h: declares glibc's vector functions (libmvec, a part of libm on x86-64), so that the
 * compiler calls them in loops over the scalar ones. Their error is at most 4 units in the last
 * place. glibc's own header declares them only for programs that give up NaN and infinities, which
 * the functions do not need. Elsewhere, and with clang, which does not know the attribute, the
 * loops call libm.
 */
#ifndef GOPS_POST_OPS_LIBMVEC_H
#define GOPS_POST_OPS_LIBMVEC_H

#include <math.h>

/* Stands before such a loop. Without it gcc unrolls a short loop before it vectorises. */
#ifdef __clang__
#define GOPS_VECTOR_CALLS
#else
#define GOPS_VECTOR_CALLS _Pragma("GCC unroll 1")
#endif

#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
#if __GLIBC_PREREQ(2, 35)
#define GOPS_VECTOR_FUNCTION __attribute__((simd("notinbranch")))
extern GOPS_VECTOR_FUNCTION float expf(float);
extern GOPS_VECTOR_FUNCTION float tanhf(float);
extern GOPS_VECTOR_FUNCTION float erfcf(float);
extern GOPS_VECTOR_FUNCTION double exp(double);
extern GOPS_VECTOR_FUNCTION double tanh(double);
extern GOPS_VECTOR_FUNCTION double erfc(double);
#undef GOPS_VECTOR_FUNCTION
#endif
#endif

#endif
