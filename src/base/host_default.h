/* base/host_default.h: completes a host: hooks that the caller left out become ours. */
#ifndef GOPS_BASE_HOST_DEFAULT_H
#define GOPS_BASE_HOST_DEFAULT_H

#include <groupops/host.h>
#include <groupops/status.h>

/* Completes `host` (NULL: the default host, which may lend nothing) into *complete: all hooks set
 * but log, which may stay NULL, and gemm, which is NULL: the table goes to *gemm, whose functions
 * are NULL where the host has none. GOPS_INVALID: a size that no release had, allocate without
 * release or the reverse, a GEMM table with a hole. */
gops_status gops_host_complete(const gops_host *host, gops_host *complete, gops_gemm *gemm,
                               gops_error *error);

/* The number of threads that OpenMP would use here. */
int gops_default_threads(void);

/* methods/gemm/cblas.c: the linked CBLAS, which multiplies if the host has no GEMM. */
extern const gops_gemm gops_cblas;

/* How many threads may call it at once. Debian's OpenBLAS supports 128 threads and ends the process
 * beyond that; half of them are left for the host's own calls. */
enum { GOPS_CBLAS_CALLERS = 64 };

#endif
