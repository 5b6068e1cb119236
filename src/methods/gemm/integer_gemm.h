/* integer_gemm.h: the kernels by which integers are multiplied and summed. */
#ifndef GOPS_GEMM_INTEGER_GEMM_H
#define GOPS_GEMM_INTEGER_GEMM_H

#include <stdbool.h>
#include <stdint.h>

/* C = A B, or C += A B if `accumulate`, modulo 2^16, 2^32 or 2^64; row-major, as gops_sgemm_fn. */
typedef void gops_integer_gemm_fn(int64_t m, int64_t n, int64_t k, const void *a, int64_t lda,
                                  const void *b, int64_t ldb, bool accumulate, void *c,
                                  int64_t ldc);

#endif
