/* blas_threads.h: the tool is the host of its own process, and says how many threads its BLAS has.
 */
#ifndef GOPS_COMMON_BLAS_THREADS_H
#define GOPS_COMMON_BLAS_THREADS_H

#include <stdbool.h>

/* Makes each call of the BLAS run on the thread that calls it, for a BLAS with threads of its own:
 * the library spreads the work itself. */
void gops_blas_one_thread(void);

/* Whether the BLAS must not be called by two threads at once: OpenBLAS built for one thread has no
 * locks for its buffers. */
bool gops_blas_needs_lock(void);

#endif
