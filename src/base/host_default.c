/* base/host_default.c: OpenMP and the C library for the hooks that a host leaves out. */
#define _DEFAULT_SOURCE /* madvise */

#include "base/host_default.h"

#include "base/checked.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/sized.h"
#include "base/locks.h"

#include <errno.h>
#include <omp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

int gops_default_threads(void)
{
    return omp_get_max_threads();
}

/* Until then, in ns of the clock, calls are made by one thread: openmp_for. */
static _Atomic int64_t alone_until;

/* Whether the last call that was not made by one thread waited too long. */
static atomic_bool waited_before;

enum { LONG_NS = 500000 }; /* beyond it a thread has not come late by chance */

/* For how many times as long as the last call that waited the library works alone. */
static atomic_int alone_times = 1;

/* Works alone after a call that took so long, and for twice as long each time that the next try waits, too. */
static void rest(int64_t end, int64_t took)
{
    enum { MAX_TIMES = 16, MAX_NS = 200000000 };
    const int times = atomic_load_explicit(&alone_times, memory_order_relaxed);
    atomic_store_explicit(&alone_until, end + gops_min(times * took, MAX_NS), memory_order_relaxed);
    atomic_store_explicit(&alone_times, (int)gops_min(2 * times, MAX_TIMES), memory_order_relaxed);
}

/* OpenMP's threads wait for each other by spinning, GCC's for milliseconds. If another process has a core, a thread may
 * wait for its turn much longer than a call takes, and all others wait for that thread: a layer of 0.2 ms took 12 to
 * 32.
 *
 * Threads take work from each other, so a call waited too long if a thread began late, or if the calling thread waited
 * longer than it worked. After two such calls in a row the calling thread works alone for a while, in which the others
 * go to sleep. Then they are tried again; where they always wait, one call in some sixteen is lost.
 *
 * A few calls may also wait for what has just ended: the threads of another library spin on for a millisecond. Alone, a
 * layer takes twice its time, so the first whiles are short. The result is the same. */
static int openmp_for(void *context, void (*task)(void *argument, int64_t index), void *argument,
                      int64_t count)
{
    (void)context;
    const int64_t start = gops_now_ns();
    const bool alone = start < atomic_load_explicit(&alone_until, memory_order_relaxed);
    int64_t done = start;
    atomic_bool late = false;
    /* A parallel region even for one task: inside it a task has its own copy of OpenMP's settings,
     * which cblas.c changes; the host's stay as they are. */
#pragma omp parallel for schedule(static, 1) num_threads(alone ? 1 : (int)count)
    for (int64_t i = 0; i < count; i++) {
        if (i == omp_get_thread_num() && !alone && gops_now_ns() - start > LONG_NS) {
            atomic_store_explicit(&late, true, memory_order_relaxed);
        }
        task(argument, i);
        if (i == 0) { /* on the calling thread */
            done = gops_now_ns();
        }
    }
    if (!alone && count > 1) {
        const int64_t end = gops_now_ns(), waited = end - done;
        const bool waits = atomic_load_explicit(&late, memory_order_relaxed) ||
                           (waited > LONG_NS && waited > done - start);
        if (atomic_exchange_explicit(&waited_before, waits, memory_order_relaxed) && waits) {
            rest(end, end - start);
        } else if (!waits) {
            const int times = atomic_load_explicit(&alone_times, memory_order_relaxed);
            if (times > 1) {
                atomic_store_explicit(&alone_times, times / 2, memory_order_relaxed);
            }
        }
    }
    return 0;
}

enum { HUGE_PAGE = 2 << 20, HUGE_FROM = 4 << 20 };

static void *libc_allocate(void *context, size_t bytes, size_t alignment)
{
    (void)context;
    /* C11 requires a size that is a multiple of the alignment. */
    if (bytes > SIZE_MAX - alignment) {
        return NULL;
    }
    /* Large filters are read once by each execution, in order: with pages of 4 KB, looking up the
     * pages took 5% to 12% of that (Intel Xeon with AMX, in a virtual machine). */
    const bool huge = bytes >= HUGE_FROM && bytes <= SIZE_MAX - HUGE_PAGE;
    const size_t unit = huge && alignment < HUGE_PAGE ? HUGE_PAGE : alignment;
    const size_t size = (bytes + unit - 1) / unit * unit;
    void *memory = aligned_alloc(unit, size);
#ifdef MADV_HUGEPAGE
    if (huge && memory != NULL) {
        const int kept = errno;
        madvise(memory, size, MADV_HUGEPAGE); /* without them all is as before */
        errno = kept;
    }
#endif
    return memory;
}

static void libc_release(void *context, void *memory)
{
    (void)context;
    free(memory);
}

/* A host, and a copy of the GEMM table to which it points. */
typedef struct lent {
    gops_host host;
    gops_gemm gemm;
} lent;

/* Reads the caller's host and its GEMM table. */
static gops_status read_host(const gops_host *given, lent *read, gops_error *error)
{
    gops_host *host = &read->host;
    GOPS_TRY(gops_sized_read(&gops_sized_host, given, host, error));
    if ((host->allocate == NULL) != (host->release == NULL)) {
        return gops_fail(error, GOPS_INVALID, "host.%s is set without host.%s; they go together",
                         host->allocate != NULL ? "allocate" : "release",
                         host->allocate != NULL ? "release" : "allocate");
    }
    if (host->gemm == NULL) {
        return GOPS_OK;
    }
    GOPS_TRY(gops_sized_read(&gops_sized_gemm, host->gemm, &read->gemm, error));
    host->gemm = NULL; /* the caller's table may not outlive this call */
    if (read->gemm.sgemm == NULL || read->gemm.dgemm == NULL) {
        return gops_fail(error, GOPS_INVALID, "host.gemm.%s is NULL",
                         read->gemm.sgemm == NULL ? "sgemm" : "dgemm");
    }
    return GOPS_OK;
}

static lent by_default;

gops_status gops_set_default_host(const gops_host *host, gops_error *error)
{
    lent read = {.gemm = {.size = 0}};
    if (host != NULL) {
        GOPS_TRY(read_host(host, &read, error));
    }
    gops_lock(GOPS_LOCK_DEFAULT_HOST);
    by_default = read;
    gops_unlock(GOPS_LOCK_DEFAULT_HOST);
    return GOPS_OK;
}

gops_status gops_host_complete(const gops_host *host, gops_host *complete, gops_gemm *gemm,
                               gops_error *error)
{
    lent found = {.gemm = {.size = 0}};
    if (host != NULL) {
        GOPS_TRY(read_host(host, &found, error));
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
