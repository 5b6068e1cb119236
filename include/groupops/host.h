/**
 * @file
 * groupops/host.h: what a host can lend the library in place of its own threads, memory and BLAS.
 *
 * All of it is optional. A plan copies the gops_host it is given (and the GEMM table it points to),
 * so the struct may live on the stack; the functions and their contexts must outlive the plan and
 * what is made with it: filters, reshapes, parts, caches. Choices keep their host, too. Every hook may
 * be called from several threads at once: by all that call the library, the GEMMs also by those of
 * parallel_for.
 *
 * After a fork, the child may execute plans of one thread and plans whose host lends a parallel_for
 * that works there. GCC's OpenMP does not survive the fork of a process that has used it: a plan of
 * several threads over it hangs in the child (LLVM's OpenMP starts anew). No lock of the library is
 * held in the child, whatever other threads were doing: fork waits until they are out of them, by
 * pthread_atfork; vfork, _Fork and a bare clone do not. After dlclose the shared
 * library stays in memory (-z nodelete), since the threads of OpenMP and of the BLAS do; it may be
 * loaded again.
 *
 * Waiting. A call ends when the last of its threads does, so a thread that another process keeps from
 * running holds up all of them. OpenMP's threads wait by spinning, GCC's for milliseconds at a time
 * (OMP_WAIT_POLICY=passive has them sleep at once), which takes cores from the others besides. Over
 * OpenMP the library therefore works with one thread for up to 0.2 s after two calls in which a thread
 * came 0.5 ms late, and then tries all again. A host that shares its cores lends threads of its own
 * which spin for some 20 us at most and then sleep, and gives plans no more threads than there are
 * cores for them. A parallel_for may make all calls on one thread whenever it likes: the result has
 * the same bits.
 */
#ifndef GROUPOPS_HOST_H
#define GROUPOPS_HOST_H

#include <stddef.h>
#include <stdint.h>

#include <groupops/sized.h>
#include <groupops/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One matrix product in row-major storage, C = A B + beta C, with A m x k, B k x n, C m x n and
 * beta 0 or 1; with beta 0, C may hold anything, NaN included. lda, ldb and ldc are the elements from
 * a row to the next. It must run on the calling thread
 * alone, and give the same bits for the same arguments. */
typedef void gops_sgemm_fn(void *context, int32_t m, int32_t n, int32_t k, const float *a,
                           int32_t lda, const float *b, int32_t ldb, float beta, float *c,
                           int32_t ldc);
typedef void gops_dgemm_fn(void *context, int32_t m, int32_t n, int32_t k, const double *a,
                           int32_t lda, const double *b, int32_t ldb, double beta, double *c,
                           int32_t ldc);

/** Both functions are needed, also by an engine that has f32 alone. */
typedef struct gops_gemm {
    size_t size; /**< sizeof(gops_gemm): groupops/sized.h */
    gops_sgemm_fn *sgemm;
    gops_dgemm_fn *dgemm;
    void *context; /**< passed to both */
} gops_gemm;

#define GOPS_GEMM_INIT GOPS_SIZED_INIT(gops_gemm)

/** A parallel version of
 *     for (int64_t i = 0; i < count; i++) task(argument, i);
 * that returns 0 when every call was made, in any order, on any threads, one after another or at
 * once, and has returned; anything else when that could not be done: no call may be running then
 * either, and gops_execute returns GOPS_HOST_FAILED. count is at most the plan's threads. */
typedef int gops_parallel_for_fn(void *context, void (*task)(void *argument, int64_t index),
                                 void *argument, int64_t count);

/** `bytes` bytes (more than 0) at a multiple of `alignment` (a power of two, 64 to 4096), or NULL. `bytes` may be no
 * multiple of it, which C11's aligned_alloc asks for. */
typedef void *gops_allocate_fn(void *context, size_t bytes, size_t alignment);
/** Gives back what gops_allocate_fn returned; never called with NULL. */
typedef void gops_release_fn(void *context, void *memory);

/** One line of text, without a newline, which lasts as long as the call: what was chosen for a plan, and
 * why. Called where a plan is made, also by gops_plan_reshape, _part and _cache_get. */
typedef void gops_log_fn(void *context, const char *line);

typedef struct gops_host {
    size_t size; /**< sizeof(gops_host): groupops/sized.h */
    /** NULL: the CBLAS that the library was linked with. The algorithm `gemm` multiplies by it; all
     * others have kernels of their own. */
    const gops_gemm *gemm;
    gops_parallel_for_fn *parallel_for; /**< NULL: OpenMP; the section on waiting above */
    gops_allocate_fn *allocate;         /**< NULL: the C library; given together with release */
    gops_release_fn *release;
    gops_log_fn *log; /**< NULL: silence */
    void *context;    /**< passed to all but the GEMMs */
} gops_host;

#define GOPS_HOST_INIT GOPS_SIZED_INIT(gops_host)

/** The host of plans made from now on whose options name none; NULL: none, as before the first call.
 * A plan whose options do name a host has nothing of this one. It is for the program to set,
 * once, at its start: a library that calls it decides for all others in the process. Copied, with
 * its GEMM table; plans keep what they were made with. May be called from any thread.
 * GOPS_INVALID: a size that is not taken (groupops/sized.h), allocate without release or the reverse,
 * a GEMM table with a hole. */
GOPS_API gops_status gops_set_default_host(const gops_host *host, gops_error *error);

#ifdef __cplusplus
}
#endif

#endif
