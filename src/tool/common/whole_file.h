/* whole_file.h: a file that appears whole or not at all.
 *
 * What is written goes to a temporary file in the same folder, which takes the name in the end. A
 * name that stands for something else than a regular file (a device, a FIFO) is written to as it
 * is; a symbolic link stays, and what it points to is replaced. */
#ifndef GOPS_COMMON_WHOLE_FILE_H
#define GOPS_COMMON_WHOLE_FILE_H

#include "common/tool_error.h"

#include <limits.h>
#include <stddef.h>

typedef struct gops_whole_file {
    const char *path;
    int descriptor;
    bool replaces; /* whether there is a temporary file */
    char target[PATH_MAX];
    char temporary[PATH_MAX];
} gops_whole_file;

/* After any of these has failed nothing is left of the temporary file, and the struct is done
 * with. */
bool gops_whole_file_open(const char *path, gops_whole_file *file, gops_tool_error *error);
bool gops_whole_file_write(gops_whole_file *file, const void *bytes, size_t count,
                           gops_tool_error *error);
bool gops_whole_file_finish(gops_whole_file *file, gops_tool_error *error);

#endif
