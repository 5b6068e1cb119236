/* operation.c: the three operations by their names on the command line. */
#include "common/operation.h"

#include "common/flags.h"

#include <inttypes.h>
#include <string.h>

gops_conv_attributes gops_operation_conv(const gops_settings *settings)
{
    return (gops_conv_attributes){
        .strides = settings->strides,
        .pads_begin = settings->pads_begin,
        .pads_end = settings->pads_end,
        .dilations = settings->dilations,
        .auto_pad = (gops_auto_pad)settings->auto_pad,
    };
}

gops_deconv_attributes gops_operation_deconv(const gops_settings *settings)
{
    return (gops_deconv_attributes){
        .strides = settings->strides,
        .pads_begin = settings->pads_begin,
        .pads_end = settings->pads_end,
        .dilations = settings->dilations,
        .output_padding = settings->output_padding,
        .output_shape = settings->output_shape,
        .auto_pad = (gops_auto_pad)settings->auto_pad,
        .output_shape_rule = (gops_output_shape_rule)settings->output_shape_rule,
    };
}

gops_norm_attributes gops_operation_norm(const gops_settings *settings)
{
    return (gops_norm_attributes){settings->num_groups, settings->epsilon};
}

static gops_status create_conv(const gops_settings *settings, const gops_tensor *inputs,
                               const gops_options *options, gops_plan **plan, gops_error *error)
{
    const gops_conv_attributes attributes = gops_operation_conv(settings);
    return gops_conv_plan_create(&inputs[0], &inputs[1], &attributes, options, plan, error);
}

static gops_status create_deconv(const gops_settings *settings, const gops_tensor *inputs,
                                 const gops_options *options, gops_plan **plan, gops_error *error)
{
    const gops_deconv_attributes attributes = gops_operation_deconv(settings);
    return gops_deconv_plan_create(&inputs[0], &inputs[1], &attributes, options, plan, error);
}

static gops_status create_norm(const gops_settings *settings, const gops_tensor *inputs,
                               const gops_options *options, gops_plan **plan, gops_error *error)
{
    const gops_norm_attributes attributes = gops_operation_norm(settings);
    return gops_norm_plan_create(&inputs[0], &inputs[1], &inputs[2], &attributes, options, plan,
                                 error);
}

const gops_tool_operation gops_operations[] = {
    {"conv", "GroupConvolution-1", GOPS_OF_CONV, 2, {"data", "filter", NULL}, create_conv},
    {"deconv",
     "GroupConvolutionBackpropData-1",
     GOPS_OF_DECONV,
     2,
     {"data", "filter", NULL},
     create_deconv},
    {"norm", "GroupNormalization-12", GOPS_OF_NORM, 3, {"data", "scale", "bias"}, create_norm},
    {NULL, NULL, 0, 0, {NULL, NULL, NULL}, NULL},
};

const gops_tool_operation *gops_operation_find(const char *name)
{
    for (const gops_tool_operation *operation = gops_operations; operation->name != NULL;
         operation++) {
        if (strcmp(operation->name, name) == 0) {
            return operation;
        }
    }
    return NULL;
}

const gops_tool_operation *gops_operation_read(const char *name, int exit_code,
                                               gops_tool_error *error)
{
    const gops_tool_operation *operation = gops_operation_find(name);
    if (operation == NULL) {
        gops_tool_refuse(error, exit_code,
                         "\"%s\" is no operation; there are conv, deconv and norm", name);
    }
    return operation;
}

const char *gops_operation_file(const gops_tool_operation *operation, const gops_settings *settings,
                                int index)
{
    if (index == 0) {
        return settings->data_file;
    }
    if (index == 2) {
        return settings->bias_file;
    }
    return operation->inputs == 2 ? settings->filter_file : settings->scale_file;
}

static void describe_tensor(gops_tensor *tensor, gops_type type, const gops_tool_dims *dims)
{
    tensor->type = type;
    tensor->rank = dims->rank;
    memcpy(tensor->dims, dims->dims, sizeof tensor->dims);
}

void gops_operation_tensors(const gops_tool_operation *operation, const gops_settings *settings,
                            gops_tensor *inputs)
{
    const gops_type type = settings->type != 0 ? (gops_type)settings->type : GOPS_F32;
    describe_tensor(&inputs[0], type, &settings->data);
    if (operation->inputs == 2) {
        describe_tensor(&inputs[1],
                        settings->filter_type != 0 ? (gops_type)settings->filter_type : type,
                        &settings->filter);
        return;
    }
    const gops_tool_dims channels = {1, {settings->data.rank > 1 ? settings->data.dims[1] : 0}};
    describe_tensor(&inputs[1], type, settings->scale.rank != 0 ? &settings->scale : &channels);
    describe_tensor(&inputs[2], type, settings->bias.rank != 0 ? &settings->bias : &channels);
}

gops_options gops_operation_options(const gops_settings *settings, const gops_host *host)
{
    return (gops_options){
        .size = sizeof(gops_options),
        .algorithm = settings->algorithm,
        .threads = settings->threads,
        .max_workspace = settings->max_workspace,
        .host = host,
        .choices = settings->choices,
        .accuracy = (gops_accuracy)settings->accuracy,
        .output_type = (gops_type)settings->output_type,
        .residual_type = (gops_type)settings->residual_type,
        .activation = settings->activation,
        .residual_after_activation = settings->residual_after_activation,
        .moments = settings->means != NULL ? GOPS_MOMENTS_GIVEN : GOPS_MOMENTS_FOUND,
    };
}

bool gops_operation_plan(const gops_tool_operation *operation, const gops_settings *settings,
                         const gops_tensor *inputs, const gops_host *host, gops_plan **plan,
                         gops_plan_info *info, gops_tool_error *error)
{
    const gops_options options = gops_operation_options(settings, host);
    gops_error refusal;
    info->size = sizeof *info;
    if (operation->create(settings, inputs, &options, plan, &refusal) != GOPS_OK) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s", refusal.message);
    }
    if (gops_plan_get_info(*plan, info, &refusal) != GOPS_OK) {
        gops_plan_destroy(*plan);
        *plan = NULL;
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s", refusal.message);
    }
    return true;
}

bool gops_operation_is_quantized(const gops_settings *settings, const gops_tensor *inputs)
{
    return settings->output_type != 0 && (inputs[0].type == GOPS_I8 || inputs[0].type == GOPS_U8);
}

gops_tensor gops_operation_bias(const gops_settings *settings, const gops_tensor *inputs,
                                const gops_tensor *output)
{
    const bool quantized = gops_operation_is_quantized(settings, inputs);
    return (gops_tensor){
        .type = quantized ? GOPS_I32 : output->type, .rank = 1, .dims = {output->dims[1]}};
}

bool gops_operation_check_bias(const gops_tool_dims *dims, const gops_tensor *output,
                               gops_tool_error *error)
{
    const int64_t channels = output->dims[1];
    double elements = 1; /* exact up to 2^53, beyond which no plan has channels */
    for (int32_t i = 0; i < dims->rank; i++) {
        if (dims->dims[i] < 0) {
            return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                    "bias has dimension %" PRId64 " on axis %" PRId32
                                    "; it must not be negative",
                                    dims->dims[i], i);
        }
        elements *= (double)dims->dims[i];
    }
    return elements == (double)channels ||
           gops_tool_refuse(error, GOPS_EXIT_FAILED,
                            "bias has %.0f elements; there must be one for each of the %" PRId64
                            " output channels",
                            elements, channels);
}

bool gops_operation_check_residual(const char *path, const gops_tensor *residual,
                                   const gops_tensor *output, gops_tool_error *error)
{
    if (residual->rank != output->rank) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s: residual has rank %d, the output %d",
                                path, (int)residual->rank, (int)output->rank);
    }
    for (int32_t i = 0; i < output->rank; i++) {
        if (residual->dims[i] != output->dims[i]) {
            return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                    "%s: residual has %" PRId64 " on axis %d, the output %" PRId64,
                                    path, residual->dims[i], (int)i, output->dims[i]);
        }
    }
    return true;
}
