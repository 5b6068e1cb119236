/* base/host_default.c: OpenMP and malloc as the hooks that the host did not lend. */
#include "base/host_default.h"

#include "base/error.h"
#include "base/locks.h"

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
     * GEMM (cblas.c) may change without the host seeing it. */
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

static gops_status check(const gops_host *host, gops_error *error)
{
    if (host->size != sizeof *host) {
        return gops_fail(error, GOPS_INVALID, "host.size is %zu; it must be %zu", host->size,
                         sizeof *host);
    }
    if ((host->allocate == NULL) != (host->release == NULL)) {
        return gops_fail(error, GOPS_INVALID, "host.%s is set without host.%s; they go together",
                         host->allocate != NULL ? "allocate" : "release",
                         host->allocate != NULL ? "release" : "allocate");
    }
    if (host->gemm != NULL && (host->gemm->size != sizeof *host->gemm ||
                               host->gemm->sgemm == NULL || host->gemm->dgemm == NULL)) {
        return gops_fail(error, GOPS_INVALID,
                         "host.gemm needs size %zu (it has %zu), an sgemm and a dgemm",
                         sizeof *host->gemm, host->gemm->size);
    }
    return GOPS_OK;
}

/* The default host, and its table in place of the pointer to one. */
typedef struct lent {
    gops_host host;
    gops_gemm gemm;
} lent;

static lent by_default;

static lent copy(const gops_host *host)
{
    lent copied = {.gemm = {.size = 0}};
    if (host != NULL) {
        copied.host = *host;
        if (host->gemm != NULL) {
            copied.gemm = *host->gemm;
        }
        copied.host.gemm = NULL; /* the caller's table may be gone when we come back to it */
    }
    return copied;
}

gops_status gops_set_default_host(const gops_host *host, gops_error *error)
{
    const gops_status status = host != NULL ? check(host, error) : GOPS_OK;
    if (status == GOPS_OK) {
        gops_lock(GOPS_LOCK_DEFAULT_HOST);
        by_default = copy(host);
        gops_unlock(GOPS_LOCK_DEFAULT_HOST);
    }
    return status;
}

gops_status gops_host_complete(const gops_host *host, gops_host *complete, gops_gemm *gemm,
                               gops_error *error)
{
    lent found;
    if (host != NULL) {
        const gops_status status = check(host, error);
        if (status != GOPS_OK) {
            return status;
        }
        found = copy(host);
    } else {
        gops_lock(GOPS_LOCK_DEFAULT_HOST);
        found = by_default;
        gops_unlock(GOPS_LOCK_DEFAULT_HOST);
    }
    *complete = found.host;
    *gemm = found.gemm;
    complete->size = sizeof *complete;
    if (complete->parallel_for == NULL) {
        complete->parallel_for = openmp_for;
    }
    if (complete->allocate == NULL) {
        complete->allocate = libc_allocate;
        complete->release = libc_release;
    }
    return GOPS_OK;
}
