/* blas_threads.c: one thread for each call of the BLAS.
 *
 * Each BLAS has its own function for this, and the BLAS can be exchanged after the build, so the
 * functions are looked up when the program runs. */
#include "common/blas_threads.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef void set_int(int threads);
typedef void set_dim(int64_t threads); /* BLIS's dim_t */
typedef int get_int(void);

/* What openblas_get_parallel returns. */
enum { OPENBLAS_SERIAL = 0, OPENBLAS_WITH_OPENMP = 2 };

/* ISO C has no conversion of a data pointer to a function's. */
static void find_symbol(const char *name, void *function_pointer)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    memcpy(function_pointer, &found, sizeof found);
}

void gops_blas_one_thread(void)
{
    get_int *parallel;
    set_int *openblas;
    set_dim *blis;
    find_symbol("openblas_get_parallel", &parallel);
    find_symbol("openblas_set_num_threads", &openblas);
    find_symbol("bli_thread_set_num_threads", &blis);
    /* OpenBLAS built with OpenMP follows OpenMP's number of threads. That number must not change:
     * it is the default of the library and of the benchmark. */
    if (openblas != NULL && parallel != NULL && parallel() != OPENBLAS_WITH_OPENMP) {
        openblas(1);
    }
    if (blis != NULL) {
        blis(1);
    }
}

bool gops_blas_needs_lock(void)
{
    get_int *parallel;
    find_symbol("openblas_get_parallel", &parallel);
    return parallel != NULL && parallel() == OPENBLAS_SERIAL;
}
