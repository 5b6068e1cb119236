/* tool_error.h: an error of the tool: its line on standard error and its exit code. */
#ifndef GOPS_COMMON_TOOL_ERROR_H
#define GOPS_COMMON_TOOL_ERROR_H

#include <stdbool.h>

enum {
    GOPS_EXIT_DONE = 0,
    GOPS_EXIT_FAILED = 1, /* any other error */
    GOPS_EXIT_USAGE = 2,  /* the words on the command line are wrong */
};

/* Room for a path of PATH_MAX bytes and a message of the library. */
#define GOPS_TOOL_MESSAGE_BYTES 5120

typedef struct gops_tool_error {
    int exit_code;
    char message[GOPS_TOOL_MESSAGE_BYTES];
} gops_tool_error;

/* Fills the error and returns false, so that a function which fails can end with
 * `return gops_tool_refuse(...)`. */
bool gops_tool_refuse(gops_tool_error *error, int exit_code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with GOPS_EXIT_FAILED and the text of errno after the format's. */
bool gops_tool_refuse_errno(gops_tool_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Puts the formatted text and ": " in front of the message, and returns false. */
bool gops_tool_prefix(gops_tool_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Flushes standard output; false if any of it could not be written, now or before. */
bool gops_tool_flush_output(gops_tool_error *error);

/* Prints "PROGRAM: MESSAGE" as one line on standard error: control characters, which a path may
 * have, are shown as '?'. */
void gops_tool_print_error(const char *program, const gops_tool_error *error);

#endif
