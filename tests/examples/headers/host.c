/* Lends the library memory and a loop, and hears what it chose. */
#include <groupops/plan.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct engine {
    atomic_int live; /* allocations that were not given back; any thread may make some */
} engine;

static void *allocate(void *context, size_t bytes, size_t alignment)
{
    engine *e = context;
    e->live++;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void release(void *context, void *memory)
{
    engine *e = context;
    e->live--;
    free(memory);
}

/* An engine's thread pool would take the iterations; here the calling thread does. */
static int parallel_for(void *context, void (*task)(void *argument, int64_t index), void *argument,
                        int64_t count)
{
    (void)context;
    for (int64_t i = 0; i < count; i++) {
        task(argument, i);
    }
    return 0;
}

static void print_line(void *context, const char *line)
{
    (void)context;
    printf("the library: %s\n", line);
}

int main(void)
{
    engine e = {0};
    gops_host host = GOPS_HOST_INIT;
    host.parallel_for = parallel_for;
    host.allocate = allocate;
    host.release = release;
    host.log = print_line;
    host.context = &e;

    gops_options options = GOPS_OPTIONS_INIT;
    options.host = &host;
    gops_tensor data = {GOPS_F32, 4, {1, 8, 14, 14}};
    gops_tensor filter = {GOPS_F32, 5, {2, 4, 4, 3, 3}};
    gops_plan *plan;
    gops_error error;
    if (gops_conv_plan_create(&data, &filter, NULL, &options, &plan, &error) != GOPS_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    printf("%d of the engine's blocks in use\n", e.live);
    gops_plan_destroy(plan);
    printf("%d in the end\n", e.live);
    return e.live;
}
