/* tool_error.c: the errors of the tool. */
#include "common/tool_error.h"

#include "common/terminal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool gops_tool_refuse(gops_tool_error *error, int exit_code, const char *format, ...)
{
    va_list arguments;
    error->exit_code = exit_code;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return false;
}

bool gops_tool_refuse_errno(gops_tool_error *error, const char *format, ...)
{
    const char *reason = strerror(errno);
    va_list arguments;
    error->exit_code = GOPS_EXIT_FAILED;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    const size_t used = strlen(error->message);
    snprintf(error->message + used, sizeof error->message - used, ": %s", reason);
    return false;
}

bool gops_tool_prefix(gops_tool_error *error, const char *format, ...)
{
    const gops_tool_error reason = *error;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    const size_t used = strlen(error->message);
    snprintf(error->message + used, sizeof error->message - used, ": %s", reason.message);
    return false;
}

bool gops_tool_flush_output(gops_tool_error *error)
{
    if (fflush(stdout) != 0) {
        return gops_tool_refuse_errno(error, "standard output cannot be written");
    }
    /* An earlier write failed; errno no longer tells why. */
    return ferror(stdout) == 0 ||
           gops_tool_refuse(error, GOPS_EXIT_FAILED, "standard output cannot be written");
}

void gops_tool_print_error(const char *program, const gops_tool_error *error)
{
    fprintf(stderr, "%s%s:%s ", gops_terminal_style_text(stderr, GOPS_STYLE_ERROR), program,
            gops_terminal_style_text(stderr, GOPS_STYLE_PLAIN));
    gops_terminal_print(stderr, error->message);
    putc('\n', stderr);
}
