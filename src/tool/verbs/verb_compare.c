/* verb_compare.c: says where two tensors differ most. */
#include "common/dims_text.h"
#include "npy/difference.h"
#include "npy/npy.h"
#include "verbs/verbs.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 2 };

/* The place of an element on each axis, in the form of a shape. */
static void index_text(const gops_tensor *tensor, int64_t index, char text[GOPS_DIMS_TEXT_BYTES])
{
    int64_t place[GOPS_MAX_RANK];
    for (int32_t axis = tensor->rank - 1; axis >= 0; axis--) {
        place[axis] = index % tensor->dims[axis];
        index /= tensor->dims[axis];
    }
    gops_dims_text(place, tensor->rank, text);
}

static bool open_files(const gops_command *command, gops_npy_file *files, gops_tool_error *error)
{
    const gops_type type = (gops_type)command->settings.type;
    char shapes[COUNT][GOPS_DIMS_TEXT_BYTES];
    for (int i = 0; i < COUNT; i++) {
        if (!gops_npy_open(command->files[i], &files[i], error) ||
            (type != 0 && !gops_npy_retype(&files[i], type, error))) {
            return false;
        }
        gops_dims_text(files[i].tensor.dims, files[i].tensor.rank, shapes[i]);
    }
    if (strcmp(shapes[0], shapes[1]) != 0) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "the shape of %s is %s, that of %s is %s",
                                files[0].path, shapes[0], files[1].path, shapes[1]);
    }
    return files[0].tensor.type == files[1].tensor.type ||
           gops_tool_refuse(error, GOPS_EXIT_FAILED,
                            "the elements of %s are %s, those of %s are %s", files[0].path,
                            gops_type_name(files[0].tensor.type), files[1].path,
                            gops_type_name(files[1].tensor.type));
}

static void print_distance(const gops_npy_file *file, void *const *elements,
                           const gops_distance *distance)
{
    const gops_tensor *tensor = &file->tensor;
    char ulp[24] = "NaN";
    char index[GOPS_DIMS_TEXT_BYTES];
    char values[COUNT][GOPS_ELEMENT_BYTES];
    if (!isnan(distance->difference)) {
        snprintf(ulp, sizeof ulp, "%" PRIu64, distance->ulp);
    }
    index_text(tensor, distance->index, index);
    for (int i = 0; i < COUNT; i++) {
        gops_element_text(tensor->type, elements[i], distance->index, values[i]);
    }
    printf("%20s  %12.5g  %-16s  %24s  %24s\n", ulp, distance->difference, index, values[0],
           values[1]);
}

static void print_found(const gops_npy_file *files, void *const *elements, int64_t count,
                        const gops_difference *found)
{
    char shape[GOPS_DIMS_TEXT_BYTES];
    gops_dims_text(files[0].tensor.dims, files[0].tensor.rank, shape);
    printf("%-10s%s, %s\n", "tensors", gops_type_name(files[0].tensor.type), shape);
    printf("%-10s%" PRId64 "\n", "elements", count);
    printf("%-10s%" PRId64 "\n", "different", found->different);
    printf("%-10s%" PRId64 "\n", "beyond", found->beyond);
    if (found->kept == 0) {
        return;
    }
    printf("\n%20s  %12s  %-16s  %24s  %24s\n", "ulp", "difference", "index", "A", "B");
    for (int i = 0; i < found->kept; i++) {
        print_distance(&files[0], elements, &found->worst[i]);
    }
    if (found->largest.index != found->worst[0].index) {
        printf("largest difference:\n");
        print_distance(&files[0], elements, &found->largest);
    }
}

static bool compare_files(const gops_command *command, gops_npy_file *files, void **elements,
                          gops_tool_error *error)
{
    const gops_settings *settings = &command->settings;
    if (!open_files(command, files, error)) {
        return false;
    }
    for (int i = 0; i < COUNT; i++) {
        if (!gops_npy_read(&files[i], &elements[i], error)) {
            return false;
        }
    }
    const gops_type type = files[0].tensor.type;
    const int64_t count = (int64_t)(files[0].bytes / gops_type_bytes(type));
    const gops_difference found =
        gops_difference_find(type, elements[0], elements[1], count, (uint64_t)settings->max_ulp,
                             settings->max_difference);
    print_found(files, elements, count, &found);
    fflush(stdout); /* before the line on standard error */
    return found.beyond == 0 ||
           gops_tool_refuse(error, GOPS_EXIT_FAILED,
                            "%s and %s differ by more than is allowed: %" PRId64 " of %" PRId64
                            " elements",
                            files[0].path, files[1].path, found.beyond, count);
}

bool gops_verb_compare(const gops_command *command, gops_tool_error *error)
{
    gops_npy_file files[COUNT] = {{.descriptor = -1}, {.descriptor = -1}};
    void *elements[COUNT] = {NULL, NULL};
    const bool done = compare_files(command, files, elements, error);
    for (int i = 0; i < COUNT; i++) {
        gops_npy_close(&files[i]);
        free(elements[i]);
    }
    return done;
}
