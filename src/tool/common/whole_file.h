/* whole_file.h: a file that appears whole or not at all.
 *
 * The content is written to a temporary file in the same folder, which is renamed at the end. An
 * existing file is replaced as follows:
 * - The new file gets the permissions of the old one, and its owner and group if the system allows.
 *   If the group cannot be set, the new file's group gets the permissions of others. Set-user-ID
 *   bits, access control lists and extended attributes are lost.
 * - A file without write permission is refused, even if its folder would allow a replacement, and
 *   so is a file in a folder without write permission. The old file stays.
 * - A symbolic link stays; its target is made or replaced.
 * - Other hard links of the file keep the old content.
 * A device or FIFO is written to directly, and so is /dev/stdout, from its current offset on. */
#ifndef GOPS_COMMON_WHOLE_FILE_H
#define GOPS_COMMON_WHOLE_FILE_H

#include "common/file_target.h"
#include "common/tool_error.h"

#include <stddef.h>

typedef struct gops_whole_file {
    const char *path;
    int descriptor;
    bool replaces; /* whether a temporary file is written */
    gops_file_target target;
    char temporary[PATH_MAX];
} gops_whole_file;

/* If one of these fails, the temporary file is removed and the struct must not be used again. */
bool gops_whole_file_open(const char *path, gops_whole_file *file, gops_tool_error *error);
bool gops_whole_file_write(gops_whole_file *file, const void *bytes, size_t count,
                           gops_tool_error *error);
bool gops_whole_file_finish(gops_whole_file *file, gops_tool_error *error);

/* Whether the file could be opened so now, for callers that compute long before they write. True for a
 * device or FIFO, which opening may change. */
bool gops_whole_file_try(const char *path, gops_tool_error *error);

/* As gops_whole_file_finish, but never replaces a file: if a file of that name exists by now, it stays, the
 * temporary file is removed and *taken is set. */
bool gops_whole_file_finish_new(gops_whole_file *file, bool *taken, gops_tool_error *error);

/* For further processes that write to the same file: opens the temporary file that the first one's
 * open made, to be removed if a signal ends this process. Ended by gops_whole_file_leave, after which
 * the first process finishes, or, where another one failed, discards the file. */
bool gops_whole_file_join(const char *path, const char *temporary, gops_whole_file *file,
                          gops_tool_error *error);
bool gops_whole_file_leave(gops_whole_file *file, gops_tool_error *error);
void gops_whole_file_discard(gops_whole_file *file);

#endif
