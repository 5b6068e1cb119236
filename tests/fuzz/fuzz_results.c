/* fuzz_results.c: packs, executes, and compares with the reference and with other ways to the same. */
#include "fuzz_results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "elements.h"
#include "problem_quantization.h"
#include "random_part.h"

gops_status gops_fuzz_make_plan(const gops_fuzz_case *c, const gops_options *options,
                                gops_plan **plan, gops_error *error)
{
    const gops_problem *p = &c->problem;
    /* A larger struct than ours, as headers newer than the library have: zeros follow. */
    const size_t bytes = gops_fuzz_case_has_legal_size(c) ? c->options.size : sizeof *options;
    gops_options *given = calloc(1, bytes);
    gops_status status;
    gops_fuzz_require(given != NULL, "no memory for options");
    memcpy(given, options, bytes < sizeof *options ? bytes : sizeof *options);
    status =
        p->operation == GOPS_PROBLEM_NORM
            ? gops_norm_plan_create(&p->data, &c->scale, &c->bias, &p->norm, given, plan, error)
            : gops_problem_plan_with(p, given, plan, error);
    free(given);
    return status;
}

void gops_fuzz_check_refusal(const char *what, gops_status status, const gops_error *error)
{
    gops_fuzz_require(status == error->status && error->message[0] != '\0' &&
                          memchr(error->message, 0, sizeof error->message) != NULL,
                      "%s: refused with status %d and \"%.200s\" (status %d)", what, (int)status,
                      error->message, (int)error->status);
    gops_fuzz_require(status != GOPS_OUT_OF_MEMORY && status != GOPS_HOST_FAILED, "%s: %s", what,
                      error->message);
}

/* NULL where there is none, or where it is refused as it must be. */
static gops_packed_filter *pack(const gops_fuzz_case *c, const gops_plan *plan,
                                const gops_fuzz_buffers *b)
{
    const gops_problem *p = &c->problem;
    gops_packed_filter *filter = NULL;
    gops_quantization own;
    gops_error error = {GOPS_OK, ""};
    if (p->operation == GOPS_PROBLEM_NORM)
        return NULL;
    gops_fuzz_buffer zeros = gops_fuzz_buffer_create(p->filter.type, p->filter_zero_point_count, 0);
    gops_problem_set_zero_points(p, zeros.start);
    const gops_quantization *quantization = gops_problem_quantization(p, zeros.start, &own);
    gops_status status = gops_filter_create(plan, b->weights.start, quantization, &filter, &error);
    if (!gops_fuzz_case_has_legal_quantization(c)) {
        gops_fuzz_require(status != GOPS_OK && filter == NULL, "packs what is not legal");
        gops_fuzz_check_refusal("pack", status, &error);
    } else {
        gops_fuzz_require(status == GOPS_OK, "pack: %s", error.message);
        if (c->update)
            status = gops_filter_update(plan, filter, b->weights.start, quantization, &error);
        gops_fuzz_require(status == GOPS_OK, "update: %s", error.message);
    }
    free(zeros.memory);
    return filter;
}

/* The data's zero point goes with an output type of its own. */
static void set_zero_point(const gops_fuzz_case *c, uint64_t *element, gops_arguments *a)
{
    const gops_problem *p = &c->problem;
    if (p->data_zero_point == NULL)
        return;
    gops_test_set_integer(p->data.type, element, 0, (uint64_t)*p->data_zero_point);
    a->data_zero_point = element;
}

static void execute(const gops_fuzz_case *c, const gops_plan *plan,
                    const gops_packed_filter *filter, const gops_tensor *output,
                    const gops_fuzz_buffers *b)
{
    const int with_moments = c->problem.operation == GOPS_PROBLEM_NORM && c->with_moments;
    uint64_t zero_point = 0;
    void *workspace = NULL;
    gops_error error = {GOPS_OK, ""};
    gops_plan_info info = {.size = sizeof info};
    gops_arguments a = {.size = sizeof a, .filter = filter};
    gops_fuzz_views v = gops_fuzz_views_enter(c, output, b, &a);
    gops_plan_get_info(plan, &info, NULL);
    a.scale = b->scale.start;
    a.bias = b->bias.start;
    a.slopes = b->slopes.start;
    a.mean = with_moments ? b->mean.start : NULL;
    a.variance = with_moments ? b->variance.start : NULL;
    a.moments = b->moments;
    set_zero_point(c, &zero_point, &a);
    if (c->own_workspace && info.workspace_bytes > 0) {
        if (posix_memalign(&workspace, GOPS_WORKSPACE_ALIGNMENT, info.workspace_bytes) != 0)
            abort();
        memset(workspace, 0xff, info.workspace_bytes);
        a.workspace = workspace;
        a.workspace_bytes = info.workspace_bytes;
    }
    gops_fuzz_require(gops_execute(plan, &a, &error) == GOPS_OK, "execute: %s", error.message);
    gops_fuzz_views_leave(c, output, &v, b);
    free(workspace);
}

/* Of quantized ones, results of f32 by exp, tanh and erfc, which overflow half way. */
static int is_quantized_comparable(const gops_fuzz_case *c, const gops_reference_result *result)
{
    return c->sane_fusion && (gops_test_type_is_real(result->tensor.type) ||
                              c->problem.quantization.output_scale < 1e30F);
}

static int is_float_comparable(const gops_fuzz_case *c)
{
    const double epsilon = c->problem.norm.epsilon;
    return c->filling != GOPS_FUZZ_BIT_NOISE && c->sane_fusion &&
           c->problem.accuracy == GOPS_ACCURACY_EXACT &&
           (c->problem.operation != GOPS_PROBLEM_NORM || (epsilon >= 1e-12 && epsilon <= 1e6));
}

/* Whether the reference's bounds hold: they know no overflow and no NaN. */
static int is_comparable(const gops_fuzz_case *c, const gops_reference_result *result)
{
    static const long double largest[] = {
        [GOPS_F64] = 1e300L, [GOPS_F32] = 1e37L,  [GOPS_F16] = 60000,
        [GOPS_BF16] = 1e37L, [GOPS_F8E4M3] = 430, [GOPS_F8E5M2] = 50000};
    const gops_type type = result->tensor.type;
    const int quantized = gops_problem_is_quantized(&c->problem);
    if (quantized && !result->exact && !is_quantized_comparable(c, result))
        return 0;
    if (!gops_test_type_is_real(type) || (quantized && result->exact))
        return 1;
    if (!quantized && !is_float_comparable(c))
        return 0;
    for (int64_t i = 0; i < gops_test_elements(&result->tensor); i++)
        if (!(fabsl(result->value[i]) + result->bound[i] < largest[type]))
            return 0;
    return 1;
}

static gops_problem_buffers problem_buffers(const gops_fuzz_buffers *b)
{
    return (gops_problem_buffers){
        .data.memory = b->data.start,
        .weights.memory = b->weights.start,
        .scale.memory = b->scale.start,
        .bias.memory = b->bias.start,
        .residual.memory = b->residual.start,
        .slopes.memory = b->slopes.start,
        .output.memory = b->output.start,
    };
}

static void compare(const gops_fuzz_case *c, const gops_fuzz_buffers *b)
{
    const gops_problem_buffers given = problem_buffers(b);
    gops_reference_result result;
    gops_problem_reference(&c->problem, &given, &result);
    gops_fuzz_require(!is_comparable(c, &result) ||
                          gops_problem_compare(&c->problem, &result, b->output.start),
                      "wrong values");
    gops_reference_result_destroy(&result);
}

/* One thread and no workspace of the caller's must give the bits that are there. */
static void compare_threads(const gops_fuzz_case *c, gops_fuzz_buffers *b,
                            const gops_tensor *output)
{
    gops_fuzz_case other = *c;
    gops_error error = {GOPS_OK, ""};
    gops_plan *plan;
    gops_fuzz_buffer several = b->output;
    other.options.threads = 1;
    other.options.host = NULL;
    other.own_workspace = 0;
    other.update = 0;
    gops_fuzz_require(gops_fuzz_make_plan(&other, &other.options, &plan, &error) == GOPS_OK,
                      "refused with one thread: %s", error.message);
    b->output = gops_fuzz_buffer_create(output->type, gops_test_elements(output), c->offset);
    gops_packed_filter *filter = pack(&other, plan, b);
    execute(&other, plan, filter, output, b);
    gops_fuzz_require(gops_test_compare_bytes("one thread, against several", output, several.start,
                                              b->output.start),
                      "other bits with another number of threads");
    free(several.memory);
    gops_filter_destroy(filter);
    gops_plan_destroy(plan);
}

/* A part of the outputs has the bits that are there, but for those of NaN. */
static void compare_part(gops_fuzz_case *c, const gops_plan *plan, const gops_tensor *output,
                         const gops_fuzz_buffers *b)
{
    gops_test_random random = gops_test_random_start(c->seed, 999);
    gops_problem_buffers given = problem_buffers(b);
    gops_whole of = {
        .problem = &c->problem, .buffers = &given, .output = *output, .random = &random};
    if (c->problem.operation != GOPS_PROBLEM_NORM && gops_test_elements(output) > 0 &&
        c->filling != GOPS_FUZZ_BIT_NOISE)
        gops_fuzz_require(gops_compare_part(&of, plan), "%s", of.what);
}

/* The moments of the data by themselves, and the data normalized by these. */
static void compare_moments(const gops_fuzz_case *c, const gops_tensor *output,
                            gops_fuzz_buffers *b)
{
    gops_fuzz_case other = *c;
    gops_error error = {GOPS_OK, ""};
    gops_plan *plan;
    if (c->problem.operation != GOPS_PROBLEM_NORM || c->options.size != sizeof c->options)
        return;
    b->moments = gops_test_allocate((size_t)(c->problem.data.dims[0] * c->problem.norm.num_groups) *
                                    sizeof(gops_moments));
    other.with_moments = 0;
    for (int use = GOPS_MOMENTS_ONLY; use >= GOPS_MOMENTS_GIVEN; use--) {
        other.options.moments = (gops_moments_use)use;
        gops_fuzz_require(gops_fuzz_make_plan(&other, &other.options, &plan, &error) == GOPS_OK,
                          "moments %d refused: %s", use, error.message);
        memset(b->output.start, 0xff, b->output.bytes);
        execute(&other, plan, NULL, output, b);
        gops_plan_destroy(plan);
    }
    compare(&other, b);
    free(b->moments);
    b->moments = NULL;
}

/* The plan anew, by way of one for other data, and the other's filter; NULL where that is refused,
 * as its packing need not serve both. */
static gops_plan *reshape(const gops_fuzz_case *c, const gops_fuzz_buffers *b,
                          gops_packed_filter **filter)
{
    gops_fuzz_case other = *c;
    gops_plan *first = NULL, *plan = NULL;
    gops_error error = {GOPS_OK, ""};
    *filter = NULL;
    other.problem.data = c->reshaped_from;
    if (c->reshaped_from.rank == 0 ||
        gops_fuzz_make_plan(&other, &c->options, &first, &error) != GOPS_OK)
        return NULL;
    const gops_status status = gops_plan_reshape(first, &c->problem.data, NULL, &plan, &error);
    if (status == GOPS_OK)
        *filter = pack(&other, first, b);
    else
        gops_fuzz_check_refusal("reshape", status, &error);
    gops_plan_destroy(first);
    return plan;
}

/* The same bits or, where the packing leads to another method, a result as good. */
static void compare_reshaped(const gops_fuzz_case *c, const gops_tensor *output,
                             gops_fuzz_buffers *b)
{
    gops_packed_filter *filter;
    gops_plan *plan = reshape(c, b, &filter);
    if (plan == NULL)
        return;
    memset(b->output.start, 0xff, b->output.bytes);
    execute(c, plan, filter, output, b);
    compare(c, b);
    gops_filter_destroy(filter);
    gops_plan_destroy(plan);
}

int gops_fuzz_check_results(gops_fuzz_case *c, const gops_plan *plan, const gops_tensor *output,
                            gops_fuzz_buffers *b)
{
    gops_packed_filter *filter = pack(c, plan, b);
    const int is_legal = gops_fuzz_case_has_legal_quantization(c);
    if (is_legal) {
        execute(c, plan, filter, output, b);
        compare(c, b);
        compare_threads(c, b, output);
        compare_part(c, plan, output, b);
        compare_moments(c, output, b);
        compare_reshaped(c, output, b);
    }
    gops_filter_destroy(filter);
    return is_legal;
}
