/* mpi_extras.h: scales, zero points and slopes of a convolution. They are few: every rank reads all, and takes
 * those of its channels. */
#ifndef GOPS_MPI_EXTRAS_H
#define GOPS_MPI_EXTRAS_H

#include "mpi_command.h"

#include "operands/tool_quantization.h"

typedef struct gops_mpi_extras {
    gops_tool_quantization quantization;
    void *slopes;
    gops_quantization own; /* the quantization of the rank's channels */
} gops_mpi_extras;

/* Reads what the settings name; `inputs` are the data and the filter. What was read is released after a
 * failure, too. Not collective. */
bool gops_mpi_extras_read(const gops_settings *settings, const gops_tensor *inputs,
                          const gops_mpi_plan_info *info, gops_mpi_extras *extras,
                          gops_tool_error *error);
void gops_mpi_extras_release(gops_mpi_extras *extras);

/* For gops_mpi_filter_create, and gops_arguments.slopes; NULL where the settings name none. */
const gops_quantization *gops_mpi_extras_quantization(gops_mpi_extras *extras,
                                                      const gops_mpi_plan_info *info,
                                                      gops_type filter_type);
const void *gops_mpi_extras_slopes(const gops_mpi_extras *extras, const gops_mpi_plan_info *info);

/* The output channels of a group. */
int64_t gops_mpi_group_channels(const gops_mpi_plan_info *info);

#endif
