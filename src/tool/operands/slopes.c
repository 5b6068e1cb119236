/* slopes.c: a slope as a number, which is rounded to the output's type, or slopes of that type in a
 * file. */
#include "operands/slopes.h"

#include "npy/element.h"
#include "operands/numbers.h"

#include <stdlib.h>
#include <string.h>

static bool fill(const gops_tool_numbers *read, const gops_tensor *output, void **slopes,
                 gops_tool_error *error)
{
    const size_t channels = (size_t)output->dims[1], bytes = gops_type_bytes(output->type);
    double element = 0; /* as wide as any */
    *slopes = calloc(channels + 1, bytes);
    if (*slopes == NULL) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "--%s: no memory", read->flag);
    }
    gops_element_store(output->type, read->number, &element);
    const char *from = read->elements != NULL ? read->elements : (const char *)&element;
    for (size_t i = 0; i < channels; i++) {
        memcpy((char *)*slopes + i * bytes, from + (read->count == 1 ? 0 : i * bytes), bytes);
    }
    return true;
}

bool gops_tool_slopes_read(const gops_settings *settings, const gops_tensor *output, void **slopes,
                           gops_tool_error *error)
{
    gops_tool_numbers read = {.flag = "slopes", .text = settings->slopes};
    *slopes = NULL;
    if (settings->activation.kind != GOPS_ACTIVATION_PRELU) {
        return true;
    }
    if (settings->slopes == NULL) { /* of a suite: elsewhere flags.c checks it */
        return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                "--activation=prelu needs --slopes=NUMBER|FILE");
    }
    const bool done = gops_numbers_read(&read, output->type, error) &&
                      gops_numbers_check_count(&read, output, error) &&
                      fill(&read, output, slopes, error);
    free(read.elements);
    return done;
}
