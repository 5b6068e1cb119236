/* mpi_npy.h: a rank's part of a .npy file, by positioned reads and writes. */
#ifndef GOPS_MPI_NPY_H
#define GOPS_MPI_NPY_H

#include "mpi_command.h"
#include "npy/npy.h"

/* A part's runs of neighbouring elements, in the order of the whole: index by index of the outer axes,
 * along those that the part has whole. */
typedef struct gops_mpi_runs {
    const gops_tensor *whole;
    const gops_mpi_part *part;
    bool fortran;  /* the first axis is the fastest of the whole */
    int32_t outer; /* axes that are counted, from the slowest */
    int64_t run;   /* elements */
    int64_t index[GOPS_MAX_RANK];
} gops_mpi_runs;

gops_mpi_runs gops_mpi_first_run(const gops_tensor *whole, const gops_mpi_part *part, bool fortran);

/* Where the run begins in the whole, in elements. */
int64_t gops_mpi_run_begin(const gops_mpi_runs *at);

/* Moves to the next run. */
void gops_mpi_next_run(gops_mpi_runs *at);

/* Reads the part of the file's tensor, as gops_npy_read does the whole, into memory that the caller
 * frees. Not collective. */
bool gops_mpi_npy_read(const gops_npy_file *file, const gops_mpi_part *part, void **elements,
                       gops_tool_error *error);

/* As gops_whole_file_try, for a file that ranks write together: a device is refused. Not collective. */
bool gops_mpi_npy_try(const char *path, gops_tool_error *error);

/* Collective: writes a file of version 1.0, of which each rank has a part, whole or not at all. Ranks
 * whose part another one has too give a NULL `part`. */
bool gops_mpi_npy_write(const gops_mpi_world *world, const char *path, const gops_tensor *tensor,
                        gops_type stored, const gops_mpi_part *part, const void *elements,
                        gops_tool_error *error);

#endif
