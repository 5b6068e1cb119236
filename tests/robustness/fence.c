/* fence.c: maps buffers between pages that may not be touched, and looks after their canaries. */
#include "fence.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lent_host.h"

enum { FILL = 0xff };

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

gops_fenced gops_fence_create(size_t bytes, size_t alignment, gops_fence_end end)
{
    const size_t page = page_size();
    gops_fenced f = {.bytes = bytes, .page_bytes = (bytes + page) / page * page};
    unsigned char *mapping =
        mmap(NULL, f.page_bytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED ||
        mprotect(mapping + page, f.page_bytes, PROT_READ | PROT_WRITE) != 0) {
        fprintf(stderr, "no memory between unmapped pages for %zu bytes\n", bytes);
        exit(EXIT_FAILURE);
    }
    f.pages = f.memory = mapping + page;
    if (end == GOPS_FENCE_HIGH)
        f.memory += (f.page_bytes - bytes) / alignment * alignment;
    memset(f.pages, FILL, f.page_bytes);
    return f;
}

void gops_fence_read_only(const gops_fenced *fenced)
{
    mprotect(fenced->pages, fenced->page_bytes, PROT_READ);
}

int gops_fence_intact(const gops_fenced *fenced)
{
    int intact = 1;
    for (const unsigned char *at = fenced->pages; at < fenced->memory; at++)
        intact &= *at == FILL;
    for (const unsigned char *at = fenced->memory + fenced->bytes;
         at < fenced->pages + fenced->page_bytes; at++)
        intact &= *at == FILL;
    return intact;
}

void gops_fence_destroy(gops_fenced *fenced)
{
    if (fenced->pages != NULL)
        munmap(fenced->pages - page_size(), fenced->page_bytes + 2 * page_size());
    *fenced = (gops_fenced){NULL, 0, NULL, 0};
}

static void *allocate(void *context, size_t bytes, size_t alignment)
{
    gops_fence_heap *heap = context;
    for (int i = 0; i < GOPS_FENCE_ALLOCATIONS; i++)
        if (heap->live[i].pages == NULL) {
            heap->live[i] = gops_fence_create(bytes, alignment, heap->end);
            return heap->live[i].memory;
        }
    return NULL;
}

static void release(void *context, void *memory)
{
    gops_fence_heap *heap = context;
    for (int i = 0; i < GOPS_FENCE_ALLOCATIONS; i++)
        if (heap->live[i].pages != NULL && heap->live[i].memory == memory) {
            heap->broken |= !gops_fence_intact(&heap->live[i]);
            gops_fence_destroy(&heap->live[i]);
            return;
        }
    heap->broken = 1; /* never handed out */
}

gops_host gops_fence_host(gops_fence_heap *heap)
{
    return (gops_host){.size = sizeof(gops_host),
                       .gemm = gops_test_host_gemm(),
                       .allocate = allocate,
                       .release = release,
                       .context = heap};
}
