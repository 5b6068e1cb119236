/* onnx_folder.h: the files of a folder tree. */
#ifndef GROUPOPS_TESTS_ONNX_FOLDER_H
#define GROUPOPS_TESTS_ONNX_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct gops_onnx_folder {
    char **paths; /* sorted */
    size_t count;
} gops_onnx_folder;

/* Where Debian's package libonnx-testdata puts its cases, or where CMake was told to look. */
const char *gops_onnx_testdata(void);

/* Every file below `root` whose name ends with `suffix`. False: the tree cannot be read. Not for
 * two threads at once. */
bool gops_onnx_list_files(const char *root, const char *suffix, gops_onnx_folder *folder);
void gops_onnx_free_files(gops_onnx_folder *folder);

bool gops_onnx_is_folder(const char *path);

#endif
