/* ir_output.c: writes the Results of a model as .npy files. */
#include "common/whole_file.h"
#include "ir/ir_run.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* So that the name with ".npy" and a temporary file's ending is one that file systems take. */
enum { MAX_NAME_BYTES = 200 };

typedef struct file_name {
    char text[MAX_NAME_BYTES + 1];
} file_name;

/* Letters, digits, '_', '-' and, but for the first, '.' stand for themselves; all else becomes '_',
 * so that no name leads out of the folder or hides. */
static file_name make_name(const gops_ir_layer *layer)
{
    file_name name = {""};
    for (size_t i = 0; i < MAX_NAME_BYTES && layer->name[i] != '\0'; i++) {
        const char c = layer->name[i];
        const bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '_' || c == '-' || (c == '.' && i > 0);
        name.text[i] = fine ? c : '_';
    }
    if (name.text[0] == '\0') {
        strcpy(name.text, "output");
    }
    return name;
}

static bool is_result(const gops_ir_run *run, int index)
{
    return run->model->layer[index].outputs == 0;
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(((const file_name *)left)->text, ((const file_name *)right)->text);
}

bool gops_ir_check_names(const gops_ir_run *run, gops_tool_error *error)
{
    size_t count = 0;
    bool done = true;
    for (int i = 0; i < run->model->layers; i++) {
        count += is_result(run, i);
    }
    file_name *names = calloc(count, sizeof *names);
    if (names == NULL) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "there is no memory for the model");
    }
    count = 0;
    for (int i = 0; i < run->model->layers; i++) {
        if (is_result(run, i)) {
            names[count++] = make_name(&run->model->layer[i]);
        }
    }
    qsort(names, count, sizeof *names, compare_names);
    for (size_t i = 1; done && i < count; i++) {
        if (compare_names(&names[i], &names[i - 1]) == 0) {
            done = gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                    "two Results would be written to %s.npy", names[i].text);
        }
    }
    free(names);
    return done;
}

static bool make_path(const gops_ir_run *run, int index, const char *folder, char path[PATH_MAX],
                      gops_tool_error *error)
{
    const file_name name = make_name(&run->model->layer[index]);
    return snprintf(path, PATH_MAX, "%s/%s.npy", folder, name.text) < PATH_MAX ||
           gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s: the name is too long", folder);
}

bool gops_ir_make_folder(const gops_ir_run *run, const char *folder, gops_tool_error *error)
{
    char path[PATH_MAX];
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        return gops_tool_refuse_errno(error, "%s: it cannot be made", folder);
    }
    for (int i = 0; i < run->model->layers; i++) {
        if (is_result(run, i) &&
            !(make_path(run, i, folder, path, error) && gops_whole_file_try(path, error))) {
            return false;
        }
    }
    return true;
}

bool gops_ir_write_outputs(const gops_ir_run *run, const char *folder, gops_tool_error *error)
{
    char path[PATH_MAX];
    for (int i = 0; i < run->model->layers; i++) {
        if (!is_result(run, i)) {
            continue;
        }
        const int index = run->model->layer[i].input[0].source;
        const gops_ir_step *source = &run->step[index];
        if (!make_path(run, i, folder, path, error)) {
            return false;
        }
        if (run->ranks != NULL
                ? !run->ranks->write(run, index, path, error)
                : !gops_npy_write(path, &source->output, gops_npy_stored_type(source->output.type),
                                  source->elements, error)) {
            return false;
        }
    }
    return true;
}
