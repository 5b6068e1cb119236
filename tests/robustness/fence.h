/* fence.h: buffers between two unmapped pages, at one of them, with canaries in what is left. */
#ifndef GROUPOPS_TEST_FENCE_H
#define GROUPOPS_TEST_FENCE_H

#include <stddef.h>

#include <groupops/host.h>

typedef struct gops_fenced {
    unsigned char *memory;
    size_t bytes;
    unsigned char *pages; /* between the unmapped ones; they can be written */
    size_t page_bytes, before;
} gops_fenced;

/* Where a buffer lies: from the first byte after an unmapped page on, or to the last before one
 * (of those at a multiple of the alignment). */
typedef enum gops_fence_end { GOPS_FENCE_LOW, GOPS_FENCE_HIGH } gops_fence_end;

/* All bytes are 0xff: NaN in every floating point type. */
gops_fenced gops_fence_create(size_t bytes, size_t alignment, gops_fence_end end);

/* Moves `memory` to where writing to it ends the program with a signal. */
void gops_fence_read_only(gops_fenced *fenced);

/* Whether the bytes around it are still 0xff. */
int gops_fence_intact(const gops_fenced *fenced);

void gops_fence_destroy(gops_fenced *fenced);

/* An allocator that hands out such memory to one thread at a time. */
enum { GOPS_FENCE_ALLOCATIONS = 16 };
typedef struct gops_fence_heap {
    gops_fence_end end;
    gops_fenced live[GOPS_FENCE_ALLOCATIONS];
    int broken; /* bytes around an allocation were written */
} gops_fence_heap;

/* One thread makes all calls: which memory a call touches does not depend on when it is made. */
gops_host gops_fence_host(gops_fence_heap *heap);

#endif
