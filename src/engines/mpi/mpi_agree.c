/* mpi_agree.c: errors, and how all ranks learn of one. */
#include "mpi_distribution.h"

#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

gops_status gops_mpi_fail(gops_error *error, gops_status status, const char *format, ...)
{
    va_list values;
    if (error != NULL) {
        error->status = status;
        va_start(values, format);
        vsnprintf(error->message, sizeof error->message, format, values);
        va_end(values);
    }
    return status;
}

gops_status gops_mpi_failed(int code, gops_error *error)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    return gops_mpi_fail(error, GOPS_HOST_FAILED, "MPI: %s", text);
}

gops_status gops_mpi_wait(MPI_Request *request, gops_error *error)
{
    enum { SPINS = 200 }; /* some 20 us, the time of a short message */
    int done = 0;
    for (int spin = 0; !done; spin++) {
        GOPS_MPI_TRY(MPI_Test(request, &done, MPI_STATUS_IGNORE));
        if (!done && spin >= SPINS) {
            sched_yield();
        }
    }
    return GOPS_OK;
}

gops_status gops_mpi_agree(MPI_Comm comm, gops_status status, const gops_error *own,
                           gops_error *error)
{
    int rank, first, wanted;
    gops_error said = {.status = status};
    MPI_Request request;
    GOPS_MPI_TRY(MPI_Comm_rank(comm, &rank));
    wanted = status == GOPS_OK ? INT_MAX : rank;
    GOPS_MPI_TRY(MPI_Iallreduce(&wanted, &first, 1, MPI_INT, MPI_MIN, comm, &request));
    GOPS_MPI_WAIT(&request);
    if (first == INT_MAX) {
        return GOPS_OK;
    }
    if (rank == first) {
        said = *own;
        said.status = status;
    }
    GOPS_MPI_TRY(MPI_Ibcast(&said, (int)sizeof said, MPI_BYTE, first, comm, &request));
    GOPS_MPI_WAIT(&request);
    return gops_mpi_fail(error, said.status, "rank %d: %.300s", first, said.message);
}
