/* guarded_memory.h: buffers that notice what goes wrong around them, and a host allocator that
 * counts and fails to order. */
#ifndef GROUPOPS_TEST_GUARDED_MEMORY_H
#define GROUPOPS_TEST_GUARDED_MEMORY_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include <groupops/host.h>

/* malloc that ends the program when there is nothing to give; free with free. */
void *gops_test_allocate(size_t bytes);

/* Mappings for the next who asks for one of as many bytes: to map pages, and to unmap them from every
 * processor, takes longer than most executions. */
typedef struct gops_test_kept {
    pthread_mutex_t lock;
    struct {
        void *mapping;
        size_t bytes;
    } of[64];
    size_t next; /* whose place the next one takes */
} gops_test_kept;
#define GOPS_TEST_KEPT_INIT                                                                        \
    {                                                                                              \
        .lock = PTHREAD_MUTEX_INITIALIZER                                                          \
    }

/* As it was left. NULL: there is none. */
void *gops_test_kept_take(gops_test_kept *kept, size_t bytes);
void gops_test_kept_give(gops_test_kept *kept, void *mapping, size_t bytes);

/* Memory that ends where an unmapped page begins and whose bytes are all 0xff (NaN in every
 * floating point type): reading or writing one byte beyond it ends the program with a signal. */
typedef struct gops_test_guarded {
    void *memory;
    void *mapping;
    size_t mapping_bytes;
} gops_test_guarded;

gops_test_guarded gops_test_guarded_create(size_t bytes);
void gops_test_guarded_destroy(gops_test_guarded *guarded);

/* An allocator for gops_host, with a count of everything it did. */
typedef struct gops_test_heap {
    pthread_mutex_t lock;
    int64_t calls;     /* of allocate, refused ones included */
    int64_t fail_at;   /* the call, counted from 1, that gets NULL; 0: none does */
    int64_t live;      /* allocations not yet released */
    size_t live_bytes; /* in them */
    size_t peak_bytes; /* the most that live_bytes has been */
    int64_t
        misuses; /* zero bytes, a bad alignment, a released NULL, bytes written beyond the end */
} gops_test_heap;

void gops_test_heap_start(gops_test_heap *heap);
void *gops_test_heap_allocate(void *heap, size_t bytes, size_t alignment);
void gops_test_heap_release(void *heap, void *memory);

/* A gops_host with this allocator and everything else by default. */
gops_host gops_test_heap_host(gops_test_heap *heap);

/* MemAvailable of /proc/meminfo in bytes; 0 where that cannot be read. */
int64_t gops_test_available_memory(void);

#endif
