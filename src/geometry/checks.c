/* geometry/checks.c: checks that the operations share. */
#include "geometry/checks.h"

#include "base/checked.h"
#include "base/error.h"

#include <stdio.h>
#include <string.h>

gops_status gops_check_tensor(const char *name, const gops_tensor *tensor, gops_error *error)
{
    if (tensor == NULL) {
        return gops_fail(error, GOPS_INVALID, "%s is NULL", name);
    }
    if (gops_type_bytes(tensor->type) == 0) {
        return gops_fail(error, GOPS_INVALID, "%s has type number %d, which is none", name,
                         (int)tensor->type);
    }
    if (tensor->rank < 1 || tensor->rank > GOPS_MAX_RANK) {
        return gops_fail(error, tensor->rank < 1 ? GOPS_INVALID : GOPS_UNSUPPORTED,
                         "%s has rank %d; ranks 1 to %d are offered", name, (int)tensor->rank,
                         GOPS_MAX_RANK);
    }
    for (int i = 0; i < tensor->rank; i++) {
        if (tensor->dims[i] < 0) {
            return gops_fail(error, GOPS_INVALID,
                             "%s has dimension %lld on axis %d; it must not be "
                             "negative",
                             name, (long long)tensor->dims[i], i);
        }
    }
    return GOPS_OK;
}

typedef struct dims_text {
    char text[GOPS_MAX_RANK * 21]; /* a number has at most 20 characters, and a comma */
} dims_text;

static dims_text list_dims(const gops_tensor *tensor, int32_t count)
{
    dims_text list = {""};
    size_t used = 0;
    for (int32_t i = 0; i < count; i++) {
        used += (size_t)snprintf(list.text + used, sizeof list.text - used, "%s%lld",
                                 i == 0 ? "" : ",", (long long)tensor->dims[i]);
    }
    return list;
}

gops_status gops_check_bytes(const char *name, const gops_tensor *tensor, int64_t *bytes,
                             gops_error *error)
{
    int64_t product = (int64_t)gops_type_bytes(tensor->type);
    /* A 0 makes the tensor empty, however large the other dimensions are. */
    for (int i = 0; i < tensor->rank; i++) {
        if (tensor->dims[i] == 0) {
            *bytes = 0;
            return GOPS_OK;
        }
    }
    for (int i = 0; i < tensor->rank; i++) {
        if (!gops_mul(product, tensor->dims[i], &product) || product > PTRDIFF_MAX) {
            return gops_fail(error, GOPS_TOO_LARGE,
                             "%s: the product of its first %d dimensions, in bytes, is above "
                             "%lld; they are %s of %s",
                             name, i + 1, (long long)PTRDIFF_MAX, list_dims(tensor, i + 1).text,
                             gops_type_name(tensor->type));
        }
    }
    *bytes = product;
    return GOPS_OK;
}

gops_status gops_tensor_bytes(const gops_tensor *tensor, size_t *bytes, gops_error *error)
{
    int64_t exact;
    if (bytes == NULL) {
        return gops_fail(error, GOPS_INVALID, "bytes is NULL");
    }
    GOPS_TRY(gops_check_tensor("tensor", tensor, error));
    GOPS_TRY(gops_check_bytes("tensor", tensor, &exact, error));
    *bytes = (size_t)exact;
    return GOPS_OK;
}

static gops_status check_ranks(const gops_conv_rules *rules, const gops_tensor *data,
                               const gops_tensor *filter, gops_error *error)
{
    if (data->rank < 3) {
        return gops_fail(error, GOPS_INVALID,
                         "data has rank %d; %s needs at least 3: batch, channels, one spatial axis",
                         (int)data->rank, rules->name);
    }
    if (data->rank > rules->max_axes + 2) {
        return gops_fail(error, GOPS_UNSUPPORTED, "data has rank %d; %s is offered up to rank %d",
                         (int)data->rank, rules->name, (int)rules->max_axes + 2);
    }
    if (filter->rank != data->rank + 1) {
        return gops_fail(error, GOPS_INVALID,
                         "filter has rank %d, data has rank %d; a filter of %s has one axis more "
                         "than its data: GROUPS, the first",
                         (int)filter->rank, (int)data->rank, rules->name);
    }
    return GOPS_OK;
}

static bool is_8_bit_integer(gops_type type)
{
    return type == GOPS_I8 || type == GOPS_U8;
}

/* Of a quantized plan. */
static bool is_quantized_output(gops_type type)
{
    return type == GOPS_I32 || is_8_bit_integer(type) || type == GOPS_F32 || type == GOPS_F16 ||
           type == GOPS_BF16;
}

static gops_status check_types(const gops_conv_rules *rules, const gops_tensor *data,
                               const gops_tensor *filter, gops_type output_type, gops_error *error)
{
    if (output_type != 0 && (output_type != data->type || is_8_bit_integer(filter->type))) {
        if (is_quantized_output(output_type) && is_8_bit_integer(data->type) &&
            is_8_bit_integer(filter->type)) {
            return GOPS_OK;
        }
        return gops_fail(
            error, GOPS_UNSUPPORTED,
            "output_type is %s, data is %s, filter is %s; another type than the data's is offered "
            "as i32, u8, i8, f32, f16 or bf16 from i8 or u8 data and filter",
            gops_type_name(output_type), gops_type_name(data->type), gops_type_name(filter->type));
    }
    if (filter->type != data->type) {
        return gops_fail(error, GOPS_INVALID,
                         "filter is %s, data is %s; %s takes one type for both%s",
                         gops_type_name(filter->type), gops_type_name(data->type), rules->name,
                         is_8_bit_integer(data->type) && is_8_bit_integer(filter->type)
                             ? ", but for quantized plans, which options.output_type makes"
                             : "");
    }
    return GOPS_OK;
}

static gops_status check_channels(const gops_tensor *data, const gops_conv_geometry *geometry,
                                  int filter_in, gops_error *error)
{
    int64_t channels;
    if (geometry->groups == 0) {
        return gops_fail(error, GOPS_INVALID, "filter has 0 GROUPS (axis 0); at least 1 is needed");
    }
    if (geometry->channels_in == 0) {
        return gops_fail(error, GOPS_INVALID, "filter has C_IN 0 (axis %d); at least 1 is needed",
                         filter_in);
    }
    if (!gops_mul(geometry->groups, geometry->channels_in, &channels)) {
        return gops_fail(
            error, GOPS_TOO_LARGE, "filter has GROUPS %lld times C_IN %lld, above %lld",
            (long long)geometry->groups, (long long)geometry->channels_in, (long long)INT64_MAX);
    }
    if (data->dims[1] != channels) {
        return gops_fail(error, GOPS_INVALID,
                         "data has %lld channels, filter has GROUPS %lld times C_IN %lld = %lld; "
                         "they must be equal",
                         (long long)data->dims[1], (long long)geometry->groups,
                         (long long)geometry->channels_in, (long long)channels);
    }
    return GOPS_OK;
}

gops_status gops_resolve_tensors(const gops_conv_rules *rules, const gops_tensor *data,
                                 const gops_tensor *filter, gops_type output_type,
                                 gops_conv_geometry *geometry, gops_error *error)
{
    int64_t bytes;
    GOPS_TRY(gops_check_tensor("data", data, error));
    GOPS_TRY(gops_check_tensor("filter", filter, error));
    GOPS_TRY(check_ranks(rules, data, filter, error));
    GOPS_TRY(check_types(rules, data, filter, output_type, error));
    *geometry = (gops_conv_geometry){
        .axes = data->rank - 2,
        .batch = data->dims[0],
        .groups = filter->dims[0],
        .channels_in = filter->dims[rules->filter_in],
        .channels_out = filter->dims[rules->filter_out],
    };
    GOPS_TRY(check_channels(data, geometry, rules->filter_in, error));
    for (int i = 0; i < geometry->axes; i++) {
        gops_axis *axis = &geometry->axis[i];
        axis->data = data->dims[i + 2];
        axis->kernel = filter->dims[i + 3];
        if (axis->data == 0) {
            return gops_fail(error, GOPS_INVALID,
                             "data has size 0 on spatial axis %d; at least 1 is needed", i);
        }
        if (axis->kernel == 0) {
            return gops_fail(error, GOPS_INVALID,
                             "filter has kernel size 0 on spatial axis %d; at least 1 is needed",
                             i);
        }
    }
    GOPS_TRY(gops_check_bytes("data", data, &bytes, error));
    return gops_check_bytes("filter", filter, &bytes, error);
}

gops_status gops_resolve_list(const char *name, const gops_list *list, int64_t min,
                              gops_conv_geometry *geometry, size_t member, gops_error *error)
{
    const int32_t axes = geometry->axes;
    if (list->count != 0 && list->count != axes) {
        return gops_fail(error, GOPS_INVALID, "%s has %d values; data has %d spatial %s", name,
                         (int)list->count, (int)axes, axes == 1 ? "axis" : "axes");
    }
    for (int i = 0; i < axes; i++) {
        const int64_t value = list->count == 0 ? min : list->values[i];
        if (value < min) {
            return gops_fail(error, GOPS_INVALID, "%s[%d] is %lld; it must be at least %lld", name,
                             i, (long long)value, (long long)min);
        }
        memcpy((char *)&geometry->axis[i] + member, &value, sizeof value);
    }
    return GOPS_OK;
}

gops_status gops_resolve_attributes(const gops_conv_attributes *given, bool ignores_pads,
                                    gops_conv_geometry *geometry, gops_error *error)
{
    static const gops_list left_out = {0};
    const bool ignored = ignores_pads || given->auto_pad != GOPS_AUTO_PAD_EXPLICIT;
    const gops_list *begin = ignored ? &left_out : &given->pads_begin;
    const gops_list *end = ignored ? &left_out : &given->pads_end;
    if ((unsigned)given->auto_pad > GOPS_AUTO_PAD_VALID) {
        return gops_fail(
            error, GOPS_INVALID,
            "auto_pad is %d; it must be 0 (explicit), 1 (same_upper), 2 (same_lower) or "
            "3 (valid)",
            (int)given->auto_pad);
    }
    GOPS_TRY(gops_resolve_list("strides", &given->strides, 1, geometry, offsetof(gops_axis, stride),
                               error));
    GOPS_TRY(gops_resolve_list("dilations", &given->dilations, 1, geometry,
                               offsetof(gops_axis, dilation), error));
    GOPS_TRY(
        gops_resolve_list("pads_begin", begin, 0, geometry, offsetof(gops_axis, pad_begin), error));
    return gops_resolve_list("pads_end", end, 0, geometry, offsetof(gops_axis, pad_end), error);
}

void gops_divide_pads(gops_axis *axis, int64_t total, bool odd_at_begin)
{
    total = gops_max(0, total);
    axis->pad_begin = odd_at_begin ? total - total / 2 : total / 2;
    axis->pad_end = total - axis->pad_begin;
}

gops_status gops_kernel_extent(const gops_axis *axis, int index, int64_t *extent, gops_error *error)
{
    if (!gops_mul(axis->kernel - 1, axis->dilation, extent) || !gops_add(*extent, 1, extent)) {
        return gops_fail(
            error, GOPS_TOO_LARGE,
            "dilations[%d] is %lld with kernel size %lld; the kernel's extent is above "
            "%lld",
            index, (long long)axis->dilation, (long long)axis->kernel, (long long)INT64_MAX);
    }
    return GOPS_OK;
}

static void fill_shape(const gops_conv_geometry *geometry, const gops_tensor *output,
                       gops_shape *shape)
{
    *shape = (gops_shape){.output = *output, .groups = geometry->groups};
    shape->pads_begin.count = geometry->axes;
    shape->pads_end.count = geometry->axes;
    for (int i = 0; i < geometry->axes; i++) {
        shape->pads_begin.values[i] = geometry->axis[i].pad_begin;
        shape->pads_end.values[i] = geometry->axis[i].pad_end;
    }
}

/* The pixels of one axis that windows touch: the padded data; transposed, the whole scatter result
 * and the padded output. */
static int64_t axis_span(const gops_axis *axis, bool transposed)
{
    const int64_t size = transposed ? axis->output : axis->data;
    const int64_t padded =
        gops_add_saturate(gops_add_saturate(size, axis->pad_begin), axis->pad_end);
    const int64_t steps = gops_mul_saturate(axis->data - 1, axis->stride);
    const int64_t reach = gops_mul_saturate(axis->kernel - 1, axis->dilation);
    return transposed ? gops_max(padded, gops_add_saturate(steps, gops_add_saturate(reach, 1)))
                      : padded;
}

gops_status gops_finish(gops_conv_geometry *geometry, gops_type type, bool transposed,
                        gops_shape *shape, gops_error *error)
{
    gops_tensor output = {type, geometry->axes + 2, {geometry->batch}};
    int64_t bytes;
    if (!gops_mul(geometry->groups, geometry->channels_out, &output.dims[1])) {
        return gops_fail(
            error, GOPS_TOO_LARGE, "filter has GROUPS %lld times C_OUT %lld, above %lld",
            (long long)geometry->groups, (long long)geometry->channels_out, (long long)INT64_MAX);
    }
    geometry->data_pixels = geometry->output_pixels = geometry->taps = geometry->span = 1;
    for (int i = 0; i < geometry->axes; i++) {
        const gops_axis *axis = &geometry->axis[i];
        output.dims[i + 2] = axis->output;
        geometry->data_pixels = gops_mul_saturate(geometry->data_pixels, axis->data);
        geometry->output_pixels = gops_mul_saturate(geometry->output_pixels, axis->output);
        geometry->taps = gops_mul_saturate(geometry->taps, axis->kernel);
        geometry->span = gops_mul_saturate(geometry->span, axis_span(axis, transposed));
    }
    geometry->k = gops_mul_saturate(geometry->channels_in, geometry->taps);
    GOPS_TRY(gops_check_bytes("output", &output, &bytes, error));
    /* The product of pixels of an empty tensor may overflow; nothing is computed then. */
    int64_t pixels = transposed ? geometry->data_pixels : geometry->output_pixels;
    geometry->flops =
        gops_mul_saturate(gops_mul_saturate(2, geometry->batch),
                          gops_mul_saturate(geometry->groups, geometry->channels_out));
    geometry->flops = gops_mul_saturate(geometry->flops, geometry->channels_in);
    geometry->flops = gops_mul_saturate(geometry->flops, geometry->taps);
    geometry->flops = gops_mul_saturate(geometry->flops, pixels);
    if (shape != NULL) {
        fill_shape(geometry, &output, shape);
    }
    return GOPS_OK;
}
