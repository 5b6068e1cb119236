/* npy_read.c: opens a .npy file and reads its elements. */
#include "npy/npy.h"

#include "common/memory.h"
#include "common/regular_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Large enough to hide the cost of a system call, small enough for the second-level cache, and a
 * multiple of every element size. */
enum { BLOCK_BYTES = 256 << 10 };

/* Reads the preamble and the header of a file of so many bytes; *begin is where the elements begin. */
static bool read_start(gops_npy_file *file, int64_t bytes, int64_t *begin, gops_tool_error *error)
{
    unsigned char preamble[GOPS_NPY_PREAMBLE_BYTES];
    const size_t count = bytes < GOPS_NPY_PREAMBLE_BYTES ? (size_t)bytes : sizeof preamble;
    size_t header_begin;
    size_t header_bytes;
    char text[GOPS_NPY_MAX_HEADER_BYTES];
    if (!gops_regular_file_read(file->descriptor, preamble, count, 0, error) ||
        !gops_npy_read_preamble(preamble, count, &header_begin, &header_bytes, error)) {
        return false;
    }
    *begin = (int64_t)(header_begin + header_bytes);
    if (bytes < *begin) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "it ends within the header");
    }
    return gops_regular_file_read(file->descriptor, text, header_bytes, (int64_t)header_begin,
                                  error) &&
           gops_npy_read_header(text, header_bytes, &file->header, error);
}

static bool check_size(gops_npy_file *file, int64_t begin, int64_t size, gops_tool_error *error)
{
    gops_error refusal;
    if (gops_tensor_bytes(&file->tensor, &file->bytes, &refusal) != GOPS_OK) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s", refusal.message);
    }
    if ((uint64_t)(size - begin) != file->bytes) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                "it has %" PRId64 " bytes of elements; its shape and dtype ask for "
                                "%zu",
                                size - begin, file->bytes);
    }
    return true;
}

bool gops_npy_open(const char *path, gops_npy_file *file, gops_tool_error *error)
{
    int64_t bytes;
    file->path = path;
    if (!gops_regular_file_open(path, &file->descriptor, &bytes, error)) {
        return false;
    }
    if (!read_start(file, bytes, &file->begin, error)) {
        gops_npy_close(file);
        return gops_tool_prefix(error, "%s", path);
    }
    file->tensor = file->header.tensor;
    if (!check_size(file, file->begin, bytes, error)) {
        gops_npy_close(file);
        return gops_tool_prefix(error, "%s", path);
    }
    return true;
}

void gops_npy_close(gops_npy_file *file)
{
    if (file->descriptor >= 0) {
        close(file->descriptor);
        file->descriptor = -1;
    }
}

bool gops_npy_retype(gops_npy_file *file, gops_type type, gops_tool_error *error)
{
    const gops_type held = file->header.tensor.type;
    /* NumPy has f16, but half floats often travel as u2 all the same. */
    const gops_type patterns = type == GOPS_F16 ? GOPS_U16 : gops_npy_stored_type(type);
    if (held != type && held != patterns) {
        return gops_tool_refuse(
            error, GOPS_EXIT_FAILED, "%s: its elements are %s; type %s needs a file of %s%s%s",
            file->path, gops_type_name(held), gops_type_name(type),
            gops_type_name(type == GOPS_F16 ? type : patterns), type == GOPS_F16 ? " or " : "",
            type == GOPS_F16 ? gops_type_name(patterns) : "");
    }
    file->tensor.type = type;
    return true;
}

/* Where the next element of a file in Fortran order (first axis fastest) lies in memory whose last
 * axis is contiguous. */
typedef struct fortran_place {
    const gops_tensor *tensor;
    size_t element_bytes;
    int64_t index[GOPS_MAX_RANK];
    size_t strides[GOPS_MAX_RANK]; /* in bytes */
    size_t offset;                 /* of the next element */
} fortran_place;

static fortran_place fortran_first(const gops_tensor *tensor)
{
    fortran_place place = {tensor, gops_type_bytes(tensor->type), {0}, {0}, 0};
    size_t stride = place.element_bytes;
    for (int32_t axis = tensor->rank - 1; axis >= 0; axis--) {
        place.strides[axis] = stride;
        stride *= (size_t)tensor->dims[axis];
    }
    return place;
}

static void fortran_next(fortran_place *place)
{
    for (int32_t axis = 0; axis < place->tensor->rank; axis++) {
        place->offset += place->strides[axis];
        if (++place->index[axis] < place->tensor->dims[axis]) {
            return;
        }
        place->offset -= place->strides[axis] * (size_t)place->tensor->dims[axis];
        place->index[axis] = 0;
    }
}

static void scatter_fortran(fortran_place *place, char *elements, const char *block, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += place->element_bytes) {
        memcpy(elements + place->offset, block + at, place->element_bytes);
        fortran_next(place);
    }
}

/* Elements in C order are read in place. Those in Fortran order are read in blocks and scattered,
 * so that a large tensor needs no second copy. */
static bool read_elements(gops_npy_file *file, char *elements, gops_tool_error *error)
{
    static char buffer[BLOCK_BYTES];
    const size_t element_bytes = gops_type_bytes(file->tensor.type);
    const bool swap = file->header.big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    fortran_place place = fortran_first(&file->tensor);
    for (size_t done = 0; done < file->bytes;) {
        const size_t count = file->bytes - done < BLOCK_BYTES ? file->bytes - done : BLOCK_BYTES;
        char *block = file->header.fortran_order ? buffer : elements + done;
        if (!gops_regular_file_read(file->descriptor, block, count, file->begin + (int64_t)done,
                                    error)) {
            return gops_tool_prefix(error, "%s", file->path);
        }
        if (swap) {
            gops_memory_swap(block, count, element_bytes);
        }
        if (file->header.fortran_order) {
            scatter_fortran(&place, elements, block, count);
        }
        done += count;
    }
    return true;
}

bool gops_npy_read(gops_npy_file *file, void **elements, gops_tool_error *error)
{
    *elements = malloc(file->bytes != 0 ? file->bytes : 1);
    if (*elements == NULL) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s: no memory for its %zu bytes",
                                file->path, file->bytes);
    }
    if (!read_elements(file, *elements, error)) {
        free(*elements);
        *elements = NULL;
        return false;
    }
    return true;
}
