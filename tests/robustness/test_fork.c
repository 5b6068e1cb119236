/*
 * What works in the child of a fork after the library was used, its OpenMP threads and the BLAS
 * included: plans of one thread, and plans whose host lends a parallel_for (groupops/host.h). And
 * forks while other threads are inside the functions that take a lock.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "problem.h"
#include "elements.h"
#include "harness.h"
#include "lent_host.h"

enum { CHILD_SECONDS = 120 }; /* a child that hangs is ended by its alarm */
enum { MAX_THREADS = 4 };

/* What the parent got; not lost when a child ends, where memcheck looks too. */
static void *expected;

/* Returns the child's exit status: 0 when it got the parent's bits. */
static int run_in_child(const gops_problem *problem, const gops_problem_buffers *buffers,
                        size_t bytes)
{
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        alarm(CHILD_SECONDS);
        memset(buffers->output.memory, 0xff, bytes);
        const gops_status got = gops_problem_run(problem, buffers, NULL);
        _exit(got != GOPS_OK ? 2 : memcmp(buffers->output.memory, expected, bytes) != 0);
    }
    waitpid(child, &status, 0);
    return status;
}

static void after_use(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 96);
    const gops_host lent = {.size = sizeof lent, .parallel_for = gops_test_threads_for};
    for (int i = 0; gops_algorithm_name(i) != NULL; i++) {
        gops_problem problem = {.operation = GOPS_PROBLEM_CONV,
                                .data = GOPS_TEST_TENSOR(GOPS_F32, 4, 33, 61, 67),
                                .filter = GOPS_TEST_TENSOR(GOPS_F32, 33, 2, 1, 3, 3),
                                .algorithm = gops_algorithm_name(i),
                                .threads = MAX_THREADS};
        gops_reference_geometry g;
        gops_tensor output;
        gops_plan *plan;
        const int serves = gops_problem_plan(&problem, &plan, NULL) == GOPS_OK;
        gops_plan_destroy(plan);
        if (!serves)
            continue;
        gops_problem_reference_shape(&problem, &g, &output);
        gops_problem_buffers buffers = gops_problem_buffers_create(&problem, &output, &random);
        const size_t bytes = (size_t)gops_test_elements(&output) * sizeof(float);
        gops_test_check(gops_problem_run(&problem, &buffers, NULL) == GOPS_OK, "in the parent");
        expected = memcpy(gops_test_allocate(bytes), buffers.output.memory, bytes);
        problem.threads = 1;
        int status = run_in_child(&problem, &buffers, bytes);
        gops_test_check(status == 0, "%s, one thread: status %d", problem.algorithm, status);
        problem.threads = MAX_THREADS;
        problem.host = &lent;
        status = run_in_child(&problem, &buffers, bytes);
        gops_test_check(status == 0, "%s, threads of the host: status %d", problem.algorithm,
                        status);
        problem.host = NULL;
        gops_test_check(gops_problem_run(&problem, &buffers, NULL) == GOPS_OK &&
                            memcmp(buffers.output.memory, expected, bytes) == 0,
                        "%s: the parent goes on", problem.algorithm);
        free(expected);
        gops_problem_buffers_destroy(&buffers);
    }
}

/* A cache of a depthwise layer, for all that follows. */
static gops_plan_cache *make_cache(const gops_host *host, int32_t capacity)
{
    const gops_tensor data = GOPS_TEST_TENSOR(GOPS_F32, 1, 5, 7, 11);
    const gops_tensor filter = GOPS_TEST_TENSOR(GOPS_F32, 5, 1, 1, 3, 2);
    const gops_options options = {.size = sizeof options, .threads = 1, .host = host};
    gops_plan *plan;
    gops_plan_cache *cache = NULL;
    gops_test_check(gops_conv_plan_create(&data, &filter, NULL, &options, &plan, NULL) == GOPS_OK &&
                        gops_plan_cache_create(plan, capacity, &cache, NULL) == GOPS_OK,
                    "no cache");
    gops_plan_destroy(plan);
    return cache;
}

/* Whether the cache gives a plan for images of this height. */
static int ask(gops_plan_cache *cache, int64_t height)
{
    const gops_tensor data = GOPS_TEST_TENSOR(GOPS_F32, 1, 5, height, 11);
    const gops_plan *plan;
    const gops_status status = gops_plan_cache_get(cache, &data, NULL, &plan, NULL);
    gops_plan_cache_release(cache, plan);
    return status == GOPS_OK;
}

/* What a child does that must not wait for a thread which it does not have. Returns its exit
 * status: 0 when all went well. */
static int use_in_child(gops_plan_cache *cache)
{
    const gops_tensor data = GOPS_TEST_TENSOR(GOPS_F32, 2, 3, 5);
    const gops_tensor filter = GOPS_TEST_TENSOR(GOPS_F32, 3, 1, 1, 2);
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        gops_plan *plan;
        alarm(CHILD_SECONDS);
        int bad = !ask(cache, 3) + !ask(cache, 1013);
        bad += gops_set_default_host(NULL, NULL) != GOPS_OK;
        bad += gops_conv_plan_create(&data, &filter, NULL, NULL, &plan, NULL) != GOPS_OK;
        _exit(bad);
    }
    waitpid(child, &status, 0);
    return status;
}

/* An allocator that waits in the middle of a call, once it is told to. */
typedef struct gate {
    atomic_int closed;
    sem_t inside, go_on;
    gops_plan_cache *cache;
    int got;
} gate;

static void *wait_at_gate(void *context, size_t bytes, size_t alignment)
{
    gate *g = context;
    if (atomic_exchange(&g->closed, 0)) {
        sem_post(&g->inside);
        sem_wait(&g->go_on);
    }
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void release(void *context, void *memory)
{
    (void)context;
    free(memory);
}

static void *ask_at_gate(void *context)
{
    gate *g = context;
    g->got = ask(g->cache, 13);
    return NULL;
}

/* A thread is inside gops_plan_cache_get, and there inside the host's allocator. */
static void inside_the_host(void)
{
    gate g = {.got = 0};
    pthread_t thread;
    const gops_host host = {
        .size = sizeof host, .allocate = wait_at_gate, .release = release, .context = &g};
    sem_init(&g.inside, 0, 0);
    sem_init(&g.go_on, 0, 0);
    g.cache = make_cache(&host, 3);
    atomic_store(&g.closed, 1);
    pthread_create(&thread, NULL, ask_at_gate, &g);
    sem_wait(&g.inside);
    const int status = use_in_child(g.cache);
    if (gops_test_check(status == 0, "the child of a fork: status %d", status))
        gops_test_check(ask(g.cache, 17), "another thread has to wait for the host");
    sem_post(&g.go_on);
    pthread_join(thread, NULL);
    gops_test_check(g.got, "the thread that waited got no plan");
    gops_plan_cache_destroy(g.cache);
    sem_destroy(&g.inside);
    sem_destroy(&g.go_on);
}

enum { FORKS = 60, MAX_PLANS = 400 };

typedef struct busy {
    gops_plan_cache *cache;
    atomic_int ends;
    atomic_int failed;
} busy;

/* A full cache is searched to its end for each new height. */
static void *keep_asking(void *context)
{
    busy *b = context;
    for (int64_t i = 0; !atomic_load(&b->ends); i++)
        if (!ask(b->cache, 3 + i % MAX_PLANS))
            atomic_store(&b->failed, 1);
    return NULL;
}

static void *keep_setting(void *context)
{
    busy *b = context;
    const gops_host host = {.size = sizeof host};
    while (!atomic_load(&b->ends))
        if (gops_set_default_host(&host, NULL) != GOPS_OK)
            atomic_store(&b->failed, 1);
    return NULL;
}

/* Forks at any moment, two threads being in and out of the locks all the time. */
static void inside_the_locks(void)
{
    busy b = {.failed = 0};
    pthread_t asking, setting;
    int hung = 0;
    b.cache = make_cache(NULL, MAX_PLANS);
    pthread_create(&asking, NULL, keep_asking, &b);
    pthread_create(&setting, NULL, keep_setting, &b);
    for (int i = 0; i < FORKS && !hung; i++) {
        const int status = use_in_child(b.cache);
        hung = status != 0;
        gops_test_check(!hung, "the child of fork %d: status %d", i, status);
    }
    atomic_store(&b.ends, 1);
    pthread_join(asking, NULL);
    pthread_join(setting, NULL);
    gops_set_default_host(NULL, NULL);
    gops_test_check(!atomic_load(&b.failed), "a thread of the parent was refused");
    gops_plan_cache_destroy(b.cache);
}

int main(void)
{
    /* The last one takes the default host for itself, which gops_test_main may have set. */
    static const gops_test_case cases[] = {{"after_use", after_use},
                                           {"inside_the_host", inside_the_host},
                                           {"inside_the_locks", inside_the_locks},
                                           {NULL, NULL}};
    return gops_test_main("fork", cases);
}
