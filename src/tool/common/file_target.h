/* file_target.h: finds out what kind of file a path to write to names. */
#ifndef GOPS_COMMON_FILE_TARGET_H
#define GOPS_COMMON_FILE_TARGET_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

typedef enum gops_target_kind {
    GOPS_TARGET_NEW,     /* no file, though a symbolic link may point to the name */
    GOPS_TARGET_REGULAR, /* a regular file with a name */
    GOPS_TARGET_OTHER,   /* a device, FIFO, directory: to be opened as it is */
    GOPS_TARGET_OPEN,    /* an open file that may have no name: /dev/stdout, /proc/self/fd/1 */
} gops_target_kind;

typedef struct gops_file_target {
    gops_target_kind kind;
    char name[PATH_MAX]; /* with symbolic links followed; of GOPS_TARGET_OPEN the last link */
    struct stat status;  /* of GOPS_TARGET_REGULAR and GOPS_TARGET_OTHER */
} gops_file_target;

/* False, with errno, if symbolic links form a loop or names are too long. */
bool gops_file_target_find(const char *path, gops_file_target *target);

/* Opens a target of kind OTHER or OPEN for writing; -1, with errno. A descriptor of this process is
 * duplicated, so that writing goes on at its offset, as shell redirections expect. */
int gops_file_target_open(const gops_file_target *target);

#endif
