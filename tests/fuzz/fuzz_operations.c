/*
 * fuzz_operations.c: from descriptors and attributes to shape, plan, packed filter and result.
 *
 * What must be refused is refused, everything else is done; every shape and every element is the
 * reference's (fuzz_results.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_results.h"
#include "elements.h"
#include "every_plan.h"
#include "lent_host.h"

/* So that an execution takes about a millisecond under sanitizers. */
enum { MAX_ELEMENTS = 12000, MAX_PRODUCTS = 12000, MAX_WORKSPACE = 16 << 20 };

/* Runs the slots in one of several orders, all on this thread. */
static int run_slots(void *context, void (*task)(void *argument, int64_t index), void *argument,
                     int64_t count)
{
    const int order = *(const int *)context;
    for (int64_t i = 0; i < count; i++) {
        const int64_t turned = (i + order) % count;
        task(argument, order % 2 == 0 ? turned : count - 1 - turned);
    }
    return 0;
}

static gops_status find_shape(const gops_fuzz_case *c, gops_shape *shape, gops_error *error)
{
    const gops_problem *p = &c->problem;
    switch (p->operation) {
    case GOPS_PROBLEM_CONV:
        return gops_conv_shape(&p->data, &p->filter, &p->conv, shape, error);
    case GOPS_PROBLEM_DECONV:
        return gops_deconv_shape(&p->data, &p->filter, &p->deconv, shape, error);
    default:
        return gops_norm_shape(&p->data, &c->scale, &c->bias, &p->norm, shape, error);
    }
}

static void check_shape_is(const gops_fuzz_case *c, const gops_shape *shape,
                           const gops_reference_geometry *g, const gops_tensor *output)
{
    gops_fuzz_require(shape->output.type == output->type &&
                          gops_test_same_dims(&shape->output, output),
                      "another output shape");
    if (c->problem.operation == GOPS_PROBLEM_NORM) {
        gops_fuzz_require(shape->groups == c->problem.norm.num_groups &&
                              shape->pads_begin.count == 0 && shape->pads_end.count == 0,
                          "another shape of a normalization");
        return;
    }
    const size_t bytes = (size_t)g->spatial * sizeof g->pads_begin[0];
    gops_fuzz_require(shape->groups == g->groups && shape->pads_begin.count == g->spatial &&
                          memcmp(shape->pads_begin.values, g->pads_begin, bytes) == 0 &&
                          memcmp(shape->pads_end.values, g->pads_end, bytes) == 0,
                      "other pads or groups");
}

/* Shape inference, which knows one type only, against the contract. */
static gops_status check_shape(const gops_fuzz_case *c, const gops_reference_geometry *g,
                               const gops_tensor *output, int is_legal, int is_huge)
{
    gops_shape shape;
    gops_error error = {GOPS_OK, ""};
    const gops_status status = find_shape(c, &shape, &error);
    const int one_type =
        c->problem.operation == GOPS_PROBLEM_NORM || c->problem.filter.type == c->problem.data.type;
    if (status != GOPS_OK)
        gops_fuzz_check_refusal("shape", status, &error);
    if (c->options.output_type != 0)
        return status;
    if (is_legal && one_type && !is_huge) {
        gops_fuzz_require(status == GOPS_OK, "shape refuses what is legal: %s", error.message);
        check_shape_is(c, &shape, g, output);
    } else if (is_legal && one_type) {
        gops_fuzz_require(status == GOPS_TOO_LARGE, "shape: status %d for what is too large: %s",
                          (int)status, error.message);
    } else {
        gops_fuzz_require(status != GOPS_OK, "shape accepts what is not legal");
    }
    return status;
}

static int is_runnable(const gops_fuzz_case *c, const gops_reference_geometry *g,
                       const gops_tensor *output)
{
    const gops_problem *p = &c->problem;
    if (gops_fuzz_elements(&p->data, MAX_ELEMENTS) > MAX_ELEMENTS ||
        gops_fuzz_elements(output, MAX_ELEMENTS) > MAX_ELEMENTS)
        return 0;
    if (p->operation == GOPS_PROBLEM_NORM)
        return 1;
    if (gops_fuzz_elements(&p->filter, MAX_ELEMENTS) > MAX_ELEMENTS)
        return 0;
    gops_tensor products = p->operation == GOPS_PROBLEM_CONV ? *output : p->data;
    int64_t count = gops_fuzz_elements(&products, MAX_PRODUCTS);
    count *= p->operation == GOPS_PROBLEM_CONV ? g->c_in : g->c_out;
    for (int32_t i = 0; i < g->spatial; i++)
        count = count > MAX_PRODUCTS ? count : count * g->kernel[i];
    return count <= MAX_PRODUCTS;
}

static void check_info(const gops_fuzz_case *c, const gops_plan *plan, const gops_tensor *output,
                       gops_plan_info *info)
{
    const int64_t budget = c->options.max_workspace;
    gops_error error = {GOPS_OK, ""};
    info->size = sizeof *info;
    gops_fuzz_require(gops_plan_get_info(plan, info, &error) == GOPS_OK, "info: %s", error.message);
    gops_fuzz_require(info->shape.output.type == output->type &&
                          gops_test_same_dims(&info->shape.output, output),
                      "another output in the plan");
    gops_fuzz_require(budget == 0 || info->workspace_bytes <= (uint64_t)budget,
                      "%zu bytes of workspace, allowed are %lld", info->workspace_bytes,
                      (long long)budget);
    gops_fuzz_require(info->threads >= 1 &&
                          (c->options.threads == 0 || info->threads <= c->options.threads),
                      "%d threads", (int)info->threads);
    gops_fuzz_require(strlen(info->why) > 0 && info->flops >= 0, "no reason given");
}

/* What is legal, small and asks for nothing special is planned. */
static int must_plan(const gops_fuzz_case *c, int is_small)
{
    const int gemm = c->options.algorithm != NULL && strcmp(c->options.algorithm, "gemm") == 0 &&
                     c->problem.operation != GOPS_PROBLEM_NORM;
    return is_small && (c->options.algorithm == NULL || gemm) &&
           (c->options.max_workspace == 0 || c->options.max_workspace == GOPS_UNLIMITED);
}

/* No budget is too little for what needs no workspace. */
static void check_budget(const gops_fuzz_case *c, const gops_error *error)
{
    gops_plan *plan = NULL;
    gops_plan_info info = {.size = sizeof info};
    gops_options options = c->options;
    options.max_workspace = 0;
    if (c->options.max_workspace > 0 && gops_fuzz_make_plan(c, &options, &plan, NULL) == GOPS_OK) {
        gops_plan_get_info(plan, &info, NULL);
        gops_fuzz_require(info.workspace_bytes > 0,
                          "refused, though no workspace is needed without a budget: %s",
                          error->message);
    }
    gops_plan_destroy(plan);
}

/* Pads that auto_pad leaves out may have any count, which is not for the reference's eyes. */
static void drop_ignored(gops_problem *p)
{
    gops_list *pads[] = {&p->conv.pads_begin, &p->conv.pads_end, &p->deconv.pads_begin,
                         &p->deconv.pads_end};
    for (int i = 0; i < 4; i++)
        if (pads[i]->count < 0 || pads[i]->count > GOPS_MAX_SPATIAL)
            pads[i]->count = 0;
}

/* Of all inputs together. */
static gops_test_tally executed;

/* With GROUPOPS_FUZZ_EVERY_ALGORITHM, when the program ends: none was left out. */
static void check_executed(void)
{
    unsetenv("GROUPOPS_ISA");
    const char *left_out = gops_test_left_out(&executed);
    if (left_out != NULL) {
        fprintf(stderr, "no input executes %s\n", left_out);
        _Exit(EXIT_FAILURE);
    }
}

static void check_plan(gops_fuzz_case *c, const gops_reference_geometry *g,
                       const gops_tensor *output, int is_legal)
{
    gops_plan *plan = NULL;
    gops_plan_info info;
    gops_error error = {GOPS_OK, ""};
    gops_host host = {.size = sizeof host,
                      .gemm = gops_test_host_gemm(),
                      .parallel_for = run_slots,
                      .context = &c->order};
    const int is_small = is_legal && is_runnable(c, g, output);
    gops_problem_text text = {""};
    c->options.host = c->order != 0 ? &host : NULL;
    const gops_status status = gops_fuzz_make_plan(c, &c->options, &plan, &error);
    drop_ignored(&c->problem);
    if (is_small && gops_fuzz_case_has_legal_options(c) && getenv("GROUPOPS_FUZZ_VERBOSE") != NULL)
        fprintf(stderr, "%s: %s\n", gops_problem_describe(&c->problem, &text), error.message);
    if (status != GOPS_OK) {
        gops_fuzz_check_refusal("plan", status, &error);
        gops_fuzz_require(plan == NULL, "a plan came out of a refusal");
        gops_fuzz_require(!must_plan(c, is_small) || !gops_fuzz_case_has_legal_options(c),
                          "refused what is legal: %s", error.message);
        check_budget(c, &error);
        return;
    }
    gops_fuzz_require(is_legal, "a plan for what is not legal");
    gops_fuzz_require(gops_fuzz_case_has_legal_options(c),
                      "a plan with options that are not legal");
    check_info(c, plan, output, &info);
    if (is_small && info.workspace_bytes <= MAX_WORKSPACE) {
        gops_fuzz_buffers b = gops_fuzz_buffers_create(c, output);
        if (gops_fuzz_check_results(c, plan, output, &b))
            gops_test_count(&executed, &c->problem, plan);
        gops_fuzz_buffers_destroy(&b);
    }
    gops_plan_destroy(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    gops_fuzz_bytes input = {bytes, count};
    gops_reference_geometry g = {.spatial = 0};
    gops_tensor output;
    gops_fuzz_case c;
    int is_huge;
    static int begun;
    if (!begun++ && getenv("GROUPOPS_FUZZ_EVERY_ALGORITHM") != NULL)
        atexit(check_executed);
    gops_fuzz_case_read(&input, &c);
    putenv(c.isa);
    const int is_legal = gops_fuzz_case_is_legal(&c, &g, &output, &is_huge);
    gops_fuzz_set_strides(&c, is_legal && !is_huge ? &output : NULL);
    const gops_status status = check_shape(&c, &g, &output, is_legal, is_huge);
    if (c.options.output_type == 0 && status != GOPS_OK) {
        gops_plan *plan = NULL;
        gops_error error = {GOPS_OK, ""};
        const gops_status refusal = gops_fuzz_make_plan(&c, &c.options, &plan, &error);
        const int reads = gops_fuzz_case_has_legal_size(&c) && gops_fuzz_case_has_types(&c);
        gops_fuzz_require(plan == NULL && refusal == (reads ? status : GOPS_INVALID),
                          "the plan's refusal is another than the shape's: %s", error.message);
        return 0;
    }
    check_plan(&c, &g, &output, is_legal && !is_huge);
    return 0;
}
