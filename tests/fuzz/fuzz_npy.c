/*
 * fuzz_npy.c: the reader of .npy files. The first byte chooses the type that the elements are taken
 * for; the rest is the file. What is read is written again, and what is read from that is the same.
 */
#include "npy/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elements.h"
#include "fuzz.h"
#include "fuzz_files.h"

static void check_error(const gops_tool_error *error)
{
    gops_fuzz_require(error->exit_code == GOPS_EXIT_FAILED && error->message[0] != '\0' &&
                          memchr(error->message, 0, sizeof error->message) != NULL,
                      "a refusal without a reason");
}

/* Writes the tensor and reads it back. */
static void check_round_trip(const gops_npy_file *file, const void *elements)
{
    char path[512];
    gops_npy_file again;
    gops_tool_error error = {0, ""};
    void *read = NULL;
    snprintf(path, sizeof path, "%s/again.npy", gops_fuzz_folder());
    gops_fuzz_require(gops_npy_write(path, &file->tensor, gops_npy_stored_type(file->tensor.type),
                                     elements, &error) &&
                          gops_npy_open(path, &again, &error),
                      "%s", error.message);
    gops_fuzz_require(gops_npy_retype(&again, file->tensor.type, &error) &&
                          gops_npy_read(&again, &read, &error),
                      "%s", error.message);
    gops_fuzz_require(gops_test_same_dims(&again.tensor, &file->tensor) &&
                          again.tensor.type == file->tensor.type && again.bytes == file->bytes &&
                          memcmp(read, elements, file->bytes) == 0,
                      "another tensor comes back");
    gops_npy_close(&again);
    free(read);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    static gops_fuzz_file file;
    gops_npy_file opened;
    gops_tool_error error = {0, ""};
    void *elements = NULL;
    if (count == 0)
        return 0;
    gops_fuzz_file_set(&file, bytes + 1, count - 1);
    if (!gops_npy_open(file.path, &opened, &error)) {
        check_error(&error);
        gops_fuzz_require(opened.descriptor == -1, "left open after a refusal");
        return 0;
    }
    const gops_type type = (gops_type)(bytes[0] % (GOPS_U64 + 1));
    if (type != 0 && !gops_npy_retype(&opened, type, &error)) {
        check_error(&error);
        gops_fuzz_require(opened.tensor.type == opened.header.tensor.type, "retyped in spite");
    }
    gops_fuzz_require(gops_npy_read(&opened, &elements, &error), "%s", error.message);
    gops_npy_close(&opened);
    check_round_trip(&opened, elements);
    free(elements);
    return 0;
}
