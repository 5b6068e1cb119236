/* onnx_attributes.c: reads the attributes of Conv and ConvTranspose nodes and splits their weights
 * into groups. */
#include "onnx_attributes.h"

#include <stdio.h>

static bool read_int(const gops_onnx_node *node, const char *name, int64_t *value, char *why)
{
    gops_onnx_attribute attribute;
    gops_onnx_step step = gops_onnx_find_attribute(node, name, GOPS_ONNX_INT, &attribute);
    if (step == GOPS_ONNX_FOUND)
        *value = attribute.i;
    else if (step == GOPS_ONNX_MALFORMED)
        snprintf(why, GOPS_ONNX_WHY, "attribute %s is malformed", name);
    return step != GOPS_ONNX_MALFORMED;
}

/* `size` numbers, or count 0 where the attribute is left out. */
static bool read_ints(const gops_onnx_node *node, const char *name, int size,
                      gops_onnx_attribute *attribute, char *why)
{
    *attribute = (gops_onnx_attribute){0};
    gops_onnx_step step = gops_onnx_find_attribute(node, name, GOPS_ONNX_INTS, attribute);
    bool good = step == GOPS_ONNX_END || (step == GOPS_ONNX_FOUND && attribute->int_count == size);
    if (!good)
        snprintf(why, GOPS_ONNX_WHY, "attribute %s is malformed or has not %d numbers", name, size);
    return good;
}

static bool read_list(const gops_onnx_node *node, const char *name, int spatial, gops_list *list,
                      char *why)
{
    gops_onnx_attribute attribute;
    if (!read_ints(node, name, spatial, &attribute, why))
        return false;
    list->count = attribute.int_count;
    for (int i = 0; i < attribute.int_count; i++)
        list->values[i] = attribute.ints[i];
    return true;
}

/* ONNX writes all begins, then all ends. */
static bool read_pads(const gops_onnx_node *node, int spatial, gops_list *begin, gops_list *end,
                      char *why)
{
    gops_onnx_attribute attribute;
    if (!read_ints(node, "pads", 2 * spatial, &attribute, why))
        return false;
    begin->count = end->count = attribute.int_count / 2;
    for (int i = 0; i < attribute.int_count / 2; i++) {
        begin->values[i] = attribute.ints[i];
        end->values[i] = attribute.ints[spatial + i];
    }
    return true;
}

static bool read_auto_pad(const gops_onnx_node *node, gops_auto_pad *auto_pad, char *why)
{
    static const char *const names[] = {
        [GOPS_AUTO_PAD_EXPLICIT] = "NOTSET",
        [GOPS_AUTO_PAD_SAME_UPPER] = "SAME_UPPER",
        [GOPS_AUTO_PAD_SAME_LOWER] = "SAME_LOWER",
        [GOPS_AUTO_PAD_VALID] = "VALID",
    };
    gops_onnx_attribute attribute;
    gops_onnx_step step = gops_onnx_find_attribute(node, "auto_pad", GOPS_ONNX_STRING, &attribute);
    *auto_pad = GOPS_AUTO_PAD_EXPLICIT;
    if (step == GOPS_ONNX_END)
        return true;
    for (int i = 0; step == GOPS_ONNX_FOUND && i < 4; i++) {
        if (gops_onnx_equal(attribute.s, names[i])) {
            *auto_pad = (gops_auto_pad)i;
            return true;
        }
    }
    snprintf(why, GOPS_ONNX_WHY, "attribute auto_pad is malformed or has an unknown value");
    return false;
}

static bool check_kernel_shape(const gops_onnx_node *node, const gops_tensor *weights, char *why)
{
    gops_list kernel;
    if (!read_list(node, "kernel_shape", weights->rank - 2, &kernel, why))
        return false;
    for (int i = 0; i < kernel.count; i++) {
        if (kernel.values[i] != weights->dims[2 + i]) {
            snprintf(why, GOPS_ONNX_WHY, "kernel_shape is not that of the weights");
            return false;
        }
    }
    return true;
}

/* Splits the first axis of the weights by the attribute group. */
static bool split_groups(const gops_onnx_node *node, const gops_tensor *weights,
                         gops_tensor *filter, char *why)
{
    int64_t group = 1;
    if (!read_int(node, "group", &group, why))
        return false;
    if (weights->rank < 3 || weights->rank >= GOPS_MAX_RANK || group < 1 ||
        weights->dims[0] % group != 0) {
        snprintf(why, GOPS_ONNX_WHY, "group %lld does not fit the weights", (long long)group);
        return false;
    }
    *filter = *weights;
    filter->rank = weights->rank + 1;
    filter->dims[0] = group;
    filter->dims[1] = weights->dims[0] / group;
    for (int i = 1; i < weights->rank; i++)
        filter->dims[1 + i] = weights->dims[i];
    return true;
}

bool gops_onnx_conv_attributes(const gops_onnx_node *node, const gops_tensor *weights,
                               gops_conv_attributes *attributes, gops_tensor *filter,
                               char why[GOPS_ONNX_WHY])
{
    int spatial = weights->rank - 2;
    *attributes = (gops_conv_attributes){0};
    return split_groups(node, weights, filter, why) && check_kernel_shape(node, weights, why) &&
           read_list(node, "strides", spatial, &attributes->strides, why) &&
           read_list(node, "dilations", spatial, &attributes->dilations, why) &&
           read_pads(node, spatial, &attributes->pads_begin, &attributes->pads_end, why) &&
           read_auto_pad(node, &attributes->auto_pad, why);
}

bool gops_onnx_deconv_attributes(const gops_onnx_node *node, const gops_tensor *weights,
                                 gops_deconv_attributes *attributes, gops_tensor *filter,
                                 char why[GOPS_ONNX_WHY])
{
    int spatial = weights->rank - 2;
    *attributes = (gops_deconv_attributes){.output_shape_rule = GOPS_OUTPUT_SHAPE_ONNX};
    return split_groups(node, weights, filter, why) && check_kernel_shape(node, weights, why) &&
           read_list(node, "strides", spatial, &attributes->strides, why) &&
           read_list(node, "dilations", spatial, &attributes->dilations, why) &&
           read_pads(node, spatial, &attributes->pads_begin, &attributes->pads_end, why) &&
           read_list(node, "output_padding", spatial, &attributes->output_padding, why) &&
           read_list(node, "output_shape", spatial, &attributes->output_shape, why) &&
           read_auto_pad(node, &attributes->auto_pad, why);
}
