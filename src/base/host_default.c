/* base/host_default.c: OpenMP and malloc as the hooks that the host did not lend. */
#include "base/host_default.h"

#include "base/error.h"

#include <omp.h>
#include <stdlib.h>

int gops_default_threads(void)
{
    return omp_get_max_threads();
}

static int openmp_for(void *context, void (*task)(void *argument, int64_t index), void *argument,
                      int64_t count)
{
    (void)context;
    /* A region even for one task: inside it the OpenMP settings are the task's own copy, which the
     * GEMM (gemm/cblas.c) may change without the host seeing it. */
#pragma omp parallel for schedule(static, 1) num_threads((int)count)
    for (int64_t i = 0; i < count; i++) {
        task(argument, i);
    }
    return 0;
}

static void *libc_allocate(void *context, size_t bytes, size_t alignment)
{
    (void)context;
    /* C11 asks for a size that is a multiple of the alignment. */
    if (bytes > SIZE_MAX - alignment) {
        return NULL;
    }
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void libc_release(void *context, void *memory)
{
    (void)context;
    free(memory);
}

gops_status gops_host_complete(const gops_host *host, gops_host *complete, gops_error *error)
{
    *complete = (gops_host){sizeof *complete, NULL, NULL, NULL, NULL, NULL, NULL};
    if (host != NULL) {
        if (host->size != sizeof *host) {
            return gops_fail(error, GOPS_INVALID, "host.size is %zu; it must be %zu", host->size,
                             sizeof *host);
        }
        if ((host->allocate == NULL) != (host->release == NULL)) {
            return gops_fail(error, GOPS_INVALID,
                             "host.%s is set without host.%s; they go together",
                             host->allocate != NULL ? "allocate" : "release",
                             host->allocate != NULL ? "release" : "allocate");
        }
        if (host->gemm != NULL && (host->gemm->size != sizeof *host->gemm ||
                                   host->gemm->sgemm == NULL || host->gemm->dgemm == NULL)) {
            return gops_fail(error, GOPS_INVALID,
                             "host.gemm needs size %zu (it has %zu), an sgemm and a dgemm",
                             sizeof *host->gemm, host->gemm->size);
        }
        *complete = *host;
    }
    if (complete->parallel_for == NULL) {
        complete->parallel_for = openmp_for;
    }
    if (complete->allocate == NULL) {
        complete->allocate = libc_allocate;
        complete->release = libc_release;
    }
    return GOPS_OK;
}
