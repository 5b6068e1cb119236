/* plan/choose.c: asks the methods and keeps the best. */
#include "plan/choose.h"

#include "base/checked.h"
#include "base/error.h"

#include <stdio.h>
#include <string.h>

static int is_empty(const gops_tensor *tensor)
{
    int empty = 0;
    for (int i = 0; i < tensor->rank; i++) {
        empty |= tensor->dims[i] == 0;
    }
    return empty;
}

/* Threads that the work is worth: waking one and waiting for it costs some microseconds, and far
 * more on a busy machine, so that each should have WORTH_NS to do. */
static int64_t worth_threads(const gops_plan *plan)
{
    enum { WORTH_NS = 10000, FLOPS_A_NS = 20 };
    const int64_t flops =
        plan->operation == GOPS_OPERATION_NORM ? plan->norm.flops : plan->conv.flops;
    const double work = plan->cost > 0 ? plan->cost : (double)(flops / FLOPS_A_NS);
    return 1 + (int64_t)((work < 1e15 ? work : 1e15) / WORTH_NS);
}

/* How the budget is divided must not depend on the number of threads, or the blocks, and with them
 * the last bits of the result, would: a quarter of a given budget is one thread's, all of it where
 * that is too little. */
static gops_status prepare(gops_plan *plan, const gops_method *method, const gops_request *wanted,
                           gops_error *error)
{
    enum { SHARES = 4 };
    int64_t budget = wanted->max_workspace;
    gops_status status;
    plan->method = method;
    plan->filter_variant = 0;
    if (is_empty(&plan->shape.output)) {
        plan->items = plan->slot_bytes = plan->filter_bytes = 0;
        plan->filter_variant = GOPS_EMPTY_VARIANT;
        plan->slots = 1;
        snprintf(plan->why, sizeof plan->why, "the output is empty");
        return GOPS_OK;
    }
    plan->barrier = 0;
    plan->shared_bytes = 0;
    if (budget == 0 || budget == GOPS_UNLIMITED) {
        status =
            method->prepare(plan, budget == 0 ? GOPS_DEFAULT_SLOT_BYTES : GOPS_UNLIMITED, error);
        plan->slots = wanted->threads;
    } else {
        status = method->prepare(plan, budget / SHARES, NULL);
        if (status == GOPS_INVALID) {
            status = method->prepare(plan, budget, error);
        } else if (status != GOPS_OK) {
            status = method->prepare(plan, budget / SHARES, error); /* for its message */
        }
        plan->slots = wanted->threads;
        if (status == GOPS_OK && plan->slot_bytes > 0) {
            plan->slots =
                (int32_t)gops_min(plan->slots, (budget - plan->shared_bytes) / plan->slot_bytes);
        }
    }
    if (status == GOPS_OK) {
        plan->slots =
            (int32_t)gops_clamp(gops_min(plan->items, worth_threads(plan)), 1, plan->slots);
        if (plan->slot_bytes > (PTRDIFF_MAX - plan->shared_bytes) / plan->slots) {
            return gops_fail(error, GOPS_TOO_LARGE,
                             "workspace of %lld bytes for each of %d threads is above %lld",
                             (long long)plan->slot_bytes, (int)plan->slots, (long long)PTRDIFF_MAX);
        }
    }
    return status;
}

/* Prepares `candidate`, a copy of the plan so far, by the method. */
static gops_status consider(gops_plan *candidate, const gops_method *method,
                            const gops_request *wanted, gops_error *refusal)
{
    if (method->modular && candidate->output_type == candidate->type &&
        candidate->type->store_wrapped != NULL) {
        const gops_type_row *row =
            candidate->kernels->type_row(candidate->type->type, GOPS_TYPE_MODULAR);
        candidate->type = candidate->filter_type = candidate->output_type = row;
        candidate->exact_k = row->exact_k;
        candidate->wrapped = 0;
    }
    if (candidate->wrapped && !method->wraps) {
        const char *type = gops_type_name(candidate->type->type);
        return gops_fail(
            refusal, GOPS_UNSUPPORTED,
            "algorithm %s serves %s to K = %lld and %s output; here K is %lld and the output is %s",
            method->algorithm, type, (long long)candidate->exact_k, type,
            (long long)candidate->conv.k, gops_type_name(candidate->output_type->type));
    }
    return prepare(candidate, method, wanted, refusal);
}

/* Prepares the cheapest method that serves the shape, or the one that was asked for. */
gops_status gops_choose(gops_plan *plan, const gops_request *wanted, gops_error *error)
{
    gops_plan best, candidate;
    /* Apart from the caller's error, which a method that merely lost must not touch. What counts of
     * several is a refusal that the caller can mend. */
    gops_error refusal, last;
    best.method = NULL;
    gops_fail(&refusal, GOPS_UNSUPPORTED, "algorithm %s does not serve this operation",
              wanted->algorithm != NULL ? wanted->algorithm : "auto");
    for (const gops_method *const *method = gops_methods; *method != NULL; method++) {
        if ((*method)->operation != plan->operation ||
            (wanted->algorithm != NULL && strcmp((*method)->algorithm, wanted->algorithm) != 0) ||
            (wanted->packing != NULL && (*method)->pack != wanted->packing)) {
            continue;
        }
        candidate = *plan;
        if (consider(&candidate, *method, wanted, &last) != GOPS_OK) {
            if (refusal.status == GOPS_UNSUPPORTED) {
                refusal = last;
            }
        } else if (best.method == NULL || candidate.cost < best.cost) {
            best = candidate;
        }
    }
    if (best.method == NULL) {
        return gops_fail(error, refusal.status, "%s", refusal.message);
    }
    *plan = best;
    return GOPS_OK;
}
