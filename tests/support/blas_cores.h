/* blas_cores.h: the processors whose kernels OpenBLAS can be told to run, by OPENBLAS_CORETYPE. */
#ifndef GROUPOPS_TEST_BLAS_CORES_H
#define GROUPOPS_TEST_BLAS_CORES_H

typedef struct gops_test_core {
    const char *name; /* as OpenBLAS has it */
    const char
        *lacks; /* what its kernels take and this processor does not have; NULL: it runs them */
} gops_test_core;

/* By number, from 0, narrowest vectors first; the name is NULL beyond the last. There are none
 * where `blas`, as gops_blas() tells it, does not choose among kernels when it is loaded. */
gops_test_core gops_test_core_at(const char *blas, int index);

#endif
