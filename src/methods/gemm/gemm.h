/* gemm.h: the matrix product, by the linked BLAS, the host's GEMM or our integer kernel. */
#ifndef GOPS_GEMM_H
#define GOPS_GEMM_H

#include <groupops/host.h>

#include <stdbool.h>

#include "methods/gemm/gemm_kernels.h"
#include "plan/plan.h"

enum {
    /* A block has at least this many columns if the matrix has. The GEMM packs the filter for each
     * block, which costs too much for fewer (M 64, K 576 on a Zen 5: 20% at 128 columns). */
    GOPS_GEMM_MIN_COLUMNS = 384,
    /* More columns than this are not faster, and fewer work items are harder to balance. */
    GOPS_GEMM_MAX_COLUMNS = 2048,
    /* Blocks are multiples of a GEMM's register tile. */
    GOPS_GEMM_COLUMN_STEP = 48,
    /* The largest size and leading dimension that every BLAS takes. */
    GOPS_GEMM_MAX_SIZE = INT32_MAX - 64,
};

/* One product C = A B, or C += A B, of row-major matrices in a compute type; see host.h. */
typedef struct gops_product {
    int32_t m, n, k;
    const void *a;
    int32_t lda;
    const void *b;
    int32_t ldb;
    bool accumulate; /* C += A B */
    void *c;
    int32_t ldc;
} gops_product;

/* Floating point products go through the GEMM table, integer products to integer_gemm.inc.h. */
void gops_gemm_run(const gops_gemm *gemm, const gops_kernels *kernels, gops_compute compute,
                   const gops_product *p);

/* What multiplies matrices of a compute type, for messages. */
const char *gops_gemm_name(gops_compute compute);

/* Subtracts the filter's zero points, NULL for none, from packed weights: C_IN * taps values of 32
 * bits for one output channel after the other. */
void gops_gemm_subtract_zero_points(const gops_plan *plan, const int32_t *zero_points,
                                    void *packed);

/* How fast the plan's GEMM multiplies in its compute type, relative to the BLAS that the methods'
 * estimates were fitted with (OpenBLAS's Haswell kernels): from 0.07 for the reference BLAS to 1.9
 * for AVX-512. Integers, which our own kernel multiplies, and a host's GEMM, whose speed is
 * unknown, have 1, but quantized plans less. Every call for a plan returns the same. */
double gops_gemm_speed(const gops_plan *plan);

#endif
