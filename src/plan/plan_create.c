/* plan/plan_create.c: makes plans: checks the options, asks the methods, keeps the best. */
#include "plan/plan.h"

#include "base/checked.h"
#include "base/error.h"
#include "gemm/gemm.h"
#include "plan/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A plan without outputs packs nothing, so that its filter must not fit another plan. */
enum { EMPTY_VARIANT = -1 };

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
static gops_status prepare(gops_plan *plan, const gops_method *method, const gops_choices *chosen,
                           gops_error *error)
{
    enum { SHARES = 4 };
    int64_t budget = chosen->max_workspace;
    gops_status status;
    plan->method = method;
    plan->filter_variant = 0;
    if (is_empty(&plan->shape.output)) {
        plan->items = plan->slot_bytes = plan->filter_bytes = 0;
        plan->filter_variant = EMPTY_VARIANT;
        plan->slots = 1;
        snprintf(plan->why, sizeof plan->why, "the output is empty");
        return GOPS_OK;
    }
    plan->barrier = 0;
    plan->shared_bytes = 0;
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
                            const gops_choices *chosen, gops_error *refusal)
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
    return prepare(candidate, method, chosen, refusal);
}

/* Prepares the cheapest method that serves the shape, or the one that was asked for. */
static gops_status choose(gops_plan *plan, const gops_choices *chosen, gops_error *error)
{
    gops_plan best, candidate;
    /* Apart from the caller's error, which a method that merely lost must not touch. What counts of
     * several is a refusal that the caller can mend. */
    gops_error refusal, last;
    best.method = NULL;
    gops_fail(&refusal, GOPS_UNSUPPORTED, "algorithm %s does not serve this operation",
              chosen->algorithm != NULL ? chosen->algorithm : "auto");
    for (const gops_method *const *method = gops_methods; *method != NULL; method++) {
        if ((*method)->operation != plan->operation ||
            (chosen->algorithm != NULL && strcmp((*method)->algorithm, chosen->algorithm) != 0)) {
            continue;
        }
        candidate = *plan;
        if (consider(&candidate, *method, chosen, &last) != GOPS_OK) {
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

static void fill_layout(gops_plan *plan)
{
    memset(&plan->layout, 0, sizeof plan->layout);
    plan->layout.method = plan->method;
    plan->layout.kernels = plan->kernels;
    plan->layout.groups = plan->conv.groups;
    plan->layout.channels_in = plan->conv.channels_in;
    plan->layout.channels_out = plan->conv.channels_out;
    plan->layout.axes = plan->conv.axes;
    plan->layout.data_type = plan->type->type;
    plan->layout.filter_type = plan->filter_type->type;
    plan->layout.output_type = plan->output_type->type;
    plan->layout.variant = plan->filter_variant;
    for (int i = 0; i < plan->conv.axes; i++) {
        plan->layout.kernel[i] = plan->conv.axis[i].kernel;
    }
}

static void set_types(gops_plan *plan, gops_type data, gops_type filter, int saturate)
{
    const gops_type output = plan->shape.output.type;
    const int own_output = output != data;
    const gops_type_variant variant = own_output ? GOPS_TYPE_SHIFTED
                                      : saturate ? GOPS_TYPE_SATURATING
                                                 : GOPS_TYPE_USUAL;
    plan->type = plan->kernels->type_row(data, variant);
    plan->filter_type = plan->kernels->type_row(filter, variant);
    plan->output_type = plan->kernels->type_row(output, variant);
    plan->exact_k = gops_min(plan->type->exact_k, plan->filter_type->exact_k);
    plan->wrapped = own_output;
    if (plan->operation != GOPS_OPERATION_NORM) {
        plan->wrapped |= plan->conv.k > plan->exact_k;
    }
}

/* Puts in front of `why` how the type is computed, where that is not simply in itself. */
static void explain_type(gops_plan *plan)
{
    char method[GOPS_WHY_BYTES];
    const char *name = gops_type_name(plan->type->type);
    const long long k = (long long)(plan->conv.k);
    if (plan->operation == GOPS_OPERATION_NORM || plan->type->type <= GOPS_F32) {
        return;
    }
    memcpy(method, plan->why, sizeof method);
    if (plan->type->compute >= GOPS_COMPUTE_U32) {
        snprintf(plan->why, sizeof plan->why, "%s: integers modulo 2^%d, exact; %.300s", name,
                 (int)gops_compute_bytes(plan->type->compute) * 8, method);
    } else if (plan->type->exact_k != INT64_MAX) {
        snprintf(plan->why, sizeof plan->why,
                 "%s%s: %s, exact to K = %lld, here K = %lld%s; %.300s", name,
                 plan->output_type != plan->type ? " to i32" : "",
                 gops_gemm_name(plan->type->compute), (long long)plan->exact_k, k,
                 k > plan->exact_k ? " in exact pieces" : "", method);
    } else {
        snprintf(plan->why, sizeof plan->why,
                 "%s: multiplied and added in f32, rounded once; %.300s", name, method);
    }
}

/* The rest of plan creation, the same for all operations; `draft` has its geometry and shape. */
static gops_status create(gops_plan *draft, gops_type data, gops_type filter,
                          const gops_options *options, gops_plan **plan, gops_error *error)
{
    gops_choices chosen;
    gops_status status = gops_read_options(options, draft, &chosen, error);
    if (status != GOPS_OK) {
        return status;
    }
    draft->kernels = gops_kernels_select();
    if (draft->kernels == NULL) {
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "GROUPOPS_ISA is \"%s\"; it must name an instruction set that runs here",
                         getenv("GROUPOPS_ISA"));
    }
    set_types(draft, data, filter, options != NULL && options->saturate);
    status = gops_read_activation(draft, options, error);
    if (status != GOPS_OK) {
        return status;
    }
    draft->machine = gops_machine_read();
    status = choose(draft, &chosen, error);
    if (status != GOPS_OK) {
        return status;
    }
    fill_layout(draft);
    explain_type(draft);
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
    gops_status status = gops_conv_resolve(data, filter, attributes, gops_wanted_output(options),
                                           &draft.conv, &draft.shape, error);
    return status == GOPS_OK ? create(&draft, data->type, filter->type, options, plan, error)
                             : status;
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
    gops_status status = gops_deconv_resolve(data, filter, attributes, gops_wanted_output(options),
                                             &draft.conv, &draft.shape, error);
    return status == GOPS_OK ? create(&draft, data->type, filter->type, options, plan, error)
                             : status;
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
    const gops_type output = gops_wanted_output(options);
    if (status == GOPS_OK && output != 0 && output != data->type) {
        return gops_fail(
            error, GOPS_UNSUPPORTED,
            "output_type is %s, data is %s; a normalization's output has its data's type",
            gops_type_name(output), gops_type_name(data->type));
    }
    return status == GOPS_OK ? create(&draft, data->type, data->type, options, plan, error)
                             : status;
}

void gops_plan_destroy(gops_plan *plan)
{
    if (plan != NULL) {
        gops_host host = plan->host;
        host.release(host.context, plan);
    }
}
