/* blas_threads.h: the tool is the host of its own process, and says how many threads its BLAS has.
 */
#ifndef GOPS_TOOL_BLAS_THREADS_H
#define GOPS_TOOL_BLAS_THREADS_H

/* Makes each call of the BLAS run on the thread that calls it, for a BLAS with threads of its own:
 * the library spreads the work itself. */
void gops_blas_one_thread(void);

#endif
