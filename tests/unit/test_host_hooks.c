/*
 * What a host lends: threads, memory, a log (and matrix products: test_host_gemm.c).
 *
 * The linker sends the calls of malloc and its kin in this program, the library's included, through
 * the functions below (CMakeLists.txt), so that an allocation past the host's allocator shows.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counted_gemm.h"
#include "refusal.h"
#include "elements.h"
#include "lent_host.h"
#include "harness.h"

static atomic_int mallocs;

#define COUNTED(name, parameters, arguments)                                                       \
    void *__real_##name parameters;                                                                \
    void *__wrap_##name parameters;                                                                \
    void *__wrap_##name parameters                                                                 \
    {                                                                                              \
        atomic_fetch_add(&mallocs, 1);                                                             \
        return __real_##name arguments;                                                            \
    }
COUNTED(malloc, (size_t bytes), (bytes))
COUNTED(calloc, (size_t count, size_t bytes), (count, bytes))
COUNTED(realloc, (void *memory, size_t bytes), (memory, bytes))
COUNTED(aligned_alloc, (size_t alignment, size_t bytes), (alignment, bytes))

static gops_problem norm_problem(void)
{
    return (gops_problem){.operation = GOPS_PROBLEM_NORM,
                          .data = GOPS_TEST_TENSOR(GOPS_F32, 2, 15, 59, 61),
                          .norm = {3, 1e-5},
                          .threads = 2};
}

typedef struct lent_threads {
    int64_t calls, most;
    char line[400];
    int lines;
} lent_threads;

static int serial_for(void *context, void (*task)(void *argument, int64_t index), void *argument,
                      int64_t count)
{
    lent_threads *lent = context;
    lent->calls++;
    lent->most = count > lent->most ? count : lent->most;
    /* Odd indices first, from the last one down; then the even ones. */
    for (int64_t i = count - 1; i >= 0; i--)
        if (i % 2 == 1)
            task(argument, i);
    for (int64_t i = 0; i < count; i += 2)
        task(argument, i);
    return 0;
}

static void keep_line(void *context, const char *line)
{
    lent_threads *lent = context;
    lent->lines++;
    snprintf(lent->line, sizeof lent->line, "%s", line);
}

static void lent_parallel_for(void)
{
    gops_problem problems[] = {gops_test_gemm_conv(GOPS_F32), gops_test_gemm_deconv(GOPS_F64),
                               norm_problem()};
    gops_test_random random = gops_test_random_start(gops_test_seed(), 52);
    for (int i = 0; i < 3; i++) {
        lent_threads lent = {.calls = 0};
        gops_host host = {.size = sizeof host,
                          .gemm = gops_test_host_gemm(),
                          .parallel_for = serial_for,
                          .log = keep_line,
                          .context = &lent};
        problems[i].host = &host;
        problems[i].threads = 5;
        problems[i].data.dims[2] = 131; /* enough work for several threads */
        problems[i].data.dims[3] = 137;
        gops_problem_check(&problems[i], &random);
        gops_test_check(lent.calls >= 1 && lent.most >= 2 && lent.most <= 5,
                        "%lld calls, of %lld tasks at most", (long long)lent.calls,
                        (long long)lent.most);
        gops_test_check(lent.lines >= 1 && lent.line[0] != '\0' && strchr(lent.line, '\n') == NULL,
                        "%d lines logged: %s", lent.lines, lent.line);
    }
}

/* Plan, filter, execution and destruction with every allocation failing in turn. */
static void every_allocation_fails(gops_problem problem)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 53);
    gops_test_heap heap;
    gops_reference_geometry g;
    gops_tensor output;
    gops_problem_reference_shape(&problem, &g, &output);
    gops_problem_buffers buffers = gops_problem_buffers_create(&problem, &output, &random);
    int64_t failures = 0;
    for (int64_t fail_at = 1;; fail_at++) {
        gops_error error = gops_fresh_error();
        gops_test_heap_start(&heap);
        heap.fail_at = fail_at;
        gops_host host = gops_test_heap_host(&heap);
        problem.host = &host;
        gops_status status = gops_problem_run(&problem, &buffers, &error);
        gops_test_check(heap.live == 0 && heap.misuses == 0,
                        "call %lld failed: %lld allocations left, %lld misuses", (long long)fail_at,
                        (long long)heap.live, (long long)heap.misuses);
        if (heap.calls < fail_at) {
            gops_test_check(status == GOPS_OK, "nothing failed, and yet: %s", error.message);
            break;
        }
        failures++;
        if (!gops_test_check(status == GOPS_OUT_OF_MEMORY && error.status == status &&
                                 strncmp(error.message, "no memory for", 13) == 0,
                             "call %lld failed, status \"%s\": %s", (long long)fail_at,
                             gops_status_name(status), error.message))
            break;
    }
    gops_test_check(failures >= 1, "nothing was allocated");
    gops_problem_buffers_destroy(&buffers);
}

static void out_of_memory(void)
{
    every_allocation_fails(gops_test_gemm_conv(GOPS_F32));
    every_allocation_fails(gops_test_gemm_deconv(GOPS_F64));
    every_allocation_fails(norm_problem());
}

/* With a workspace given, execution allocates nothing, neither from the host nor past it; a
 * filter's update neither. Everything else comes from the host. */
static void allocates_nothing(gops_problem problem)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 54);
    gops_test_heap heap;
    gops_reference_geometry g;
    gops_tensor output;
    gops_plan *plan = NULL;
    gops_packed_filter *filter = NULL;
    gops_plan_info info = {.size = sizeof info};
    gops_test_heap_start(&heap);
    gops_host host = gops_test_heap_host(&heap);
    problem.host = &host;
    gops_problem_reference_shape(&problem, &g, &output);
    gops_problem_buffers buffers = gops_problem_buffers_create(&problem, &output, &random);
    int before = atomic_load(&mallocs);
    gops_status status = gops_problem_plan(&problem, &plan, NULL);
    if (problem.operation != GOPS_PROBLEM_NORM && status == GOPS_OK)
        status = gops_filter_create(plan, buffers.weights.memory, NULL, &filter, NULL);
    gops_test_check(status == GOPS_OK, "plan or filter");
    /* The heap itself takes each from malloc. */
    gops_test_check(atomic_load(&mallocs) - before == heap.calls,
                    "%d allocations, of which %lld from the host", atomic_load(&mallocs) - before,
                    (long long)heap.calls);
    gops_plan_get_info(plan, &info, NULL);
    gops_test_guarded workspace = gops_test_guarded_create((info.workspace_bytes + 63) / 64 * 64);
    gops_arguments arguments = {.size = sizeof arguments,
                                .data = buffers.data.memory,
                                .filter = filter,
                                .scale = buffers.scale.memory,
                                .bias = buffers.bias.memory,
                                .output = buffers.output.memory,
                                .workspace = workspace.memory,
                                .workspace_bytes = info.workspace_bytes};
    before = atomic_load(&mallocs);
    int64_t host_before = heap.calls;
    for (int i = 0; i < 3 && status == GOPS_OK; i++) {
        status = gops_execute(plan, &arguments, NULL);
        if (filter != NULL && status == GOPS_OK)
            status = gops_filter_update(plan, filter, buffers.weights.memory, NULL, NULL);
    }
    gops_test_check(status == GOPS_OK, "execution or update");
    gops_test_check(heap.calls == host_before && atomic_load(&mallocs) == before,
                    "execution allocated: %lld from the host, %d otherwise",
                    (long long)(heap.calls - host_before), atomic_load(&mallocs) - before);
    gops_filter_destroy(filter);
    gops_plan_destroy(plan);
    gops_test_check(heap.live == 0 && heap.misuses == 0, "%lld allocations left",
                    (long long)heap.live);
    gops_test_guarded_destroy(&workspace);
    gops_problem_buffers_destroy(&buffers);
}

static void execution_allocates_nothing(void)
{
    gops_problem c = gops_test_gemm_conv(GOPS_F32), d = gops_test_gemm_deconv(GOPS_F64);
    allocates_nothing(c);
    allocates_nothing(d);
    c.algorithm = d.algorithm = NULL;
    allocates_nothing(c);
    allocates_nothing(d);
    allocates_nothing(norm_problem());
}

/* Until it is taken back, the default host is that of every plan whose options name none, and of
 * no other. */
static void default_host(void)
{
    gops_test_heap heap, other;
    gops_problem problem = gops_test_gemm_conv(GOPS_F32);
    gops_test_random random = gops_test_random_start(gops_test_seed(), 55);
    gops_test_products seen = {.lock = PTHREAD_MUTEX_INITIALIZER};
    lent_threads lent = {.calls = 0};
    gops_test_heap_start(&heap);
    gops_test_heap_start(&other);
    gops_host host = gops_test_heap_host(&heap), own = gops_test_heap_host(&other);
    gops_error error = gops_fresh_error();
    {
        gops_gemm gemm = gops_test_counted_gemm(&seen);
        host.gemm = &gemm;
        gops_test_check(gops_set_default_host(&host, NULL) == GOPS_OK, "refused");
    }
    gops_problem_check(&problem, &random);
    gops_test_check(seen.calls > 0 && heap.calls > 0, "%lld GEMMs, %lld allocations",
                    (long long)seen.calls, (long long)heap.calls);
    int64_t calls = heap.calls, multiplied = seen.calls;
    problem.host = &own;
    gops_problem_check(&problem, &random);
    gops_test_check(heap.calls == calls && seen.calls == multiplied && other.calls > 0,
                    "a plan with a host of its own used the default one");
    problem.host = NULL;
    gops_host threads = {.size = sizeof threads,
                         .gemm = gops_test_host_gemm(),
                         .parallel_for = serial_for,
                         .context = &lent};
    gops_set_default_host(&threads, NULL);
    gops_problem_check(&problem, &random);
    gops_test_check(lent.calls > 0 && heap.calls == calls, "the first default host is still used");
    threads.size = 1;
    char message[64];
    snprintf(message, sizeof message, "host.size is 1; sizeof(gops_host) is %zu", sizeof threads);
    gops_check_refusal("size", gops_set_default_host(&threads, &error), &error, GOPS_INVALID,
                       message);
    gops_set_default_host(NULL, NULL);
    problem.algorithm = "implicit"; /* not the BLAS, which a sanitizer may not see into */
    int64_t loops = lent.calls;
    gops_problem_check(&problem, &random);
    gops_test_check(lent.calls == loops && heap.live == 0, "the default host was not taken back");
}

/* A plan copies its host and the GEMM table, and keeps them: also when another host is the default. */
static void kept(void)
{
    gops_test_heap heap, second;
    gops_problem problem = gops_test_gemm_conv(GOPS_F32);
    gops_test_random random = gops_test_random_start(gops_test_seed(), 56);
    gops_test_products seen = {.lock = PTHREAD_MUTEX_INITIALIZER};
    gops_reference_geometry g;
    gops_tensor output;
    gops_plan *plan = NULL;
    gops_test_heap_start(&heap);
    gops_test_heap_start(&second);
    gops_host first = gops_test_heap_host(&heap), other = gops_test_heap_host(&second);
    gops_gemm gemm = gops_test_counted_gemm(&seen);
    first.gemm = &gemm;
    gops_problem_reference_shape(&problem, &g, &output);
    gops_problem_buffers buffers = gops_problem_buffers_create(&problem, &output, &random);
    gops_test_check(gops_set_default_host(&first, NULL) == GOPS_OK &&
                        gops_problem_plan(&problem, &plan, NULL) == GOPS_OK &&
                        gops_set_default_host(&other, NULL) == GOPS_OK,
                    "no plan");
    memset(&first, 0xff, sizeof first);
    memset(&gemm, 0xff, sizeof gemm);
    const int64_t calls = heap.calls;
    gops_test_check(gops_problem_execute(&problem, plan, &buffers, NULL, 0, NULL) == GOPS_OK,
                    "no execution");
    gops_test_check(seen.calls > 0 && heap.calls > calls && second.calls == 0,
                    "%lld GEMMs, %lld and %lld allocations", (long long)seen.calls,
                    (long long)(heap.calls - calls), (long long)second.calls);
    gops_plan_destroy(plan);
    /* What is refused leaves the default as it is. */
    gops_host half = gops_test_heap_host(&heap);
    half.release = NULL;
    gops_test_check(gops_set_default_host(&half, NULL) == GOPS_INVALID, "half an allocator");
    half.release = gops_test_heap_release;
    gops_gemm hole = gops_test_counted_gemm(&seen);
    hole.dgemm = NULL;
    half.gemm = &hole;
    gops_test_check(gops_set_default_host(&half, NULL) == GOPS_INVALID, "a hole in the table");
    problem.algorithm = "implicit";
    gops_problem_check(&problem, &random);
    gops_test_check(second.calls > 0, "the default host is another one");
    gops_set_default_host(NULL, NULL);
    gops_test_check(heap.live == 0 && second.live == 0, "allocations left");
    gops_problem_buffers_destroy(&buffers);
}

/* Reshapes, parts and what a cache makes say so; what a cache has does not. */
static void every_plan_is_logged(void)
{
    lent_threads lent = {.calls = 0};
    gops_problem problem = gops_test_gemm_conv(GOPS_F32);
    gops_host host = GOPS_HOST_INIT;
    gops_plan *plan, *reshaped = NULL, *part = NULL;
    const gops_plan *got = NULL;
    gops_plan_cache *cache = NULL;
    host.log = keep_line;
    host.context = &lent;
    problem.host = &host;
    problem.algorithm = "implicit";
    gops_test_check(gops_problem_plan(&problem, &plan, NULL) == GOPS_OK && lent.lines == 1,
                    "%d lines", lent.lines);
    gops_tensor data = problem.data;
    data.dims[2] += 3;
    gops_test_check(gops_plan_reshape(plan, &data, NULL, &reshaped, NULL) == GOPS_OK &&
                        lent.lines == 2,
                    "reshape: %d lines", lent.lines);
    data.dims[2] -= 5;
    gops_test_check(gops_plan_part(plan, &data, NULL, NULL, NULL, &part, NULL) == GOPS_OK &&
                        lent.lines == 3,
                    "part: %d lines", lent.lines);
    gops_test_check(gops_plan_cache_create(plan, 2, &cache, NULL) == GOPS_OK, "no cache");
    for (int i = 0; i < 2; i++) {
        gops_test_check(gops_plan_cache_get(cache, &data, NULL, &got, NULL) == GOPS_OK &&
                            lent.lines == 4,
                        "cache: %d lines", lent.lines);
        gops_plan_cache_release(cache, got);
    }
    gops_plan_cache_destroy(cache);
    gops_plan_destroy(part);
    gops_plan_destroy(reshaped);
    gops_plan_destroy(plan);
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"lent_parallel_for", lent_parallel_for},
        {"out_of_memory", out_of_memory},
        {"execution_allocates_nothing", execution_allocates_nothing},
        {"default_host", default_host},
        {"kept", kept},
        {"every_plan_is_logged", every_plan_is_logged},
        {NULL, NULL}};
    return gops_test_main("what a host lends", cases);
}
