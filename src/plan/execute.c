/* plan/execute.c: checks the arguments and spreads the plan's items over threads. */
#include "plan/plan.h"

#include "base/checked.h"
#include "base/error.h"

#include <stdatomic.h>
#include <string.h>

/* One execution in work; lives on the caller's stack. */
typedef struct execution {
    const gops_plan *plan;
    gops_job job;
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
    for (;;) {
        int64_t item = atomic_fetch_add_explicit(&running->next, 1, memory_order_relaxed);
        if (item >= running->end) {
            return;
        }
        plan->method->run(plan, &running->job, item, workspace);
    }
}

static gops_status check_buffer(const char *name, const void *buffer, size_t alignment,
                                gops_error *error)
{
    if (buffer == NULL) {
        return gops_fail(error, GOPS_INVALID, "arguments.%s is NULL", name);
    }
    if ((uintptr_t)buffer % alignment != 0) {
        return gops_fail(error, GOPS_INVALID,
                         "arguments.%s is not aligned to its elements' %zu bytes", name, alignment);
    }
    return GOPS_OK;
}

/* The same, for a buffer that may be left out. */
static gops_status check_optional(const char *name, const void *buffer, size_t alignment,
                                  gops_error *error)
{
    return buffer == NULL ? GOPS_OK : check_buffer(name, buffer, alignment, error);
}

static gops_status check_extras(const gops_plan *plan, const gops_arguments *given,
                                gops_error *error)
{
    const size_t alignment = gops_type_bytes(plan->output_type->type);
    const size_t moment = plan->type->type == GOPS_F64 ? sizeof(double) : sizeof(float);
    gops_status status;
    if ((status = check_optional("residual", given->residual, alignment, error)) != GOPS_OK) {
        return status;
    }
    if (plan->operation == GOPS_OPERATION_NORM) {
        status = check_optional("mean", given->mean, moment, error);
        return status == GOPS_OK ? check_optional("variance", given->variance, moment, error)
                                 : status;
    }
    if (given->mean != NULL || given->variance != NULL) {
        return gops_fail(error, GOPS_INVALID, "arguments.%s is given; only a normalization has one",
                         given->mean != NULL ? "mean" : "variance");
    }
    return check_optional("bias", given->bias, alignment, error);
}

static gops_status check_inputs(const gops_plan *plan, const gops_arguments *given,
                                gops_error *error)
{
    size_t alignment = gops_type_bytes(plan->type->type);
    gops_status status;
    const size_t output_alignment = gops_type_bytes(plan->output_type->type);
    if ((status = check_buffer("data", given->data, alignment, error)) != GOPS_OK ||
        (status = check_buffer("output", given->output, output_alignment, error)) != GOPS_OK) {
        return status;
    }
    if (given->data_zero_point != NULL && plan->type->take_off == NULL) {
        return gops_fail(error, GOPS_INVALID,
                         "arguments.data_zero_point is given; the plan has no output_type");
    }
    if ((status = check_extras(plan, given, error)) != GOPS_OK) {
        return status;
    }
    if (plan->operation == GOPS_OPERATION_NORM) {
        status = check_buffer("scale", given->scale, alignment, error);
        return status == GOPS_OK ? check_buffer("bias", given->bias, alignment, error) : status;
    }
    if (given->filter == NULL) {
        return gops_fail(error, GOPS_INVALID, "arguments.filter is NULL");
    }
    if (memcmp(&given->filter->layout, &plan->layout, sizeof plan->layout) != 0) {
        return gops_fail(error, GOPS_INVALID, "arguments.filter was packed for another layout");
    }
    return GOPS_OK;
}

static gops_status check_workspace(const gops_plan *plan, const gops_arguments *given,
                                   gops_error *error)
{
    size_t needed = gops_workspace_bytes(plan);
    if (given->workspace == NULL) {
        return GOPS_OK;
    }
    if (given->workspace_bytes < needed) {
        return gops_fail(error, GOPS_INVALID,
                         "arguments.workspace_bytes is %zu; the plan needs %zu",
                         given->workspace_bytes, needed);
    }
    if ((uintptr_t)given->workspace % GOPS_WORKSPACE_ALIGNMENT != 0) {
        return gops_fail(error, GOPS_INVALID, "arguments.workspace is not aligned to %d bytes",
                         GOPS_WORKSPACE_ALIGNMENT);
    }
    return GOPS_OK;
}

static int is_fused(const gops_plan *plan, const gops_arguments *given)
{
    const int bias = given->bias != NULL && plan->operation != GOPS_OPERATION_NORM;
    return bias || given->residual != NULL || plan->activation.kind != GOPS_ACTIVATION_NONE;
}

static double data_zero(const gops_plan *plan, const gops_arguments *given)
{
    float zero = 0;
    if (given->data_zero_point != NULL) {
        plan->type->load(&zero, given->data_zero_point, 1);
    }
    return (double)zero;
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
    return run_items(running, plan->barrier, plan->items, error);
}

gops_status gops_execute(const gops_plan *plan, const gops_arguments *arguments, gops_error *error)
{
    gops_status status;
    if (plan == NULL || arguments == NULL) {
        return gops_fail(error, GOPS_INVALID, "%s is NULL", plan == NULL ? "plan" : "arguments");
    }
    if (arguments->size != sizeof *arguments) {
        return gops_fail(error, GOPS_INVALID, "arguments.size is %zu; it must be %zu",
                         arguments->size, sizeof *arguments);
    }
    if ((status = check_workspace(plan, arguments, error)) != GOPS_OK) {
        return status;
    }
    if (plan->items == 0) {
        return GOPS_OK; /* an empty output */
    }
    if ((status = check_inputs(plan, arguments, error)) != GOPS_OK) {
        return status;
    }
    execution running = {
        .plan = plan,
        .job = {.data = arguments->data,
                .filter = arguments->filter != NULL ? arguments->filter->packed : NULL,
                .scale = arguments->scale,
                .bias = arguments->bias,
                .residual = arguments->residual,
                .fused = is_fused(plan, arguments),
                .mean = arguments->mean,
                .variance = arguments->variance,
                .output = arguments->output,
                .data_zero = data_zero(plan, arguments)},
    };
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
