/* npy.h: NumPy's array files (numpy.lib.format), versions 1.0, 2.0 and 3.0.
 *
 * Such a file is a magic string, a version, the length of a header, the header (a Python dictionary
 * with the keys descr, fortran_order and shape), and the elements. The reader takes the integers of
 * 1, 2, 4 and 8 bytes and the floats of 2, 4 and 8, in both byte orders and both axis orders. */
#ifndef GOPS_NPY_H
#define GOPS_NPY_H

#include "common/tool_error.h"

#include <groupops/tensor.h>

/* NumPy writes headers of about a hundred bytes; version 1 cannot have longer ones. */
enum { GOPS_NPY_MAX_HEADER_BYTES = 65535 };

/* Magic string, version and the length of the header, in the longer form of versions 2 and 3. */
enum { GOPS_NPY_PREAMBLE_BYTES = 12 };

typedef struct gops_npy_header {
    gops_tensor tensor; /* its type is that of the dtype: <u2 is GOPS_U16 */
    bool big_endian;
    bool fortran_order;
} gops_npy_header;

/* Reads the first bytes of a file: where the header begins and how long it is. The message in
 * `error` goes on after the file's name. */
bool gops_npy_read_preamble(const unsigned char *bytes, size_t count, size_t *header_begin,
                            size_t *header_bytes, gops_tool_error *error);

/* Reads the header's text. */
bool gops_npy_read_header(const char *text, size_t count, gops_npy_header *header,
                          gops_tool_error *error);

/* Reads the dtype between the quotes of descr, "<f4"; gops_npy_read_header calls it. */
bool gops_npy_read_dtype(const char *text, size_t count, gops_npy_header *header,
                         gops_tool_error *error);

/* A file whose header was read and whose size fits it. */
typedef struct gops_npy_file {
    const char *path;
    int descriptor; /* -1 when closed */
    gops_npy_header header;
    /* The header's tensor, with the type that gops_npy_retype gave. */
    gops_tensor tensor;
    size_t bytes;  /* of the elements */
    int64_t begin; /* of the elements in the file */
} gops_npy_file;

/* Allocates nothing; *file is closed after a failure. */
bool gops_npy_open(const char *path, gops_npy_file *file, gops_tool_error *error);
/* May be called for a closed file. */
void gops_npy_close(gops_npy_file *file);

/* Declares that the elements are of that type: the file's own, or a float of 1 or 2 bytes whose bit
 * patterns a file of u1 or u2 holds. */
bool gops_npy_retype(gops_npy_file *file, gops_type type, gops_tool_error *error);

/* Reads the elements in the machine's byte order, the last axis contiguous, into memory that the
 * caller frees. */
bool gops_npy_read(gops_npy_file *file, void **elements, gops_tool_error *error);

/* Writes a version 1.0 file in the machine's byte order, whole or not at all. `stored` is the type
 * the dtype names, of as many bytes as the tensor's: GOPS_U16 for one of bf16. */
bool gops_npy_write(const char *path, const gops_tensor *tensor, gops_type stored,
                    const void *elements, gops_tool_error *error);

/* What such a file has in front of the elements, at most GOPS_NPY_START_BYTES; returns how many bytes
 * they are. */
enum { GOPS_NPY_START_BYTES = 512 };
size_t gops_npy_format_start(unsigned char *start, const gops_tensor *tensor, gops_type stored);

/* The name of a stored type without its byte order, "f4". */
const char *gops_npy_dtype_name(gops_type stored);

/* The type that a .npy file of that type is written as: itself, or u1 or u2 for bf16 and the 8-bit
 * floats, for which NumPy has no name. */
gops_type gops_npy_stored_type(gops_type type);

#endif
