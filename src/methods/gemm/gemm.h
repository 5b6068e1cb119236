/* gemm.h: the matrix product, whoever provides it. */
#ifndef GOPS_GEMM_H
#define GOPS_GEMM_H

#include <groupops/host.h>

#include "methods/gemm/gemm_kernels.h"

/* One product C = A B (+ C where accumulate is not 0), row-major, in a compute type; see host.h. */
typedef struct gops_product {
    int32_t m, n, k;
    const void *a;
    int32_t lda;
    const void *b;
    int32_t ldb;
    int accumulate;
    void *c;
    int32_t ldc;
} gops_product;

/* Floating point through the table, integers by our own kernel. */
void gops_gemm_run(const gops_gemm *gemm, const gops_kernels *kernels, gops_compute compute,
                   const gops_product *p);

/* How fast the table's products of a compute type are, where 1 is what the methods' estimates were
 * fitted with, OpenBLAS's Haswell kernels: from 0.07, the reference BLAS, to 1.9 by AVX-512. Of
 * integers, whose product is our own, and of a host's table, of which nothing is known, 1. The same
 * at every call. */
double gops_gemm_speed(const gops_gemm *gemm, gops_compute compute);

#endif
