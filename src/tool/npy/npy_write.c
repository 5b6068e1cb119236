/* npy_write.c: writes a .npy file of version 1.0. */
#include "npy/npy.h"

#include "common/whole_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    PREAMBLE_BYTES = 10,
    ALIGNMENT = 64, /* of the first element within the file, as NumPy has it */
    MAX_BYTES = GOPS_NPY_START_BYTES,
};
/* The largest header: 9 dimensions of 19 digits and about 70 characters more. */
_Static_assert(GOPS_MAX_RANK * 21 + 80 + PREAMBLE_BYTES + ALIGNMENT <= MAX_BYTES, "it fits");

size_t gops_npy_format_start(unsigned char *start, const gops_tensor *tensor, gops_type stored)
{
    const bool one_byte = gops_type_bytes(stored) == 1;
    const char order = one_byte ? '|' : __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? '>' : '<';
    char *text = (char *)start;
    size_t used = PREAMBLE_BYTES;
    used += (size_t)snprintf(text + used, MAX_BYTES - used,
                             "{'descr': '%c%s', 'fortran_order': False, 'shape': (", order,
                             gops_npy_dtype_name(stored));
    for (int32_t axis = 0; axis < tensor->rank; axis++) {
        used += (size_t)snprintf(text + used, MAX_BYTES - used, "%s%" PRId64, axis == 0 ? "" : ", ",
                                 tensor->dims[axis]);
    }
    used += (size_t)snprintf(text + used, MAX_BYTES - used, "%s), }", tensor->rank == 1 ? "," : "");
    const size_t bytes = (used + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    memset(text + used, ' ', bytes - used - 1);
    text[bytes - 1] = '\n';
    memcpy(start, "\x93NUMPY\x01", 8);
    start[8] = (unsigned char)((bytes - PREAMBLE_BYTES) & 0xff);
    start[9] = (unsigned char)((bytes - PREAMBLE_BYTES) >> 8);
    return bytes;
}

bool gops_npy_write(const char *path, const gops_tensor *tensor, gops_type stored,
                    const void *elements, gops_tool_error *error)
{
    unsigned char start[MAX_BYTES];
    const size_t start_bytes = gops_npy_format_start(start, tensor, stored);
    gops_error refusal;
    size_t bytes;
    gops_whole_file file;
    if (gops_tensor_bytes(tensor, &bytes, &refusal) != GOPS_OK) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s: %s", path, refusal.message);
    }
    return gops_whole_file_open(path, &file, error) &&
           gops_whole_file_write(&file, start, start_bytes, error) &&
           gops_whole_file_write(&file, elements, bytes, error) &&
           gops_whole_file_finish(&file, error);
}
