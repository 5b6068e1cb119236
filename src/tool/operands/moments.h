/* moments.h: the means and variances of a normalization on the command line. */
#ifndef GOPS_OPERANDS_MOMENTS_H
#define GOPS_OPERANDS_MOMENTS_H

#include "common/settings.h"
#include "common/tool_error.h"

/* Reads one for each group of each image of `data`, for the caller to free: what
 * gops_arguments.mean and variance take. Both are NULL where --means was not given. */
bool gops_tool_moments_read(const gops_settings *settings, const gops_tensor *data, void **means,
                            void **variances, gops_tool_error *error);

#endif
