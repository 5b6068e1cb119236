/*
 * lent_host.h: a host for a whole test program, for tools that only know what was built for them.
 *
 * GROUPOPS_TEST_HOST=threads: plans whose options name no host run on POSIX threads, one for each
 * piece of work, in place of OpenMP's. GROUPOPS_TEST_HOST=own: and multiply by a plain loop, in
 * place of the BLAS, so that nothing runs that the compiler's sanitizer did not see: what a program
 * built for MemorySanitizer does of itself, as some kernels of a BLAS clear C by code that it
 * follows, and others do not.
 */
#ifndef GROUPOPS_TEST_LENT_HOST_H
#define GROUPOPS_TEST_LENT_HOST_H

#include <groupops/host.h>

/* Sets what the environment asks for. Ends the program where that is not known. */
void gops_test_host_from_environment(void);

/* What it multiplies by, for a test with hosts of its own: results have the bits of one GEMM. NULL:
 * the library's BLAS. */
const gops_gemm *gops_test_host_gemm(void);

/* A parallel_for by POSIX threads: one for each index but the first, so that all that may run at once
 * does. */
int gops_test_threads_for(void *context, void (*task)(void *argument, int64_t index),
                          void *argument, int64_t count);

/* One by which the calling thread makes all calls in turn. */
int gops_test_in_turn_for(void *context, void (*task)(void *argument, int64_t index),
                          void *argument, int64_t count);

/* Plain loops, always. */
const gops_gemm *gops_test_own_gemm(void);

#endif
