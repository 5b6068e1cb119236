/* integer_gemm.h: what integers need beside the BLAS. */
#ifndef GOPS_GEMM_INTEGER_GEMM_H
#define GOPS_GEMM_INTEGER_GEMM_H

#include <stdint.h>

/* C = A B, or C += A B where accumulate is not 0, modulo 2^32 or 2^64; row-major, as gops_sgemm_fn.
 */
typedef void gops_integer_gemm_fn(int64_t m, int64_t n, int64_t k, const void *a, int64_t lda,
                                  const void *b, int64_t ldb, int accumulate, void *c, int64_t ldc);

/* See gops_gemm_kernels. */
typedef void gops_wrap_fn(void *values, int64_t count, void *sums);

#endif
