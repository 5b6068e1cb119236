/* tool_npy.h: .npy files written and read by hand, from NumPy's description of the format and
 * sharing nothing with the tool. */
#ifndef GROUPOPS_TEST_TOOL_NPY_H
#define GROUPOPS_TEST_TOOL_NPY_H

#include <groupops/tensor.h>

/* Writes a file of that version with the given text as its header (a newline and, for alignment,
 * spaces are added) and the elements as they are. */
void tool_npy_write_raw(const char *path, int version, const char *header, const void *elements,
                        size_t bytes);

/* Writes version 1.0, C order, the machine's byte order; `dtype` is like "f4". */
void tool_npy_write(const char *path, const char *dtype, const gops_tensor *tensor,
                    const void *elements);

/* Reads a file which must be as the tool writes it: version 1.0, the machine's byte order, C order,
 * that dtype and that shape. Returns the elements, to be freed; NULL, having said why, when it is
 * not. */
void *tool_npy_read(const char *path, const char *dtype, const gops_tensor *tensor);

/* "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3), }" */
typedef struct tool_npy_text {
    char text[512];
} tool_npy_text;
const char *tool_npy_header(char order, const char *dtype, int fortran, const gops_tensor *tensor,
                            tool_npy_text *text);

/* What the machine's own byte order is called for that dtype: '<', '>', or '|' for one byte. */
char tool_npy_order(const char *dtype);

#endif
