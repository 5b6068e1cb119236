/* plan/make.h: the steps of making a plan, in their order. */
#ifndef GOPS_PLAN_MAKE_H
#define GOPS_PLAN_MAKE_H

#include "plan/plan.h"

/* The options with every default filled in but that of max_workspace. */
typedef struct gops_request {
    const char *algorithm; /* NULL: auto or fastest */
    bool fastest;          /* measure */
    gops_choices *choices; /* NULL: none */
    int32_t threads;
    int64_t max_workspace; /* 0: the default */
    /* Not NULL: only methods that pack with this (gops_method.pack). */
    gops_pack_fn *packing;
    bool divisible; /* gops_options */
} gops_request;

/* Whether parts of what the method computes have the bits of the whole, for the plan's types. */
bool gops_is_divisible(const gops_plan *plan, const gops_method *method);

/* options.c */

/* Whether `name` is the method's whole name, or, if it is none's, what stands in that before the slash. */
bool gops_is_named(const gops_method *method, const char *name);

/* Fills in the plan's host, GEMM table, activation, saturate, relaxed, residual_after and moments,
 * and *wanted, from options of this library's own size. The plan has its operation. Errors as
 * groupops/plan.h lists them. */
gops_status gops_read_options(const gops_options *given, gops_plan *plan, gops_request *wanted,
                              gops_error *error);

/* Checks that the plan's activation and types, which are set, go together. */
gops_status gops_check_activation(const gops_plan *plan, gops_error *error);

/* choose.c */

/* Prepares the method that serves the shape and is estimated to cost least, or the one that was
 * asked for, saved, or measured to be the fastest, and fills in the plan's layout. The plan has its
 * geometry, types, kernels, machine and host. GOPS_UNSUPPORTED, GOPS_INVALID: none of them serves;
 * the message is that of a refusal that the caller can mend, where there is one. Measuring,
 * besides: GOPS_OUT_OF_MEMORY, GOPS_HOST_FAILED. */
gops_status gops_choose(gops_plan *plan, const gops_request *wanted, gops_error *error);

/* filter_layout.c: fills in the plan's layout, of the method that was prepared. */
void gops_fill_layout(gops_plan *plan);

/* fastest.c */

typedef struct gops_trial {
    gops_plan plan; /* complete, its layout too */
    gops_packed_filter *filter;
    double ns; /* the least that one execution took */
} gops_trial;

/* Executes the plans, at least one and all for one problem, in turn on the same buffers, and fills
 * in what they took. Memory and threads are those of the plans' host. GOPS_OUT_OF_MEMORY,
 * GOPS_HOST_FAILED. */
gops_status gops_measure_trials(gops_trial *trials, int count, gops_error *error);

/* plan_create.c */

/* Chooses, and makes the plan. `draft` has its operation, geometry, shape, kernels, host, GEMM
 * table, activation, origin, quantized, saturate, relaxed, residual_after, moments, is_part, order
 * and wanted_variant; `data` is the data's type. */
gops_status gops_plan_finish(gops_plan *draft, gops_type data, const gops_request *wanted,
                             gops_plan **plan, gops_error *error);

#endif
