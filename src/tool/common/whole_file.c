/* whole_file.c: a file that appears whole or not at all. */
#include "common/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The signals by which people and systems end a program. */
static const int ending_signals[] = {SIGHUP, SIGINT, SIGTERM};
enum { ENDING_SIGNALS = sizeof ending_signals / sizeof ending_signals[0] };

/* What to remove when one of them comes; the tool writes one file at a time. */
static char *volatile unfinished;

static void remove_unfinished(int number)
{
    if (unfinished != NULL) {
        unlink(unfinished);
    }
    signal(number, SIG_DFL);
    raise(number);
}

static void watch_signals(char *temporary)
{
    unfinished = temporary;
    for (int i = 0; i < ENDING_SIGNALS; i++) {
        struct sigaction action;
        sigaction(ending_signals[i], NULL, &action);
        if (action.sa_handler == SIG_DFL) { /* nohup's SIG_IGN stays */
            action = (struct sigaction){.sa_handler = remove_unfinished};
            sigaction(ending_signals[i], &action, NULL);
        }
    }
}

static bool fail(gops_whole_file *file, const char *what, gops_tool_error *error)
{
    gops_tool_refuse_errno(error, "%s: it cannot be %s", file->path, what);
    if (file->descriptor >= 0) {
        close(file->descriptor);
    }
    if (file->replaces) {
        unlink(file->temporary);
        unfinished = NULL;
    }
    return false;
}

/* mkstemp makes files for the owner alone; others get what the umask allows. */
static void share(int descriptor)
{
    const mode_t mask = umask(0);
    umask(mask);
    fchmod(descriptor, 0666 & ~mask);
}

static bool open_temporary(gops_whole_file *file, gops_tool_error *error)
{
    const char *slash = strrchr(file->target, '/');
    const int folder = slash != NULL ? (int)(slash + 1 - file->target) : 0;
    const int length = snprintf(file->temporary, sizeof file->temporary, "%.*s.groupops-XXXXXX",
                                folder, file->target);
    if (length < 0 || (size_t)length >= sizeof file->temporary) {
        errno = ENAMETOOLONG;
        return fail(file, "written", error);
    }
    file->descriptor = mkstemp(file->temporary);
    if (file->descriptor < 0) {
        return fail(file, "written", error);
    }
    file->replaces = true;
    watch_signals(file->temporary);
    share(file->descriptor);
    return true;
}

bool gops_whole_file_open(const char *path, gops_whole_file *file, gops_tool_error *error)
{
    struct stat status;
    file->path = path;
    file->descriptor = -1;
    file->replaces = false;
    if (stat(path, &status) != 0) {
        if (strlen(path) >= sizeof file->target) {
            errno = ENAMETOOLONG;
            return fail(file, "written", error);
        }
        strcpy(file->target, path);
        return open_temporary(file, error);
    }
    if (S_ISREG(status.st_mode)) {
        if (realpath(path, file->target) == NULL || access(path, W_OK) != 0) {
            return fail(file, "written", error);
        }
        return open_temporary(file, error);
    }
    file->descriptor = open(path, O_WRONLY | O_CLOEXEC);
    return file->descriptor >= 0 || fail(file, "written", error);
}

bool gops_whole_file_write(gops_whole_file *file, const void *bytes, size_t count,
                           gops_tool_error *error)
{
    size_t done = 0;
    while (done < count) {
        const ssize_t wrote = write(file->descriptor, (const char *)bytes + done, count - done);
        if (wrote < 0 && errno == EINTR) {
            continue;
        }
        if (wrote < 0) {
            return fail(file, "written", error);
        }
        done += (size_t)wrote;
    }
    return true;
}

bool gops_whole_file_finish(gops_whole_file *file, gops_tool_error *error)
{
    if (file->replaces && fsync(file->descriptor) != 0) {
        return fail(file, "written", error);
    }
    const int descriptor = file->descriptor;
    file->descriptor = -1;
    if (close(descriptor) != 0) {
        return fail(file, "written", error);
    }
    if (file->replaces && rename(file->temporary, file->target) != 0) {
        return fail(file, "given its name", error);
    }
    unfinished = NULL;
    return true;
}
