/* suite_file.c: finds and reads the file of a suite. */
#include "bench/suite.h"

#include "common/text_file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A hundred times the longest suite there is reason to write. */
enum { MAX_BYTES = 4 << 20 };

/* The folder of the running program, with its '/'; empty where the system does not tell. */
static void program_folder(char *folder, size_t bytes)
{
    const ssize_t length = readlink("/proc/self/exe", folder, bytes - 1);
    folder[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash != NULL) {
        slash[1] = '\0';
    }
}

/* GOPS_SUITES_FROM_PROGRAM is the path from the program's folder to that of the suites. It is the
 * same in the build tree and installed, so that an installation can be moved. */
bool gops_suite_folder(char *folder, size_t bytes)
{
    char program[PATH_MAX];
    program_folder(program, sizeof program);
    const int needed = snprintf(folder, bytes, "%s%s/", program, GOPS_SUITES_FROM_PROGRAM);
    return needed >= 0 && (size_t)needed < bytes;
}

static bool find_path(const char *name, char *path, size_t bytes, gops_tool_error *error)
{
    const size_t length = strlen(name);
    char folder[PATH_MAX] = "";
    const bool is_file =
        strchr(name, '/') != NULL || (length > 4 && strcmp(name + length - 4, ".txt") == 0);
    bool fits = is_file || gops_suite_folder(folder, sizeof folder);
    const int needed = snprintf(path, bytes, "%s%s%s", folder, name, is_file ? "" : ".txt");
    fits = fits && needed >= 0 && (size_t)needed < bytes;
    return fits || gops_tool_refuse(error, GOPS_EXIT_FAILED, "the suite's name is too long");
}

bool gops_suite_read(const char *name, gops_suite *suite, gops_tool_error *error)
{
    char path[PATH_MAX];
    *suite = (gops_suite){NULL, NULL, 0};
    if (!find_path(name, path, sizeof path, error)) {
        return false;
    }
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return gops_tool_refuse_errno(error, "%s: the suite cannot be opened", path);
    }
    size_t count;
    char *text = gops_text_file_read(file, path, MAX_BYTES, &count, error);
    fclose(file);
    if (text != NULL && memchr(text, '\0', count) != NULL) {
        free(text);
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s: it is not a text", path);
    }
    return text != NULL && gops_suite_parse(path, text, suite, error);
}
