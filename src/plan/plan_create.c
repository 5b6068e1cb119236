/* plan/plan_create.c: makes plans: checks the options, asks the methods, keeps the best. */
#include "plan/plan.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/host_default.h"
#include "gemm/gemm.h"

#include <stdio.h>
#include <string.h>

/* The options with every default filled in. */
typedef struct choices {
    const char *algorithm; /* NULL: auto */
    int32_t threads;
    int64_t max_workspace; /* 0: the default */
} choices;

static gops_status read_options(const gops_options *options, gops_plan *plan, choices *chosen,
                                gops_error *error)
{
    static const gops_options defaults = {sizeof defaults, NULL, 0, 0, NULL};
    const gops_options *given = options != NULL ? options : &defaults;
    if (given->size != sizeof *given) {
        return gops_fail(error, GOPS_INVALID, "options.size is %zu; it must be %zu", given->size,
                         sizeof *given);
    }
    if (given->threads < 0) {
        return gops_fail(error, GOPS_INVALID, "threads is %d; it must not be negative",
                         (int)given->threads);
    }
    if (given->max_workspace < 0) {
        return gops_fail(error, GOPS_INVALID, "max_workspace is %lld; it must not be negative",
                         (long long)given->max_workspace);
    }
    *chosen = (choices){given->algorithm, given->threads, given->max_workspace};
    if (chosen->algorithm != NULL && strcmp(chosen->algorithm, "auto") == 0) {
        chosen->algorithm = NULL;
    }
    if (chosen->threads == 0) {
        chosen->threads = gops_default_threads();
    }
    gops_status status = gops_host_complete(given->host, &plan->host, error);
    if (status == GOPS_OK) {
        plan->gemm = plan->host.gemm != NULL ? *plan->host.gemm : gops_cblas;
        plan->host.gemm = NULL; /* the caller's table may be gone when we come back to it */
    }
    return status;
}

static gops_status check_algorithm(const char *name, gops_error *error)
{
    for (int32_t i = 0; gops_algorithm_name(i) != NULL; i++) {
        if (name == NULL || strcmp(gops_algorithm_name(i), name) == 0) {
            return GOPS_OK;
        }
    }
    char known[128] = "auto";
    for (int32_t i = 0; gops_algorithm_name(i) != NULL; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, ", %s", gops_algorithm_name(i));
    }
    return gops_fail(error, GOPS_INVALID, "algorithm is \"%s\"; it must be one of %s", name, known);
}

/* How the budget is divided must not depend on the number of threads, or the blocks, and with them
 * the last bits of the result, would: a quarter of a given budget is one thread's, all of it where
 * that is too little. */
static gops_status prepare(gops_plan *plan, const gops_method *method, const choices *chosen,
                           gops_error *error)
{
    enum { SHARES = 4 };
    int64_t budget = chosen->max_workspace;
    gops_status status;
    plan->method = method;
    plan->filter_variant = 0;
    if (budget == 0 || budget == GOPS_UNLIMITED) {
        status =
            method->prepare(plan, budget == 0 ? GOPS_DEFAULT_SLOT_BYTES : GOPS_UNLIMITED, error);
        plan->slots = chosen->threads;
    } else {
        status = method->prepare(plan, budget / SHARES, NULL);
        if (status == GOPS_INVALID) {
            status = method->prepare(plan, budget, error);
        } else if (status != GOPS_OK) {
            status = method->prepare(plan, budget / SHARES, error); /* for its message */
        }
        plan->slots = chosen->threads;
        if (status == GOPS_OK && plan->slot_bytes > 0) {
            plan->slots = (int32_t)gops_min(plan->slots, budget / plan->slot_bytes);
        }
    }
    if (status == GOPS_OK) {
        plan->slots = (int32_t)gops_clamp(plan->items, 1, plan->slots);
        if (plan->slot_bytes > PTRDIFF_MAX / plan->slots) {
            return gops_fail(error, GOPS_TOO_LARGE,
                             "workspace of %lld bytes for each of %d threads is above %lld",
                             (long long)plan->slot_bytes, (int)plan->slots, (long long)PTRDIFF_MAX);
        }
    }
    return status;
}

/* Prepares the cheapest method that serves the shape, or the one that was asked for. */
static gops_status choose(gops_plan *plan, const choices *chosen, gops_error *error)
{
    gops_plan best;
    /* Apart from the caller's error, which a method that merely lost must not touch. */
    gops_error refusal;
    best.method = NULL;
    gops_fail(&refusal, GOPS_UNSUPPORTED, "algorithm %s does not serve this operation",
              chosen->algorithm != NULL ? chosen->algorithm : "auto");
    for (const gops_method *const *method = gops_methods; *method != NULL; method++) {
        if ((*method)->operation != plan->operation ||
            (chosen->algorithm != NULL && strcmp((*method)->algorithm, chosen->algorithm) != 0)) {
            continue;
        }
        gops_plan candidate = *plan;
        if (prepare(&candidate, *method, chosen, &refusal) == GOPS_OK &&
            (best.method == NULL || candidate.cost < best.cost)) {
            best = candidate;
        }
    }
    if (best.method == NULL) {
        return gops_fail(error, refusal.status, "%s", refusal.message);
    }
    *plan = best;
    return GOPS_OK;
}

static void fill_layout(gops_plan *plan)
{
    memset(&plan->layout, 0, sizeof plan->layout);
    plan->layout.method = plan->method;
    plan->layout.kernels = plan->kernels;
    plan->layout.groups = plan->conv.groups;
    plan->layout.channels_in = plan->conv.channels_in;
    plan->layout.channels_out = plan->conv.channels_out;
    plan->layout.axes = plan->conv.axes;
    plan->layout.type = plan->type->type;
    plan->layout.variant = plan->filter_variant;
    for (int i = 0; i < plan->conv.axes; i++) {
        plan->layout.kernel[i] = plan->conv.axis[i].kernel;
    }
}

/* The rest of plan creation, the same for all operations; `draft` has its geometry and shape. */
static gops_status create(gops_plan *draft, const gops_options *options, gops_plan **plan,
                          gops_error *error)
{
    choices chosen;
    gops_status status = read_options(options, draft, &chosen, error);
    if (status == GOPS_OK) {
        status = check_algorithm(chosen.algorithm, error);
    }
    if (status != GOPS_OK) {
        return status;
    }
    draft->kernels = gops_kernels_select();
    if (draft->kernels == NULL) {
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "GROUPOPS_ISA names an instruction set that does not run here");
    }
    draft->type = draft->kernels->type_row(draft->shape.output.type);
    if (draft->type == NULL) {
        return gops_fail(error, GOPS_UNSUPPORTED, "type %s is not offered for this operation",
                         gops_type_name(draft->shape.output.type));
    }
    draft->machine = gops_machine_read();
    status = choose(draft, &chosen, error);
    if (status != GOPS_OK) {
        return status;
    }
    fill_layout(draft);
    *plan = draft->host.allocate(draft->host.context, sizeof **plan, GOPS_WORKSPACE_ALIGNMENT);
    if (*plan == NULL) {
        return gops_fail(error, GOPS_OUT_OF_MEMORY, "no memory for a plan of %zu bytes",
                         sizeof **plan);
    }
    **plan = *draft;
    if (draft->host.log != NULL) {
        draft->host.log(draft->host.context, (*plan)->why);
    }
    return GOPS_OK;
}

gops_status gops_conv_plan_create(const gops_tensor *data, const gops_tensor *filter,
                                  const gops_conv_attributes *attributes,
                                  const gops_options *options, gops_plan **plan, gops_error *error)
{
    gops_plan draft = {.operation = GOPS_OPERATION_CONV};
    if (plan == NULL) {
        return gops_fail(error, GOPS_INVALID, "plan is NULL");
    }
    *plan = NULL;
    gops_status status =
        gops_conv_resolve(data, filter, attributes, &draft.conv, &draft.shape, error);
    return status == GOPS_OK ? create(&draft, options, plan, error) : status;
}

gops_status gops_deconv_plan_create(const gops_tensor *data, const gops_tensor *filter,
                                    const gops_deconv_attributes *attributes,
                                    const gops_options *options, gops_plan **plan,
                                    gops_error *error)
{
    gops_plan draft = {.operation = GOPS_OPERATION_DECONV};
    if (plan == NULL) {
        return gops_fail(error, GOPS_INVALID, "plan is NULL");
    }
    *plan = NULL;
    gops_status status =
        gops_deconv_resolve(data, filter, attributes, &draft.conv, &draft.shape, error);
    return status == GOPS_OK ? create(&draft, options, plan, error) : status;
}

gops_status gops_norm_plan_create(const gops_tensor *data, const gops_tensor *scale,
                                  const gops_tensor *bias, const gops_norm_attributes *attributes,
                                  const gops_options *options, gops_plan **plan, gops_error *error)
{
    gops_plan draft = {.operation = GOPS_OPERATION_NORM};
    if (plan == NULL) {
        return gops_fail(error, GOPS_INVALID, "plan is NULL");
    }
    *plan = NULL;
    gops_status status =
        gops_norm_resolve(data, scale, bias, attributes, &draft.norm, &draft.shape, error);
    return status == GOPS_OK ? create(&draft, options, plan, error) : status;
}

void gops_plan_destroy(gops_plan *plan)
{
    if (plan != NULL) {
        gops_host host = plan->host;
        host.release(host.context, plan);
    }
}
