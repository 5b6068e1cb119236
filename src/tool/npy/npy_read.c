/* npy_read.c: opens a .npy file and reads its elements. */
#include "npy/npy.h"

#include "common/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Large enough to hide the cost of a system call, small enough for the second-level cache, and a
 * multiple of every element size. */
enum { BLOCK_BYTES = 256 << 10 };

/* Reads up to `count` bytes; fewer only at the end of the file. -1: errno says why. */
static ssize_t read_fully(int descriptor, void *memory, size_t count)
{
    size_t done = 0;
    while (done < count) {
        const ssize_t got = read(descriptor, (char *)memory + done, count - done);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return -1;
        }
        if (got == 0) {
            break;
        }
        done += (size_t)got;
    }
    return (ssize_t)done;
}

/* Reads the preamble and the header; *begin is where the elements begin. */
static bool read_start(gops_npy_file *file, int64_t *begin, gops_tool_error *error)
{
    unsigned char preamble[GOPS_NPY_PREAMBLE_BYTES];
    size_t header_begin;
    size_t header_bytes;
    char text[GOPS_NPY_MAX_HEADER_BYTES];
    ssize_t got = read_fully(file->descriptor, preamble, sizeof preamble);
    if (got < 0) {
        return gops_tool_refuse_errno(error, "it cannot be read");
    }
    if (!gops_npy_read_preamble(preamble, (size_t)got, &header_begin, &header_bytes, error)) {
        return false;
    }
    if (lseek(file->descriptor, (off_t)header_begin, SEEK_SET) < 0 ||
        (got = read_fully(file->descriptor, text, header_bytes)) < 0) {
        return gops_tool_refuse_errno(error, "it cannot be read");
    }
    if ((size_t)got < header_bytes) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "it ends within the header");
    }
    *begin = (int64_t)(header_begin + header_bytes);
    return gops_npy_read_header(text, header_bytes, &file->header, error);
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
    struct stat status;
    file->path = path;
    /* With O_NONBLOCK a FIFO is opened at once, and refused below. */
    file->descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file->descriptor < 0) {
        return gops_tool_refuse_errno(error, "%s: it cannot be opened", path);
    }
    if (fstat(file->descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        gops_npy_close(file);
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s: it is not a regular file", path);
    }
    if (!read_start(file, &file->begin, error)) {
        gops_npy_close(file);
        return gops_tool_prefix(error, "%s", path);
    }
    file->tensor = file->header.tensor;
    if (!check_size(file, file->begin, (int64_t)status.st_size, error)) {
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
        const ssize_t got = read_fully(file->descriptor, block, count);
        if (got < 0) {
            return gops_tool_refuse_errno(error, "%s: it cannot be read", file->path);
        }
        if ((size_t)got < count) {
            return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                    "%s: it has become shorter while it was read", file->path);
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
