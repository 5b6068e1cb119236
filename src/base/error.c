/* base/error.c: statuses and messages. */
#include "base/error.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

gops_status gops_fail(gops_error *error, gops_status status, const char *format, ...)
{
    if (error != NULL) {
        va_list arguments;
        error->status = status;
        va_start(arguments, format);
        vsnprintf(error->message, sizeof error->message, format, arguments);
        va_end(arguments);
    }
    return status;
}

const char *gops_status_name(gops_status status)
{
    static const char *const names[] = {
        [GOPS_OK] = "ok",
        [GOPS_INVALID] = "invalid",
        [GOPS_UNSUPPORTED] = "unsupported",
        [GOPS_TOO_LARGE] = "too large",
        [GOPS_OUT_OF_MEMORY] = "out of memory",
        [GOPS_HOST_FAILED] = "host failed",
    };
    size_t index = (size_t)status;
    return index < sizeof names / sizeof names[0] ? names[index] : "unknown";
}
