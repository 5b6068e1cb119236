/* slopes.h: the slopes of the activation prelu on the command line. */
#ifndef GOPS_OPERANDS_SLOPES_H
#define GOPS_OPERANDS_SLOPES_H

#include "common/settings.h"
#include "common/tool_error.h"

/* Reads one for each channel of `output`, of its type, for the caller to free: what
 * gops_arguments.slopes takes. *slopes is NULL where --slopes was not given, where the activation is
 * another, and after a failure. */
bool gops_tool_slopes_read(const gops_settings *settings, const gops_tensor *output, void **slopes,
                           gops_tool_error *error);

#endif
