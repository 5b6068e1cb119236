/* guarded_memory.c: buffers with canaries, and a heap that counts and fails to order. */
#include "guarded_memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lent_host.h"

enum { FILL = 0xff, CANARY_BYTES = 64 };

void *gops_test_allocate(size_t bytes)
{
    void *memory = malloc(bytes == 0 ? 1 : bytes);
    if (memory == NULL) {
        fprintf(stderr, "no memory for a buffer of %zu bytes\n", bytes);
        exit(EXIT_FAILURE);
    }
    return memory;
}

void *gops_test_kept_take(gops_test_kept *kept, size_t bytes)
{
    void *mapping = NULL;
    pthread_mutex_lock(&kept->lock);
    for (size_t i = 0; i < sizeof kept->of / sizeof kept->of[0] && mapping == NULL; i++)
        if (kept->of[i].mapping != NULL && kept->of[i].bytes == bytes) {
            mapping = kept->of[i].mapping;
            kept->of[i].mapping = NULL;
        }
    pthread_mutex_unlock(&kept->lock);
    return mapping;
}

void gops_test_kept_give(gops_test_kept *kept, void *mapping, size_t bytes)
{
    enum { MOST_BYTES = 1 << 22 };
    void *unwanted = mapping;
    size_t unwanted_bytes = bytes;
    if (bytes <= MOST_BYTES) {
        pthread_mutex_lock(&kept->lock);
        const size_t i = kept->next++ % (sizeof kept->of / sizeof kept->of[0]);
        unwanted = kept->of[i].mapping;
        unwanted_bytes = kept->of[i].bytes;
        kept->of[i].mapping = mapping;
        kept->of[i].bytes = bytes;
        pthread_mutex_unlock(&kept->lock);
    }
    if (unwanted != NULL)
        munmap(unwanted, unwanted_bytes);
}

static gops_test_kept kept = GOPS_TEST_KEPT_INIT;

/* Pages before the unmapped one: a power of two, so that another buffer can have them. */
static size_t usable_bytes(size_t bytes, size_t page)
{
    size_t usable = page;
    while (usable < bytes)
        usable *= 2;
    return usable;
}

gops_test_guarded gops_test_guarded_create(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), usable = usable_bytes(bytes, page);
    gops_test_guarded guarded = {NULL, NULL, usable + page};
    guarded.mapping = gops_test_kept_take(&kept, guarded.mapping_bytes);
    if (guarded.mapping == NULL) {
        guarded.mapping = mmap(NULL, guarded.mapping_bytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (guarded.mapping == MAP_FAILED ||
            mprotect((char *)guarded.mapping + usable, page, PROT_NONE) != 0) {
            fprintf(stderr, "no guarded memory for a buffer of %zu bytes\n", bytes);
            exit(EXIT_FAILURE);
        }
    }
    guarded.memory = (char *)guarded.mapping + usable - bytes;
    memset(guarded.memory, FILL, bytes);
    return guarded;
}

void gops_test_guarded_destroy(gops_test_guarded *guarded)
{
    if (guarded->mapping != NULL)
        gops_test_kept_give(&kept, guarded->mapping, guarded->mapping_bytes);
    *guarded = (gops_test_guarded){NULL, NULL, 0};
}

/* An allocation of the heap: this header right before the memory, a canary right behind it. */
typedef struct header {
    void *start;
    size_t bytes;
} header;

void gops_test_heap_start(gops_test_heap *heap)
{
    memset(heap, 0, sizeof *heap);
    pthread_mutex_init(&heap->lock, NULL);
}

void *gops_test_heap_allocate(void *context, size_t bytes, size_t alignment)
{
    gops_test_heap *heap = context;
    pthread_mutex_lock(&heap->lock);
    int refused = ++heap->calls == heap->fail_at;
    int power_of_two = alignment != 0 && (alignment & (alignment - 1)) == 0;
    if (bytes == 0 || !power_of_two || alignment > 4096) {
        heap->misuses++;
        refused = 1;
    }
    char *memory = NULL;
    char *start = NULL;
    if (!refused)
        start = malloc(sizeof(header) + alignment + bytes + CANARY_BYTES);
    if (start != NULL) {
        uintptr_t first = (uintptr_t)start + sizeof(header);
        memory = start + ((first + alignment - 1) / alignment * alignment - (uintptr_t)start);
        header made = {start, bytes};
        memcpy(memory - sizeof made, &made, sizeof made);
        memset(memory, FILL, bytes + CANARY_BYTES);
        heap->live++;
        heap->live_bytes += bytes;
        if (heap->live_bytes > heap->peak_bytes)
            heap->peak_bytes = heap->live_bytes;
    }
    pthread_mutex_unlock(&heap->lock);
    return memory;
}

void gops_test_heap_release(void *context, void *memory)
{
    gops_test_heap *heap = context;
    pthread_mutex_lock(&heap->lock);
    if (memory == NULL) {
        heap->misuses++;
    } else {
        header made;
        memcpy(&made, (char *)memory - sizeof made, sizeof made);
        for (int i = 0; i < CANARY_BYTES; i++)
            heap->misuses += ((unsigned char *)memory)[made.bytes + (size_t)i] != FILL;
        heap->live--;
        heap->live_bytes -= made.bytes;
        free(made.start);
    }
    pthread_mutex_unlock(&heap->lock);
}

gops_host gops_test_heap_host(gops_test_heap *heap)
{
    gops_host host = {.size = sizeof host, .gemm = gops_test_host_gemm()};
    host.allocate = gops_test_heap_allocate;
    host.release = gops_test_heap_release;
    host.context = heap;
    return host;
}

int64_t gops_test_available_memory(void)
{
    int64_t kilobytes = 0;
    char line[256];
    FILE *file = fopen("/proc/meminfo", "r");
    if (file == NULL)
        return 0;
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "MemAvailable: %" SCNd64, &kilobytes) == 1)
            break;
    fclose(file);
    return kilobytes * 1024;
}
