/* ort_runtime.h: the runtime that loaded the provider: its tables, and its threads and memory as
 * hooks of the library. */
#ifndef GROUPOPS_ENGINES_ORT_RUNTIME_H
#define GROUPOPS_ENGINES_ORT_RUNTIME_H

#include "engines/onnxruntime/runtime/ort_abi.h"

#include <groupops/groupops.h>

/* The name that the provider goes by in the runtime. */
#define GOPS_ORT_PROVIDER "GroupOpsExecutionProvider"

typedef struct gops_ort_runtime {
    const ort_api *api;
    const ort_ep_api *ep_api;
    bool has_references;      /* api->tensor_reference is there */
    ort_memory_info *memory;  /* the processor's */
    ort_allocator *allocator; /* of the runtime, for memory that outlives a call */
    /* Of the session, for memory that does not; NULL before its first call. */
    _Atomic(ort_allocator *) scratch;
    /* Of the session: gops_ort_read_options. */
    gops_accuracy accuracy;
    bool claims_all; /* also what the estimate would leave to the runtime */
    /* A compiled model is to be written, of which we have none: there is nothing to claim. */
    bool keeps_context;
    bool may_spin; /* its threads may wait for each other without going to sleep */
} gops_ort_runtime;

typedef struct gops_ort_team gops_ort_team;

/* Checks the version and every slot that is used. False after a failure, which *status describes;
 * it is NULL if the runtime lacks even the function that makes a status. */
bool gops_ort_runtime_open(const ort_api_base *base, gops_ort_runtime *runtime,
                           ort_status **status);
void gops_ort_runtime_close(gops_ort_runtime *runtime);

/* Makes a status; the message is formatted as by printf. */
ort_status *gops_ort_fail(const gops_ort_runtime *runtime, ort_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The status for memory that could not be had, for "a node" or another `what`. */
ort_status *gops_ort_no_memory(const gops_ort_runtime *runtime, const char *what);
/* Makes the status, which may be NULL, that of *kept if there is none yet. */
void gops_ort_keep_status(const gops_ort_runtime *runtime, _Atomic(ort_status *) *kept,
                          ort_status *status);

/* Reads the session's options: the provider's `accuracy`, exact or relaxed, without which the
 * environment's GROUPOPS_ACCURACY counts, and `claim`, worthwhile or all; the first is the default. And
 * the runtime's own session.intra_op.allow_spinning, which is on unless it is 0. */
ort_status *gops_ort_read_options(gops_ort_runtime *runtime, const ort_session_options *options);

/* The status for a call that the library refused; `name` is the node's. */
ort_status *gops_ort_refused(const gops_ort_runtime *runtime, const char *name,
                             const gops_error *error);

/* Describes the tensor in *value. The first gives type 0 where the library lacks its type or rank,
 * the second an error. */
ort_status *gops_ort_try_describe(const gops_ort_runtime *runtime, const ort_value *value,
                                  gops_tensor *tensor);
ort_status *gops_ort_describe(const gops_ort_runtime *runtime, const ort_value *value,
                              gops_tensor *tensor);

/* The shape that the model gives for a value, with -1 for an open dimension, and its type, or 0 if
 * the library lacks it. *known tells whether the rank is given. */
ort_status *gops_ort_value_tensor(const gops_ort_runtime *runtime, const ort_value_info *info,
                                  gops_tensor *tensor, bool *known);

/* The name that the model gives a value's first dimension; NULL where that is closed, or has none. It lives as
 * long as the graph. */
ort_status *gops_ort_value_batch(const gops_ort_runtime *runtime, const ort_value_info *info,
                                 const char **name);

bool gops_ort_same_shape(const gops_tensor *one, const gops_tensor *other);
/* Type and shape for a message: f32 {1,3,224,224}. */
typedef struct gops_ort_words {
    char text[256];
} gops_ort_words;
gops_ort_words gops_ort_name_tensor(const gops_tensor *tensor);
/* The product of the dimensions from axis `from` on. */
int64_t gops_ort_elements(const gops_tensor *tensor, int32_t from);
/* Their bytes. */
int64_t gops_ort_bytes(const gops_tensor *tensor, int32_t from);

/* What the runtime calls for a claim, a pool or a region, which keeps nothing between its calls: the first member of
 * each. */
typedef struct gops_ort_callee {
    ort_compute_info info;
    void (*destroy)(ort_compute_info *info);
} gops_ort_callee;
gops_ort_callee gops_ort_make_callee(ort_status *(*compute)(ort_compute_info *info, void *state,
                                                            ort_kernel_context *context),
                                     void (*destroy)(ort_compute_info *info));
/* NULL is allowed. */
void gops_ort_destroy_callee(ort_compute_info *info);

/* The runtime's thread pool and memory as hooks. A call of the runtime calls gops_ort_enter before
 * gops_execute and gops_ort_leave after it: between them memory comes from the session's arena and
 * work items run on the session's threads; elsewhere memory comes from the runtime's allocator. The
 * hooks are for one session, that of `runtime`. Where the thread leads a team (ort_team.h) its threads
 * do the work items; NULL: it leads none. */
gops_host gops_ort_host(gops_ort_runtime *runtime);

/* The first of these hooks; `name` is the node's, for the status where the tasks are not run. */
ort_status *gops_ort_parallel_for(gops_ort_runtime *runtime, const char *name,
                                  void (*task)(void *argument, int64_t index), void *argument,
                                  int64_t count);

/* Blocks of so many bytes lie in huge pages, where there are any. */
enum { GOPS_ORT_HUGE_FROM = 4 << 20 };

/* Memory that outlives a call, from which the hooks take what a thread asks for while it has the store open, as
 * long as that fits. What is released stays part of it. */
typedef struct gops_ort_store {
    unsigned char *memory, *next, *end;
} gops_ort_store;
void gops_ort_store_open(gops_ort_store *store);
void gops_ort_store_close(void);

void gops_ort_enter(const ort_kernel_context *context, gops_ort_team *team);
void gops_ort_leave(void);

#endif
