/* plan/execute.c: distributes a plan's work items to threads. */
#include "plan/plan.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/float_state.h"

#include <stdatomic.h>

/* A run of items and the next one of them to be taken; each has its own cache line. */
typedef struct items {
    _Alignas(64) atomic_llong next;
    int64_t end;
} items;

enum { MAX_RUNS = 8 }; /* with more workers several begin in the same run */

/* The state of one execution, on the caller's stack. */
typedef struct execution {
    const gops_plan *plan;
    gops_job job;
    void (*run)(const gops_plan *plan, const gops_job *job, int64_t item, void *workspace);
    gops_float_state modes; /* the caller's */
    int64_t run_count;
    items runs[MAX_RUNS]; /* the items that may be taken now */
} execution;

/* A worker takes items until none is left. It begins with its own run: those items are neighbours
 * and the same in each execution, so its core still has in its cache what it read or wrote the last
 * time. Then it takes what others have left, so a faster thread does more items. The result does
 * not depend on which worker does an item. */
static void run_worker(void *argument, int64_t worker)
{
    execution *running = argument;
    const gops_plan *plan = running->plan;
    void *workspace = NULL;
    if (plan->worker_bytes > 0) {
        workspace = (unsigned char *)running->job.shared + plan->shared_bytes + plan->apart_bytes +
                    worker * (plan->apart_bytes + plan->worker_bytes);
    }
    int64_t kept[GOPS_KEPT] = {-1, -1};
    gops_job job = running->job;
    job.kept = kept;
    const gops_float_state own = gops_float_enter(running->modes);
    for (int64_t i = 0; i < running->run_count; i++) {
        items *from = &running->runs[(worker + i) % running->run_count];
        for (;;) {
            int64_t item = atomic_fetch_add_explicit(&from->next, 1, memory_order_relaxed);
            if (item >= from->end) {
                break;
            }
            running->run(plan, &job, item, workspace);
        }
    }
    gops_float_leave(own, running->modes);
}

/* Executes the items from `first` to end - 1 by at most one worker for each item. */
static gops_status run_items(execution *running, int64_t first, int64_t end, gops_error *error)
{
    const gops_plan *plan = running->plan;
    const int64_t count = end - first, workers = gops_min(plan->workers, count);
    const int64_t runs = gops_clamp(workers, 1, MAX_RUNS);
    running->run_count = runs;
    for (int64_t i = 0; i < runs; i++) {
        atomic_store_explicit(&running->runs[i].next, first, memory_order_relaxed);
        first += count / runs + (i < count % runs);
        running->runs[i].end = first;
    }
    if (plan->workers == 1) {
        run_worker(running, 0);
        return GOPS_OK;
    }
    int failed = plan->host.parallel_for(plan->host.context, run_worker, running, workers);
    if (failed != 0) {
        return gops_fail(error, GOPS_HOST_FAILED, "host.parallel_for returned %d", failed);
    }
    return GOPS_OK;
}

gops_status gops_execute(const gops_plan *plan, const gops_arguments *given, gops_error *error)
{
    execution running = {.plan = plan};
    unsigned char *allocated = NULL;
    GOPS_TRY(gops_read_arguments(plan, given, &running.job, error));
    if (plan->items == 0) {
        return GOPS_OK; /* an empty output */
    }
    const gops_method *method = running.job.nonfinite ? &gops_nonfinite : plan->method;
    const int64_t end = method->items != NULL ? method->items(plan) : plan->items;
    const size_t needed = gops_workspace_bytes(plan);
    if (running.job.shared == NULL && needed > 0) {
        allocated = plan->host.allocate(plan->host.context, needed, GOPS_WORKSPACE_ALIGNMENT);
        if (allocated == NULL) {
            return gops_fail(error, GOPS_OUT_OF_MEMORY, "no memory for a workspace of %zu bytes",
                             needed);
        }
        running.job.shared = allocated;
    }
    running.run = method->run;
    running.modes = gops_float_read();
    /* It divides the items of the plan's own method. */
    const int64_t barrier = running.job.nonfinite ? 0 : plan->barrier;
    gops_status status = barrier > 0 ? run_items(&running, 0, barrier, error) : GOPS_OK;
    if (status == GOPS_OK) {
        status = run_items(&running, barrier, end, error);
    }
    if (allocated != NULL) {
        plan->host.release(plan->host.context, allocated);
    }
    return status;
}
