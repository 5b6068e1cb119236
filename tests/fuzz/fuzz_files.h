/*
 * fuzz_files.h: files for targets that read them: in memory, by a path of the process's own, and a
 * folder in which to write.
 */
#ifndef GROUPOPS_TEST_FUZZ_FILES_H
#define GROUPOPS_TEST_FUZZ_FILES_H

#include <stddef.h>
#include <stdint.h>

/* A file without a name, whose path the tool's readers can open. */
typedef struct gops_fuzz_file {
    int descriptor; /* 0: not made yet */
    char path[64];
} gops_fuzz_file;

/* Gives the file that content. */
void gops_fuzz_file_set(gops_fuzz_file *file, const void *bytes, size_t count);

/* A folder of this process's, in memory where there is such a file system; removed when the process
 * ends. The same one in each call. */
const char *gops_fuzz_folder(void);

/* Removes the files in it but for those whose names begin with `keep`. That there is nothing else
 * in it, and no temporary file, is required. Returns how many were removed. */
int gops_fuzz_folder_clean(const char *keep);

/* Writes a file into the folder. */
void gops_fuzz_folder_write(const char *name, const void *bytes, size_t count);

#endif
