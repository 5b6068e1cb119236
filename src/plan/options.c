/* plan/options.c: reads the options. */
#include "plan/make.h"

#include "base/error.h"
#include "base/host_default.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_whole_name(const char *name)
{
    bool whole = false;
    for (int32_t i = 0; !whole && gops_methods[i] != NULL; i++) {
        whole = strcmp(gops_methods[i]->name, name) == 0;
    }
    return whole;
}

bool gops_is_named(const gops_method *method, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(method->name, name, length) == 0 &&
           (method->name[length] == '\0' || (method->name[length] == '/' && !is_whole_name(name)));
}

static gops_status check_algorithm(const char *name, gops_error *error)
{
    enum { MAX_SHOWN = 24 };
    bool found = name == NULL;
    for (int32_t i = 0; !found && gops_methods[i] != NULL; i++) {
        found = gops_is_named(gops_methods[i], name);
    }
    if (found) {
        return GOPS_OK;
    }
    char known[GOPS_MESSAGE_BYTES] = "auto, fastest";
    const char *algorithm, *before = "";
    for (int32_t i = 0; (algorithm = gops_algorithm_name(i)) != NULL; before = algorithm, i++) {
        const size_t used = strlen(known), method = strcspn(algorithm, "/");
        const bool same = strncmp(algorithm, before, method + 1) == 0; /* of the method: /form */
        snprintf(known + used, sizeof known - used, ", %s", algorithm + (same ? method : 0));
    }
    /* A message is one line, and has room for a name of ours. */
    const int shown = (int)strcspn(name, "\n\r");
    return gops_fail(error, GOPS_INVALID,
                     "algorithm is \"%.*s\"; it must be one of %s, or the part of one "
                     "before its slash",
                     shown < MAX_SHOWN ? shown : MAX_SHOWN, name, known);
}

static gops_status check_moments(gops_moments_use moments, gops_operation operation,
                                 gops_error *error)
{
    if ((unsigned)moments > GOPS_MOMENTS_ONLY) {
        return gops_fail(error, GOPS_INVALID, "moments is %d; it must be from 0 to %d",
                         (int)moments, GOPS_MOMENTS_ONLY);
    }
    if (moments != GOPS_MOMENTS_FOUND && operation != GOPS_OPERATION_NORM) {
        return gops_fail(error, GOPS_INVALID, "moments is %d; only a normalization has them",
                         (int)moments);
    }
    return GOPS_OK;
}

gops_status gops_read_options(const gops_options *given, gops_plan *plan, gops_request *wanted,
                              gops_error *error)
{
    if (given->threads < 0) {
        return gops_fail(error, GOPS_INVALID, "threads is %d; it must not be negative",
                         (int)given->threads);
    }
    if (given->max_workspace < 0) {
        return gops_fail(error, GOPS_INVALID, "max_workspace is %lld; it must not be negative",
                         (long long)given->max_workspace);
    }
    if (given->accuracy != GOPS_ACCURACY_EXACT && given->accuracy != GOPS_ACCURACY_RELAXED) {
        return gops_fail(error, GOPS_INVALID, "accuracy is %d; it must be 0, exact, or 1, relaxed",
                         (int)given->accuracy);
    }
    GOPS_TRY(check_moments(given->moments, plan->operation, error));
    plan->moments = given->moments;
    *wanted = (gops_request){.algorithm = given->algorithm,
                             .choices = given->choices,
                             .threads = given->threads,
                             .max_workspace = given->max_workspace,
                             .divisible = given->divisible};
    if (wanted->algorithm != NULL) {
        wanted->fastest = strcmp(wanted->algorithm, "fastest") == 0;
        if (wanted->fastest || strcmp(wanted->algorithm, "auto") == 0) {
            wanted->algorithm = NULL;
        }
    }
    plan->activation = given->activation;
    plan->saturate = given->saturate;
    plan->relaxed = given->accuracy == GOPS_ACCURACY_RELAXED;
    plan->residual_after =
        given->residual_after_activation && given->activation.kind != GOPS_ACTIVATION_NONE;
    if (wanted->threads == 0) {
        wanted->threads = gops_default_threads();
    }
    GOPS_TRY(gops_host_complete(given->host, &plan->host, &plan->gemm, error));
    if (plan->gemm.sgemm == NULL) {
        plan->gemm = gops_cblas;
    }
    return check_algorithm(wanted->algorithm, error);
}

/* The bounds of a clamp of integers must be whole numbers that the type has. */
static gops_status check_bound(const gops_plan *plan, const char *name, double bound,
                               gops_error *error)
{
    const gops_type type = plan->output_type->type;
    const int bits = (int)gops_type_bytes(type) * 8;
    const double low = type >= GOPS_U8 ? 0 : -ldexp(1, bits - 1);
    const double beyond = ldexp(1, type >= GOPS_U8 ? bits : bits - 1);
    if (bound >= low && bound < beyond && floor(bound) == bound) {
        return GOPS_OK;
    }
    return gops_fail(error, GOPS_INVALID,
                     "activation.%s is %g; clamp of %s takes whole numbers of %s", name, bound,
                     gops_type_name(type), gops_type_name(type));
}

gops_status gops_check_activation(const gops_plan *plan, gops_error *error)
{
    const gops_activation *given = &plan->activation;
    const bool real = plan->quantized && gops_is_8_bit(plan->output_type->type);
    const bool integer = gops_is_integer(plan->output_type) && !real;
    if ((unsigned)given->kind > GOPS_ACTIVATION_LAST) {
        return gops_fail(error, GOPS_INVALID, "activation.kind is %d; it must be from 0 to %d",
                         (int)given->kind, GOPS_ACTIVATION_LAST);
    }
    if (plan->quantized && plan->residual_after) {
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "residual_after_activation is given; a quantized plan adds the residual "
                         "before the activation");
    }
    if (given->kind == GOPS_ACTIVATION_PRELU &&
        (plan->quantized || plan->operation == GOPS_OPERATION_NORM)) {
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "activation.kind is 12, prelu; %s takes none with slopes",
                         plan->quantized ? "a quantized plan" : "a normalization");
    }
    if (given->kind == GOPS_ACTIVATION_CLAMP && !(given->alpha <= given->beta)) {
        return gops_fail(
            error, GOPS_INVALID,
            "activation.alpha is %g and activation.beta is %g; clamp needs alpha <= beta",
            given->alpha, given->beta);
    }
    if (integer && given->kind > GOPS_ACTIVATION_CLAMP) {
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "activation.kind is %d; %s takes none (0), relu (1) and clamp (2)",
                         (int)given->kind, gops_type_name(plan->output_type->type));
    }
    if (integer && given->kind == GOPS_ACTIVATION_CLAMP) {
        GOPS_TRY(check_bound(plan, "alpha", given->alpha, error));
        return check_bound(plan, "beta", given->beta, error);
    }
    return GOPS_OK;
}
