/* count_messages.c: where GROUPOPS_TEST_COUNT is set, each rank says what it sent, by MPI's profiling interface.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int messages;
static long long bytes;

int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    int size;
    PMPI_Type_size(type, &size);
    messages++;
    bytes += (long long)count * size;
    return PMPI_Isend(buffer, count, type, to, tag, comm, request);
}

int MPI_Finalize(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (getenv("GROUPOPS_TEST_COUNT") != NULL)
        fprintf(stderr, "rank %d sent %d messages, %lld bytes\n", rank, messages, bytes);
    return PMPI_Finalize();
}
