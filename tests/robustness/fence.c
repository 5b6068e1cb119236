/* fence.c: maps buffers between pages that may not be touched, and looks after their canaries. */
#include "fence.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guarded_memory.h"
#include "lent_host.h"

enum { FILL = 0xff };

static gops_test_kept kept = GOPS_TEST_KEPT_INIT;

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* From the pages that can be written to the same ones where they can only be read. */
static size_t to_read_only(size_t page_bytes)
{
    return page_bytes + page_size();
}

/* A page that may not be touched, the pages, another one, the same pages again, and a last one. */
static size_t mapping_bytes(size_t page_bytes)
{
    return 2 * to_read_only(page_bytes) + page_size();
}

static int map_twice(unsigned char *pages, size_t page_bytes)
{
    const int file = memfd_create("fenced", MFD_CLOEXEC);
    if (file < 0)
        return 0;
    const int mapped = ftruncate(file, (off_t)page_bytes) == 0 &&
                       mmap(pages, page_bytes, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_FIXED | MAP_POPULATE, file, 0) == pages &&
                       mmap(pages + to_read_only(page_bytes), page_bytes, PROT_READ,
                            MAP_SHARED | MAP_FIXED | MAP_POPULATE, file, 0) != MAP_FAILED;
    close(file);
    return mapped;
}

/* NULL: no memory. */
static unsigned char *map_pages(size_t page_bytes)
{
    const size_t bytes = mapping_bytes(page_bytes);
    unsigned char *mapping = gops_test_kept_take(&kept, bytes);
    if (mapping != NULL)
        return mapping + page_size();
    mapping = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return mapping != MAP_FAILED && map_twice(mapping + page_size(), page_bytes)
               ? mapping + page_size()
               : NULL;
}

gops_fenced gops_fence_create(size_t bytes, size_t alignment, gops_fence_end end)
{
    const size_t page = page_size();
    gops_fenced f = {.bytes = bytes, .page_bytes = (bytes + page) / page * page};
    f.pages = map_pages(f.page_bytes);
    if (f.pages == NULL) {
        fprintf(stderr, "no memory between unmapped pages for %zu bytes\n", bytes);
        exit(EXIT_FAILURE);
    }
    if (end == GOPS_FENCE_HIGH)
        f.before = (f.page_bytes - bytes) / alignment * alignment;
    f.memory = f.pages + f.before;
    memset(f.pages, FILL, f.page_bytes);
    return f;
}

void gops_fence_read_only(gops_fenced *fenced)
{
    fenced->memory = fenced->pages + to_read_only(fenced->page_bytes) + fenced->before;
}

int gops_fence_intact(const gops_fenced *fenced)
{
    int intact = 1;
    for (size_t i = 0; i < fenced->before; i++)
        intact &= fenced->pages[i] == FILL;
    for (size_t i = fenced->before + fenced->bytes; i < fenced->page_bytes; i++)
        intact &= fenced->pages[i] == FILL;
    return intact;
}

void gops_fence_destroy(gops_fenced *fenced)
{
    if (fenced->pages != NULL)
        gops_test_kept_give(&kept, fenced->pages - page_size(), mapping_bytes(fenced->page_bytes));
    *fenced = (gops_fenced){0};
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
                       .parallel_for = gops_test_in_turn_for,
                       .allocate = allocate,
                       .release = release,
                       .context = heap};
}
