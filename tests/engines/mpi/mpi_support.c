/* mpi_support.c: what the tests over MPI have in common. */
#include "mpi_support.h"

#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elements.h"

int mpi_rank, mpi_ranks;

int mpi_check(int holds, const char *format, ...)
{
    char text[2048];
    int all;
    MPI_Request request;
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    if (!holds) {
        fprintf(stderr, "rank %d: %s\n", mpi_rank, text);
        fflush(stderr);
    }
    holds = holds != 0;
    MPI_Iallreduce(&holds, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD, &request);
    for (int done = 0; !done; sched_yield())
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    return gops_test_check(all, "%s", holds ? "another rank's, on standard error" : text);
}

gops_mpi_grid mpi_random_grid(int32_t axes, gops_test_random *random)
{
    int64_t sizes[2 + GOPS_MAX_SPATIAL];
    int rest = mpi_ranks;
    for (int i = 0; i < 2 + GOPS_MAX_SPATIAL; i++)
        sizes[i] = 1;
    for (int factor = 2; rest > 1; factor++)
        for (; rest % factor == 0; rest /= factor) {
            /* Space is where the work is. */
            const int64_t low = axes > 0 && gops_test_random_chance(random, 70) ? 2 : 0;
            sizes[gops_test_random_range(random, low, 1 + axes)] *= factor;
        }
    gops_mpi_grid grid;
    memset(&grid, 0, sizeof grid); /* the bytes between its fields, so that grids can be compared */
    grid.batch = (int32_t)sizes[0];
    grid.groups = (int32_t)sizes[1];
    grid.space.count = axes;
    memcpy(grid.space.values, sizes + 2, sizeof grid.space.values);
    return grid;
}

void *mpi_cut(const gops_tensor *whole, const void *elements, const gops_mpi_part *part)
{
    return gops_test_cut(whole, elements, part->offset, part->shape.dims);
}

int mpi_test_main(int *count, char ***words, const char *suite, const gops_test_case *cases)
{
    int provided, result, all;
    uint64_t seed = 0;
    char text[64];
    MPI_Init_thread(count, words, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &mpi_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &mpi_ranks);
    if (mpi_rank == 0)
        seed = gops_test_seed();
    MPI_Bcast(&seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    snprintf(text, sizeof text, "%" PRIu64, seed);
    setenv("GROUPOPS_TEST_SEED", text, 1);
    if (mpi_rank != 0 && freopen("/dev/null", "w", stdout) == NULL)
        return 1;
    result = gops_test_main(suite, cases);
    MPI_Allreduce(&result, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return all;
}
