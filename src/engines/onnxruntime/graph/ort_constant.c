/* ort_constant.c: reads constants of the model. */
#include "engines/onnxruntime/graph/ort_constant.h"

#include <math.h>

ort_status *gops_ort_read_constant(const gops_ort_runtime *runtime, const ort_value_info *info,
                                   gops_ort_constant *constant, bool *is)
{
    const ort_api *api = runtime->api;
    const ort_value *value = NULL;
    void *data = NULL;
    ort_status *status;
    *constant = (gops_ort_constant){0};
    *is = false;
    if (info == NULL || (status = api->is_constant_initializer(info, is)) != NULL || !*is) {
        return info == NULL ? NULL : status;
    }
    *is = false;
    if ((status = api->get_initializer(info, &value)) != NULL || value == NULL ||
        (status = gops_ort_try_describe(runtime, value, &constant->tensor)) != NULL ||
        constant->tensor.type == (gops_type)0 ||
        /* get_tensor_data lacks a const: it serves values that are written too. */
        (status = api->get_tensor_data((ort_value *)(uintptr_t)value, &data)) != NULL ||
        data == NULL || (uintptr_t)data % gops_type_bytes(constant->tensor.type) != 0) {
        *constant = (gops_ort_constant){0};
        return status;
    }
    *is = true;
    constant->values = data;
    constant->count = gops_ort_elements(&constant->tensor, 0);
    return NULL;
}

bool gops_ort_is_vector(const gops_ort_constant *constant, gops_type type, int64_t count)
{
    return constant->tensor.type == type && constant->tensor.rank <= 1 && constant->count >= 1 &&
           (constant->count == 1 || constant->count == count || count == 0);
}

bool gops_ort_is_number(const gops_ort_constant *constant, int32_t rank)
{
    return constant->tensor.type == GOPS_F32 && constant->count == 1 &&
           constant->tensor.rank <= rank;
}

bool gops_ort_is_for_channels(const gops_ort_constant *constant, const gops_tensor *data)
{
    const gops_tensor *shape = &constant->tensor;
    const int32_t channels =
        shape->rank - data->rank + 1; /* the axis; axes are counted from behind */
    bool fits = shape->rank <= data->rank && constant->count > 0;
    for (int32_t i = 0; i < shape->rank && fits; i++) {
        fits = shape->dims[i] == 1 || i == channels;
    }
    return fits && (constant->count == 1 || constant->count == data->dims[1]);
}

bool gops_ort_is_scale(float scale)
{
    return scale > 0 && !isinf(scale);
}

bool gops_ort_are_scales(const gops_ort_constant *constant)
{
    const float *scales = constant->values;
    for (int64_t i = 0; i < constant->count; i++) {
        if (!gops_ort_is_scale(scales[i])) {
            return false;
        }
    }
    return true;
}

bool gops_ort_is_8_bit(gops_type type)
{
    return type == GOPS_I8 || type == GOPS_U8;
}

int32_t gops_ort_zero_point(gops_type type, const void *value)
{
    return type == GOPS_I8 ? *(const int8_t *)value : *(const uint8_t *)value;
}

ort_status *gops_ort_read_scalars(const gops_ort_runtime *runtime, const ort_value_info *scale,
                                  const ort_value_info *zero_point, gops_type type,
                                  float *scale_value, int32_t *zero_point_value, bool *reads)
{
    gops_ort_constant scales, zero_points;
    ort_status *status = gops_ort_read_constant(runtime, scale, &scales, reads);
    *zero_point_value = 0;
    if (status != NULL || !*reads) {
        return status;
    }
    *reads = gops_ort_is_vector(&scales, GOPS_F32, 1) && gops_ort_are_scales(&scales);
    if (!*reads) {
        return NULL;
    }
    *scale_value = *(const float *)scales.values;
    if (zero_point == NULL) {
        return NULL;
    }
    status = gops_ort_read_constant(runtime, zero_point, &zero_points, reads);
    if (status == NULL && *reads) {
        *reads = gops_ort_is_vector(&zero_points, type, 1);
        *zero_point_value = *reads ? gops_ort_zero_point(type, zero_points.values) : 0;
    }
    return status;
}
