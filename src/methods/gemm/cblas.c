/*
 * cblas.c: the CBLAS that the library is linked with, as a GEMM table.
 *
 * Our threads call the BLAS side by side, each for a product of its own, so it must stay on the
 * calling thread, and must bear being called by several. How the BLASes of Debian 12 behave was
 * measured (methods/gemm/README.md):
 *
 * OpenBLAS with OpenMP starts as many threads as OpenMP would, also inside a parallel region of
 * one. That number is the calling task's own, so that setting it to 1 for the time of the call
 * disturbs nobody. With pthreads nothing can be said per call; the host sets OPENBLAS_NUM_THREADS.
 * The serial build is made without locks around its buffers and gives wrong results to two callers
 * at once: it gets one at a time. Which of them it is, is asked at run time: they share one soname.
 *
 * BLIS takes its number of threads from the environment, or per call through its own interface.
 */
#include "base/host_default.h"

#include <groupops/plan.h>

#include <cblas.h>

#if defined(GOPS_BLAS_BLIS)
#include <blis.h>

static void cblas_f32(void *context, int32_t m, int32_t n, int32_t k, const float *a, int32_t lda,
                      const float *b, int32_t ldb, float beta, float *c, int32_t ldc)
{
    (void)context;
    rntm_t threads;
    float one = 1;
    bli_rntm_init(&threads);
    bli_rntm_set_num_threads(1, &threads);
    /* BLIS 0.9 declares what it only reads without const. */
    bli_sgemm_ex(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, m, n, k, &one, (float *)(uintptr_t)a, lda, 1,
                 (float *)(uintptr_t)b, ldb, 1, &beta, c, ldc, 1, NULL, &threads);
}

static void cblas_f64(void *context, int32_t m, int32_t n, int32_t k, const double *a, int32_t lda,
                      const double *b, int32_t ldb, double beta, double *c, int32_t ldc)
{
    (void)context;
    rntm_t threads;
    double one = 1;
    bli_rntm_init(&threads);
    bli_rntm_set_num_threads(1, &threads);
    bli_dgemm_ex(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, m, n, k, &one, (double *)(uintptr_t)a, lda,
                 1, (double *)(uintptr_t)b, ldb, 1, &beta, c, ldc, 1, NULL, &threads);
}

const char *gops_blas(void)
{
    return bli_info_get_version_str();
}

const char *gops_blas_core(void)
{
    return bli_arch_string(bli_arch_query_id());
}

#else

#if defined(GOPS_BLAS_OPENBLAS)
#include "base/locks.h"

#include <omp.h>

/* What `end` must undo. */
typedef struct call {
    int threads;
    int locked;
} call;

static call begin(void)
{
    const call begun = {omp_get_max_threads(), openblas_get_parallel() == OPENBLAS_SEQUENTIAL};
    if (begun.threads != 1) {
        omp_set_num_threads(1);
    }
    if (begun.locked) {
        gops_lock(GOPS_LOCK_SERIAL_BLAS);
    }
    return begun;
}

static void end(call begun)
{
    if (begun.locked) {
        gops_unlock(GOPS_LOCK_SERIAL_BLAS);
    }
    if (begun.threads != 1) {
        omp_set_num_threads(begun.threads);
    }
}

const char *gops_blas(void)
{
    return openblas_get_config();
}

const char *gops_blas_core(void)
{
    return openblas_get_corename();
}

#else

/* The reference BLAS keeps no state and starts no threads. */
typedef struct call {
    int nothing;
} call;

static call begin(void)
{
    return (call){0};
}

static void end(call begun)
{
    (void)begun;
}

const char *gops_blas(void)
{
    return "reference BLAS";
}

const char *gops_blas_core(void)
{
    return "reference";
}

#endif

static void cblas_f32(void *context, int32_t m, int32_t n, int32_t k, const float *a, int32_t lda,
                      const float *b, int32_t ldb, float beta, float *c, int32_t ldc)
{
    (void)context;
    const call begun = begin();
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1.0f, a, lda, b, ldb, beta, c,
                ldc);
    end(begun);
}

static void cblas_f64(void *context, int32_t m, int32_t n, int32_t k, const double *a, int32_t lda,
                      const double *b, int32_t ldb, double beta, double *c, int32_t ldc)
{
    (void)context;
    const call begun = begin();
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1.0, a, lda, b, ldb, beta, c,
                ldc);
    end(begun);
}

#endif

const gops_gemm gops_cblas = {sizeof(gops_gemm), cblas_f32, cblas_f64, NULL};
