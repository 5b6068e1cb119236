/* bench_gemm.h: records the matrix products of one execution, and runs them again by themselves. */
#ifndef GOPS_BENCH_GEMM_H
#define GOPS_BENCH_GEMM_H

#include "common/tool_error.h"

#include <groupops/host.h>

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gops_gemm_call {
    size_t element_bytes; /* 4: sgemm, 8: dgemm */
    int thread;           /* OpenMP's number of the thread that made it */
    int32_t m, n, k;
    int32_t lda, ldb, ldc;
    const void *a;
    const void *b;
    void *c;
    double beta;
} gops_gemm_call;

typedef struct gops_gemm_trace {
    pthread_mutex_t lock;
    gops_gemm_call *calls;
    size_t count;
    size_t capacity;
    int threads;        /* the largest `thread` of a call plus 1; 0 without calls */
    bool out_of_memory; /* a call is missing */
} gops_gemm_trace;

void gops_gemm_trace_begin(gops_gemm_trace *trace);
void gops_gemm_trace_end(gops_gemm_trace *trace);

/* Forgets the calls. */
void gops_gemm_trace_clear(gops_gemm_trace *trace);

/* The number of multiplications of the thread that has most of them. */
double gops_gemm_trace_longest(const gops_gemm_trace *trace);

/* Exchanges the calls of two traces. */
void gops_gemm_trace_swap(gops_gemm_trace *a, gops_gemm_trace *b);

/* A GEMM table that runs the product by the BLAS and appends it to the trace. */
gops_gemm gops_gemm_trace_table(gops_gemm_trace *trace);

/* Repeats the calls on the same memory, which must still exist, with the same number of threads;
 * each thread repeats its own calls in their order. Afterwards the contents of C are
 * meaningless. */
void gops_gemm_trace_replay(const gops_gemm_trace *trace);

#endif
