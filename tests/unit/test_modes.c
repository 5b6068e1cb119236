/*
 * Floating point modes: the caller's decide on every thread, whatever each thread's own are, and
 * all have theirs back (groupops/plan.h, "Numbers").
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "problem.h"
#include "elements.h"
#include "lent_host.h"
#include "harness.h"

#ifdef __SSE2__
#include <immintrin.h>

/* MXCSR: exceptions masked, flush to zero, denormals are zero. */
enum { MASKED = 0x1f80, FLUSHING = 0x8040, DOWNWARD = 0x2000, FLAGS = 0x3f };

typedef struct worker {
    void (*task)(void *argument, int64_t index);
    void *argument;
    int64_t index;
    unsigned own; /* the modes it has itself */
    int kept;
} worker;

static void *work(void *context)
{
    worker *w = context;
    _mm_setcsr(MASKED | w->own);
    w->task(w->argument, w->index);
    w->kept = (_mm_getcsr() & ~(unsigned)FLAGS) == (MASKED | w->own);
    return NULL;
}

enum { WORKERS = 3 };

typedef struct lent {
    unsigned own;
    int64_t calls, kept;
} lent;

/* Every task on a thread of its own, which has other modes than the caller. */
static int foreign_threads(void *context, void (*task)(void *argument, int64_t index),
                           void *argument, int64_t count)
{
    lent *l = context;
    for (int64_t i = 0; i < count; i++) {
        worker w = {task, argument, i, l->own, 0};
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, &w) != 0)
            return 1;
        pthread_join(thread, NULL);
        l->calls++;
        l->kept += w.kept;
    }
    return 0;
}

/* f32 products near 2^-140 and data near 2^-130; nothing here is a normal number. */
static void fill_denormals(const gops_problem *problem, const gops_problem_buffers *buffers)
{
    float *data = buffers->data.memory, *weights = buffers->weights.memory;
    for (int64_t i = 0; i < gops_test_elements(&problem->data); i++)
        data[i] = ldexpf(data[i], -130);
    for (int64_t i = 0; weights != NULL && i < gops_test_elements(&problem->filter); i++)
        weights[i] = ldexpf(weights[i], -10);
}

static int any_set(const gops_test_guarded *buffer, size_t bytes)
{
    int set = 0;
    for (size_t i = 0; i < bytes; i++)
        set |= ((const unsigned char *)buffer->memory)[i] & 0x7f;
    return set != 0;
}

/* The caller's modes decide, whatever the threads' own ones are, and all have theirs back. */
static void check_modes(gops_problem problem, unsigned caller, unsigned worker_modes)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 78);
    lent l = {.own = worker_modes};
    gops_host host = {.size = sizeof host,
                      .gemm = gops_test_host_gemm(),
                      .parallel_for = foreign_threads,
                      .context = &l};
    gops_reference_geometry g;
    gops_tensor output;
    gops_problem_text text;
    gops_plan *plan;
    gops_problem_reference_shape(&problem, &g, &output);
    gops_problem_buffers buffers = gops_problem_buffers_create(&problem, &output, &random);
    fill_denormals(&problem, &buffers);
    problem.threads = WORKERS;
    problem.host = &host;
    const unsigned before = _mm_getcsr();
    gops_status status = gops_problem_plan(&problem, &plan, NULL);
    _mm_setcsr(MASKED | caller);
    status =
        status == GOPS_OK ? gops_problem_execute(&problem, plan, &buffers, NULL, 0, NULL) : status;
    const unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    gops_plan_destroy(plan);
    const size_t bytes = (size_t)gops_test_elements(&output) * sizeof(float);
    const char *what = gops_problem_describe(&problem, &text);
    gops_test_check(status == GOPS_OK, "%s: %s", what, gops_status_name(status));
    gops_test_check((after & ~(unsigned)FLAGS) == (MASKED | caller), "%s: the caller has MXCSR %x",
                    what, after);
    gops_test_check(l.calls > 1 && l.kept == l.calls, "%s: %lld of %lld threads keep their modes",
                    what, (long long)l.kept, (long long)l.calls);
    gops_test_check(any_set(&buffers.output, bytes) == !(caller & FLUSHING),
                    "%s: the caller's modes are %x, and the output has %s", what, caller,
                    (caller & FLUSHING) ? "denormals" : "only zeros");
    gops_problem_buffers_destroy(&buffers);
}

/* Executes the problem by a caller with these modes. */
static void execute_in(const gops_problem *problem, unsigned modes,
                       const gops_problem_buffers *buffers)
{
    gops_plan *plan;
    gops_status status = gops_problem_plan(problem, &plan, NULL);
    const unsigned before = _mm_getcsr();
    _mm_setcsr(MASKED | modes);
    status =
        status == GOPS_OK ? gops_problem_execute(problem, plan, buffers, NULL, 0, NULL) : status;
    _mm_setcsr(before);
    gops_plan_destroy(plan);
    gops_test_check(status == GOPS_OK, "%s", gops_status_name(status));
}

/* Threads that round to nearest themselves round as the caller does: as it does alone. */
static void check_rounding(gops_problem problem)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 79);
    lent l = {.own = 0};
    gops_host host = {.size = sizeof host,
                      .gemm = gops_test_host_gemm(),
                      .parallel_for = foreign_threads,
                      .context = &l};
    gops_reference_geometry g;
    gops_tensor output;
    gops_problem_text text;
    gops_problem_reference_shape(&problem, &g, &output);
    const size_t bytes = (size_t)gops_test_elements(&output) * sizeof(float);
    gops_problem_buffers buffers = gops_problem_buffers_create(&problem, &output, &random);
    void *alone = gops_test_allocate(bytes);
    problem.host = &host;
    problem.threads = 1;
    execute_in(&problem, DOWNWARD, &buffers);
    memcpy(alone, buffers.output.memory, bytes);
    problem.threads = WORKERS;
    execute_in(&problem, DOWNWARD, &buffers);
    gops_test_check(memcmp(alone, buffers.output.memory, bytes) == 0,
                    "%s: threads round otherwise than the caller",
                    gops_problem_describe(&problem, &text));
    execute_in(&problem, 0, &buffers);
    gops_test_check(memcmp(alone, buffers.output.memory, bytes) != 0,
                    "%s: the caller's rounding makes no difference",
                    gops_problem_describe(&problem, &text));
    free(alone);
    gops_problem_buffers_destroy(&buffers);
}

static void modes_of_the_caller(void)
{
    const gops_problem problems[] = {{.operation = GOPS_PROBLEM_CONV,
                                      .data = GOPS_TEST_TENSOR(GOPS_F32, 3, 15, 61, 67),
                                      .filter = GOPS_TEST_TENSOR(GOPS_F32, 3, 7, 5, 3, 3)},
                                     {.operation = GOPS_PROBLEM_CONV,
                                      .data = GOPS_TEST_TENSOR(GOPS_F32, 5, 37, 61, 67),
                                      .filter = GOPS_TEST_TENSOR(GOPS_F32, 37, 1, 1, 3, 3)},
                                     {.operation = GOPS_PROBLEM_DECONV,
                                      .data = GOPS_TEST_TENSOR(GOPS_F32, 3, 15, 61, 67),
                                      .filter = GOPS_TEST_TENSOR(GOPS_F32, 3, 5, 7, 3, 3)}};
    _mm_setcsr(MASKED | FLUSHING);
    const unsigned kept = _mm_getcsr();
    _mm_setcsr(MASKED);
    if ((kept & FLUSHING) != FLUSHING)
        gops_test_skip("MXCSR does not keep its modes, as under valgrind");
    for (int i = 0; i < 3; i++) {
        gops_problem problem = problems[i];
        for (int a = 0; gops_algorithm_name(a) != NULL; a++) {
            gops_plan *plan;
            problem.algorithm = gops_algorithm_name(a);
            if (gops_problem_plan(&problem, &plan, NULL) == GOPS_OK) {
                check_modes(problem, FLUSHING, 0);
                check_modes(problem, 0, FLUSHING);
                check_modes(problem, DOWNWARD, FLUSHING);
                check_rounding(problem);
            }
            gops_plan_destroy(plan);
        }
    }
}
#else
static void modes_of_the_caller(void)
{
    gops_test_skip("this processor has no MXCSR");
}
#endif

int main(void)
{
    static const gops_test_case cases[] = {{"modes_of_the_caller", modes_of_the_caller},
                                           {NULL, NULL}};
    return gops_test_main("floating point modes", cases);
}
