/*
 * Faults of the host: every allocation of an engine's life with the library fails in turn, every
 * parallel_for fails in turn, and parallel_for runs its tasks in odd ways. The calls say so
 * cleanly, nothing is left behind, and the next attempt gives the right bits.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "problem.h"
#include "compare.h"
#include "elements.h"
#include "every_plan.h"
#include "lent_host.h"
#include "problem_quantization.h"
#include "harness.h"

enum { THREADS = 3 };

/* Large enough for them all. */
static gops_problem problem_of(int index)
{
    const gops_quantization quantization = {.size = sizeof quantization,
                                            .data_scale = 0.01F,
                                            .data_zero_point = 113,
                                            .output_scale = 0.3F,
                                            .output_zero_point = 57};
    const gops_problem problems[] = {
        {.operation = GOPS_PROBLEM_CONV,
         .data = GOPS_TEST_TENSOR(GOPS_F32, 3, 15, 37, 41),
         .filter = GOPS_TEST_TENSOR(GOPS_F32, 3, 7, 5, 3, 3),
         .conv = {.pads_begin = LIST(1, 2)}},
        {.operation = GOPS_PROBLEM_CONV,
         .data = GOPS_TEST_TENSOR(GOPS_F16, 5, 37, 31, 29),
         .filter = GOPS_TEST_TENSOR(GOPS_F16, 37, 1, 1, 5, 3),
         .conv = {.auto_pad = GOPS_AUTO_PAD_SAME_LOWER}},
        {.operation = GOPS_PROBLEM_CONV,
         .data = GOPS_TEST_TENSOR(GOPS_I8, 3, 14, 37, 29),
         .filter = GOPS_TEST_TENSOR(GOPS_I8, 2, 11, 7, 3, 3)},
        {.operation = GOPS_PROBLEM_CONV,
         .data = GOPS_TEST_TENSOR(GOPS_U8, 3, 14, 37, 29),
         .filter = GOPS_TEST_TENSOR(GOPS_I8, 2, 11, 7, 3, 3),
         .output_type = GOPS_U8,
         .quantization = quantization},
        {.operation = GOPS_PROBLEM_DECONV,
         .data = GOPS_TEST_TENSOR(GOPS_I8, 2, 14, 13, 11),
         .filter = GOPS_TEST_TENSOR(GOPS_I8, 2, 7, 5, 3, 3),
         .output_type = GOPS_F16,
         .quantization = quantization},
        {.operation = GOPS_PROBLEM_DECONV,
         .data = GOPS_TEST_TENSOR(GOPS_F64, 3, 15, 19, 23),
         .filter = GOPS_TEST_TENSOR(GOPS_F64, 3, 5, 7, 3, 2),
         .deconv = {.strides = LIST(2, 3)}},
        {.operation = GOPS_PROBLEM_DECONV,
         .data = GOPS_TEST_TENSOR(GOPS_F32, 5, 37, 17, 19),
         .filter = GOPS_TEST_TENSOR(GOPS_F32, 37, 1, 1, 4, 4),
         .deconv = {.strides = LIST(2, 2)}},
        {.operation = GOPS_PROBLEM_NORM,
         .data = GOPS_TEST_TENSOR(GOPS_F32, 2, 15, 59, 61),
         .norm = {3, 1e-5}},
        {.operation = GOPS_PROBLEM_NORM,
         .data = GOPS_TEST_TENSOR(GOPS_F64, 7, 6, 41, 43),
         .norm = {2, 1e-5}},
        {.operation = GOPS_PROBLEM_NORM, /* one group in pieces: two loops */
         .data = GOPS_TEST_TENSOR(GOPS_F32, 1, 2, 211, 223),
         .norm = {1, 1e-5}},
    };
    enum { PROBLEMS = sizeof problems / sizeof problems[0] };
    return index < PROBLEMS ? problems[index] : (gops_problem){.data.rank = 0};
}

typedef struct engine {
    gops_problem problem;
    gops_problem_buffers buffers;
    gops_tensor output;
    void *expected; /* the output when nothing fails */
    int64_t injected;
} engine;

static size_t output_bytes(const engine *e)
{
    return (size_t)gops_test_elements(&e->output) * gops_test_type_bytes(e->output.type);
}

/* A reshape of the plan to one image, made and thrown away, and the same from a cache of one. */
static gops_status reshape(const engine *e, const gops_plan *plan, gops_error *error)
{
    gops_tensor data = e->problem.data;
    gops_plan *reshaped = NULL;
    gops_plan_cache *cache = NULL;
    const gops_plan *kept;
    data.dims[0] = 1;
    gops_status status = gops_plan_reshape(plan, &data, NULL, &reshaped, error);
    gops_test_check((status == GOPS_OK) == (reshaped != NULL), "a status and a plan disagree");
    gops_plan_destroy(reshaped);
    if (status == GOPS_OK)
        status = gops_plan_cache_create(plan, 1, &cache, error);
    for (int64_t batch = 1; status == GOPS_OK && batch < 4; batch++) {
        data.dims[0] = batch;
        status = gops_plan_cache_get(cache, &data, NULL, &kept, error);
        gops_test_check((status == GOPS_OK) == (kept != NULL), "a status and a plan disagree");
        if (status == GOPS_OK)
            gops_plan_cache_release(cache, kept);
    }
    gops_plan_cache_destroy(cache);
    return status;
}

/* What an engine does with one operation: plan, pack, pack anew, reshape, execute twice. */
static gops_status live(const engine *e, gops_error *error)
{
    gops_plan *plan;
    gops_packed_filter *filter = NULL;
    gops_status status = gops_problem_plan(&e->problem, &plan, error);
    if (status == GOPS_OK && e->problem.operation != GOPS_PROBLEM_NORM) {
        gops_problem twice = e->problem;
        twice.update = 1;
        status = gops_problem_pack(&twice, plan, e->buffers.weights.memory, &filter, error);
    }
    if (status == GOPS_OK)
        status = reshape(e, plan, error);
    const gops_arguments arguments = {.size = sizeof arguments,
                                      .data = e->buffers.data.memory,
                                      .filter = filter,
                                      .scale = e->buffers.scale.memory,
                                      .bias = e->buffers.bias.memory,
                                      .output = e->buffers.output.memory};
    for (int i = 0; status == GOPS_OK && i < 2; i++)
        status = gops_execute(plan, &arguments, error);
    gops_filter_destroy(filter);
    gops_plan_destroy(plan);
    return status;
}

static engine start(gops_problem problem)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 91);
    engine e = {.problem = problem};
    gops_reference_geometry g;
    gops_problem_reference_shape(&problem, &g, &e.output);
    e.buffers = gops_problem_buffers_create(&problem, &e.output, &random);
    e.expected = gops_test_allocate(output_bytes(&e));
    return e;
}

static void finish(engine *e)
{
    free(e->expected);
    gops_problem_buffers_destroy(&e->buffers);
}

/* Lives once undisturbed and keeps the output. */
static int expect(engine *e)
{
    gops_error error = {GOPS_OK, ""};
    e->problem.host = NULL;
    gops_status status = live(e, &error);
    memcpy(e->expected, e->buffers.output.memory, output_bytes(e));
    return gops_test_check(status == GOPS_OK, "%s: %s", e->problem.algorithm, error.message);
}

static int as_expected(const engine *e, const char *what)
{
    return gops_test_compare_bytes(what, &e->output, e->buffers.output.memory, e->expected);
}

/* Allocation number fail_at fails; 0 where there are not so many. */
static int fail_allocation(engine *e, int64_t fail_at)
{
    gops_test_heap heap;
    gops_error error = {GOPS_OK, ""};
    gops_test_heap_start(&heap);
    gops_host host = gops_test_heap_host(&heap);
    heap.fail_at = fail_at;
    e->problem.host = &host;
    gops_status status = live(e, &error);
    gops_test_check(heap.live == 0 && heap.misuses == 0,
                    "%s, allocation %" PRId64 ": %" PRId64 " left, %" PRId64 " misuses",
                    e->problem.algorithm, fail_at, heap.live, heap.misuses);
    if (heap.calls < fail_at)
        return gops_test_check(status == GOPS_OK, "nothing failed, and yet: %s", error.message) &&
               gops_test_check(as_expected(e, "after faults"), "%s", e->problem.algorithm) && 0;
    e->injected++;
    return gops_test_check(status == GOPS_OUT_OF_MEMORY && error.status == status &&
                               strncmp(error.message, "no memory for ", 14) == 0,
                           "%s, allocation %" PRId64 ": \"%s\" %s", e->problem.algorithm, fail_at,
                           gops_status_name(status), error.message);
}

static void every_algorithm(gops_problem problem, void (*check)(engine *e), int64_t *injected)
{
    engine e = start(problem);
    for (int i = 0; gops_algorithm_name(i) != NULL; i++) {
        gops_plan *plan;
        e.problem.algorithm = gops_algorithm_name(i);
        e.problem.host = NULL;
        const int serves = gops_problem_plan(&e.problem, &plan, NULL) == GOPS_OK;
        gops_plan_destroy(plan);
        if (serves && expect(&e))
            check(&e);
    }
    *injected += e.injected;
    finish(&e);
}

static void every_problem(void (*check)(engine *e))
{
    int64_t injected = 0;
    for (int i = 0; problem_of(i).data.rank > 0; i++) {
        gops_problem problem = problem_of(i);
        problem.threads = THREADS;
        every_algorithm(problem, check, &injected);
    }
    printf("%" PRId64 " faults: ", injected);
    gops_test_check(injected > 0, "nothing failed");
}

static void fail_allocations(engine *e)
{
    for (int64_t fail_at = 1; fail_allocation(e, fail_at);)
        fail_at++;
}

static void allocations(void)
{
    every_problem(fail_allocations);
}

/* How a parallel_for goes about its tasks. */
typedef enum manner { BACKWARDS, ODD_FIRST, FROM_THE_MIDDLE, AT_ONCE, MANNERS } manner;

typedef struct lent {
    manner manner;
    int64_t calls, fail_at;
    int64_t after; /* a failing call does so many tasks first */
} lent;

static int64_t task_at(manner how, int64_t i, int64_t count)
{
    if (how == BACKWARDS)
        return count - 1 - i;
    if (how == ODD_FIRST)
        return i < count / 2 ? 2 * i + 1 : 2 * (i - count / 2);
    return (i + count / 2) % count;
}

static int odd_for(void *context, void (*task)(void *argument, int64_t index), void *argument,
                   int64_t count)
{
    lent *l = context;
    const int fails = ++l->calls == l->fail_at;
    if (l->manner == AT_ONCE)
        return gops_test_threads_for(NULL, task, argument, count);
    for (int64_t i = 0; i < (fails ? l->after : count); i++)
        task(argument, task_at(l->manner, i, count));
    return fails ? 17 : 0;
}

static gops_host odd_host(lent *l)
{
    return (gops_host){.size = sizeof(gops_host),
                       .gemm = gops_test_host_gemm(),
                       .parallel_for = odd_for,
                       .context = l};
}

static void fail_parallel_for(engine *e)
{
    for (int64_t fail_at = 1, more = 1; more != 0; fail_at++)
        for (int64_t after = 0; after < 2; after++) {
            lent l = {.manner = BACKWARDS, .fail_at = fail_at, .after = after};
            const gops_host host = odd_host(&l);
            gops_error error = {GOPS_OK, ""};
            e->problem.host = &host;
            gops_status status = live(e, &error);
            more = l.calls >= fail_at;
            e->injected += more;
            if (more)
                gops_test_check(status == GOPS_HOST_FAILED &&
                                    strcmp(error.message, "host.parallel_for returned 17") == 0,
                                "%s: \"%s\" %s", e->problem.algorithm, gops_status_name(status),
                                error.message);
            else
                gops_test_check(status == GOPS_OK && as_expected(e, "after faults"), "%s: %s",
                                e->problem.algorithm, error.message);
        }
}

static void parallel_for_fails(void)
{
    every_problem(fail_parallel_for);
}

static void run_oddly(engine *e)
{
    for (int how = 0; how < MANNERS; how++) {
        lent l = {.manner = (manner)how};
        const gops_host host = odd_host(&l);
        e->problem.host = &host;
        gops_status status = live(e, NULL);
        gops_test_check(status == GOPS_OK && as_expected(e, "another order of tasks"),
                        "%s, order %d", e->problem.algorithm, how);
        e->injected += l.calls;
    }
}

static void parallel_for_in_odd_orders(void)
{
    every_problem(run_oddly);
}

/* A workspace one byte short, at every misalignment, and none at all where one is needed. */
static void refuse_workspace(engine *e)
{
    gops_plan *plan;
    gops_plan_info info = {.size = sizeof info};
    gops_problem_plan(&e->problem, &plan, NULL);
    gops_plan_get_info(plan, &info, NULL);
    gops_test_guarded workspace =
        gops_test_guarded_create(info.workspace_bytes + GOPS_WORKSPACE_ALIGNMENT);
    unsigned char *aligned = workspace.memory;
    aligned += -(uintptr_t)aligned % GOPS_WORKSPACE_ALIGNMENT;
    for (int off = 0; off < GOPS_WORKSPACE_ALIGNMENT && info.workspace_bytes > 0; off++) {
        const gops_test_guarded given = {aligned + off, NULL, 0};
        gops_error error = {GOPS_OK, ""};
        gops_status status =
            gops_problem_execute(&e->problem, plan, &e->buffers, &given,
                                 info.workspace_bytes - (off == 0 ? 1 : 0), &error);
        gops_test_check(
            status == GOPS_INVALID && strncmp(error.message, "arguments.workspace", 19) == 0,
            "%s: \"%s\" %s", e->problem.algorithm, gops_status_name(status), error.message);
        e->injected++;
    }
    gops_test_guarded_destroy(&workspace);
    gops_plan_destroy(plan);
}

static void bad_workspaces(void)
{
    every_problem(refuse_workspace);
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"allocations", allocations},
        {"parallel_for_fails", parallel_for_fails},
        {"parallel_for_in_odd_orders", parallel_for_in_odd_orders},
        {"bad_workspaces", bad_workspaces},
        {NULL, NULL}};
    return gops_test_main("faults", cases);
}
