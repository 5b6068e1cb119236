/* mpi_axis.h: what a range of outputs reads along one spatial axis of a convolution, or of its
 * transposed form. */
#ifndef GOPS_MPI_AXIS_H
#define GOPS_MPI_AXIS_H

#include <stdbool.h>
#include <stdint.h>

/* The axis of the whole problem, all attributes resolved. */
typedef struct gops_mpi_axis {
    bool transposed;
    int64_t data, output;
    int64_t stride;
    int64_t reach; /* from the first tap of a window to its last: (K - 1) * dilation */
    int64_t pad;   /* pads_begin */
} gops_mpi_axis;

/* A range of outputs, the range of data that a plan of its own reads for it, and that plan's pads. */
typedef struct gops_mpi_range {
    int64_t output_begin, output_end;
    int64_t data_begin, data_end;
    int64_t pads_begin, pads_end;
    int64_t output_padding;
} gops_mpi_range;

/* The range for outputs begin to end - 1, at least one. A plan's data are at least one row, so that
 * outputs which read nothing but padding need some more beside them; with `aligned` those of
 * a transposed convolution begin at a multiple of the stride. */
gops_mpi_range gops_mpi_axis_read(const gops_mpi_axis *axis, int64_t begin, int64_t end,
                                  bool aligned);

/* The range for outputs range->output_begin to output_end - 1, of which all data but those from
 * data_begin to data_end - 1, at least one, are taken for zeros: fills in the pads, and narrows the
 * outputs in *right to those that lack nothing. False where no pads do that. */
bool gops_mpi_axis_confine(const gops_mpi_axis *axis, gops_mpi_range *range, gops_mpi_range *right);

#endif
