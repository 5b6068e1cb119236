/* regular_file.c: opens files that are neither devices nor FIFOs, and reads them. */
#include "common/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

bool gops_regular_file_open(const char *path, int *descriptor, int64_t *bytes,
                            gops_tool_error *error)
{
    struct stat status;
    /* With O_NONBLOCK a FIFO is opened at once, and refused below. */
    *descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*descriptor < 0) {
        return gops_tool_refuse_errno(error, "%s: it cannot be opened", path);
    }
    if (fstat(*descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(*descriptor);
        *descriptor = -1;
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s: it is not a regular file", path);
    }
    *bytes = (int64_t)status.st_size;
    return true;
}

bool gops_regular_file_read(int descriptor, void *memory, size_t count, int64_t offset,
                            gops_tool_error *error)
{
    size_t done = 0;
    while (done < count) {
        const ssize_t got =
            pread(descriptor, (char *)memory + done, count - done, (off_t)(offset + (int64_t)done));
        if (got < 0 && errno != EINTR) {
            return gops_tool_refuse_errno(error, "it cannot be read");
        }
        if (got == 0) {
            return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                    "it has become shorter while it was read");
        }
        done += got > 0 ? (size_t)got : 0;
    }
    return true;
}
