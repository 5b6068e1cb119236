/* mpi_distribution.h: a grid of ranks over the axes of tensors, and what all ranks agree upon. */
#ifndef GOPS_MPI_DISTRIBUTION_H
#define GOPS_MPI_DISTRIBUTION_H

#include "mpi_brick.h"

struct gops_mpi_distribution {
    MPI_Comm comm;  /* a duplicate of the caller's */
    MPI_Comm space; /* the ranks of the same images and groups, in the order of `comm` */
    int ranks, rank;
    gops_mpi_grid grid;  /* without zeros */
    int32_t space_ranks; /* the product of grid.space */
};

/* Fills in the error, unless it is NULL, and returns the status. */
__attribute__((format(printf, 3, 4))) gops_status
gops_mpi_fail(gops_error *error, gops_status status, const char *format, ...);

/* Ends the function where MPI's call failed and its error handler returned. */
#define GOPS_MPI_TRY(call)                                                                         \
    do {                                                                                           \
        const int code = (call);                                                                   \
        if (code != MPI_SUCCESS) {                                                                 \
            return gops_mpi_failed(code, error);                                                   \
        }                                                                                          \
    } while (0)
gops_status gops_mpi_failed(int code, gops_error *error);

/* Waits for the request as MPI_Wait does, but lets others have the processor meanwhile: with more
 * ranks than processors, those that are waited for need it. */
gops_status gops_mpi_wait(MPI_Request *request, gops_error *error);

#define GOPS_MPI_WAIT(request)                                                                     \
    do {                                                                                           \
        const gops_status waited = gops_mpi_wait((request), error);                                \
        if (waited != GOPS_OK) {                                                                   \
            return waited;                                                                         \
        }                                                                                          \
    } while (0)

/* Collective: GOPS_OK where all ranks give that; else the status and message of the first that does
 * not. `own` holds the rank's message. */
gops_status gops_mpi_agree(MPI_Comm comm, gops_status status, const gops_error *own,
                           gops_error *error);

/* The indices of `size` that number `part` of `parts` has. */
void gops_mpi_split(int64_t size, int32_t parts, int32_t part, int64_t *begin, int64_t *end);

/* Where a rank stands in the grid: images, groups, spatial axes. */
typedef struct gops_mpi_place {
    int32_t batch, groups;
    int32_t space[GOPS_MAX_SPATIAL];
} gops_mpi_place;
gops_mpi_place gops_mpi_place_of(const gops_mpi_distribution *distribution, int rank);

/* The rank's brick of [N, groups * channels, X...]. */
gops_brick gops_mpi_brick_of(const gops_mpi_distribution *distribution, const gops_tensor *tensor,
                             int64_t groups, int rank);

/* Whether the grid has these spatial axes. */
gops_status gops_mpi_check_axes(const gops_mpi_distribution *distribution,
                                const gops_tensor *tensor, gops_error *error);

#endif
