/* ort_scratch.h: buffers in one block of scratch memory. */
#ifndef GROUPOPS_ENGINES_ORT_SCRATCH_H
#define GROUPOPS_ENGINES_ORT_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gops_ort_buffer {
    int64_t bytes, at;
    size_t first, last; /* steps that write and read it */
    bool used;
} gops_ort_buffer;

/* Gives the buffers that are used places, so that those whose lives overlap do not, and says how many
 * bytes these need. False: no memory. */
bool gops_ort_share_scratch(gops_ort_buffer *buffers, size_t buffer_count, int64_t *bytes);

#endif
