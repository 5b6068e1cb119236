/* blas_threads.c: one thread for each call of the BLAS.
 *
 * The functions that say so differ, and the BLAS can be exchanged after the build, so they are
 * looked for when the program runs. */
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
static void find(const char *name, void *function_pointer)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    memcpy(function_pointer, &found, sizeof found);
}

void gops_blas_one_thread(void)
{
    get_int *parallel;
    set_int *openblas;
    set_dim *blis;
    find("openblas_get_parallel", &parallel);
    find("openblas_set_num_threads", &openblas);
    find("bli_thread_set_num_threads", &blis);
    /* OpenBLAS over OpenMP follows OpenMP's number, which is this function's to leave alone: it is
     * what the library and the measurement take as the default. */
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
    find("openblas_get_parallel", &parallel);
    return parallel != NULL && parallel() == OPENBLAS_SERIAL;
}
