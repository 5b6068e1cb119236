/* What a plan tells, packed filters, workspaces, and what gops_execute refuses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counted_gemm.h"
#include "refusal.h"
#include "elements.h"
#include "harness.h"
#include "lent_host.h"
#include "wide_numbers.h"

static gops_problem norm_problem(void)
{
    return (gops_problem){.operation = GOPS_PROBLEM_NORM,
                          .data = GOPS_TEST_TENSOR(GOPS_F32, 2, 15, 11, 13),
                          .norm = {3, 1e-5},
                          .threads = 2};
}

/* A problem with a plan, buffers and a packed filter. */
typedef struct fixture {
    gops_problem problem;
    gops_plan *plan;
    gops_plan_info info;
    gops_tensor output;
    gops_problem_buffers buffers;
    gops_packed_filter *filter;
    gops_arguments arguments;
} fixture;

static fixture start(const gops_problem *problem)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 31);
    fixture f = {.problem = *problem, .info = {.size = sizeof f.info}};
    gops_reference_geometry g;
    gops_error error = gops_fresh_error();
    gops_problem_reference_shape(problem, &g, &f.output);
    gops_test_check(gops_problem_plan(problem, &f.plan, &error) == GOPS_OK, "%s", error.message);
    gops_test_check(gops_plan_get_info(f.plan, &f.info, &error) == GOPS_OK, "%s", error.message);
    f.buffers = gops_problem_buffers_create(problem, &f.output, &random);
    if (problem->operation != GOPS_PROBLEM_NORM)
        gops_test_check(gops_filter_create(f.plan, f.buffers.weights.memory, NULL, &f.filter,
                                           &error) == GOPS_OK,
                        "%s", error.message);
    gops_test_check(gops_error_is_fresh(&error), "an error was written after success: %s",
                    error.message);
    f.arguments = (gops_arguments){.size = sizeof f.arguments,
                                   .data = f.buffers.data.memory,
                                   .filter = f.filter,
                                   .scale = f.buffers.scale.memory,
                                   .bias = f.buffers.bias.memory,
                                   .output = f.buffers.output.memory};
    return f;
}

static void finish(fixture *f)
{
    gops_filter_destroy(f->filter);
    gops_plan_destroy(f->plan);
    gops_problem_buffers_destroy(&f->buffers);
}

/* Executes with the arguments as they stand and compares with the reference. */
static void check_execution(fixture *f, const char *what)
{
    gops_reference_result result;
    gops_error error = gops_fresh_error();
    memset(f->buffers.output.memory, 0xff,
           (size_t)gops_test_elements(&f->output) * gops_test_type_bytes(f->output.type));
    gops_test_check(gops_execute(f->plan, &f->arguments, &error) == GOPS_OK, "%s: %s", what,
                    error.message);
    gops_test_check(gops_error_is_fresh(&error), "%s: the error was written", what);
    gops_problem_reference(&f->problem, &f->buffers, &result);
    gops_test_check(gops_problem_compare(&f->problem, &result, f->buffers.output.memory),
                    "%s: wrong values", what);
    gops_reference_result_destroy(&result);
}

static void check_info(const gops_problem *problem, int64_t flops, size_t weights)
{
    fixture f = start(problem);
    gops_shape shape;
    gops_problem_shape(problem, &shape, NULL);
    gops_test_check(f.info.size == sizeof f.info, "size %zu", f.info.size);
    gops_test_check(
        f.info.shape.groups == 3 && gops_test_same_dims(&f.info.shape.output, &shape.output) &&
            memcmp(&f.info.shape.pads_begin, &shape.pads_begin, sizeof shape.pads_begin) == 0 &&
            memcmp(&f.info.shape.pads_end, &shape.pads_end, sizeof shape.pads_end) == 0,
        "another shape than shape inference's");
    gops_test_check(f.info.flops == flops, "%lld flops, expected %lld", (long long)f.info.flops,
                    (long long)flops);
    gops_test_check(weights == 0 ? f.info.filter_bytes == 0 : f.info.filter_bytes >= weights,
                    "%zu bytes of packed filter for %zu of weights", f.info.filter_bytes, weights);
    gops_test_check(f.info.threads >= 1 && f.info.threads <= 2, "%d threads", (int)f.info.threads);
    gops_test_check(problem->algorithm == NULL || strcmp(f.info.algorithm, "gemm") == 0,
                    "algorithm %s", f.info.algorithm);
    gops_test_check(f.info.why != NULL && f.info.why[0] != '\0' && strchr(f.info.why, '\n') == NULL,
                    "no reason given");
    check_execution(&f, "info");
    finish(&f);
}

static void info(void)
{
    gops_problem c = gops_test_gemm_conv(GOPS_F32), d = gops_test_gemm_deconv(GOPS_F64),
                 n = norm_problem();
    /* conv: output 14 x 30; deconv: one product for each data element, filter tap and C_OUT. */
    check_info(&c, 2LL * 2 * 3 * 7 * 5 * 3 * 2 * 14 * 30, 3 * 7 * 5 * 3 * 2 * 4);
    check_info(&d, 2LL * 2 * 3 * 7 * 5 * 3 * 2 * 11 * 13, 3 * 7 * 5 * 3 * 2 * 8);
    check_info(&n, 6LL * 2 * 15 * 11 * 13, 0);
    fixture f = start(&c);
    gops_plan_info wrong = {.size = 1};
    gops_error error = gops_fresh_error();
    char message[128];
    gops_check_refusal("plan", gops_plan_get_info(NULL, &wrong, &error), &error, GOPS_INVALID,
                       "plan is NULL");
    gops_check_refusal("info", gops_plan_get_info(f.plan, NULL, &error), &error, GOPS_INVALID,
                       "info is NULL");
    snprintf(message, sizeof message, "info.size is 1; sizeof(gops_plan_info) is %zu",
             sizeof wrong);
    gops_check_refusal("size", gops_plan_get_info(f.plan, &wrong, &error), &error, GOPS_INVALID,
                       message);
    finish(&f);
}

/* flops beyond 2^63 - 1 saturate. */
static void flops_saturate(void)
{
    gops_problem p = {.operation = GOPS_PROBLEM_DECONV,
                      .data = GOPS_TEST_TENSOR(GOPS_F32, 0, 1 << 20, 1 << 20, 1 << 20),
                      .filter = GOPS_TEST_TENSOR(GOPS_F32, 1, 1 << 20, 1, 1, 1)};
    gops_plan *plan;
    gops_plan_info result = {.size = sizeof result};
    gops_error error = {GOPS_OK, ""};
    gops_test_check(gops_problem_plan(&p, &plan, &error) == GOPS_OK, "%s", error.message);
    gops_test_check(gops_plan_get_info(plan, &result, NULL) == GOPS_OK && result.flops == 0,
                    "flops of an empty batch");
    gops_plan_destroy(plan);
    if (GOPS_TEST_32_BIT)
        return; /* no tensors in so small an address space take so many */
    p = (gops_problem){.operation = GOPS_PROBLEM_CONV,
                       .data = GOPS_TEST_TENSOR(GOPS_F32, 1, 1 << 15, 1 << 13, 1 << 13),
                       .filter = GOPS_TEST_TENSOR(GOPS_F32, 1, 1 << 15, 1 << 15, 1 << 6, 1 << 7),
                       .conv = {.auto_pad = GOPS_AUTO_PAD_SAME_UPPER}};
    gops_test_check(gops_problem_plan(&p, &plan, &error) == GOPS_OK, "%s", error.message);
    gops_test_check(gops_plan_get_info(plan, &result, NULL) == GOPS_OK && result.flops == INT64_MAX,
                    "%lld flops", (long long)result.flops);
    gops_plan_destroy(plan);
}

static void workspaces(const gops_problem *problem)
{
    fixture f = start(problem);
    gops_error error = gops_fresh_error();
    char message[160];
    check_execution(&f, "no workspace given");
    size_t bytes = f.info.workspace_bytes;
    if (bytes > 0) {
        size_t room = (bytes + 127) / GOPS_WORKSPACE_ALIGNMENT * GOPS_WORKSPACE_ALIGNMENT;
        char *workspace = aligned_alloc(GOPS_WORKSPACE_ALIGNMENT, room);
        memset(workspace, 0xff, room);
        f.arguments.workspace = workspace;
        f.arguments.workspace_bytes = bytes;
        check_execution(&f, "a workspace of exactly what is asked for");
        f.arguments.workspace_bytes = room;
        check_execution(&f, "a larger workspace");
        f.arguments.workspace_bytes = bytes - 1;
        snprintf(message, sizeof message, "arguments.workspace_bytes is %zu; the plan needs %zu",
                 bytes - 1, bytes);
        gops_check_refusal("too small", gops_execute(f.plan, &f.arguments, &error), &error,
                           GOPS_INVALID, message);
        f.arguments.workspace = workspace + 8;
        f.arguments.workspace_bytes = bytes;
        gops_check_refusal("misaligned", gops_execute(f.plan, &f.arguments, &error), &error,
                           GOPS_INVALID, "arguments.workspace is not aligned to 64 bytes");
        free(workspace);
    }
    finish(&f);
}

static void workspace(void)
{
    gops_problem c = gops_test_gemm_conv(GOPS_F32), d = gops_test_gemm_deconv(GOPS_F64),
                 n = norm_problem();
    workspaces(&c);
    workspaces(&d);
    workspaces(&n);
}

/* The linked BLAS bounds the threads of plans that call it, and of no others. */
static void many_threads(void)
{
    enum { THREADS = 100, CALLERS = 64 /* src/base/host_default.h */ };
    static const char *const algorithms[] = {"gemm", "direct"};
    for (int i = 0; i < 2; i++) {
        gops_problem p = {.operation = GOPS_PROBLEM_CONV,
                          .data = GOPS_TEST_TENSOR(GOPS_F32, THREADS, 8, 61, 67),
                          .filter = GOPS_TEST_TENSOR(GOPS_F32, 1, 7, 8, 3, 3),
                          .algorithm = algorithms[i],
                          .threads = THREADS};
        const int32_t expected =
            i == 0 && gops_test_host_gemm() == NULL ? (int32_t)CALLERS : (int32_t)THREADS;
        gops_plan *plan = NULL;
        gops_plan_info got = {.size = sizeof got};
        gops_test_check(gops_problem_plan(&p, &plan, NULL) == GOPS_OK, "plan");
        gops_plan_get_info(plan, &got, NULL);
        gops_test_check(got.threads == expected, "%s: %d threads, not %d", algorithms[i],
                        (int)got.threads, (int)expected);
        gops_plan_destroy(plan);
    }
}

/* What a plan of one thread needs suffices for it as max_workspace. */
static void no_more_than_needed(void)
{
    static const struct {
        const char *algorithm; /* "depthwise/masked" is for AVX2 and AVX-512 */
        int64_t groups, channels_in, channels_out, kernel, stride;
    } all[] = {
        {"depthwise/masked", 64, 1, 1, 3, 1}, {"depthwise/blocked", 67, 1, 1, 5, 1},
        {"depthwise/rows", 19, 1, 1, 3, 1},   {"direct", 2, 11, 13, 3, 1},
        {"implicit", 2, 11, 13, 3, 1},        {"pointwise/pixels", 1, 31, 13, 1, 2},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        gops_problem p = {
            .operation = GOPS_PROBLEM_CONV,
            .data = GOPS_TEST_TENSOR(GOPS_F32, 1, all[i].groups * all[i].channels_in, 31, 37),
            .filter = GOPS_TEST_TENSOR(GOPS_F32, all[i].groups, all[i].channels_out,
                                       all[i].channels_in, all[i].kernel, all[i].kernel),
            .conv = {.strides = {2, {all[i].stride, all[i].stride}},
                     .auto_pad = GOPS_AUTO_PAD_SAME_UPPER},
            .algorithm = all[i].algorithm,
            .threads = 1};
        gops_plan *plan = NULL, *again = NULL;
        gops_plan_info info = {.size = sizeof info};
        gops_error error = {GOPS_OK, ""};
        if (gops_problem_plan(&p, &plan, NULL) == GOPS_OK) {
            gops_plan_get_info(plan, &info, NULL);
            p.max_workspace = (int64_t)info.workspace_bytes;
            gops_test_check(info.workspace_bytes == 0 ||
                                gops_problem_plan(&p, &again, &error) == GOPS_OK,
                            "%s", error.message);
        } else {
            gops_test_check(i == 0, "no plan by %s", all[i].algorithm);
        }
        gops_plan_destroy(plan);
        gops_plan_destroy(again);
    }
}

/* Without images nothing is packed, however many channels there are. */
static void no_images_of_many_channels(void)
{
    const gops_problem p = {
        .operation = GOPS_PROBLEM_CONV,
        .data = GOPS_TEST_TENSOR(GOPS_U8, 0, 1, 1, 1),
        .filter = GOPS_TEST_TENSOR(GOPS_I8, 1, INT64_C(1) << (GOPS_TEST_32_BIT ? 28 : 60), 1, 1, 1),
        .output_type = GOPS_I8};
    gops_plan *plan = NULL;
    gops_plan_info got = {.size = sizeof got};
    gops_test_check(gops_problem_plan(&p, &plan, NULL) == GOPS_OK, "plan");
    gops_test_check(gops_plan_get_info(plan, &got, NULL) == GOPS_OK && got.filter_bytes == 0,
                    "%zu bytes of packed filter", got.filter_bytes);
    gops_plan_destroy(plan);
}

/* A layer of VGG: its column matrix has 115 MB; the default is 4 MiB a thread. */
static void default_workspace(void)
{
    gops_problem p = {.operation = GOPS_PROBLEM_CONV,
                      .data = GOPS_TEST_TENSOR(GOPS_F32, 1, 64, 224, 224),
                      .filter = GOPS_TEST_TENSOR(GOPS_F32, 1, 64, 64, 3, 3),
                      .conv = {.auto_pad = GOPS_AUTO_PAD_SAME_UPPER},
                      .algorithm = "gemm"};
    const size_t mebibyte = 1 << 20;
    for (p.threads = 1; p.threads <= 3; p.threads++) {
        gops_plan *plan;
        gops_plan_info got = {.size = sizeof got};
        gops_test_check(gops_problem_plan(&p, &plan, NULL) == GOPS_OK, "plan");
        gops_plan_get_info(plan, &got, NULL);
        gops_test_check(got.threads == p.threads, "%d threads", (int)got.threads);
        gops_test_check(got.workspace_bytes <= 4 * mebibyte * (size_t)got.threads, "%zu bytes",
                        got.workspace_bytes);
        gops_plan_destroy(plan);
    }
    p.max_workspace = GOPS_UNLIMITED;
    p.threads = 1;
    gops_plan *plan;
    gops_plan_info got = {.size = sizeof got};
    gops_test_check(gops_problem_plan(&p, &plan, NULL) == GOPS_OK, "plan");
    gops_plan_get_info(plan, &got, NULL);
    gops_test_check(got.workspace_bytes >= (size_t)64 * 9 * 224 * 224 * 4, "%zu bytes",
                    got.workspace_bytes);
    gops_plan_destroy(plan);
}

/* A filter packed with one plan serves another with the same layout, after the first is gone, and
 * no plan with another layout. */
static void filter_layouts(void)
{
    gops_problem p = gops_test_gemm_conv(GOPS_F32);
    fixture a = start(&p);
    p.data.dims[2] = 17;
    fixture b = start(&p);
    gops_error error = gops_fresh_error();
    gops_packed_filter *own = b.filter;
    memcpy(b.buffers.weights.memory, a.buffers.weights.memory,
           (size_t)gops_test_elements(&p.filter) * gops_test_type_bytes(p.filter.type));
    b.arguments.filter = a.filter;
    gops_plan_destroy(a.plan);
    a.plan = NULL;
    check_execution(&b, "the filter of another plan");
    b.arguments.filter = own;
    p.filter.dims[4] = 1;
    fixture c = start(&p);
    c.arguments.filter = a.filter;
    gops_check_refusal("another kernel", gops_execute(c.plan, &c.arguments, &error), &error,
                       GOPS_INVALID,
                       "arguments.filter was packed with kernel[1] 2; the plan's is 1");
    gops_check_refusal("update",
                       gops_filter_update(c.plan, a.filter, c.buffers.weights.memory, NULL, &error),
                       &error, GOPS_INVALID, "filter was packed with kernel[1] 2; the plan's is 1");
    finish(&a);
    finish(&b);
    finish(&c);
}

static void filter_update(void)
{
    gops_problem problems[] = {gops_test_gemm_conv(GOPS_F32), gops_test_gemm_deconv(GOPS_F64)};
    for (int i = 0; i < 2; i++) {
        gops_test_random random = gops_test_random_start(gops_test_seed(), 32);
        fixture f = start(&problems[i]);
        gops_error error = gops_fresh_error();
        check_execution(&f, "before the update");
        gops_test_random_fill(&random, f.problem.filter.type, f.buffers.weights.memory,
                              gops_test_elements(&f.problem.filter));
        gops_test_check(
            gops_filter_update(f.plan, f.filter, f.buffers.weights.memory, NULL, &error) == GOPS_OK,
            "%s", error.message);
        check_execution(&f, "after the update");
        finish(&f);
    }
}

static void filter_refusals(void)
{
    gops_problem p = gops_test_gemm_conv(GOPS_F32), n = norm_problem();
    fixture f = start(&p), norm = start(&n);
    char *weights = f.buffers.weights.memory;
    gops_error error = gops_fresh_error();
    gops_packed_filter *filter = f.filter;
    gops_check_refusal("plan", gops_filter_create(NULL, weights, NULL, &filter, &error), &error,
                       GOPS_INVALID, "plan is NULL");
    gops_test_check(filter == NULL, "a filter came out");
    gops_check_refusal("filter", gops_filter_create(f.plan, weights, NULL, NULL, &error), &error,
                       GOPS_INVALID, "filter is NULL");
    gops_check_refusal("weights", gops_filter_create(f.plan, NULL, NULL, &filter, &error), &error,
                       GOPS_INVALID, "weights is NULL");
    gops_check_refusal("misaligned", gops_filter_create(f.plan, weights + 1, NULL, &filter, &error),
                       &error, GOPS_INVALID, "weights is not aligned to its elements' 4 bytes");
    gops_check_refusal("norm", gops_filter_create(norm.plan, weights, NULL, &filter, &error),
                       &error, GOPS_INVALID, "the plan is of a normalization, which has no filter");
    gops_check_refusal("update", gops_filter_update(f.plan, NULL, weights, NULL, &error), &error,
                       GOPS_INVALID, "filter is NULL");
    gops_check_refusal("update", gops_filter_update(NULL, f.filter, weights, NULL, &error), &error,
                       GOPS_INVALID, "plan is NULL");
    gops_check_refusal("update", gops_filter_update(f.plan, f.filter, NULL, NULL, &error), &error,
                       GOPS_INVALID, "weights is NULL");
    gops_filter_destroy(NULL);
    gops_plan_destroy(NULL);
    finish(&f);
    finish(&norm);
}

static void refuse(const fixture *f, gops_arguments arguments, const char *message)
{
    gops_error error = gops_fresh_error();
    gops_check_refusal("execute", gops_execute(f->plan, &arguments, &error), &error, GOPS_INVALID,
                       message);
    gops_test_check(gops_execute(f->plan, &arguments, NULL) == GOPS_INVALID, "without an error");
}

static void execute_refusals(void)
{
    gops_problem p = gops_test_gemm_conv(GOPS_F32), n = norm_problem();
    fixture f = start(&p), norm = start(&n);
    gops_arguments a = f.arguments, b = norm.arguments;
    gops_error error = gops_fresh_error();
    char message[128];
    gops_check_refusal("plan", gops_execute(NULL, &a, &error), &error, GOPS_INVALID,
                       "plan is NULL");
    gops_check_refusal("arguments", gops_execute(f.plan, NULL, &error), &error, GOPS_INVALID,
                       "arguments is NULL");
    a.size = 8;
    snprintf(message, sizeof message, "arguments.size is 8; sizeof(gops_arguments) is %zu",
             sizeof a);
    refuse(&f, a, message);
    a = f.arguments;
    a.data = NULL;
    refuse(&f, a, "arguments.data is NULL");
    a.data = (const char *)f.arguments.data + 2;
    refuse(&f, a, "arguments.data is not aligned to its elements' 4 bytes");
    a = f.arguments;
    a.output = NULL;
    refuse(&f, a, "arguments.output is NULL");
    a.output = (char *)f.arguments.output + 1;
    refuse(&f, a, "arguments.output is not aligned to its elements' 4 bytes");
    a = f.arguments;
    a.filter = NULL;
    refuse(&f, a, "arguments.filter is NULL");
    b.scale = NULL;
    refuse(&norm, b, "arguments.scale is NULL");
    b = norm.arguments;
    b.bias = NULL;
    refuse(&norm, b, "arguments.bias is NULL");
    b.bias = (const char *)norm.arguments.bias + 3;
    refuse(&norm, b, "arguments.bias is not aligned to its elements' 4 bytes");
    check_execution(&f, "after all refusals");
    finish(&f);
    finish(&norm);
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"info", info},
        {"flops_saturate", flops_saturate},
        {"workspace", workspace},
        {"many_threads", many_threads},
        {"no_more_than_needed", no_more_than_needed},
        {"no_images_of_many_channels", no_images_of_many_channels},
        {"default_workspace", default_workspace},
        {"filter_layouts", filter_layouts},
        {"filter_update", filter_update},
        {"filter_refusals", filter_refusals},
        {"execute_refusals", execute_refusals},
        {NULL, NULL}};
    return gops_test_main("plans, filters, workspaces", cases);
}
