/* plan/options.h: gops_options checked, every default filled in. */
#ifndef GOPS_PLAN_OPTIONS_H
#define GOPS_PLAN_OPTIONS_H

#include "plan/plan.h"

/* The options with every default filled in. */
typedef struct gops_request {
    const char *algorithm; /* NULL: auto or fastest */
    bool fastest;          /* measure */
    gops_choices *choices; /* NULL: none */
    int32_t threads;
    int64_t max_workspace; /* 0: the default */
    /* Not NULL: only methods that pack with this (gops_method.pack). */
    void (*packing)(const gops_plan *plan, const void *weights, void *packed);
} gops_request;

/* Whether `name` is the method's whole name, or what stands in that before the slash. */
int gops_is_named(const gops_method *method, const char *name);

/* Fills in the plan's host, GEMM table, activation and saturate, and *wanted, from options of this
 * library's own size. Errors as groupops/plan.h lists them. */
gops_status gops_read_options(const gops_options *given, gops_plan *plan, gops_request *wanted,
                              gops_error *error);

/* Checks that the plan's activation and types, which are set, go together. */
gops_status gops_check_activation(const gops_plan *plan, gops_error *error);

#endif
