/* operation.h: the three operations by their names on the command line. */
#ifndef GOPS_COMMON_OPERATION_H
#define GOPS_COMMON_OPERATION_H

#include "common/settings.h"
#include "common/tool_error.h"

#include <groupops/plan.h>

enum { GOPS_TOOL_MAX_INPUTS = 3 };

typedef struct gops_tool_operation {
    const char *name;          /* conv, deconv, norm */
    const char *specification; /* GroupConvolution-1 */
    unsigned bit;              /* GOPS_OF_CONV ... */
    int inputs;
    const char *input_names[GOPS_TOOL_MAX_INPUTS];
    gops_status (*create)(const gops_settings *settings, const gops_tensor *inputs,
                          const gops_options *options, gops_plan **plan, gops_error *error);
} gops_tool_operation;

/* A name that is NULL ends them. */
extern const gops_tool_operation gops_operations[];

/* NULL where there is none of that name. */
const gops_tool_operation *gops_operation_find(const char *name);

/* The same, which refuses a name that none has. */
const gops_tool_operation *gops_operation_read(const char *name, int exit_code,
                                               gops_tool_error *error);

/* The file that the settings name for input `index` of the operation; NULL: none. */
const char *gops_operation_file(const gops_tool_operation *operation, const gops_settings *settings,
                                int index);

/* The descriptors of an operation whose inputs are shapes in the settings: scale and bias not given
 * are [C], a type not given is f32. */
void gops_operation_tensors(const gops_tool_operation *operation, const gops_settings *settings,
                            gops_tensor *inputs);

/* The attributes and options of the settings; host may be NULL. */
gops_conv_attributes gops_operation_conv(const gops_settings *settings);
gops_deconv_attributes gops_operation_deconv(const gops_settings *settings);
gops_norm_attributes gops_operation_norm(const gops_settings *settings);
gops_options gops_operation_options(const gops_settings *settings, const gops_host *host);

/* Plans with the attributes and options of the settings; host may be NULL. A refusal is the
 * library's message. */
bool gops_operation_plan(const gops_tool_operation *operation, const gops_settings *settings,
                         const gops_tensor *inputs, const gops_host *host, gops_plan **plan,
                         gops_plan_info *info, gops_tool_error *error);

/* Describes the bias of a convolution, a value for each output channel: of i32 where the plan is
 * quantized, else of the output's type. */
gops_tensor gops_operation_bias(const gops_settings *settings, const gops_tensor *inputs,
                                const gops_tensor *output);

/* Whether a convolution is quantized: groupops/quantization.h. */
bool gops_operation_is_quantized(const gops_settings *settings, const gops_tensor *inputs);

/* Whether the bias has one element for each output channel. */
bool gops_operation_check_bias(const gops_tool_dims *dims, const gops_tensor *output,
                               gops_tool_error *error);

/* Whether the residual, of that file, has the output's shape. */
bool gops_operation_check_residual(const char *path, const gops_tensor *residual,
                                   const gops_tensor *output, gops_tool_error *error);

#endif
