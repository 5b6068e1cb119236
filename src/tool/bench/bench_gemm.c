/* bench_gemm.c: records the matrix products of one execution, and runs them again. */
#include "bench/bench_gemm.h"

#include "common/blas_threads.h"

#include <cblas.h>
#include <omp.h>
#include <stdlib.h>

void gops_gemm_trace_begin(gops_gemm_trace *trace)
{
    *trace = (gops_gemm_trace){.calls = NULL};
    pthread_mutex_init(&trace->lock, NULL);
}

void gops_gemm_trace_end(gops_gemm_trace *trace)
{
    pthread_mutex_destroy(&trace->lock);
    free(trace->calls);
}

void gops_gemm_trace_clear(gops_gemm_trace *trace)
{
    trace->count = 0;
    trace->threads = 0;
}

double gops_gemm_trace_longest(const gops_gemm_trace *trace)
{
    double longest = 0;
    for (int thread = 0; thread < trace->threads; thread++) {
        double sum = 0;
        for (size_t i = 0; i < trace->count; i++) {
            const gops_gemm_call *call = &trace->calls[i];
            if (call->thread == thread) {
                sum += (double)call->m * (double)call->n * (double)call->k;
            }
        }
        longest = sum > longest ? sum : longest;
    }
    return longest;
}

void gops_gemm_trace_swap(gops_gemm_trace *a, gops_gemm_trace *b)
{
    const gops_gemm_trace old = *a;
    a->calls = b->calls;
    a->count = b->count;
    a->capacity = b->capacity;
    a->threads = b->threads;
    b->calls = old.calls;
    b->count = old.count;
    b->capacity = old.capacity;
    b->threads = old.threads;
}

static void call_unlocked(const gops_gemm_call *call)
{
    if (call->element_bytes == sizeof(float)) {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, call->m, call->n, call->k, 1.0f,
                    call->a, call->lda, call->b, call->ldb, (float)call->beta, call->c, call->ldc);
    } else {
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, call->m, call->n, call->k, 1.0,
                    call->a, call->lda, call->b, call->ldb, call->beta, call->c, call->ldc);
    }
}

/* Where the BLAS must not be called by two threads at once, the library too calls it under a
 * lock. */
static void call_blas(const gops_gemm_call *call, bool locked)
{
    if (!locked) {
        call_unlocked(call);
        return;
    }
#pragma omp critical(gops_blas)
    call_unlocked(call);
}

/* The caller holds the lock. */
static bool append_call(gops_gemm_trace *trace, const gops_gemm_call *call)
{
    if (trace->count == trace->capacity) {
        const size_t capacity = trace->capacity * 2 + 64;
        gops_gemm_call *calls = realloc(trace->calls, capacity * sizeof *calls);
        if (calls == NULL) {
            return false;
        }
        trace->calls = calls;
        trace->capacity = capacity;
    }
    trace->calls[trace->count++] = *call;
    if (trace->threads <= call->thread) {
        trace->threads = call->thread + 1;
    }
    return true;
}

static void record_call(gops_gemm_trace *trace, const gops_gemm_call *call)
{
    pthread_mutex_lock(&trace->lock);
    trace->out_of_memory = !append_call(trace, call) || trace->out_of_memory;
    pthread_mutex_unlock(&trace->lock);
    call_blas(call, gops_blas_needs_lock());
}

static void record_f32(void *context, int32_t m, int32_t n, int32_t k, const float *a, int32_t lda,
                       const float *b, int32_t ldb, float beta, float *c, int32_t ldc)
{
    const gops_gemm_call call = {sizeof *c, omp_get_thread_num(), m, n, k, lda, ldb, ldc, a, b, c,
                                 beta};
    record_call(context, &call);
}

static void record_f64(void *context, int32_t m, int32_t n, int32_t k, const double *a, int32_t lda,
                       const double *b, int32_t ldb, double beta, double *c, int32_t ldc)
{
    const gops_gemm_call call = {sizeof *c, omp_get_thread_num(), m, n, k, lda, ldb, ldc, a, b, c,
                                 beta};
    record_call(context, &call);
}

gops_gemm gops_gemm_trace_table(gops_gemm_trace *trace)
{
    return (gops_gemm){sizeof(gops_gemm), record_f32, record_f64, trace};
}

void gops_gemm_trace_replay(const gops_gemm_trace *trace)
{
    if (trace->threads == 0) {
        return;
    }
    const bool locked = gops_blas_needs_lock() && trace->threads > 1;
#pragma omp parallel num_threads(trace->threads)
    {
        const int thread = omp_get_thread_num();
        /* A BLAS that uses OpenMP follows this setting, which ends with the parallel region. */
        omp_set_num_threads(1);
        for (size_t i = 0; i < trace->count; i++) {
            if (trace->calls[i].thread == thread) {
                call_blas(&trace->calls[i], locked);
            }
        }
    }
}
