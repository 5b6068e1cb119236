/* fuzz_files.c: files in memory and a temporary folder, each made once for the process. */
#include "fuzz_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

static char folder[] = "/dev/shm/groupops-fuzz-XXXXXX";
static char elsewhere[] = "/tmp/groupops-fuzz-XXXXXX";
static const char *made;

static void write_all(int descriptor, const void *bytes, size_t count)
{
    const ssize_t wrote = write(descriptor, bytes, count);
    gops_fuzz_require(wrote == (ssize_t)count, "a file of %zu bytes was not written", count);
}

void gops_fuzz_file_set(gops_fuzz_file *file, const void *bytes, size_t count)
{
    if (file->descriptor == 0) {
        file->descriptor = memfd_create("groupops-fuzz", MFD_CLOEXEC);
        gops_fuzz_require(file->descriptor > 0, "no file in memory");
        snprintf(file->path, sizeof file->path, "/proc/self/fd/%d", file->descriptor);
    }
    gops_fuzz_require(ftruncate(file->descriptor, 0) == 0 &&
                          lseek(file->descriptor, 0, SEEK_SET) == 0,
                      "a file in memory was not emptied");
    write_all(file->descriptor, bytes, count);
}

static void remove_folder(void)
{
    gops_fuzz_folder_clean(NULL);
    rmdir(made);
}

const char *gops_fuzz_folder(void)
{
    if (made == NULL) {
        made = mkdtemp(folder);
        if (made == NULL)
            made = mkdtemp(elsewhere);
        gops_fuzz_require(made != NULL, "no folder to write in");
        atexit(remove_folder);
    }
    return made;
}

int gops_fuzz_folder_clean(const char *keep)
{
    char path[512];
    struct dirent *entry;
    struct stat status;
    int removed = 0;
    DIR *listing = opendir(gops_fuzz_folder());
    gops_fuzz_require(listing != NULL, "the folder is gone");
    while ((entry = readdir(listing)) != NULL) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
            (keep != NULL && strncmp(name, keep, strlen(keep)) == 0))
            continue;
        snprintf(path, sizeof path, "%s/%s", made, name);
        gops_fuzz_require(strncmp(name, ".groupops-", 10) != 0, "a temporary file is left: %s",
                          path);
        gops_fuzz_require(lstat(path, &status) == 0, "%s: it is gone", path);
        if (S_ISDIR(status.st_mode))
            rmdir(path);
        else
            unlink(path);
        removed++;
    }
    closedir(listing);
    return removed;
}

void gops_fuzz_folder_write(const char *name, const void *bytes, size_t count)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", gops_fuzz_folder(), name);
    const int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    gops_fuzz_require(descriptor >= 0, "%s: it cannot be written", path);
    write_all(descriptor, bytes, count);
    close(descriptor);
}
