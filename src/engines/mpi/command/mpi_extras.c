/* mpi_extras.c: scales, zero points and slopes of the rank's channels. */
#include "mpi_extras.h"

#include "operands/slopes.h"

#include <stdlib.h>

int64_t gops_mpi_group_channels(const gops_mpi_plan_info *info)
{
    return info->shape.groups > 0 ? info->shape.output.dims[1] / info->shape.groups : 0;
}

/* The rank's first output channel. */
static size_t first_channel(const gops_mpi_plan_info *info)
{
    return (size_t)(info->first_group * gops_mpi_group_channels(info));
}

bool gops_mpi_extras_read(const gops_settings *settings, const gops_tensor *inputs,
                          const gops_mpi_plan_info *info, gops_mpi_extras *extras,
                          gops_tool_error *error)
{
    return gops_tool_quantization_read(settings, inputs, &info->shape.output, &extras->quantization,
                                       error) &&
           gops_tool_slopes_read(settings, &info->shape.output, &extras->slopes, error);
}

void gops_mpi_extras_release(gops_mpi_extras *extras)
{
    gops_tool_quantization_release(&extras->quantization);
    free(extras->slopes);
}

const gops_quantization *gops_mpi_extras_quantization(gops_mpi_extras *extras,
                                                      const gops_mpi_plan_info *info,
                                                      gops_type filter_type)
{
    const gops_quantization *all = extras->quantization.given;
    gops_quantization *own = &extras->own;
    const size_t first = first_channel(info);
    const int64_t count = info->groups * gops_mpi_group_channels(info);
    if (all == NULL) {
        return NULL;
    }
    *own = *all;
    if (all->filter_scales_count > 1) {
        const size_t bytes = filter_type == GOPS_F64 ? sizeof(double) : sizeof(float);
        own->filter_scales = (const char *)all->filter_scales + first * bytes;
        own->filter_scales_count = count;
    }
    if (all->filter_zero_points_count > 1) {
        own->filter_zero_points =
            (const char *)all->filter_zero_points + first * gops_type_bytes(filter_type);
        own->filter_zero_points_count = count;
    }
    return own;
}

const void *gops_mpi_extras_slopes(const gops_mpi_extras *extras, const gops_mpi_plan_info *info)
{
    return extras->slopes == NULL
               ? NULL
               : (const char *)extras->slopes +
                     first_channel(info) * gops_type_bytes(info->shape.output.type);
}
