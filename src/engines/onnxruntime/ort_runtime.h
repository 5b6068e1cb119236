/* ort_runtime.h: what the provider knows of the runtime that loaded it, and what it lends of it to
 * the library. */
#ifndef GROUPOPS_ENGINES_ORT_RUNTIME_H
#define GROUPOPS_ENGINES_ORT_RUNTIME_H

#include "ort_abi.h"

#include <groupops/groupops.h>

/* The name that the provider goes by in the runtime. */
#define GOPS_ORT_PROVIDER "GroupOpsExecutionProvider"

typedef struct gops_ort_runtime {
    const ort_api *api;
    const ort_ep_api *ep_api;
    bool has_references;      /* api->tensor_reference is there */
    ort_memory_info *memory;  /* the processor's */
    ort_allocator *allocator; /* of the runtime, for what outlives a call */
    /* Of the session, for what does not; NULL before its first call. */
    _Atomic(ort_allocator *) scratch;
} gops_ort_runtime;

/* Checks the version and every slot that is used. What fails is said by *status (NULL where the
 * runtime is so strange that not even a status can be made) and makes it false. */
bool gops_ort_runtime_open(const ort_api_base *base, gops_ort_runtime *runtime,
                           ort_status **status);
void gops_ort_runtime_close(gops_ort_runtime *runtime);

/* A status with a message of the printf kind. */
ort_status *gops_ort_fail(const gops_ort_runtime *runtime, ort_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The status for a call of the library that was refused. `name` is of the node. */
ort_status *gops_ort_refused(const gops_ort_runtime *runtime, const char *name,
                             const gops_error *error);

/* The type in the library; 0 for one that the provider does not claim. */
gops_type gops_ort_type(ort_element element);

/* Describes the tensor in *value. */
ort_status *gops_ort_describe(const gops_ort_runtime *runtime, const ort_value *value,
                              gops_tensor *tensor);

/* The runtime's thread pool and memory as hooks. They go by what this thread does: between enter
 * and leave, which enclose gops_execute in a call of the runtime, memory is of the session's arena
 * and work goes to the session's threads; otherwise memory is of the runtime's allocator. `runtime`
 * is of one session. */
gops_host gops_ort_host(gops_ort_runtime *runtime);
void gops_ort_enter(const ort_kernel_context *context);
void gops_ort_leave(void);

#endif
