/* ort_counting.c: loads the provider, and stands between it and the runtime. */
#include "ort_counting.h"

#include "engines/onnxruntime/runtime/ort_abi.h"

#include <dlfcn.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED gops_ort_counts gops_ort_counted;

static const ort_api_base *runtime;
static const ort_api *real; /* of the newest version asked for */

static ort_status *parallel_for(const ort_kernel_context *context,
                                void (*task)(void *argument, size_t index), size_t total,
                                size_t batches, void *argument)
{
    const long long call = atomic_fetch_add(&gops_ort_counted.parallel_fors, 1) + 1;
    atomic_fetch_add(&gops_ort_counted.tasks, (long long)total);
    if (call == gops_ort_counted.fail_parallel_for) {
        return real->create_status(ORT_FAIL, "this one fails");
    }
    return real->context_parallel_for(context, task, total, batches, argument);
}

static ort_status *find_allocator(const ort_kernel_context *context, const ort_memory_info *info,
                                  ort_allocator **allocator)
{
    atomic_fetch_add(&gops_ort_counted.scratch_allocators, 1);
    return real->context_allocator(context, info, allocator);
}

static ort_status *allocate(ort_allocator *allocator, size_t bytes, void **memory)
{
    const long long call = atomic_fetch_add(&gops_ort_counted.allocations, 1) + 1;
    if (call == gops_ort_counted.fail_allocation) {
        *memory = NULL;
        return real->create_status(ORT_FAIL, "nothing is left");
    }
    return real->allocator_alloc(allocator, bytes, memory);
}

static ort_status *release(ort_allocator *allocator, void *memory)
{
    atomic_fetch_add(&gops_ort_counted.releases, 1);
    return real->allocator_free(allocator, memory);
}

static ort_status *find_input(const ort_kernel_context *context, size_t index,
                              const ort_value **value)
{
    return gops_ort_counted.lose_inputs ? NULL : real->context_input(context, index, value);
}

static ort_status *find_output(ort_kernel_context *context, size_t index, const int64_t *dims,
                               size_t rank, ort_value **value)
{
    return gops_ort_counted.lose_outputs ? NULL
                                         : real->context_output(context, index, dims, rank, value);
}

static const ort_api *get_api(uint32_t version)
{
    static ort_api tables[ORT_VERSION_REFERENCES + 1];
    const ort_api *found = runtime->get_api(version);
    if (found == NULL || version > ORT_VERSION_REFERENCES) {
        return found;
    }
    ort_api *table = &tables[version];
    memcpy(table, found,
           version >= ORT_VERSION_REFERENCES ? sizeof *table
                                             : offsetof(ort_api, session_assignment));
    table->context_parallel_for = parallel_for;
    table->context_allocator = find_allocator;
    table->allocator_alloc = allocate;
    table->allocator_free = release;
    table->context_input = find_input;
    table->context_output = find_output;
    real = found;
    return table;
}

static const char *get_version(void)
{
    return runtime->get_version();
}

static void *find(const char *name)
{
    void *library = dlopen(GROUPOPS_ORT_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    return library != NULL ? dlsym(library, name) : NULL;
}

EXPORTED ort_create_ep_factories CreateEpFactories;
EXPORTED ort_release_ep_factory ReleaseEpFactory;

ort_status *CreateEpFactories(const char *name, const ort_api_base *base, const ort_logger *logger,
                              ort_ep_factory **factories, size_t most, size_t *count)
{
    static const ort_api_base wrapped = {get_api, get_version};
    ort_create_ep_factories *create;
    void *found = find("CreateEpFactories");
    *count = 0;
    if (found == NULL) {
        return NULL;
    }
    memcpy(&create, &found, sizeof create); /* ISO C has no such conversion */
    runtime = base;
    return create(name, &wrapped, logger, factories, most, count);
}

ort_status *ReleaseEpFactory(ort_ep_factory *factory)
{
    ort_release_ep_factory *give_back;
    void *found = find("ReleaseEpFactory");
    if (found == NULL) {
        return NULL;
    }
    memcpy(&give_back, &found, sizeof give_back);
    return give_back(factory);
}
