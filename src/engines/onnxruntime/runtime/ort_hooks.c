/* ort_hooks.c: the runtime's threads and memory as the hooks of groupops/host.h. */
#include "engines/onnxruntime/runtime/ort_team.h"

#include <stdatomic.h>
#include <sys/mman.h>

/* As the library's own allocator: the scratch memory of a region's large values is one block. With pages of 4 KB
 * mobilenet_v3_large took 1.03 to 1.06 times as long (Intel Xeon with AMX, in a virtual machine). */
enum { HUGE_PAGE = 2 << 20 };

/* The call of the runtime that this thread executes, or NULL, and the team that it leads. */
static _Thread_local const ort_kernel_context *entered;
static _Thread_local gops_ort_team *led;

/* What it has open, or NULL. */
static _Thread_local gops_ort_store *opened;

void gops_ort_store_open(gops_ort_store *store)
{
    opened = store;
}

void gops_ort_store_close(void)
{
    opened = NULL;
}

void gops_ort_enter(const ort_kernel_context *context, gops_ort_team *team)
{
    entered = context;
    led = team;
}

void gops_ort_leave(void)
{
    entered = NULL;
    led = NULL;
}

typedef struct parallel_work {
    void (*task)(void *argument, int64_t index);
    void *argument;
} parallel_work;

static void run_work_item(void *argument, size_t index)
{
    const parallel_work *work = argument;
    work->task(work->argument, (int64_t)index);
}

static bool succeeded(const gops_ort_runtime *runtime, ort_status *status)
{
    if (status != NULL) {
        runtime->api->release_status(status);
    }
    return status == NULL;
}

static int host_parallel_for(void *context, void (*task)(void *argument, int64_t index),
                             void *argument, int64_t count)
{
    const gops_ort_runtime *runtime = context;
    parallel_work work = {task, argument};
    if (led != NULL) {
        gops_ort_team_for(led, task, argument, count);
        return 0;
    }
    return succeeded(runtime, runtime->api->context_parallel_for(entered, run_work_item,
                                                                 (size_t)count, 0, &work))
               ? 0
               : 1;
}

ort_status *gops_ort_parallel_for(gops_ort_runtime *runtime, const char *name,
                                  void (*task)(void *argument, int64_t index), void *argument,
                                  int64_t count)
{
    return host_parallel_for(runtime, task, argument, count) == 0
               ? NULL
               : gops_ort_fail(runtime, ORT_FAIL, "groupops, node \"%s\": was not run", name);
}

/* The session's arena. Only a call can give it; if several threads ask first, one result is
 * kept. */
static ort_allocator *find_scratch(gops_ort_runtime *runtime)
{
    ort_allocator *found = atomic_load_explicit(&runtime->scratch, memory_order_acquire);
    ort_allocator *before = NULL;
    if (found != NULL ||
        !succeeded(runtime, runtime->api->context_allocator(entered, runtime->memory, &found)) ||
        found == NULL || atomic_compare_exchange_strong(&runtime->scratch, &before, found)) {
        return found;
    }
    runtime->api->release_allocator(found);
    return before;
}

/* NULL where there is no room. Has NULL in front. */
static void *take_from(gops_ort_store *store, size_t bytes, size_t alignment)
{
    const size_t left = (size_t)(store->end - store->next);
    const size_t skipped =
        sizeof(void *) +
        (alignment - ((uintptr_t)store->next + sizeof(void *)) % alignment) % alignment;
    if (skipped > left || bytes > left - skipped) {
        return NULL;
    }
    void **memory = (void **)(void *)(store->next + skipped);
    store->next += skipped + bytes;
    memory[-1] = NULL;
    return memory;
}

/* The runtime promises no alignment. Its own address is stored in front of the aligned memory. */
static void *host_allocate(void *context, size_t bytes, size_t alignment)
{
    gops_ort_runtime *runtime = context;
    ort_allocator *from = entered != NULL ? find_scratch(runtime) : runtime->allocator;
    void *memory = opened != NULL ? take_from(opened, bytes, alignment) : NULL;
    if (memory != NULL) {
        return memory;
    }
    const bool huge = bytes >= GOPS_ORT_HUGE_FROM && bytes <= SIZE_MAX - HUGE_PAGE;
    if (huge) { /* to the end: only whole pages are huge */
        bytes = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
        alignment = alignment < HUGE_PAGE ? HUGE_PAGE : alignment;
    }
    if (from == NULL || bytes > SIZE_MAX - alignment - sizeof memory) {
        return NULL;
    }
    const size_t all = bytes + alignment + sizeof memory;
    if (!succeeded(runtime, runtime->api->allocator_alloc(from, all, &memory)) || memory == NULL) {
        return NULL;
    }
    const uintptr_t first = (uintptr_t)memory + sizeof memory;
    void **aligned = (void **)((first + alignment - 1) / alignment * alignment);
    aligned[-1] = memory;
#ifdef MADV_HUGEPAGE
    if (huge) {
        (void)madvise(aligned, bytes, MADV_HUGEPAGE); /* where it is refused all is as before */
    }
#endif
    return aligned;
}

/* gops_execute releases what it allocates before it returns, so `entered` has not changed
 * between. */
static void host_release(void *context, void *memory)
{
    gops_ort_runtime *runtime = context;
    ort_allocator *from = entered != NULL ? find_scratch(runtime) : runtime->allocator;
    void *first = ((void **)memory)[-1];
    if (first != NULL) { /* else it is part of a store */
        succeeded(runtime, runtime->api->allocator_free(from, first));
    }
}

gops_host gops_ort_host(gops_ort_runtime *runtime)
{
    return (gops_host){
        .size = sizeof(gops_host),
        .parallel_for = host_parallel_for,
        .allocate = host_allocate,
        .release = host_release,
        .context = runtime,
    };
}
