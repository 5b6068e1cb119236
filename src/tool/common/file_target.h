/* file_target.h: what a name to write to stands for. */
#ifndef GOPS_COMMON_FILE_TARGET_H
#define GOPS_COMMON_FILE_TARGET_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

typedef enum gops_target_kind {
    GOPS_TARGET_NEW,     /* nothing is there, though a link may point to it */
    GOPS_TARGET_REGULAR, /* a regular file with a name */
    GOPS_TARGET_OTHER,   /* a device, FIFO, directory: to be opened as it is */
    GOPS_TARGET_OPEN,    /* /dev/stdout and its like: a file that is open, maybe without a name */
} gops_target_kind;

typedef struct gops_file_target {
    gops_target_kind kind;
    char name[PATH_MAX]; /* behind all symbolic links; of GOPS_TARGET_OPEN the last link */
    struct stat status;  /* of GOPS_TARGET_REGULAR */
} gops_file_target;

/* False, with errno, where links lead round in a circle or names are too long. */
bool gops_file_target_find(const char *path, gops_file_target *target);

/* Opens a target of the latter two kinds for writing; -1, with errno. One that is a descriptor of
 * this process is written on where it stands, as a shell's redirections have it. */
int gops_file_target_open(const gops_file_target *target);

#endif
