/* tool_quantization.h: scales and zero points of the command line: numbers, or .npy files. Of a floating
 * point convolution filter-scales alone. */
#ifndef GOPS_OPERANDS_TOOL_QUANTIZATION_H
#define GOPS_OPERANDS_TOOL_QUANTIZATION_H

#include "common/settings.h"
#include "common/tool_error.h"

typedef struct gops_tool_quantization {
    const gops_quantization *given; /* for gops_filter_create; NULL: no flag of it was given */
    gops_quantization values;
    void *filter_scales;      /* floats, or doubles for a filter of f64 */
    void *filter_zero_points; /* of the filter's type */
} gops_tool_quantization;

/* Reads and checks all of it. `inputs` are the data and the filter, `output` is what the plan makes
 * of them. *read is empty after a failure, and must otherwise not be moved. */
bool gops_tool_quantization_read(const gops_settings *settings, const gops_tensor *inputs,
                                 const gops_tensor *output, gops_tool_quantization *read,
                                 gops_tool_error *error);
void gops_tool_quantization_release(gops_tool_quantization *read);

#endif
