/* onnx_folder.c: lists the files below a folder by name. */
#include "onnx_folder.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "written.h"

/* What nftw, which passes no context on, is filling. */
static gops_onnx_folder *filled;
static const char *wanted_suffix;

const char *gops_onnx_testdata(void)
{
    return GROUPOPS_ONNX_TESTDATA;
}

static int add(const char *path, const struct stat *status, int type, struct FTW *place)
{
    size_t length = strlen(path), suffix = strlen(wanted_suffix);
    (void)status;
    (void)place;
    gops_test_written(path, length + 1);
    if (type == FTW_DNR || type == FTW_NS)
        return 1;
    if (type != FTW_F || length < suffix || strcmp(path + length - suffix, wanted_suffix) != 0)
        return 0;
    char **paths = realloc(filled->paths, (filled->count + 1) * sizeof *paths);
    if (paths == NULL)
        return 1;
    filled->paths = paths;
    paths[filled->count] = strdup(path);
    return paths[filled->count++] == NULL;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

bool gops_onnx_list_files(const char *root, const char *suffix, gops_onnx_folder *folder)
{
    enum { OPEN_FOLDERS = 16 };
    *folder = (gops_onnx_folder){NULL, 0};
    filled = folder;
    wanted_suffix = suffix;
    if (nftw(root, add, OPEN_FOLDERS, FTW_PHYS) != 0)
        return false;
    if (folder->count != 0)
        qsort(folder->paths, folder->count, sizeof *folder->paths, by_name);
    return true;
}

void gops_onnx_free_files(gops_onnx_folder *folder)
{
    for (size_t i = 0; i < folder->count; i++)
        free(folder->paths[i]);
    free(folder->paths);
    *folder = (gops_onnx_folder){NULL, 0};
}

bool gops_onnx_is_folder(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return false;
    gops_test_written(&status, sizeof status);
    return S_ISDIR(status.st_mode);
}
