/* dims_text.c: dimensions as text. */
#include "common/dims_text.h"

#include <inttypes.h>
#include <stdio.h>

void gops_dims_text(const int64_t *dims, int32_t count, char text[GOPS_DIMS_TEXT_BYTES])
{
    size_t used = 0;
    text[0] = '\0';
    for (int32_t i = 0; i < count; i++) {
        used += (size_t)snprintf(text + used, GOPS_DIMS_TEXT_BYTES - used, "%s%" PRId64,
                                 i == 0 ? "" : ",", dims[i]);
    }
}
