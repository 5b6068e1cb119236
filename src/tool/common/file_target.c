/* file_target.c: finds out what kind of file a path to write to names. */
#include "common/file_target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_LINKS = 40 }; /* what Linux follows */

/* A link below /proc need not contain a path that exists: its file may be removed, or be a pipe. */
static bool is_of_proc(const struct stat *link)
{
    struct stat proc;
    return lstat("/proc/self", &proc) == 0 && link->st_dev == proc.st_dev;
}

/* Replaces the name of a link by its target, which may be relative to the link's folder. */
static bool follow(char name[PATH_MAX])
{
    char to[PATH_MAX];
    const ssize_t length = readlink(name, to, sizeof to);
    if (length < 0) {
        return false;
    }
    const char *slash = strrchr(name, '/');
    const size_t folder = to[0] != '/' && slash != NULL ? (size_t)(slash + 1 - name) : 0;
    if (folder + (size_t)length >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(name + folder, to, (size_t)length);
    name[folder + (size_t)length] = '\0';
    return true;
}

bool gops_file_target_find(const char *path, gops_file_target *target)
{
    if (strlen(path) >= sizeof target->name) {
        errno = ENAMETOOLONG;
        return false;
    }
    strcpy(target->name, path);
    for (int links = 0; links <= MAX_LINKS; links++) {
        if (lstat(target->name, &target->status) != 0) {
            target->kind = GOPS_TARGET_NEW;
            return true;
        }
        if (!S_ISLNK(target->status.st_mode)) {
            target->kind =
                S_ISREG(target->status.st_mode) ? GOPS_TARGET_REGULAR : GOPS_TARGET_OTHER;
            return true;
        }
        if (is_of_proc(&target->status)) {
            target->kind = GOPS_TARGET_OPEN;
            return true;
        }
        if (!follow(target->name)) {
            return false;
        }
    }
    errno = ELOOP;
    return false;
}

/* The descriptor of this process that a link such as /proc/self/fd/1 names, or -1. */
static int own_descriptor(const char *link)
{
    struct stat there, ours;
    const char *slash = strrchr(link, '/');
    char *end;
    const long number = slash != NULL ? strtol(slash + 1, &end, 10) : -1;
    if (number < 0 || number > INT_MAX || end == slash + 1 || *end != '\0' ||
        stat(link, &there) != 0 || fstat((int)number, &ours) != 0) {
        return -1;
    }
    return there.st_dev == ours.st_dev && there.st_ino == ours.st_ino ? (int)number : -1;
}

int gops_file_target_open(const gops_file_target *target)
{
    const int own = target->kind == GOPS_TARGET_OPEN ? own_descriptor(target->name) : -1;
    return own >= 0 ? fcntl(own, F_DUPFD_CLOEXEC, 0)
                    : open(target->name, O_WRONLY | O_TRUNC | O_CLOEXEC);
}
