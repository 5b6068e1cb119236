/* plan/choose.c: prepares every method that serves a plan and keeps the best. */
#include "plan/make.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/host_default.h"
#include "plan/choices.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static bool is_empty(const gops_plan *plan)
{
    return gops_batch(plan) == 0 || plan->image_outputs == 0;
}

/* How many threads pay for this amount of work. Handing work to a spinning thread and waiting for
 * it takes about 0.5 us (Zen 5): with two threads a depthwise layer of 3 us is 1.4 times as fast,
 * one of 2 us is not faster. */
static int64_t worth_threads(const gops_plan *plan)
{
    enum { WORTH_NS = 2500, FLOPS_A_NS = 20 };
    const double work = plan->cost > 0 ? plan->cost : (double)(gops_flops(plan) / FLOPS_A_NS);
    return 1 + (int64_t)((work < 1e15 ? work : 1e15) / WORTH_NS);
}

/* How far the workspaces of several workers lie apart, and from what lies before them; 0 if `budget` has no room for
 * it. A core that reads memory in order also fetches some lines beyond, up to the end of the page, and one that reads
 * in strides, as tiles read the planes of a padded input, lines several strides ahead. Another core that writes these
 * lines must first ask for them. 64 -> 64, 1x1 on 56x56, took two threads 1.15 times as long where packed weights,
 * which both read, ended in front of a copy that one of them makes again and again (Intel Xeon, Granite Rapids class).
 * Of u8 it took them as long as one thread where workspaces were a page apart, and 0.62 of that where they were 64 KB;
 * for 32 -> 16 on 112x112, 128 KB took 1.1 times as long as 256 (Zen 5). */
static int64_t bytes_apart(const gops_plan *plan, int64_t budget)
{
    static const int64_t apart[] = {256 << 10, GOPS_PAGE_BYTES};
    for (size_t i = 0; i < sizeof apart / sizeof apart[0]; i++) {
        const int64_t each = gops_add_saturate(plan->worker_bytes, apart[i]);
        const int64_t all =
            gops_add_saturate(plan->shared_bytes, gops_mul_saturate(each, plan->workers));
        if (plan->workers > 1 && plan->worker_bytes > 0 && all <= budget && all < PTRDIFF_MAX) {
            return apart[i];
        }
    }
    return 0;
}

/* Prepares the plan for `limit` bytes of a worker, and refuses what takes more. */
static gops_status prepare_within(gops_plan *plan, const gops_method *method, int64_t limit,
                                  gops_error *error)
{
    plan->barrier = 0;
    plan->shared_bytes = 0;
    GOPS_TRY(method->prepare(plan, limit, error));
    if (plan->worker_bytes <= limit - plan->shared_bytes) {
        return GOPS_OK;
    }
    return gops_fail(error, GOPS_INVALID,
                     "max_workspace is %lld; %s needs at least %lld bytes for one thread",
                     (long long)limit, method->name,
                     (long long)gops_add_saturate(plan->worker_bytes, plan->shared_bytes));
}

/* The budget of a worker must not depend on the number of threads: the sizes of blocks depend on
 * it, and the last bits of the result depend on those. So a worker gets a quarter of the given
 * budget, or all of it if a quarter is too little. */
static gops_status choose_prepare(gops_plan *plan, const gops_method *method,
                                  const gops_request *wanted, gops_error *error)
{
    enum { BUDGET_WORKERS = 4 };
    const int64_t budget = wanted->max_workspace;
    const bool shared = budget != 0 && budget != GOPS_UNLIMITED;
    const int64_t otherwise = budget == 0 ? GOPS_DEFAULT_WORKER_BYTES : GOPS_UNLIMITED;
    plan->method = method;
    plan->filter_variant = 0;
    plan->workers = wanted->threads;
    if (is_empty(plan)) {
        plan->items = plan->worker_bytes = plan->apart_bytes = plan->filter_bytes = 0;
        plan->filter_variant = GOPS_EMPTY_VARIANT;
        plan->workers = 1;
        snprintf(plan->why, sizeof plan->why, "the output is empty");
        return GOPS_OK;
    }
    gops_status status =
        prepare_within(plan, method, shared ? budget / BUDGET_WORKERS : otherwise, error);
    if (status == GOPS_INVALID && shared) {
        status = prepare_within(plan, method, budget, error);
    }
    if (status != GOPS_OK) {
        return status;
    }
    if (method->calls_gemm && !gops_is_integer(plan->type) &&
        plan->gemm.sgemm == gops_cblas.sgemm) {
        plan->workers = (int32_t)gops_min(plan->workers, GOPS_CBLAS_CALLERS);
    }
    if (shared && plan->worker_bytes > 0) {
        plan->workers =
            (int32_t)gops_min(plan->workers, (budget - plan->shared_bytes) / plan->worker_bytes);
    }
    plan->cost *= gops_estimate_scale(method, plan->kernels->vector_bytes);
    plan->workers =
        (int32_t)gops_clamp(gops_min(plan->items, worth_threads(plan)), 1, plan->workers);
    if (plan->worker_bytes > (PTRDIFF_MAX - plan->shared_bytes) / plan->workers) {
        return gops_fail(error, GOPS_TOO_LARGE,
                         "workspace of %lld bytes for each of %d threads is above %lld",
                         (long long)plan->worker_bytes, (int)plan->workers, (long long)PTRDIFF_MAX);
    }
    plan->apart_bytes =
        bytes_apart(plan, shared ? budget : gops_mul_saturate(otherwise, plan->workers));
    return GOPS_OK;
}

/* Methods with kernels of our own address a padded copy of the data. Up to 2^52 pixels, offsets
 * into it (rows and planes times strides, channels and bytes) do not overflow. */
static const int64_t max_span = INT64_C(1) << 52;

/* What is refused before a method looks at the shape. */
static gops_status check_kind(const gops_plan *plan, const gops_method *method,
                              const gops_request *wanted, gops_error *refusal)
{
    const char *name = wanted->algorithm != NULL ? wanted->algorithm : method->name;
    if (!method->any_span && plan->conv.span > max_span) {
        return gops_fail(refusal, GOPS_UNSUPPORTED,
                         "algorithm %s serves up to %lld pixels with their padding; here the "
                         "attributes span %lld",
                         name, (long long)max_span, (long long)plan->conv.span);
    }
    if (plan->quantized && !method->quantized) {
        return gops_fail(refusal, GOPS_UNSUPPORTED,
                         "algorithm %s serves no quantized convolutions; here output_type is %s",
                         name, gops_type_name(plan->output_type->type));
    }
    return GOPS_OK;
}

/* The state of a search for methods that serve a plan. */
typedef struct search {
    const gops_plan *plan;
    const gops_request *wanted;
    const char *only; /* a name; NULL: any */
    const gops_method *const *next;
    /* Why no method served. It is not the caller's error, which must stay as it is if another
     * method serves. Of several refusals it is one that the caller can mend, if there is one, else the
     * last of a method that looked at the shape (`by_shape`). */
    gops_error refusal;
    bool by_shape;
} search;

static search begin_search(const gops_plan *plan, const gops_request *wanted, const char *only)
{
    static const char *const names[] = {
        [GOPS_OPERATION_CONV] = "convolutions",
        [GOPS_OPERATION_DECONV] = "transposed convolutions",
        [GOPS_OPERATION_NORM] = "normalizations",
    };
    search made = {.plan = plan, .wanted = wanted, .only = only, .next = gops_methods};
    gops_fail(&made.refusal, GOPS_UNSUPPORTED, "algorithm %s serves no %s",
              wanted->algorithm != NULL ? wanted->algorithm : "auto", names[plan->operation]);
    return made;
}

bool gops_is_divisible(const gops_plan *plan, const gops_method *method)
{
    return !method->indivisible || gops_is_integer(plan->type);
}

static bool is_candidate(const search *at, const gops_method *method)
{
    const gops_request *wanted = at->wanted;
    return method->operation == at->plan->operation &&
           (!wanted->divisible || wanted->algorithm != NULL ||
            gops_is_divisible(at->plan, method)) &&
           (at->only == NULL || gops_is_named(method, at->only)) &&
           (wanted->packing == NULL || wanted->packing == method->pack) &&
           (wanted->algorithm == NULL || gops_is_named(method, wanted->algorithm));
}

/* Prepares `candidate` by the next method that serves the plan; false if no method is left. */
static bool find_next(search *at, gops_plan *candidate)
{
    gops_error last;
    for (; *at->next != NULL; at->next++) {
        if (!is_candidate(at, *at->next)) {
            continue;
        }
        *candidate = *at->plan;
        const bool fits = check_kind(candidate, *at->next, at->wanted, &last) == GOPS_OK;
        if (fits && choose_prepare(candidate, *at->next, at->wanted, &last) == GOPS_OK) {
            gops_fill_layout(candidate);
            at->next++;
            return true;
        }
        if (at->refusal.status == GOPS_UNSUPPORTED && fits >= at->by_shape) {
            at->refusal = last;
            at->by_shape = fits;
        }
    }
    return false;
}

/* Says why no method served. */
static gops_status refuse(const search *at, gops_error *error)
{
    const gops_request *wanted = at->wanted;
    const char *before = "";
    if (wanted->algorithm == NULL && at->refusal.status == GOPS_INVALID) {
        before = "no algorithm fits: ";
    } else if (wanted->algorithm == NULL && wanted->divisible) {
        before = "divisible leaves out what has another order of sums in a part, as gemm, and "
                 "nothing else serves: ";
    }
    return gops_fail(error, at->refusal.status, "%s%s", before, at->refusal.message);
}

/* At least the methods of one operation (methods/table.c). */
enum { MAX_CANDIDATES = 16 };

/* What the explanation says about a method. */
typedef struct finding {
    const gops_method *method;
    double estimated_ns;
    double measured_ns; /* 0: not measured */
} finding;

/* Appends the estimated and measured times of the candidates. */
static void explain_choice(gops_plan *plan, const finding *findings, int count)
{
    size_t length = strlen(plan->why);
    for (int i = 0; i < count && length < sizeof plan->why; i++) {
        const finding *at = &findings[i];
        char measured[32] = "";
        if (at->measured_ns > 0) {
            snprintf(measured, sizeof measured, "measured %.4f, ", at->measured_ns / 1e6);
        }
        length += (size_t)snprintf(plan->why + length, sizeof plan->why - length,
                                   "%s%s %sestimated %.4f ms", i == 0 ? "; " : ", ",
                                   at->method->name, measured, at->estimated_ns / 1e6);
    }
}

/* Chooses the method whose estimate is the least. */
static gops_status choose_cheapest(gops_plan *plan, const gops_request *wanted, const char *only,
                                   gops_error *error)
{
    gops_plan best, candidate;
    search at = begin_search(plan, wanted, only);
    finding findings[MAX_CANDIDATES];
    int count = 0;
    best.method = NULL;
    while (count < MAX_CANDIDATES && find_next(&at, &candidate)) {
        findings[count++] = (finding){candidate.method, candidate.cost, 0};
        if (best.method == NULL || candidate.cost < best.cost) {
            best = candidate;
        }
    }
    assert(count < MAX_CANDIDATES); /* none is left out */
    if (best.method == NULL) {
        return refuse(&at, error);
    }
    *plan = best;
    if (count > 1 && !is_empty(plan)) {
        explain_choice(plan, findings, count);
    }
    return GOPS_OK;
}

/* Chooses the method that was measured to be the fastest. */
static gops_status choose_among(gops_plan *plan, gops_trial *trials, const gops_request *wanted,
                                gops_error *error)
{
    search at = begin_search(plan, wanted, NULL);
    int count = 0, best = 0;
    while (count < MAX_CANDIDATES && find_next(&at, &trials[count].plan)) {
        trials[count].filter = NULL;
        trials[count++].ns = 0;
    }
    if (count == 0) {
        return refuse(&at, error);
    }
    if (count > 1) {
        GOPS_TRY(gops_measure_trials(trials, count, error));
    }
    finding findings[MAX_CANDIDATES];
    for (int i = 0; i < count; i++) {
        findings[i] = (finding){trials[i].plan.method, trials[i].plan.cost, trials[i].ns};
        best = trials[i].ns < trials[best].ns ? i : best;
    }
    *plan = trials[best].plan;
    if (count > 1) {
        explain_choice(plan, findings, count);
    }
    return GOPS_OK;
}

static gops_status choose_fastest(gops_plan *plan, const gops_request *wanted, gops_error *error)
{
    const gops_host host = plan->host;
    if (is_empty(plan)) {
        return choose_cheapest(plan, wanted, NULL, error);
    }
    gops_trial *trials =
        host.allocate(host.context, MAX_CANDIDATES * sizeof *trials, GOPS_WORKSPACE_ALIGNMENT);
    if (trials == NULL) {
        return gops_fail(error, GOPS_OUT_OF_MEMORY, "no memory for %d plans", MAX_CANDIDATES);
    }
    const gops_status status = choose_among(plan, trials, wanted, error);
    host.release(host.context, trials);
    return status;
}

/* Takes the saved choice; false if there is none or it does not serve the plan any more. */
static bool choose_saved(gops_plan *plan, const gops_request *wanted, const char *key)
{
    char why[GOPS_WHY_BYTES];
    const char *saved = gops_choices_find(wanted->choices, key);
    if (saved == NULL || choose_cheapest(plan, wanted, saved, NULL) != GOPS_OK) {
        return false;
    }
    memcpy(why, plan->why, sizeof why);
    snprintf(plan->why, sizeof plan->why, "the fastest when it was measured; %.540s", why);
    return true;
}

gops_status gops_choose(gops_plan *plan, const gops_request *wanted, gops_error *error)
{
    char key[GOPS_CHOICE_KEY_BYTES];
    const bool saves = wanted->choices != NULL && wanted->algorithm == NULL;
    if (saves) {
        gops_choice_key(plan, wanted, key);
        if (choose_saved(plan, wanted, key)) {
            return GOPS_OK;
        }
    }
    if (!wanted->fastest) {
        return choose_cheapest(plan, wanted, NULL, error);
    }
    GOPS_TRY(choose_fastest(plan, wanted, error));
    return saves ? gops_choices_put(wanted->choices, key, plan->method->name, error) : GOPS_OK;
}
