/* mpi_support.h: what the tests over MPI have in common. */
#ifndef GROUPOPS_TEST_MPI_SUPPORT_H
#define GROUPOPS_TEST_MPI_SUPPORT_H

#include <groupops/mpi.h>

#include "harness.h"
#include "random_numbers.h"

/* The rank and the number of ranks of the program. */
extern int mpi_rank, mpi_ranks;

/* Runs the cases on all ranks, of which only the first prints the report; every rank has the
 * same seed. Returns what main returns: not 0 on all ranks where an assertion failed on any. */
int mpi_test_main(int *count, char ***words, const char *suite, const gops_test_case *cases);

/* Holds where it does on all ranks; those on which it does not print the text. */
int mpi_check(int holds, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A grid for all ranks, along axes drawn from images, groups and `axes` spatial ones. */
gops_mpi_grid mpi_random_grid(int32_t axes, gops_test_random *random);

/* The part of a tensor, in memory that the caller frees. */
void *mpi_cut(const gops_tensor *whole, const void *elements, const gops_mpi_part *part);

#endif
