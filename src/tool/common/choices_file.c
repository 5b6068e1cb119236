/* choices_file.c: reads and writes the file of --choices. */
#include "common/choices_file.h"

#include "common/whole_file.h"

#include <groupops/choices.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for some 100,000 choices. */
enum { MAX_BYTES = 32 << 20 };

static bool refuse(const char *path, const gops_error *refusal, gops_tool_error *error)
{
    return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s: %s", path, refusal->message);
}

static bool read_into(gops_choices *choices, FILE *file, const char *path, gops_tool_error *error)
{
    gops_error refusal;
    char *text = malloc(MAX_BYTES);
    if (text == NULL) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s: no memory to read it", path);
    }
    errno = 0;
    const size_t bytes = fread(text, 1, MAX_BYTES, file);
    bool done = false;
    if (ferror(file)) {
        gops_tool_refuse_errno(error, "%s: it cannot be read", path);
    } else if (bytes == MAX_BYTES) {
        gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s: it has more than %d bytes", path,
                         MAX_BYTES - 1);
    } else {
        done = gops_choices_read(choices, text, bytes, &refusal) == GOPS_OK ||
               refuse(path, &refusal, error);
    }
    free(text);
    return done;
}

bool gops_choices_file_read(gops_settings *settings, gops_tool_error *error)
{
    const char *path = settings->choices_file;
    gops_error refusal;
    if (path == NULL) {
        return true;
    }
    if (gops_choices_create(NULL, &settings->choices, &refusal) != GOPS_OK) {
        return refuse(path, &refusal, error);
    }
    errno = 0;
    FILE *file = fopen(path, "rb");
    bool done;
    if (file != NULL) {
        done = read_into(settings->choices, file, path, error);
        fclose(file);
    } else {
        done = errno == ENOENT && settings->algorithm != NULL &&
               strcmp(settings->algorithm, "fastest") == 0;
        if (!done) {
            gops_tool_refuse_errno(error, "%s: it cannot be read", path);
        }
    }
    settings->choices_read = gops_choices_count(settings->choices);
    if (!done) {
        gops_choices_file_drop(settings);
    }
    return done;
}

static bool write_all(const gops_settings *settings, gops_tool_error *error)
{
    const char *path = settings->choices_file;
    gops_error refusal;
    size_t bytes;
    if (gops_choices_write(settings->choices, NULL, 0, &bytes, &refusal) != GOPS_OK) {
        return refuse(path, &refusal, error);
    }
    char *text = malloc(bytes);
    if (text == NULL) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s: no memory to write it", path);
    }
    gops_whole_file file;
    const bool done =
        (gops_choices_write(settings->choices, text, bytes, &bytes, &refusal) == GOPS_OK ||
         refuse(path, &refusal, error)) &&
        gops_whole_file_open(path, &file, error) &&
        gops_whole_file_write(&file, text, bytes, error) && gops_whole_file_finish(&file, error);
    free(text);
    return done;
}

bool gops_choices_file_write(gops_settings *settings, gops_tool_error *error)
{
    const bool added = gops_choices_count(settings->choices) > settings->choices_read;
    const bool done = !added || write_all(settings, error);
    gops_choices_file_drop(settings);
    return done;
}

void gops_choices_file_drop(gops_settings *settings)
{
    gops_choices_destroy(settings->choices);
    settings->choices = NULL;
}
