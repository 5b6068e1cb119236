/* slopes.c: a slope as a number, which is rounded to the output's type, or slopes of that type in a
 * file. */
#include "npy/slopes.h"

#include "npy/numbers.h"

#include "types/small_float.h"

#include <stdlib.h>
#include <string.h>

/* The number's element of a floating point type, rounded to single precision first but for f64. */
static void store_number(gops_type type, double number, void *element)
{
    const float single = (float)number;
    const uint16_t two =
        (uint16_t)(type == GOPS_F16 ? gops_f16_store(single) : gops_bf16_store(single));
    const uint8_t one =
        (uint8_t)(type == GOPS_F8E4M3 ? gops_f8e4m3_store(single) : gops_f8e5m2_store(single));
    const size_t bytes = gops_type_bytes(type);
    memcpy(element,
           bytes == 8   ? (const void *)&number
           : bytes == 4 ? (const void *)&single
           : bytes == 2 ? (const void *)&two
                        : (const void *)&one,
           bytes);
}

static bool fill(const gops_tool_numbers *read, const gops_tensor *output, void **slopes,
                 gops_tool_error *error)
{
    const size_t channels = (size_t)output->dims[1], bytes = gops_type_bytes(output->type);
    double element; /* as wide as any */
    *slopes = calloc(channels + 1, bytes);
    if (*slopes == NULL) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "--%s: no memory", read->flag);
    }
    store_number(output->type, read->number, &element);
    const char *from = read->elements != NULL ? read->elements : (const char *)&element;
    for (size_t i = 0; i < channels; i++) {
        memcpy((char *)*slopes + i * bytes, from + (read->count == 1 ? 0 : i * bytes), bytes);
    }
    return true;
}

bool gops_slopes_read(const gops_settings *settings, const gops_tensor *output, void **slopes,
                      gops_tool_error *error)
{
    gops_tool_numbers read = {.flag = "slopes", .text = settings->slopes};
    *slopes = NULL;
    if (settings->slopes == NULL || settings->activation.kind != GOPS_ACTIVATION_PRELU) {
        return true;
    }
    const bool done = gops_numbers_read(&read, output->type, error) &&
                      gops_numbers_check_count(&read, output, error) &&
                      fill(&read, output, slopes, error);
    free(read.elements);
    return done;
}
