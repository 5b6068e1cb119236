/* blas_threads.h: how many threads the BLAS has, which the tool decides as the host of the library.
 */
#ifndef GOPS_COMMON_BLAS_THREADS_H
#define GOPS_COMMON_BLAS_THREADS_H

#include <stdbool.h>

/* Makes a BLAS with threads of its own compute each call on the calling thread: the library divides
 * the work among threads itself. */
void gops_blas_one_thread(void);

/* Whether the BLAS must not be called by two threads at once: OpenBLAS built for one thread has no
 * locks for its buffers. */
bool gops_blas_needs_lock(void);

#endif
