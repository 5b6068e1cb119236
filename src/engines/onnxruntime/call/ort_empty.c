/* ort_empty.c: the output of a convolution whose sums are empty. */
#include "engines/onnxruntime/call/ort_empty.h"

#include "engines/onnxruntime/call/ort_plans.h"

#include <stdlib.h>

/* Removes one element from the padding of the axis; false if it has none. */
static bool take_padding(gops_conv_attributes *conv, int32_t axis)
{
    gops_list *const pads[] = {&conv->pads_begin, &conv->pads_end};
    for (int i = 0; i < 2; i++) {
        if (pads[i]->count > axis && pads[i]->values[axis] > 0) {
            pads[i]->values[axis]--;
            return true;
        }
    }
    return false;
}

/* The library refuses an axis of size 0, so the shape is computed for size 1 and one element of
 * padding less, which is the same. With SAME_* and VALID an axis of size 0 has no output. */
static bool conv_shape(const gops_ort_operation *operation, const gops_tensor *data,
                       const gops_tensor *filter, gops_tensor *output)
{
    gops_ort_operation instead = *operation;
    gops_tensor full = *data;
    gops_shape shape;
    for (int32_t i = 2; i < data->rank; i++) {
        if (data->dims[i] == 0) {
            full.dims[i] = 1;
            if (operation->conv.auto_pad != GOPS_AUTO_PAD_EXPLICIT ||
                !take_padding(&instead.conv, i - 2)) {
                return false;
            }
        }
    }
    const bool has_shape = gops_ort_shape(&instead, &full, filter, &shape) == GOPS_OK;
    *output = shape.output;
    return has_shape;
}

/* Computed for size 1 in place of 0, which adds one stride to an output whose size is not given. */
static bool deconv_shape(const gops_ort_operation *operation, const gops_tensor *data,
                         const gops_tensor *filter, gops_tensor *output)
{
    const gops_deconv_attributes *deconv = &operation->deconv;
    gops_tensor full = *data, one_channel = *filter;
    gops_shape shape;
    if (data->dims[1] == 0 && filter->dims[1] == 0) {
        full.dims[1] = filter->dims[0];
        one_channel.dims[1] = 1;
    }
    for (int32_t i = 2; i < data->rank; i++) {
        full.dims[i] += data->dims[i] == 0;
    }
    if (gops_ort_shape(operation, &full, &one_channel, &shape) != GOPS_OK) {
        return false;
    }
    *output = shape.output;
    for (int32_t i = 2; i < data->rank; i++) {
        if (data->dims[i] == 0 && deconv->output_shape.count == 0) {
            output->dims[i] -= deconv->strides.count > 0 ? deconv->strides.values[i - 2] : 1;
        }
        if (output->dims[i] < 1) {
            return false;
        }
    }
    return true;
}

bool gops_ort_empty_shape(const gops_ort_operation *operation, const gops_tensor *data,
                          const gops_tensor *filter, gops_tensor *output)
{
    bool empty = false;
    for (int32_t i = 1; i < data->rank; i++) {
        empty = empty || data->dims[i] == 0;
    }
    return empty && operation->kind != GOPS_ORT_NORM && data->rank + 1 == filter->rank &&
           (operation->kind == GOPS_ORT_CONV ? conv_shape(operation, data, filter, output)
                                             : deconv_shape(operation, data, filter, output));
}

static gops_status execute_on_zeros(gops_plan *plan, const gops_quantization *quantization,
                                    const gops_arguments *arguments, const void *zeros,
                                    gops_error *error)
{
    gops_arguments all = *arguments;
    gops_packed_filter *packed = NULL;
    gops_status status = gops_filter_create(plan, zeros, quantization, &packed, error);
    if (status == GOPS_OK) {
        all.data = zeros;
        all.filter = packed;
        all.data_zero_point = NULL;
        status = gops_execute(plan, &all, error);
        gops_filter_destroy(packed);
    }
    return status;
}

/* Executes a kernel of 1 over one channel of zeros: its sums are 0, and the post-ops are applied to
 * them as to any others. */
gops_status gops_ort_empty_execute(gops_ort_runtime *runtime, const gops_ort_operation *operation,
                                   const gops_tensor *output, const gops_quantization *quantization,
                                   const gops_arguments *arguments, gops_error *error)
{
    const gops_host host = gops_ort_host(runtime);
    gops_options options = gops_ort_options(runtime, operation, &host);
    gops_tensor data = {operation->types[GOPS_ORT_DATA], 3, {output->dims[0], 1, 1}};
    const gops_tensor filter = {operation->types[GOPS_ORT_FILTER], 4, {1, output->dims[1], 1, 1}};
    gops_quantization without_zeros = {0};
    gops_plan *plan = NULL;
    options.threads = 1;
    for (int32_t i = 2; i < output->rank; i++) {
        data.dims[2] *= output->dims[i];
    }
    gops_status status = gops_conv_plan_create(&data, &filter, NULL, &options, &plan, error);
    if (status != GOPS_OK) {
        return status;
    }
    const int64_t pixels = data.dims[0] * data.dims[2];
    const int64_t count = pixels > output->dims[1] ? pixels : output->dims[1];
    void *zeros = calloc((size_t)count + 1, gops_type_bytes(data.type));
    if (zeros == NULL) {
        *error = (gops_error){GOPS_OUT_OF_MEMORY, "no memory for zeros in place of the data"};
        status = error->status;
    } else {
        if (quantization != NULL) {
            without_zeros = *quantization;
            without_zeros.data_zero_point = 0;
            without_zeros.filter_zero_points = NULL;
            without_zeros.filter_zero_points_count = 0;
        }
        status = execute_on_zeros(plan, quantization != NULL ? &without_zeros : NULL, arguments,
                                  zeros, error);
    }
    free(zeros);
    gops_plan_destroy(plan);
    return status;
}
