/* fuzz_buffers.h: what a case is executed with, each buffer where AddressSanitizer sees its ends.
 */
#ifndef GROUPOPS_TEST_FUZZ_BUFFERS_H
#define GROUPOPS_TEST_FUZZ_BUFFERS_H

#include "fuzz_case.h"

/* A buffer that ends where its last element does; `offset` elements in front of it are in the same
 * allocation, so that it is aligned to its elements and to no more. */
typedef struct gops_fuzz_buffer {
    void *memory;
    unsigned char *start;
    size_t bytes;
} gops_fuzz_buffer;

/* All that one problem is executed with. */
typedef struct gops_fuzz_buffers {
    gops_fuzz_buffer data, weights, scale, bias, slopes, residual, output, mean, variance;
    gops_moments *moments; /* NULL, or one for each image and group */
} gops_fuzz_buffers;

/* The tensors as they are handed over: with gaps behind channels and images, or dense. */
typedef struct gops_fuzz_views {
    gops_fuzz_buffer data, output, residual;
} gops_fuzz_views;

gops_fuzz_buffer gops_fuzz_buffer_create(gops_type type, int64_t count, int offset);

gops_fuzz_buffers gops_fuzz_buffers_create(const gops_fuzz_case *c, const gops_tensor *output);
void gops_fuzz_buffers_destroy(gops_fuzz_buffers *b);

/* Sets data, output and residual of the arguments, with their strides. */
gops_fuzz_views gops_fuzz_views_enter(const gops_fuzz_case *c, const gops_tensor *output,
                                      const gops_fuzz_buffers *b, gops_arguments *a);

/* Brings the output back to the buffers; its gaps are still as they were. */
void gops_fuzz_views_leave(const gops_fuzz_case *c, const gops_tensor *output, gops_fuzz_views *v,
                           const gops_fuzz_buffers *b);

#endif
