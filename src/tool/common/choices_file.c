/* choices_file.c: reads and writes the file of --choices. */
#include "common/choices_file.h"

#include "common/text_file.h"
#include "common/whole_file.h"

#include <groupops/choices.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Room for some 100,000 choices. */
enum { MAX_BYTES = 32 << 20 };

static bool refuse_choices(const char *path, const gops_error *refusal, gops_tool_error *error)
{
    return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s: %s", path, refusal->message);
}

/* Adds the choices of the file; where both have a choice for a problem, the file's replaces
 * ours. */
static bool read_into(gops_choices *choices, FILE *file, const char *path, gops_tool_error *error)
{
    gops_error refusal;
    size_t bytes;
    char *text = gops_text_file_read(file, path, MAX_BYTES, &bytes, error);
    const bool done =
        text != NULL && (gops_choices_read(choices, text, bytes, &refusal) == GOPS_OK ||
                         refuse_choices(path, &refusal, error));
    free(text);
    return done;
}

/* A file, or the name of one that is not there yet. */
static bool is_replaceable(const char *path, gops_tool_error *error)
{
    struct stat status;
    return stat(path, &status) != 0 || S_ISREG(status.st_mode) ||
           gops_tool_refuse(error, GOPS_EXIT_FAILED,
                            "%s: it cannot be written: it is not a regular file", path);
}

static void free_choices(gops_settings *settings)
{
    gops_choices_destroy(settings->choices);
    settings->choices = NULL;
}

bool gops_choices_file_read(gops_settings *settings, gops_tool_error *error)
{
    const char *path = settings->choices_file;
    gops_error refusal;
    if (path == NULL) {
        return true;
    }
    if (gops_choices_create(NULL, &settings->choices, &refusal) != GOPS_OK) {
        return refuse_choices(path, &refusal, error);
    }
    const bool may_add = settings->algorithm != NULL && strcmp(settings->algorithm, "fastest") == 0;
    bool done = !may_add || (is_replaceable(path, error) && gops_whole_file_try(path, error));
    errno = 0;
    FILE *file = done ? fopen(path, "rb") : NULL;
    if (file != NULL) {
        done = read_into(settings->choices, file, path, error);
        fclose(file);
    } else if (done && !(may_add && errno == ENOENT)) {
        done = gops_tool_refuse_errno(error, "%s: it cannot be read", path);
    }
    settings->choices_read = gops_choices_count(settings->choices);
    if (!done) {
        free_choices(settings);
    }
    return done;
}

/* Sets *taken if the file was to be a new one and another process has made it meanwhile. */
static bool write_text(const char *path, const char *text, size_t bytes, bool is_new, bool *taken,
                       gops_tool_error *error)
{
    gops_whole_file file;
    *taken = false;
    return gops_whole_file_open(path, &file, error) &&
           gops_whole_file_write(&file, text, bytes, error) &&
           (is_new ? gops_whole_file_finish_new(&file, taken, error)
                   : gops_whole_file_finish(&file, error));
}

static bool write_all(const gops_settings *settings, bool is_new, bool *taken,
                      gops_tool_error *error)
{
    const char *path = settings->choices_file;
    gops_error refusal;
    size_t bytes;
    if (gops_choices_write(settings->choices, NULL, 0, &bytes, &refusal) != GOPS_OK) {
        return refuse_choices(path, &refusal, error);
    }
    char *text = malloc(bytes);
    if (text == NULL) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s: no memory to write it", path);
    }
    const bool done =
        (gops_choices_write(settings->choices, text, bytes, &bytes, &refusal) == GOPS_OK ||
         refuse_choices(path, &refusal, error)) &&
        write_text(path, text, bytes, is_new, taken, error);
    free(text);
    return done;
}

/* Opens the file and locks it for this process until it is closed; NULL with errno, which is ENOENT
 * if there is no file. A file that was replaced while we waited for the lock is opened again. */
static FILE *open_locked(const char *path)
{
    for (;;) {
        struct stat opened, named;
        struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        FILE *file = fopen(path, "r+be");
        if (file == NULL || fstat(fileno(file), &opened) != 0) {
            return file;
        }
        while (fcntl(fileno(file), F_SETLKW, &whole) != 0 && errno == EINTR) {
        }
        if (stat(path, &named) == 0 && named.st_dev == opened.st_dev &&
            named.st_ino == opened.st_ino) {
            return file;
        }
        fclose(file);
    }
}

/* An existing file is locked, read once more and replaced. A new file appears with its whole
 * content; if another process makes it first, it is treated as an existing one. There is no
 * separate lock file, so none can be left behind. */
static bool merge_file(const gops_settings *settings, gops_tool_error *error)
{
    const char *path = settings->choices_file;
    bool done, taken = false;
    if (!is_replaceable(path, error)) {
        return false;
    }
    do {
        FILE *file = open_locked(path);
        const bool is_new = file == NULL && errno == ENOENT;
        if (file == NULL && !is_new) {
            return gops_tool_refuse_errno(error, "%s: it cannot be written", path);
        }
        done = (is_new || read_into(settings->choices, file, path, error)) &&
               write_all(settings, is_new, &taken, error);
        if (file != NULL) {
            fclose(file);
        }
    } while (done && taken);
    return done;
}

bool gops_choices_file_write(gops_settings *settings, gops_tool_error *error)
{
    const bool added = gops_choices_count(settings->choices) > settings->choices_read;
    const bool done = !added || merge_file(settings, error);
    free_choices(settings);
    return done;
}
