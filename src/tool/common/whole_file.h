/* whole_file.h: a file that appears whole or not at all.
 *
 * What is written goes to a temporary file in the same folder, which takes the name in the end.
 * What becomes of the one that is replaced:
 * - It keeps its permissions, and its owner and group where the system lets us give them; where it
 *   keeps its group from us, the new file's group may do what others may. Set-user-ID bits go, as
 *   with any writing; access control lists and extended attributes do.
 * - A file that must not be written to is refused, though its folder would let it be replaced; so
 * is one in a folder that takes no temporary file. It stays as it was.
 * - A symbolic link stays, and what it points to is made or replaced.
 * - The other names of a file with several (hard links) keep the old content.
 * A name that stands for something else than a regular file (a device, a FIFO) is written to as it
 * is, and so is /dev/stdout, at the place where it stands, whatever it was redirected to. */
#ifndef GOPS_COMMON_WHOLE_FILE_H
#define GOPS_COMMON_WHOLE_FILE_H

#include "common/file_target.h"
#include "common/tool_error.h"

#include <stddef.h>

typedef struct gops_whole_file {
    const char *path;
    int descriptor;
    bool replaces; /* whether there is a temporary file */
    gops_file_target target;
    char temporary[PATH_MAX];
} gops_whole_file;

/* After any of these has failed nothing is left of the temporary file, and the struct is done
 * with. */
bool gops_whole_file_open(const char *path, gops_whole_file *file, gops_tool_error *error);
bool gops_whole_file_write(gops_whole_file *file, const void *bytes, size_t count,
                           gops_tool_error *error);
bool gops_whole_file_finish(gops_whole_file *file, gops_tool_error *error);

/* The same, but replaces nothing: where a file of that name has come up by now, it stays, nothing
 * of ours is left, and *taken is set. */
bool gops_whole_file_finish_new(gops_whole_file *file, bool *taken, gops_tool_error *error);

#endif
