/* ort_call.c: executes one call of a claim. */
#include "engines/onnxruntime/call/ort_call.h"

#include "engines/onnxruntime/call/ort_empty.h"

#include <float.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ort_status *refuse(const gops_ort_compute *self, const gops_error *error)
{
    return gops_ort_refused(self->runtime, self->name, error);
}

/* What a call was given is wrong; the message is formatted as by printf. */
static ort_status *__attribute__((format(printf, 2, 3)))
refuse_input(const gops_ort_compute *self, const char *format, ...)
{
    gops_error error = {GOPS_INVALID, ""};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error.message, sizeof error.message, format, arguments);
    va_end(arguments);
    return refuse(self, &error);
}

static ort_status *read_value(const gops_ort_runtime *runtime, const ort_value *value,
                              gops_ort_input *read)
{
    void *data = NULL;
    ort_status *status = gops_ort_describe(runtime, value, &read->tensor);
    if (status == NULL) {
        /* get_tensor_data lacks a const: it serves values that are written too. */
        status = runtime->api->get_tensor_data((ort_value *)(uintptr_t)value, &data);
    }
    read->data = data;
    return status;
}

ort_status *gops_ort_read_input(const gops_ort_runtime *runtime, const char *name,
                                const ort_kernel_context *context, size_t input,
                                gops_ort_input *read)
{
    const ort_value *value = NULL;
    ort_status *status = runtime->api->context_input(context, input, &value);
    if (status == NULL && value == NULL) {
        status = gops_ort_fail(runtime, ORT_INVALID_ARGUMENT,
                               "groupops, node \"%s\": input %zu is missing", name, input);
    }
    return status != NULL ? status : read_value(runtime, value, read);
}

ort_status *gops_ort_make_output(const gops_ort_runtime *runtime, const char *name,
                                 ort_kernel_context *context, size_t output,
                                 const gops_tensor *tensor, void **data)
{
    ort_value *value = NULL;
    ort_status *status =
        runtime->api->context_output(context, output, tensor->dims, (size_t)tensor->rank, &value);
    if (status == NULL && value == NULL) {
        status =
            gops_ort_fail(runtime, ORT_FAIL,
                          "groupops, node \"%s\": the runtime gave no output %zu", name, output);
    }
    return status != NULL ? status : runtime->api->get_tensor_data(value, data);
}

static ort_status *read_inputs(const gops_ort_compute *self, const ort_kernel_context *context,
                               gops_ort_input *inputs)
{
    for (int i = 0; i < GOPS_ORT_INPUTS; i++) {
        inputs[i] = (gops_ort_input){.data = NULL};
        if (self->position[i] == GOPS_ORT_NOT_GIVEN) {
            continue;
        }
        const size_t number = (size_t)self->position[i];
        ort_status *status =
            gops_ort_read_input(self->runtime, self->name, context, number, &inputs[i]);
        if (status != NULL) {
            return status;
        }
        if (inputs[i].tensor.type != self->operation.types[i]) {
            return refuse_input(self, "input %zu is %s; the model says %s", number,
                                gops_ort_name_tensor(&inputs[i].tensor).text,
                                gops_type_name(self->operation.types[i]));
        }
    }
    return NULL;
}

static bool holds(const gops_tensor *tensor, int64_t count)
{
    return tensor->rank == 1 && tensor->dims[0] == count;
}

/* The filter, or the scale of a normalization, as the library describes it. */
static ort_status *describe_weights(const gops_ort_compute *self, const gops_ort_input *inputs,
                                    gops_tensor *filter)
{
    const gops_ort_operation *operation = &self->operation;
    const gops_tensor *data = &inputs[GOPS_ORT_DATA].tensor;
    const gops_tensor *weights = &inputs[GOPS_ORT_FILTER].tensor;
    const gops_tensor *bias = &inputs[GOPS_ORT_BIAS].tensor;
    const bool has_bias = self->position[GOPS_ORT_BIAS] != GOPS_ORT_NOT_GIVEN;
    if (operation->kind != GOPS_ORT_NORM) {
        if (!gops_ort_filter_tensor(operation, weights, filter)) {
            return refuse_input(self, "W is %s; it does not fit group %lld and kernel_shape",
                                gops_ort_name_tensor(weights).text, (long long)operation->groups);
        }
        const int64_t channels = gops_ort_channels(operation, filter);
        if (self->sloped != 0 && self->sloped != channels) {
            return refuse_input(self, "W is %s; the model's shapes give PRelu %lld channels",
                                gops_ort_name_tensor(weights).text, (long long)self->sloped);
        }
        return !has_bias || holds(bias, channels)
                   ? NULL
                   : refuse_input(self, "B is %s; %lld output channels need one value each",
                                  gops_ort_name_tensor(bias).text, (long long)channels);
    }
    const int64_t channels = data->rank >= 2 ? data->dims[1] : 0;
    const int64_t count = operation->scale_of_groups ? operation->norm.num_groups : channels;
    /* A single value is allowed, because the runtime's own provider broadcasts it. */
    if ((!holds(weights, count) && !holds(weights, 1)) ||
        (!holds(bias, count) && !holds(bias, 1))) {
        return refuse_input(self, "scale is %s, bias is %s; %lld %s need one value each",
                            gops_ort_name_tensor(weights).text, gops_ort_name_tensor(bias).text,
                            (long long)count, operation->scale_of_groups ? "groups" : "channels");
    }
    *filter = (gops_tensor){data->type, 1, {channels}};
    return NULL;
}

/* Gives each channel the value of its group, or the only value. */
static void broadcast_values(const gops_ort_input *values, int64_t channels,
                             unsigned char *broadcast)
{
    const int64_t groups = values->tensor.dims[0];
    const size_t size = gops_type_bytes(values->tensor.type);
    for (int64_t c = 0; c < channels; c++) {
        memcpy(broadcast + (size_t)c * size,
               (const unsigned char *)values->data + (size_t)(c / (channels / groups)) * size,
               size);
    }
}

static ort_status *execute_plan(const gops_ort_compute *self, const gops_ort_taken *taken,
                                const gops_arguments *arguments, const ort_kernel_context *context)
{
    gops_error error;
    gops_ort_enter(context, NULL);
    const gops_status status = gops_execute(taken->plan, arguments, &error);
    gops_ort_leave();
    return status == GOPS_OK ? NULL : refuse(self, &error);
}

static ort_status *run_norm(const gops_ort_compute *self, const gops_ort_taken *taken,
                            const gops_ort_input *inputs, gops_arguments *arguments,
                            const ort_kernel_context *context)
{
    const int64_t channels = taken->packing->filter.dims[0];
    unsigned char *memory = NULL;
    arguments->scale = inputs[GOPS_ORT_FILTER].data;
    arguments->bias = inputs[GOPS_ORT_BIAS].data;
    if (inputs[GOPS_ORT_FILTER].tensor.dims[0] != channels ||
        inputs[GOPS_ORT_BIAS].tensor.dims[0] != channels) {
        const size_t bytes = (size_t)channels * gops_type_bytes(taken->packing->data.type);
        memory = malloc(bytes * 2);
        if (memory == NULL) {
            return gops_ort_fail(self->runtime, ORT_FAIL,
                                 "groupops, node \"%s\": no memory for scale and bias", self->name);
        }
        broadcast_values(&inputs[GOPS_ORT_FILTER], channels, memory);
        broadcast_values(&inputs[GOPS_ORT_BIAS], channels, memory + bytes);
        arguments->scale = memory;
        arguments->bias = memory + bytes;
    }
    ort_status *status = execute_plan(self, taken, arguments, context);
    free(memory);
    return status;
}

/* Scales, and the output's zero point, that come with the call. */
static ort_status *read_scales(const gops_ort_compute *self, const gops_ort_input *inputs,
                               gops_quantization *quantization)
{
    static const struct {
        int input;
        const char *name;
    } single[] = {{GOPS_ORT_DATA_SCALE, "x_scale"},
                  {GOPS_ORT_OUTPUT_SCALE, "y_scale"},
                  {GOPS_ORT_OUTPUT_ZERO, "y_zero_point"}};
    const gops_ort_input *output_zero = &inputs[GOPS_ORT_OUTPUT_ZERO];
    const gops_ort_input *filter_scales = &inputs[GOPS_ORT_FILTER_SCALE];
    if (filter_scales->data == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof single / sizeof single[0]; i++) {
        const gops_ort_input *input = &inputs[single[i].input];
        if (gops_ort_elements(&input->tensor, 0) != 1) {
            return refuse_input(self, "%s is %s; it must have one value", single[i].name,
                                gops_ort_name_tensor(&input->tensor).text);
        }
    }
    if (*(const float *)inputs[GOPS_ORT_OUTPUT_SCALE].data == 0) {
        return refuse_input(self, "y_scale is 0"); /* the library takes 0 for 1 */
    }
    quantization->data_scale = *(const float *)inputs[GOPS_ORT_DATA_SCALE].data;
    quantization->output_scale = *(const float *)inputs[GOPS_ORT_OUTPUT_SCALE].data;
    quantization->output_zero_point =
        gops_ort_zero_point(output_zero->tensor.type, output_zero->data);
    quantization->filter_scales = filter_scales->data;
    quantization->filter_scales_count = gops_ort_elements(&filter_scales->tensor, 0);
    if (quantization->data_scale == 0) {
        /* All that the data stand for is 0, as where a model quantizes zeros. So are the sums, to be rounded: those of
         * the least scale become 0 whatever they are. */
        static const float one = 1;
        quantization->data_scale = FLT_MIN;
        quantization->output_scale = one;
        quantization->filter_scales = &one;
        quantization->filter_scales_count = 1;
    }
    return NULL;
}

ort_status *gops_ort_describe_packing(const gops_ort_compute *self, const gops_ort_input *inputs,
                                      gops_quantization *quantization, gops_ort_weights *weights)
{
    const gops_ort_operation *operation = &self->operation;
    const gops_ort_input *zero_points = &inputs[GOPS_ORT_FILTER_ZERO];
    *quantization = operation->quantization;
    *weights = (gops_ort_weights){inputs[GOPS_ORT_FILTER].data,
                                  gops_ort_is_quantized(operation) ? quantization : NULL};
    if (zero_points->data != NULL) {
        quantization->filter_zero_points = zero_points->data;
        quantization->filter_zero_points_count = gops_ort_elements(&zero_points->tensor, 0);
    }
    return read_scales(self, inputs, quantization);
}

static ort_status *run_conv(gops_ort_compute *self, const gops_ort_taken *taken,
                            const gops_ort_weights *weights, gops_arguments *arguments,
                            const ort_kernel_context *context)
{
    gops_ort_packed *packed = NULL;
    gops_error error;
    arguments->filter = taken->packing->constant;
    if (taken->packing->constant == NULL) {
        if (gops_ort_pack(&self->plans, taken, weights, &packed, &error) != GOPS_OK) {
            return refuse(self, &error);
        }
        arguments->filter = packed->filter;
    }
    ort_status *status = execute_plan(self, taken, arguments, context);
    if (packed != NULL) {
        gops_ort_unpack(&self->plans, taken, packed);
    }
    return status;
}

/* Makes the output, and the arguments that all operations share. */
static ort_status *start_call(const gops_ort_compute *self, const gops_tensor *output,
                              const gops_ort_input *inputs, ort_kernel_context *context,
                              gops_arguments *arguments)
{
    *arguments = (gops_arguments){
        .size = sizeof *arguments,
        .data = inputs[GOPS_ORT_DATA].data,
        .bias = self->bias != NULL ? self->bias : inputs[GOPS_ORT_BIAS].data,
        .residual = inputs[GOPS_ORT_RESIDUAL].data,
        .data_zero_point = inputs[GOPS_ORT_DATA_ZERO].data,
        .slopes = self->sloped != 0 ? self->folded : NULL,
    };
    if (arguments->data_zero_point != NULL &&
        gops_ort_elements(&inputs[GOPS_ORT_DATA_ZERO].tensor, 0) != 1) {
        return refuse_input(self, "x_zero_point is %s; it must have one value",
                            gops_ort_name_tensor(&inputs[GOPS_ORT_DATA_ZERO].tensor).text);
    }
    if (self->position[GOPS_ORT_RESIDUAL] != GOPS_ORT_NOT_GIVEN &&
        !gops_ort_same_shape(&inputs[GOPS_ORT_RESIDUAL].tensor, output)) {
        return refuse_input(self, "what is added is %s; the output is %s",
                            gops_ort_name_tensor(&inputs[GOPS_ORT_RESIDUAL].tensor).text,
                            gops_ort_name_tensor(output).text);
    }
    return gops_ort_make_output(self->runtime, self->name, context, 0, output, &arguments->output);
}

static ort_status *run_plan(gops_ort_compute *self, const gops_ort_taken *taken,
                            const gops_ort_input *inputs, const gops_ort_weights *weights,
                            ort_kernel_context *context)
{
    gops_arguments arguments;
    ort_status *status = start_call(self, &taken->output, inputs, context, &arguments);
    /* A plan with an empty output packs no filter and takes none. */
    if (status != NULL || gops_ort_elements(&taken->output, 0) == 0) {
        return status;
    }
    return self->operation.kind == GOPS_ORT_NORM
               ? run_norm(self, taken, inputs, &arguments, context)
               : run_conv(self, taken, weights, &arguments, context);
}

static ort_status *run_empty(const gops_ort_compute *self, const gops_tensor *output,
                             const gops_ort_input *inputs, const gops_ort_weights *weights,
                             ort_kernel_context *context)
{
    gops_arguments arguments;
    gops_error error;
    ort_status *status = start_call(self, output, inputs, context, &arguments);
    if (status != NULL || gops_ort_elements(output, 0) == 0) {
        return status;
    }
    gops_ort_enter(context, NULL);
    const gops_status computed = gops_ort_empty_execute(self->runtime, &self->operation, output,
                                                        weights->quantization, &arguments, &error);
    gops_ort_leave();
    return computed == GOPS_OK ? NULL : refuse(self, &error);
}

ort_status *gops_ort_call(ort_compute_info *info, void *state, ort_kernel_context *context)
{
    gops_ort_compute *self = (gops_ort_compute *)(void *)info;
    gops_ort_input inputs[GOPS_ORT_INPUTS];
    gops_tensor filter, output;
    gops_quantization quantization;
    gops_ort_weights weights;
    gops_ort_taken taken;
    gops_error error;
    ort_status *status;
    (void)state;
    if ((status = read_inputs(self, context, inputs)) != NULL ||
        (status = describe_weights(self, inputs, &filter)) != NULL ||
        (status = gops_ort_describe_packing(self, inputs, &quantization, &weights)) != NULL) {
        return status;
    }
    if (gops_ort_empty_shape(&self->operation, &inputs[GOPS_ORT_DATA].tensor, &filter, &output)) {
        return run_empty(self, &output, inputs, &weights, context);
    }
    if (gops_ort_plans_take(&self->plans, &inputs[GOPS_ORT_DATA].tensor, &filter,
                            self->constant ? &weights : NULL, &taken, &error) != GOPS_OK) {
        return refuse(self, &error);
    }
    status = run_plan(self, &taken, inputs, &weights, context);
    gops_ort_plans_give_back(&self->plans, &taken);
    return status;
}
