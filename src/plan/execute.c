/* plan/execute.c: spreads the plan's items over threads. */
#include "plan/arguments.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/float_state.h"

#include <stdatomic.h>

/* One execution in work; lives on the caller's stack. */
typedef struct execution {
    const gops_plan *plan;
    gops_job job;
    void (*run)(const gops_plan *plan, const gops_job *job, int64_t item, void *workspace);
    int64_t items;
    gops_float_state modes;   /* the caller's */
    unsigned char *workspace; /* of the first slot */
    int64_t end;              /* of the items that may be taken now */
    atomic_llong next;        /* the first item that nobody has taken */
} execution;

/* One slot takes items until none is left. Which slot does an item does not matter to the result,
 * so the quicker thread does more of them. */
static void run_slot(void *argument, int64_t slot)
{
    execution *running = argument;
    const gops_plan *plan = running->plan;
    void *workspace = NULL;
    if (plan->slot_bytes > 0) {
        workspace = running->workspace + slot * plan->slot_bytes;
    }
    const gops_float_state own = gops_float_enter(running->modes);
    for (;;) {
        int64_t item = atomic_fetch_add_explicit(&running->next, 1, memory_order_relaxed);
        if (item >= running->end) {
            break;
        }
        running->run(plan, &running->job, item, workspace);
    }
    gops_float_leave(own, running->modes);
}

/* The items from `first` to end - 1, by as many slots as find one. */
static gops_status run_items(execution *running, int64_t first, int64_t end, gops_error *error)
{
    const gops_plan *plan = running->plan;
    const int64_t slots = gops_min(plan->slots, end - first);
    running->end = end;
    atomic_store_explicit(&running->next, first, memory_order_relaxed);
    if (plan->slots == 1) {
        run_slot(running, 0);
        return GOPS_OK;
    }
    int failed = plan->host.parallel_for(plan->host.context, run_slot, running, slots);
    if (failed != 0) {
        return gops_fail(error, GOPS_HOST_FAILED, "host.parallel_for returned %d", failed);
    }
    return GOPS_OK;
}

static gops_status run(execution *running, unsigned char *workspace, gops_error *error)
{
    const gops_plan *plan = running->plan;
    running->job.shared = workspace;
    running->workspace = workspace != NULL ? workspace + plan->shared_bytes : NULL;
    if (plan->barrier > 0) {
        gops_status status = run_items(running, 0, plan->barrier, error);
        if (status != GOPS_OK) {
            return status;
        }
    }
    return run_items(running, plan->barrier, running->items, error);
}

gops_status gops_execute(const gops_plan *plan, const gops_arguments *arguments, gops_error *error)
{
    execution running = {.plan = plan};
    gops_status status = gops_read_arguments(plan, arguments, &running.job, error);
    if (status != GOPS_OK || plan->items == 0) {
        return status;
    }
    const int plain = arguments->filter != NULL && arguments->filter->plain;
    running.run = plain ? gops_plain_run : plan->method->run;
    running.items = plain ? gops_plain_items(plan) : plan->items;
    running.modes = gops_float_read();
    atomic_init(&running.next, 0);
    size_t needed = gops_workspace_bytes(plan);
    if (arguments->workspace != NULL || needed == 0) {
        return run(&running, arguments->workspace, error);
    }
    void *workspace = plan->host.allocate(plan->host.context, needed, GOPS_WORKSPACE_ALIGNMENT);
    if (workspace == NULL) {
        return gops_fail(error, GOPS_OUT_OF_MEMORY, "no memory for a workspace of %zu bytes",
                         needed);
    }
    status = run(&running, workspace, error);
    plan->host.release(plan->host.context, workspace);
    return status;
}
