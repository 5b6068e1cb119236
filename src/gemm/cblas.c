/* gemm/cblas.c: the CBLAS that the library is linked with, as a GEMM table. */
#include "gemm/gemm.h"

#include <groupops/plan.h>

#include <cblas.h>
#include <omp.h>

/* Our threads call the BLAS side by side, each for a product of its own, so the BLAS must stay on
 * the calling thread. OpenBLAS and BLIS built with OpenMP start as many threads as OpenMP would:
 * the setting is the calling task's own, so that 1 for the time of the call disturbs nobody.
 * README, "What a host must know about its BLAS", says how the other builds behave. */
static int one_thread_begin(void)
{
    int before = omp_get_max_threads();
    if (before != 1) {
        omp_set_num_threads(1);
    }
    return before;
}

static void one_thread_end(int before)
{
    if (before != 1) {
        omp_set_num_threads(before);
    }
}

static void cblas_f32(void *context, int32_t m, int32_t n, int32_t k, const float *a, int32_t lda,
                      const float *b, int32_t ldb, float beta, float *c, int32_t ldc)
{
    (void)context;
    int before = one_thread_begin();
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1.0f, a, lda, b, ldb, beta, c,
                ldc);
    one_thread_end(before);
}

static void cblas_f64(void *context, int32_t m, int32_t n, int32_t k, const double *a, int32_t lda,
                      const double *b, int32_t ldb, double beta, double *c, int32_t ldc)
{
    (void)context;
    int before = one_thread_begin();
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1.0, a, lda, b, ldb, beta, c,
                ldc);
    one_thread_end(before);
}

const gops_gemm gops_cblas = {sizeof(gops_gemm), cblas_f32, cblas_f64, NULL};

const char *gops_blas(void)
{
#if defined(GOPS_BLAS_OPENBLAS)
    return openblas_get_config();
#elif defined(GOPS_BLAS_BLIS)
    return "BLIS";
#else
    return "reference BLAS";
#endif
}
