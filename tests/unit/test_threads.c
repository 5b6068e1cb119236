/* The same bytes for any number of threads, and one plan executed by many threads at once. */
#include <omp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "problem.h"
#include "compare.h"
#include "elements.h"
#include "harness.h"
#include "lent_host.h"

/* Shapes with more blocks of columns than any number of threads below, or with fewer. */
static gops_problem problems[] = {
    {.operation = GOPS_PROBLEM_CONV,
     .data = {GOPS_F32, 4, {1, 34, 83, 97}},
     .filter = {GOPS_F32, 5, {2, 13, 17, 3, 5}},
     .conv = {.pads_begin = LIST(1, 2), .pads_end = LIST(1, 2)}},
    {.operation = GOPS_PROBLEM_CONV,
     .data = {GOPS_F64, 4, {3, 35, 41, 43}},
     .filter = {GOPS_F64, 5, {7, 3, 5, 3, 2}},
     .conv = {.strides = LIST(2, 1), .dilations = LIST(1, 3)}},
    {.operation = GOPS_PROBLEM_CONV,
     .data = {GOPS_F32, 4, {1, 61, 67, 71}},
     .filter = {GOPS_F32, 5, {1, 59, 61, 1, 1}}},
    {.operation = GOPS_PROBLEM_CONV, /* C_IN in two blocks; items of whole panels for few threads */
     .data = {GOPS_F32, 4, {1, 701, 13, 15}},
     .filter = {GOPS_F32, 5, {1, 133, 701, 1, 1}}},
    {.operation = GOPS_PROBLEM_CONV,
     .data = {GOPS_F32, 5, {1, 19, 13, 17, 23}},
     .filter = {GOPS_F32, 6, {19, 1, 1, 3, 3, 3}},
     .conv = {.auto_pad = GOPS_AUTO_PAD_SAME_UPPER}},
    {.operation = GOPS_PROBLEM_CONV, /* one output, K = 15,000: K is cut where that is done */
     .data = {GOPS_F32, 3, {1, 3000, 5}},
     .filter = {GOPS_F32, 4, {1, 7, 3000, 5}}},
    {.operation = GOPS_PROBLEM_DECONV,
     .data = {GOPS_F32, 4, {1, 34, 41, 43}},
     .filter = {GOPS_F32, 5, {2, 17, 13, 3, 5}},
     .deconv = {.strides = LIST(2, 3), .pads_begin = LIST(1, 0), .output_padding = LIST(1, 2)}},
    {.operation = GOPS_PROBLEM_DECONV,
     .data = {GOPS_F64, 5, {2, 15, 7, 11, 13}},
     .filter = {GOPS_F64, 6, {3, 5, 7, 2, 3, 5}},
     .deconv = {.dilations = LIST(3, 1, 2)}},
    {.operation = GOPS_PROBLEM_DECONV,
     .data = {GOPS_F32, 4, {1, 257, 19, 17}},
     .filter = {GOPS_F32, 5, {1, 257, 5, 5, 7}},
     .deconv = {.strides = LIST(3, 2)}},
    {.operation = GOPS_PROBLEM_CONV, /* more weights than data: blocks of channels, one smaller */
     .data = {GOPS_F32, 4, {1, 62, 11, 7}},
     .filter = {GOPS_F32, 5, {2, 67, 31, 3, 3}},
     .conv = {.pads_begin = LIST(1, 1), .pads_end = LIST(1, 1)}},
    {.operation = GOPS_PROBLEM_DECONV,
     .data = {GOPS_F32, 4, {1, 62, 5, 7}},
     .filter = {GOPS_F32, 5, {2, 31, 37, 4, 3}},
     .deconv = {.strides = LIST(2, 1), .pads_begin = LIST(1, 0)}},
    {.operation = GOPS_PROBLEM_CONV,
     .data = {GOPS_I8, 4, {1, 141, 31, 37}},
     .filter = {GOPS_I8, 5, {1, 17, 141, 3, 5}},
     .conv = {.auto_pad = GOPS_AUTO_PAD_SAME_LOWER}},
    {.operation = GOPS_PROBLEM_CONV,
     .data = {GOPS_BF16, 4, {1, 34, 61, 67}},
     .filter = {GOPS_BF16, 5, {2, 13, 17, 3, 5}}},
    {.operation = GOPS_PROBLEM_CONV,
     .data = {GOPS_I32, 4, {1, 34, 61, 67}},
     .filter = {GOPS_I32, 5, {2, 13, 17, 3, 5}}},
    {.operation = GOPS_PROBLEM_DECONV,
     .data = {GOPS_F16, 4, {1, 34, 41, 43}},
     .filter = {GOPS_F16, 5, {2, 17, 13, 3, 5}},
     .deconv = {.strides = LIST(2, 3), .pads_begin = LIST(1, 0)}},
    {.operation = GOPS_PROBLEM_DECONV,
     .data = {GOPS_U16, 4, {2, 33, 23, 29}},
     .filter = {GOPS_U16, 5, {3, 11, 13, 4, 3}},
     .deconv = {.strides = LIST(3, 1)}},
    {.operation = GOPS_PROBLEM_NORM, .data = {GOPS_F16, 4, {2, 21, 41, 43}}, .norm = {7, 1e-5}},
    {.operation = GOPS_PROBLEM_NORM, .data = {GOPS_F32, 4, {3, 35, 61, 59}}, .norm = {7, 1e-5}},
    {.operation = GOPS_PROBLEM_NORM, /* fewer groups than threads */
     .data = {GOPS_F32, 3, {1, 6, 99991}},
     .norm = {2, 1e-3}},
    {.operation = GOPS_PROBLEM_NORM, .data = {GOPS_F64, 4, {1, 5, 211, 223}}, .norm = {1, 1e-5}},
};

enum { PROBLEMS = sizeof problems / sizeof problems[0] };

static const int32_t thread_counts[] = {1, 2, 3, 8, 37};
enum { COUNTS = sizeof thread_counts / sizeof thread_counts[0] };

static gops_problem_buffers start(const gops_problem *problem, gops_tensor *output)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 21);
    gops_reference_geometry g;
    gops_problem_reference_shape(problem, &g, output);
    return gops_problem_buffers_create(problem, output, &random);
}

static size_t bytes_of(const gops_tensor *tensor)
{
    return (size_t)gops_test_elements(tensor) * gops_test_type_bytes(tensor->type);
}

/* Runs the problem as it stands into the output; 0 where the algorithm does not serve it. */
static int run(const gops_problem *problem, const gops_problem_buffers *buffers, size_t bytes)
{
    gops_problem_text text;
    gops_error error = {GOPS_OK, ""};
    memset(buffers->output.memory, 0xff, bytes);
    gops_status status = gops_problem_run(problem, buffers, &error);
    if (status == GOPS_UNSUPPORTED && problem->algorithm != NULL)
        return 0;
    return gops_test_check(status == GOPS_OK, "%s: %s", gops_problem_describe(problem, &text),
                           error.message);
}

/* One algorithm and budget: 1 thread against the reference, then every other number against 1. */
static void same_bytes(gops_problem *problem, const gops_reference_result *result,
                       const gops_problem_buffers *buffers, const gops_tensor *output)
{
    gops_problem_text text;
    size_t bytes = bytes_of(output);
    problem->threads = 1;
    if (!run(problem, buffers, bytes))
        return;
    gops_test_check(gops_problem_compare(problem, result, buffers->output.memory), "wrong values");
    void *one = gops_test_allocate(bytes);
    memcpy(one, buffers->output.memory, bytes);
    gops_plan *packer = NULL; /* whose filter serves any number of threads */
    gops_test_check(gops_problem_plan(problem, &packer, NULL) == GOPS_OK, "no plan");
    problem->packer = packer;
    for (int i = 1; i < COUNTS; i++) {
        problem->threads = thread_counts[i];
        if (run(problem, buffers, bytes))
            gops_test_check(gops_test_compare_bytes(gops_problem_describe(problem, &text), output,
                                                    buffers->output.memory, one),
                            "%d threads give other bytes than 1", (int)problem->threads);
    }
    problem->packer = NULL;
    gops_plan_destroy(packer);
    free(one);
}

static void same_bytes_for_any_threads(void)
{
    static const int64_t budgets[] = {0, 1 << 20, GOPS_UNLIMITED};
    for (int p = 0; p < PROBLEMS; p++) {
        gops_problem problem = problems[p];
        gops_tensor output;
        gops_reference_result result;
        gops_problem_buffers buffers = start(&problem, &output);
        gops_problem_reference(&problem, &buffers, &result);
        for (int i = 0; i == 0 || gops_algorithm_name(i - 1) != NULL; i++) {
            problem.algorithm = i == 0 ? NULL : gops_algorithm_name(i - 1);
            for (size_t b = 0; b < sizeof budgets / sizeof budgets[0]; b++) {
                problem.max_workspace = budgets[b];
                same_bytes(&problem, &result, &buffers, &output);
            }
        }
        gops_reference_result_destroy(&result);
        gops_problem_buffers_destroy(&buffers);
    }
}

/* Sums that underflow have the same sign, too, whatever taps on padding the items leave out. Of every algorithm. */
static void same_zeros_for_any_threads(void)
{
    enum { TAPS = 9, NEGATIVE = 6 };
    gops_problem layers[] = {
        {.data = {GOPS_F32, 4, {1, 96, 33, 7}}, .filter = {GOPS_F32, 5, {1, 96, 96, 3, 3}}},
        {.data = {GOPS_F32, 4, {1, 16, 40, 9}}, .filter = {GOPS_F32, 5, {1, 48, 16, 3, 3}}},
        {.data = {GOPS_F32, 4, {1, 9, 7, 7}}, .filter = {GOPS_F32, 5, {1, 8, 9, 3, 3}}},
    };
    for (size_t l = 0; l < sizeof layers / sizeof layers[0]; l++) {
        gops_problem problem = layers[l];
        problem.conv = (gops_conv_attributes){.pads_begin = LIST(1, 1), .pads_end = LIST(1, 1)};
        gops_tensor output;
        gops_problem_buffers buffers = start(&problem, &output);
        gops_reference_result result;
        float *data = buffers.data.memory, *weights = buffers.weights.memory;
        for (int64_t i = 0; i < gops_test_elements(&problem.data); i++)
            data[i] = 1e-30f;
        for (int64_t i = 0; i < gops_test_elements(&problem.filter); i++)
            weights[i] = i % TAPS < NEGATIVE ? -1e-30f : 1e-30f;
        gops_problem_reference(&problem, &buffers, &result);
        for (int i = 0; gops_algorithm_name(i) != NULL; i++) {
            problem.algorithm = gops_algorithm_name(i);
            same_bytes(&problem, &result, &buffers, &output);
        }
        gops_reference_result_destroy(&result);
        gops_problem_buffers_destroy(&buffers);
    }
}

/* Plans the problem, and finds what was chosen. */
static gops_status choose(const gops_problem *problem, gops_plan_info *info)
{
    gops_plan *plan = NULL;
    gops_error error;
    const gops_status status = gops_problem_plan(problem, &plan, &error);
    *info = (gops_plan_info){.size = sizeof *info};
    if (status == GOPS_OK) {
        gops_plan_get_info(plan, info, NULL);
        gops_test_check(problem->max_workspace <= 0 ||
                            (int64_t)info->workspace_bytes <= problem->max_workspace,
                        "%lld bytes of workspace of %lld", (long long)info->workspace_bytes,
                        (long long)problem->max_workspace);
    }
    gops_plan_destroy(plan);
    return status;
}

enum { APART = 256 << 10, PAGE = 4096 }; /* choose.c */

/* Between the workspaces of several threads, where the budget has room; else a page. One thread's is so small
 * that its quarter of the budget has room for it, too; and as large as that of one of two, which share images. */
static void workspaces_apart(void)
{
    gops_problem problem = {.operation = GOPS_PROBLEM_CONV,
                            .threads = 1,
                            .algorithm = "implicit",
                            .max_workspace = GOPS_UNLIMITED,
                            .data = GOPS_TEST_TENSOR(GOPS_F32, 8, 17, 21, 19),
                            .filter = GOPS_TEST_TENSOR(GOPS_F32, 1, 19, 17, 3, 3)};
    gops_plan_info one, two;
    gops_test_check(choose(&problem, &one) == GOPS_OK && one.workspace_bytes > 0 &&
                        one.workspace_bytes < APART / 3,
                    "%zu bytes for one thread", one.workspace_bytes);
    problem.threads = 2;
    for (int less = 0; less < 2; less++) {
        const size_t expected = 2 * (one.workspace_bytes + (less ? PAGE : APART));
        gops_test_check(choose(&problem, &two) == GOPS_OK && two.workspace_bytes == expected,
                        "%zu bytes for two threads, not %zu, with %zu for one", two.workspace_bytes,
                        expected, one.workspace_bytes);
        problem.max_workspace = (int64_t)two.workspace_bytes - 1;
    }
}

/* Which algorithm `auto` takes, and whether one fits the budget, does not depend on the number of threads, by which
 * pointwise convolutions cut their work: odd ones have about the budget that these need for one of many threads. */
static void one_choice_for_any_threads(void)
{
    enum { DRAWN = 600 };
    gops_test_random random = gops_test_random_start(gops_test_seed(), 22);
    for (int i = 0; i < DRAWN; i++) {
        const int64_t width = gops_test_random_range(&random, 1, 60), groups = 1 + i % 7 / 6;
        const int64_t in = gops_test_random_range(&random, 1, 1500),
                      out = gops_test_random_range(&random, 1, 500);
        const int64_t stride = 1 + i % 5 / 4, share = gops_test_random_range(&random, 100, 130);
        gops_problem problem = {.operation = GOPS_PROBLEM_CONV,
                                .threads = thread_counts[COUNTS - 1],
                                .data = {GOPS_F32, 4, {1, groups * in, width, width}},
                                .filter = {GOPS_F32, 5, {groups, out, in, 1, 1}}};
        problem.conv.strides = (gops_list){2, {stride, stride}};
        gops_plan_info many, other;
        if (i % 2 == 1) {
            problem.algorithm = "pointwise/pixels";
            if (!gops_test_check(choose(&problem, &many) == GOPS_OK, "refused"))
                continue;
            const int64_t each = (int64_t)many.workspace_bytes / many.threads - APART;
            problem.max_workspace = 1 + (each > 0 ? each : 0) * share / 100;
        }
        const gops_status status = choose(&problem, &many);
        for (int c = 0; c < COUNTS - 1; c++) {
            problem.threads = thread_counts[c];
            gops_problem_text text;
            gops_test_check(choose(&problem, &other) == status &&
                                (status != GOPS_OK || strcmp(many.algorithm, other.algorithm) == 0),
                            "%s: other than with more threads",
                            gops_problem_describe(&problem, &text));
        }
    }
}

/* What the plan estimated for the algorithms that it did not take, in the words of `why`, up to the last comma: the end
 * may be cut off. */
static void read_estimates(const gops_problem *problem, char *estimates, size_t bytes)
{
    gops_plan *plan = NULL;
    gops_plan_info info = GOPS_PLAN_INFO_INIT;
    gops_error error = {GOPS_OK, ""};
    gops_problem_text text;
    estimates[0] = '\0';
    if (gops_test_check(gops_problem_plan(problem, &plan, &error) == GOPS_OK, "%s: %s",
                        gops_problem_describe(problem, &text), error.message) &&
        gops_plan_get_info(plan, &info, NULL) == GOPS_OK) {
        const char *begin = strrchr(info.why, ';'), *end = strrchr(info.why, ',');
        if (begin != NULL && end > begin)
            snprintf(estimates, bytes, "%.*s", (int)(end - begin), begin);
    }
    gops_plan_destroy(plan);
}

/* Into how many items the work is cut does not change the estimates. */
static void one_estimate_for_any_threads(void)
{
    enum { DRAWN = 200 };
    int64_t compared = 0;
    static const int32_t threads[] = {1, 8, 9, 16, 64};
    gops_test_random random = gops_test_random_start(gops_test_seed(), 23);
    for (int i = 0; i < DRAWN; i++) {
        const int64_t kernel = 1 + i % 3, width = gops_test_random_range(&random, 4, 60);
        const int64_t in = gops_test_random_range(&random, 1, 500),
                      out = gops_test_random_range(&random, 1, 2000);
        const gops_type type = i % 2 == 0 ? GOPS_F32 : GOPS_U8;
        gops_problem problem = {.operation = GOPS_PROBLEM_CONV,
                                .accuracy = GOPS_ACCURACY_RELAXED,
                                .output_type = type == GOPS_U8 ? GOPS_I32 : 0,
                                .data = {type, 4, {1, in, width, width}},
                                .filter = {type, 5, {1, out, in, kernel, kernel}}};
        if (i % 5 == 4) { /* transposed: in and out change places */
            problem.operation = GOPS_PROBLEM_DECONV;
            problem.filter = (gops_tensor){type, 5, {1, in, out, kernel, kernel}};
        }
        char first[600], other[600];
        for (size_t t = 0; t < sizeof threads / sizeof threads[0]; t++) {
            gops_problem_text text;
            problem.threads = threads[t];
            read_estimates(&problem, t == 0 ? first : other, sizeof first);
            if (t == 0)
                continue;
            const size_t one = strlen(first), two = strlen(other), both = one < two ? one : two;
            compared += both > 0;
            gops_test_check(memcmp(first, other, both) == 0, "%s: %s\n%s",
                            gops_problem_describe(&problem, &text), first, other);
        }
    }
    gops_test_check(compared > DRAWN, "%lld comparisons", (long long)compared);
}

/* 0 asks for as many threads as OpenMP would use; its settings stay, also where a BLAS has to be told one thread. */
static void threads_of_openmp(void)
{
    enum { OTHER = 5 };
    const int before = omp_get_max_threads();
    gops_host host = GOPS_HOST_INIT;
    host.parallel_for = gops_test_in_turn_for;
    for (int m = 1; m <= 3; m++)
        for (int lent = 0; lent < 2; lent++) {
            gops_problem problem = problems[0];
            gops_plan_info info;
            problem.host = lent ? &host : NULL;
            problem.algorithm = "implicit";
            omp_set_num_threads(m);
            gops_test_check(choose(&problem, &info) == GOPS_OK && info.threads == m,
                            "%d threads of %d", (int)info.threads, m);
        }
    omp_set_num_threads(OTHER);
    for (int t = 1; t <= 2; t++) {
        gops_problem problem = problems[0];
        gops_tensor output;
        gops_problem_buffers buffers = start(&problem, &output);
        problem.algorithm = "gemm";
        problem.threads = t;
        run(&problem, &buffers, bytes_of(&output));
        gops_test_check(omp_get_max_threads() == OTHER, "OpenMP has %d threads, not %d",
                        omp_get_max_threads(), OTHER);
        gops_problem_buffers_destroy(&buffers);
    }
    omp_set_num_threads(before);
}

/* Layers of one image and group with work for milliseconds are cut for as many threads as there are, whether there are
 * more rows, pixels or channels. */
static void many_threads_find_work(void)
{
    enum { MANY = 48 };
    static const struct {
        const char *algorithm;
        int64_t in, out, width, kernel;
    } layers[] = {
        {"direct", 128, 128, 56, 3},           {"direct", 512, 512, 14, 3},
        {"implicit", 128, 128, 56, 3},         {"implicit", 512, 512, 14, 3},
        {"pointwise/pixels", 256, 512, 56, 1}, {"pointwise/pixels", 1024, 2048, 7, 1},
        {"subconv", 256, 256, 28, 4},          {"winograd/f4", 128, 2048, 56, 3},
    };
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++) {
        const int64_t width = layers[i].width, kernel = layers[i].kernel;
        const bool transposed = strcmp(layers[i].algorithm, "subconv") == 0;
        gops_problem problem = {
            .operation = transposed ? GOPS_PROBLEM_DECONV : GOPS_PROBLEM_CONV,
            .threads = MANY,
            .accuracy = GOPS_ACCURACY_RELAXED,
            .algorithm = layers[i].algorithm,
            .data = {GOPS_F32, 4, {1, layers[i].in, width, width}},
            .filter = {GOPS_F32, 5, {1, layers[i].out, layers[i].in, kernel, kernel}}};
        gops_problem_text text;
        gops_plan_info info;
        const gops_status status = choose(&problem, &info);
        gops_test_check(status == GOPS_OK && info.threads == MANY, "%s: %d threads of %d",
                        gops_problem_describe(&problem, &text), (int)info.threads, (int)MANY);
    }
}

enum { CALLERS = 5, CALLS = 6 };

typedef struct caller {
    const gops_plan *plan;
    const gops_packed_filter *filter;
    const gops_problem_buffers *buffers;
    const void *expected;
    size_t bytes;
    int own_workspace;
    int wrong;
} caller;

/* Executes the common plan again and again, into an output of its own. */
static void *call(void *argument)
{
    caller *c = argument;
    gops_plan_info info = {.size = sizeof info};
    gops_plan_get_info(c->plan, &info, NULL);
    gops_arguments arguments = {.size = sizeof arguments,
                                .data = c->buffers->data.memory,
                                .filter = c->filter,
                                .scale = c->buffers->scale.memory,
                                .bias = c->buffers->bias.memory,
                                .output = gops_test_allocate(c->bytes)};
    if (c->own_workspace && info.workspace_bytes > 0) {
        arguments.workspace = aligned_alloc(
            GOPS_WORKSPACE_ALIGNMENT, (info.workspace_bytes + GOPS_WORKSPACE_ALIGNMENT - 1) /
                                          GOPS_WORKSPACE_ALIGNMENT * GOPS_WORKSPACE_ALIGNMENT);
        arguments.workspace_bytes = info.workspace_bytes;
    }
    gops_packed_filter *own = NULL; /* as many threads may pack by one plan */
    if (c->own_workspace && c->filter != NULL &&
        gops_filter_create(c->plan, c->buffers->weights.memory, NULL, &own, NULL) == GOPS_OK)
        arguments.filter = own;
    for (int i = 0; i < CALLS; i++) {
        memset(arguments.output, 0xff, c->bytes);
        if (gops_execute(c->plan, &arguments, NULL) != GOPS_OK ||
            memcmp(arguments.output, c->expected, c->bytes) != 0)
            c->wrong++;
    }
    gops_filter_destroy(own);
    free(arguments.workspace);
    free(arguments.output);
    return NULL;
}

static void call_from_many(const gops_problem *problem, const gops_plan *plan,
                           const gops_problem_buffers *buffers, size_t bytes)
{
    gops_problem_text text;
    caller callers[CALLERS];
    pthread_t threads[CALLERS];
    gops_packed_filter *filter = NULL;
    if (problem->operation != GOPS_PROBLEM_NORM)
        gops_test_check(gops_filter_create(plan, buffers->weights.memory, NULL, &filter, NULL) ==
                            GOPS_OK,
                        "filter");
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (caller){plan, filter, buffers, buffers->output.memory, bytes, i % 2, 0};
        gops_test_check(pthread_create(&threads[i], NULL, call, &callers[i]) == 0, "no thread");
    }
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(threads[i], NULL);
        gops_test_check(callers[i].wrong == 0, "%s: %d of %d calls of thread %d went wrong",
                        gops_problem_describe(problem, &text), callers[i].wrong, (int)CALLS, i);
    }
    gops_filter_destroy(filter);
}

/* Plans with one thread and with three, executed by five threads at once. */
static void one_plan_for_many_threads(void)
{
    for (int p = 0; p < PROBLEMS; p++) {
        gops_tensor output;
        gops_problem problem = problems[p];
        gops_problem_buffers buffers = start(&problem, &output);
        problem.threads = 1 + p % 2 * 2;
        gops_plan *plan = NULL;
        gops_error error = {GOPS_OK, ""};
        gops_status status = gops_problem_plan(&problem, &plan, &error);
        if (status == GOPS_OK)
            status = gops_problem_execute(&problem, plan, &buffers, NULL, 0, &error);
        if (gops_test_check(status == GOPS_OK, "%s", error.message))
            call_from_many(&problem, plan, &buffers, bytes_of(&output));
        gops_plan_destroy(plan);
        gops_problem_buffers_destroy(&buffers);
    }
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"same_bytes_for_any_threads", same_bytes_for_any_threads},
        {"same_zeros_for_any_threads", same_zeros_for_any_threads},
        {"workspaces_apart", workspaces_apart},
        {"one_choice_for_any_threads", one_choice_for_any_threads},
        {"one_estimate_for_any_threads", one_estimate_for_any_threads},
        {"threads_of_openmp", threads_of_openmp},
        {"many_threads_find_work", many_threads_find_work},
        {"one_plan_for_many_threads", one_plan_for_many_threads},
        {NULL, NULL}};
    return gops_test_main("threads", cases);
}
