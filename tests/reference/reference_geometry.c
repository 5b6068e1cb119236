/* reference_geometry.c: output sizes and pads by the formulas of the specification. */
#include "reference_geometry.h"

#include <string.h>

#include "wide_numbers.h"

typedef gops_test_wide wide;

static int64_t list_value(const gops_list *list, int32_t axis, int64_t left_out)
{
    return list->count == 0 ? left_out : list->values[axis];
}

static void common_part(const gops_tensor *data, const gops_tensor *filter,
                        const gops_list *strides, const gops_list *dilations,
                        gops_reference_geometry *g)
{
    memset(g, 0, sizeof *g);
    g->spatial = data->rank - 2;
    g->batch = data->dims[0];
    g->groups = filter->dims[0];
    for (int32_t i = 0; i < g->spatial; i++) {
        g->data[i] = data->dims[2 + i];
        g->kernel[i] = filter->dims[3 + i];
        g->stride[i] = list_value(strides, i, 1);
        g->dilation[i] = list_value(dilations, i, 1);
    }
}

static void write_output(gops_type type, gops_reference_geometry *g)
{
    g->output.type = type;
    g->output.rank = 2 + g->spatial;
    g->output.dims[0] = g->batch;
    g->output.dims[1] = g->groups * g->c_out;
    for (int32_t i = 0; i < g->spatial; i++)
        g->output.dims[2 + i] = g->result[i];
}

int gops_reference_conv_geometry(const gops_tensor *data, const gops_tensor *filter,
                                 const gops_conv_attributes *attributes, gops_reference_geometry *g)
{
    common_part(data, filter, &attributes->strides, &attributes->dilations, g);
    g->c_out = filter->dims[1];
    g->c_in = filter->dims[2];
    for (int32_t i = 0; i < g->spatial; i++) {
        wide input = g->data[i];
        wide reach = ((wide)g->kernel[i] - 1) * g->dilation[i] + 1;
        wide begin = 0;
        wide end = 0;
        if (attributes->auto_pad == GOPS_AUTO_PAD_EXPLICIT) {
            begin = list_value(&attributes->pads_begin, i, 0);
            end = list_value(&attributes->pads_end, i, 0);
        } else if (attributes->auto_pad != GOPS_AUTO_PAD_VALID) {
            wide wanted = gops_test_quotient(input + g->stride[i] - 1, g->stride[i]);
            wide total = (wanted - 1) * g->stride[i] + reach - input;
            if (total < 0)
                total = 0;
            wide smaller = gops_test_quotient(total, 2);
            int upper = attributes->auto_pad == GOPS_AUTO_PAD_SAME_UPPER;
            begin = upper ? smaller : total - smaller;
            end = upper ? total - smaller : smaller;
        }
        if (begin + input + end < reach)
            return 0;
        g->pads_begin[i] = (int64_t)begin;
        g->pads_end[i] = (int64_t)end;
        g->result[i] = (int64_t)(gops_test_quotient(begin + input + end - reach, g->stride[i]) + 1);
    }
    write_output(data->type, g);
    return 1;
}

/* The pads of one axis of the transposed convolution whose whole scatter result, output_padding
 * included, has `full` elements, when the output is to have `wanted`. */
static void pads_for_wanted(wide full, wide wanted, const gops_deconv_attributes *attributes,
                            int32_t axis, wide *begin, wide *end)
{
    wide total = full - wanted;
    if (total < 0)
        total = 0;
    wide half_down = gops_test_quotient(total, 2);
    wide half_up = total - half_down;
    int upper = attributes->auto_pad == GOPS_AUTO_PAD_SAME_UPPER;
    int lower = attributes->auto_pad == GOPS_AUTO_PAD_SAME_LOWER;
    switch (attributes->output_shape_rule) {
    case GOPS_OUTPUT_SHAPE_ONNX:
        *begin = upper ? half_down : half_up;
        break;
    case GOPS_OUTPUT_SHAPE_OPENVINO:
        if (attributes->auto_pad == GOPS_AUTO_PAD_EXPLICIT) {
            *begin = list_value(&attributes->pads_begin, axis, 0);
            *end = list_value(&attributes->pads_end, axis, 0);
            return;
        }
        if (!upper && !lower) {
            *begin = *end = 0;
            return;
        }
        *begin = upper ? half_up : half_down;
        break;
    case GOPS_OUTPUT_SHAPE_SPEC:
    default:
        *begin = upper ? half_up : half_down;
        break;
    }
    *end = total - *begin;
}

int gops_reference_deconv_geometry(const gops_tensor *data, const gops_tensor *filter,
                                   const gops_deconv_attributes *attributes,
                                   gops_reference_geometry *g)
{
    common_part(data, filter, &attributes->strides, &attributes->dilations, g);
    g->c_in = filter->dims[1];
    g->c_out = filter->dims[2];
    for (int32_t i = 0; i < g->spatial; i++) {
        wide full = (wide)g->stride[i] * (g->data[i] - 1) +
                    ((wide)g->kernel[i] - 1) * g->dilation[i] + 1 +
                    list_value(&attributes->output_padding, i, 0);
        int same = attributes->auto_pad == GOPS_AUTO_PAD_SAME_UPPER ||
                   attributes->auto_pad == GOPS_AUTO_PAD_SAME_LOWER;
        wide begin = 0;
        wide end = 0;
        wide result;
        if (attributes->output_shape.count != 0) {
            result = attributes->output_shape.values[i];
            pads_for_wanted(full, result, attributes, i, &begin, &end);
        } else {
            if (attributes->auto_pad == GOPS_AUTO_PAD_EXPLICIT) {
                begin = list_value(&attributes->pads_begin, i, 0);
                end = list_value(&attributes->pads_end, i, 0);
            } else if (same && attributes->output_shape_rule == GOPS_OUTPUT_SHAPE_ONNX) {
                pads_for_wanted(full, (wide)g->data[i] * g->stride[i], attributes, i, &begin, &end);
            }
            result = full - begin - end;
        }
        if (result < 1)
            return 0;
        g->pads_begin[i] = (int64_t)begin;
        g->pads_end[i] = (int64_t)end;
        g->result[i] = (int64_t)result;
    }
    write_output(data->type, g);
    return 1;
}
