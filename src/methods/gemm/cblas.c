/*
 * cblas.c: the CBLAS that the library is linked with, as a GEMM table.
 *
 * Several workers call the BLAS at the same time, each for a product of its own, so every call must
 * be safe beside others and stay on its thread. How to achieve that depends on the BLAS; README.md
 * beside this file has what was measured:
 *
 * OpenBLAS with OpenMP starts as many threads as omp_get_max_threads() says, also inside a parallel
 * region of one thread. That number belongs to the calling task, so setting it to 1 during the call
 * affects no other thread. OpenBLAS with pthreads has no setting for one call; the host sets
 * OPENBLAS_NUM_THREADS. The serial OpenBLAS has no locks around its buffers and gives wrong results
 * to two callers at once, so a lock admits one call at a time. The three builds share one soname,
 * so the library asks at run time which of them is loaded.
 *
 * BLIS takes its number of threads from the environment, or for one call by its own interface.
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
    /* BLIS 0.9 declares its input matrices without const. */
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
#include <stdbool.h>
#include <stdio.h>

/* The settings of one call, which end_call undoes. */
typedef struct call {
    int threads;
    bool locked;
} call;

static call begin_call(void)
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

static void end_call(call begun)
{
    if (begun.locked) {
        gops_unlock(GOPS_LOCK_SERIAL_BLAS);
    }
    if (begun.threads != 1) {
        omp_set_num_threads(begun.threads);
    }
}

/* OpenBLAS writes its text anew at each call, into the same memory. */
const char *gops_blas(void)
{
    static char name[256];
    gops_lock(GOPS_LOCK_SERIAL_BLAS);
    if (name[0] == '\0') {
        snprintf(name, sizeof name, "%s", openblas_get_config());
    }
    gops_unlock(GOPS_LOCK_SERIAL_BLAS);
    return name;
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

static call begin_call(void)
{
    return (call){0};
}

static void end_call(call begun)
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
    const call begun = begin_call();
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1.0f, a, lda, b, ldb, beta, c,
                ldc);
    end_call(begun);
}

static void cblas_f64(void *context, int32_t m, int32_t n, int32_t k, const double *a, int32_t lda,
                      const double *b, int32_t ldb, double beta, double *c, int32_t ldc)
{
    (void)context;
    const call begun = begin_call();
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1.0, a, lda, b, ldb, beta, c,
                ldc);
    end_call(begun);
}

#endif

const gops_gemm gops_cblas = {sizeof(gops_gemm), cblas_f32, cblas_f64, NULL};
