/* tool_quantization.c: reads scales and zero points, each a number or a file, and refuses by its flag's
 * name what is none. */
#include "operands/tool_quantization.h"

#include "common/flags.h"
#include "operands/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_8_bit(gops_type type)
{
    return type == GOPS_U8 || type == GOPS_I8;
}

/* `where`: "" or "[3]". */
static bool check_scale(const char *flag, const char *where, double scale, float *to,
                        gops_tool_error *error)
{
    *to = (float)scale;
    return (isfinite(*to) && *to > 0) ||
           gops_tool_refuse(error, GOPS_EXIT_FAILED,
                            "--%s%s is %g; a scale is finite and positive in single precision",
                            flag, where, scale);
}

static bool check_zero_point(const char *flag, const char *where, double zero, gops_type type,
                             gops_tool_error *error)
{
    const double low = type == GOPS_I8 ? INT8_MIN : 0;
    if (isfinite(zero) && zero != floor(zero)) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                "--%s%s is %g; a zero point is a whole number", flag, where, zero);
    }
    return (zero >= low && zero <= low + UINT8_MAX) ||
           gops_tool_refuse(error, GOPS_EXIT_FAILED, "--%s%s is %.17g; %s holds %g to %g", flag,
                            where, zero, gops_type_name(type), low, low + UINT8_MAX);
}

/* A floating point filter's scales may be negative or 0; f64's are doubles. */
static bool take_scale(const gops_tool_numbers *read, int64_t index, gops_type filter, void *scales,
                       gops_tool_error *error)
{
    const gops_numbers_place where = gops_numbers_place_of(read, index);
    const double scale = gops_numbers_element(read, index);
    if (is_8_bit(filter)) {
        return check_scale(read->flag, where.text, scale, (float *)scales + index, error);
    }
    if (filter == GOPS_F64) {
        ((double *)scales)[index] = scale;
    } else {
        ((float *)scales)[index] = (float)scale;
    }
    return (filter == GOPS_F64 ? isfinite(scale) : isfinite((float)scale)) ||
           gops_tool_refuse(error, GOPS_EXIT_FAILED, "--%s%s is %g; it must be finite%s",
                            read->flag, where.text, scale,
                            filter == GOPS_F64 ? "" : " in single precision");
}

static bool take_scales(const gops_tool_numbers *read, gops_type filter, gops_tool_quantization *to,
                        gops_tool_error *error)
{
    to->filter_scales = calloc((size_t)read->count + 1, sizeof(double));
    if (to->filter_scales == NULL) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "--%s: no memory", read->flag);
    }
    to->values.filter_scales = read->count != 0 ? to->filter_scales : NULL;
    to->values.filter_scales_count = read->count;
    for (int64_t i = 0; i < read->count; i++) {
        if (!take_scale(read, i, filter, to->filter_scales, error)) {
            return false;
        }
    }
    return true;
}

static bool take_zero_points(const gops_tool_numbers *read, gops_type type,
                             gops_tool_quantization *to, gops_tool_error *error)
{
    if (read->type != 0 && !is_8_bit(read->type) && read->type != GOPS_I32 &&
        read->type != GOPS_I64) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                "--%s: the elements of %s are %s; u8, i8, i32 or i64 is needed",
                                read->flag, read->text, gops_type_name(read->type));
    }
    uint8_t *bytes = calloc((size_t)read->count + 1, 1);
    if (bytes == NULL) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "--%s: no memory", read->flag);
    }
    to->filter_zero_points = bytes;
    to->values.filter_zero_points = read->count != 0 ? bytes : NULL;
    to->values.filter_zero_points_count = read->count;
    for (int64_t i = 0; i < read->count; i++) {
        const double zero = gops_numbers_element(read, i);
        if (!check_zero_point(read->flag, gops_numbers_place_of(read, i).text, zero, type, error)) {
            return false;
        }
        bytes[i] = (uint8_t)(int)zero;
    }
    return true;
}

static bool read_filter(const gops_settings *settings, const gops_tensor *filter,
                        const gops_tensor *output, gops_tool_quantization *to,
                        gops_tool_error *error)
{
    gops_tool_numbers scales = {.flag = "filter-scales", .text = settings->filter_scales};
    gops_tool_numbers zeros = {.flag = "filter-zero-points", .text = settings->filter_zero_points};
    const bool done = (scales.text == NULL || (gops_numbers_read(&scales, 0, error) &&
                                               gops_numbers_check_count(&scales, output, error) &&
                                               gops_numbers_check_real(&scales, error) &&
                                               take_scales(&scales, filter->type, to, error))) &&
                      (zeros.text == NULL || (gops_numbers_read(&zeros, 0, error) &&
                                              gops_numbers_check_count(&zeros, output, error) &&
                                              take_zero_points(&zeros, filter->type, to, error)));
    free(scales.elements);
    free(zeros.elements);
    return done;
}

/* A tensor's one scale and one zero point: their flags, what these gave, and where it goes. */
typedef struct tensor_flags {
    gops_type type;
    const char *scale_flag;
    double scale;
    float *scale_to;
    const char *zero_flag;
    int32_t zero;
    int32_t *zero_to;
} tensor_flags;

/* The zero point of a tensor that is not of 8 bits is not checked. */
static bool read_tensor(const gops_settings *settings, const tensor_flags *flags,
                        gops_tool_error *error)
{
    *flags->zero_to = flags->zero;
    return (!gops_flags_given(settings, flags->scale_flag) ||
            check_scale(flags->scale_flag, "", flags->scale, flags->scale_to, error)) &&
           (!is_8_bit(flags->type) ||
            check_zero_point(flags->zero_flag, "", flags->zero, flags->type, error));
}

/* Whether filter-scales is all that there is to read: of a floating point convolution. */
static bool is_scaled(const gops_settings *settings, const gops_tensor *inputs)
{
    return settings->filter_scales != NULL && inputs[0].type <= GOPS_F8E5M2 &&
           inputs[0].type == inputs[1].type && gops_flags_quantized(settings) == NULL;
}

static bool read_all(const gops_settings *settings, const gops_tensor *inputs,
                     const gops_tensor *output, gops_tool_quantization *to, gops_tool_error *error)
{
    gops_quantization *values = &to->values;
    const gops_type residual =
        settings->residual_type != 0 ? (gops_type)settings->residual_type : output->type;
    if (is_scaled(settings, inputs)) {
        return read_filter(settings, &inputs[1], output, to, error);
    }
    if (settings->output_type == 0 || !is_8_bit(inputs[0].type) || !is_8_bit(inputs[1].type)) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                "data is %s and the filter %s, %s an output-type; scales and zero "
                                "points are of quantized convolutions: data and filter of i8 or "
                                "u8, and an output-type",
                                gops_type_name(inputs[0].type), gops_type_name(inputs[1].type),
                                settings->output_type != 0 ? "with" : "without");
    }
    const tensor_flags tensors[] = {
        {inputs[0].type, "data-scale", settings->data_scale, &values->data_scale, "data-zero-point",
         settings->data_zero_point, &values->data_zero_point},
        {output->type, "output-scale", settings->output_scale, &values->output_scale,
         "output-zero-point", settings->output_zero_point, &values->output_zero_point},
        {residual, "residual-scale", settings->residual_scale, &values->residual_scale,
         "residual-zero-point", settings->residual_zero_point, &values->residual_zero_point},
    };
    for (size_t i = 0; i < sizeof tensors / sizeof tensors[0]; i++) {
        if (!read_tensor(settings, &tensors[i], error)) {
            return false;
        }
    }
    return read_filter(settings, &inputs[1], output, to, error);
}

bool gops_tool_quantization_read(const gops_settings *settings, const gops_tensor *inputs,
                                 const gops_tensor *output, gops_tool_quantization *read,
                                 gops_tool_error *error)
{
    memset(read, 0, sizeof *read);
    if (settings->filter_scales == NULL && gops_flags_quantized(settings) == NULL) {
        return true;
    }
    read->values.size = sizeof read->values;
    read->given = &read->values;
    if (!read_all(settings, inputs, output, read, error)) {
        gops_tool_quantization_release(read);
        return false;
    }
    return true;
}

void gops_tool_quantization_release(gops_tool_quantization *read)
{
    free(read->filter_scales);
    free(read->filter_zero_points);
    memset(read, 0, sizeof *read);
}
