#include "tool_layer.h"

#include "elements.h"
#include "guarded_memory.h"
#include "reference_geometry.h"
#include "tool_npy.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void tool_layer_add(tool_layer *layer, const char *format, ...)
{
    const size_t used = strlen(layer->line);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(layer->line + used, sizeof layer->line - used, format, arguments);
    va_end(arguments);
}

void *tool_layer_tensor(tool_layer *layer, const char *flag, const char *dtype,
                        const gops_tensor *tensor)
{
    char path[32];
    const int64_t count = gops_test_elements(tensor);
    void *elements = gops_test_allocate((size_t)count * gops_test_type_bytes(tensor->type));
    gops_test_random_fill(&layer->random, tensor->type, elements, count);
    snprintf(path, sizeof path, "%s.npy", flag);
    tool_npy_write(path, dtype, tensor, elements);
    tool_layer_add(layer, " --%s=%s", flag, path);
    return elements;
}

void tool_layer_draw(tool_layer *layer, gops_type data, gops_type filter)
{
    static const gops_conv_attributes conv = {
        .strides = {2, {2, 1}}, .pads_begin = {2, {1, 0}}, .pads_end = {2, {0, 2}}};
    static const gops_deconv_attributes deconv = {.strides = {2, {2, 3}}, .pads_end = {2, {1, 0}}};
    if (layer->transposed) {
        layer->data = GOPS_TEST_TENSOR(data, 2, 6, 5, 3);
        layer->filter = GOPS_TEST_TENSOR(filter, 3, 2, 5, 3, 2);
        gops_reference_deconv_geometry(&layer->data, &layer->filter, &deconv, &layer->geometry);
        tool_layer_add(layer, "run deconv --output=y.npy --strides=2,3 --pads-end=1,0");
    } else {
        layer->data = GOPS_TEST_TENSOR(data, 2, 6, 7, 11);
        layer->filter = GOPS_TEST_TENSOR(filter, 2, 5, 3, 3, 2);
        gops_reference_conv_geometry(&layer->data, &layer->filter, &conv, &layer->geometry);
        tool_layer_add(layer,
                       "run conv --output=y.npy --strides=2,1 --pads-begin=1,0 --pads-end=0,2");
    }
}
