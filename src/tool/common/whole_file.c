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
static const int ending_signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGXCPU};
enum { ENDING_SIGNALS = sizeof ending_signals / sizeof ending_signals[0] };

/* The file to remove when one of them arrives; the tool writes one file at a time. */
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

static bool fail_file(gops_whole_file *file, const char *what, gops_tool_error *error)
{
    gops_tool_refuse_errno(error, "%s: it cannot be %s", file->path, what);
    gops_whole_file_discard(file);
    return false;
}

/* mkstemp gives permissions to the owner alone: gives those that the umask allows. */
static bool share_new(int descriptor)
{
    const mode_t mask = umask(0);
    umask(mask);
    return fchmod(descriptor, 0666 & ~mask) == 0;
}

/* Gives the file the owner, group and permissions of the one that it will replace. If the group
 * cannot be set, the file's group has no more rights than others had. */
static bool share_like(int descriptor, const struct stat *old)
{
    const uid_t unchanged = (uid_t)-1;
    mode_t mode = old->st_mode & 0777;
    struct stat made;
    if (fchown(descriptor, old->st_uid, old->st_gid) != 0 &&
        fchown(descriptor, unchanged, old->st_gid) != 0 &&
        (fstat(descriptor, &made) != 0 || made.st_gid != old->st_gid)) {
        mode = (mode & ~(mode_t)S_IRWXG) | (mode & S_IRWXO) << 3;
    }
    return fchmod(descriptor, mode) == 0;
}

static bool open_temporary(gops_whole_file *file, gops_tool_error *error)
{
    const char *name = file->target.name, *slash = strrchr(name, '/');
    const int folder = slash != NULL ? (int)(slash + 1 - name) : 0;
    const bool is_new = file->target.kind == GOPS_TARGET_NEW;
    const int length =
        snprintf(file->temporary, sizeof file->temporary, "%.*s.groupops-XXXXXX", folder, name);
    if (length < 0 || (size_t)length >= sizeof file->temporary) {
        errno = ENAMETOOLONG;
        return fail_file(file, "written", error);
    }
    file->descriptor = mkstemp(file->temporary);
    if (file->descriptor < 0) {
        return fail_file(file, is_new ? "written" : "replaced by a new file in its folder", error);
    }
    file->replaces = true;
    watch_signals(file->temporary);
    return (is_new ? share_new(file->descriptor)
                   : share_like(file->descriptor, &file->target.status)) ||
           fail_file(file, "given its permissions", error);
}

bool gops_whole_file_open(const char *path, gops_whole_file *file, gops_tool_error *error)
{
    file->path = path;
    file->descriptor = -1;
    file->replaces = false;
    if (!gops_file_target_find(path, &file->target)) {
        return fail_file(file, "written", error);
    }
    switch (file->target.kind) {
    case GOPS_TARGET_REGULAR:
        if (faccessat(AT_FDCWD, file->target.name, W_OK, AT_EACCESS) != 0) {
            return fail_file(file, "written", error);
        }
        return open_temporary(file, error);
    case GOPS_TARGET_NEW:
        return open_temporary(file, error);
    default:
        file->descriptor = gops_file_target_open(&file->target);
        return file->descriptor >= 0 || fail_file(file, "written", error);
    }
}

bool gops_whole_file_try(const char *path, gops_tool_error *error)
{
    gops_file_target target;
    gops_whole_file file;
    if (gops_file_target_find(path, &target) &&
        (target.kind == GOPS_TARGET_OPEN ||
         (target.kind == GOPS_TARGET_OTHER && !S_ISDIR(target.status.st_mode)))) {
        return true;
    }
    if (!gops_whole_file_open(path, &file, error)) {
        return false;
    }
    gops_whole_file_discard(&file);
    return true;
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
            return fail_file(file, "written", error);
        }
        done += (size_t)wrote;
    }
    return true;
}

/* Makes sure that all is on the disk, and closes the descriptor. */
static bool close_complete(gops_whole_file *file, gops_tool_error *error)
{
    if (file->replaces && fsync(file->descriptor) != 0) {
        return fail_file(file, "written", error);
    }
    const int descriptor = file->descriptor;
    file->descriptor = -1;
    return close(descriptor) == 0 || fail_file(file, "written", error);
}

bool gops_whole_file_finish(gops_whole_file *file, gops_tool_error *error)
{
    if (!close_complete(file, error)) {
        return false;
    }
    if (file->replaces && rename(file->temporary, file->target.name) != 0) {
        return fail_file(file, "given its name", error);
    }
    unfinished = NULL;
    return true;
}

bool gops_whole_file_finish_new(gops_whole_file *file, bool *taken, gops_tool_error *error)
{
    *taken = false;
    if (!close_complete(file, error)) {
        return false;
    }
    if (!file->replaces) {
        return true;
    }
    const bool linked = link(file->temporary, file->target.name) == 0;
    *taken = !linked && errno == EEXIST;
    if (linked || *taken) {
        unlink(file->temporary);
    } else if (rename(file->temporary, file->target.name) != 0) { /* no hard links, as on FAT */
        return fail_file(file, "given its name", error);
    }
    unfinished = NULL;
    return true;
}

bool gops_whole_file_join(const char *path, const char *temporary, gops_whole_file *file,
                          gops_tool_error *error)
{
    *file = (gops_whole_file){.path = path};
    snprintf(file->temporary, sizeof file->temporary, "%s", temporary);
    file->descriptor = open(temporary, O_WRONLY | O_CLOEXEC);
    if (file->descriptor < 0) {
        return fail_file(file, "written", error);
    }
    watch_signals(file->temporary);
    return true;
}

bool gops_whole_file_leave(gops_whole_file *file, gops_tool_error *error)
{
    const bool synced = fsync(file->descriptor) == 0;
    const int descriptor = file->descriptor;
    file->descriptor = -1;
    unfinished = NULL;
    return (close(descriptor) == 0 && synced) || fail_file(file, "written", error);
}

void gops_whole_file_discard(gops_whole_file *file)
{
    if (file->descriptor >= 0) {
        close(file->descriptor);
    }
    if (file->replaces) {
        unlink(file->temporary);
    }
    if (unfinished == file->temporary) {
        unfinished = NULL;
    }
}
