/* base/host_default.h: a host with every hook in place, ours where the caller lent none. */
#ifndef GOPS_BASE_HOST_DEFAULT_H
#define GOPS_BASE_HOST_DEFAULT_H

#include <groupops/host.h>
#include <groupops/status.h>

/* Completes `host` (NULL: the default host, which may lend nothing) into *complete: all hooks set
 * but log, which may stay NULL, and gemm, which is NULL: the table goes to *gemm, whose functions
 * are NULL where none was lent. GOPS_INVALID: a size that no release had, allocate without release
 * or the reverse, a GEMM table with a hole. */
gops_status gops_host_complete(const gops_host *host, gops_host *complete, gops_gemm *gemm,
                               gops_error *error);

/* The number of threads that OpenMP would use here. */
int gops_default_threads(void);

/* methods/gemm/cblas.c: the linked CBLAS, which multiplies where the host lends nothing. */
extern const gops_gemm gops_cblas;

/* How many threads may call it at once. Debian's OpenBLAS has buffers for 128 and ends the process
 * at some 160; half of that leaves room for the host's own calls. */
enum { GOPS_CBLAS_CALLERS = 64 };

#endif
