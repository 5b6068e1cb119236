/*
 * Load: 16 threads execute one plan and make, use and destroy their own, of problems for every
 * algorithm and of random ones, for as long as GROUPOPS_TEST_STORM_SECONDS says (`./cmake/dev
 * storm`). Every result has the same bits as the first; what is allocated does not grow from round
 * to round.
 */
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "random_quantized.h"
#include "elements.h"
#include "every_plan.h"
#include "harness.h"
#include "problem_quantization.h"
#include "written.h"

enum {
    THREADS = 16,
    PROBLEMS = 32,
    TURNS = 8,         /* of a thread in a round */
    SHORT_SECONDS = 5, /* the form in the test suite */
    /* What arenas and runtimes may keep more in the last round than in the second: far less than
     * one plan lost per round and thread would come to in ten minutes. */
    SLACK_BYTES = 256 << 10
};

/* A problem with its inputs and the bits that it must have. */
typedef struct subject {
    gops_problem problem;
    gops_problem_buffers buffers;
    gops_tensor output;
    size_t bytes;
    gops_plan *plan; /* that all threads share */
    gops_packed_filter *filter;
    gops_random_quantization memory;
} subject;

static subject subjects[PROBLEMS];
static gops_test_tally tally;
static pthread_barrier_t barrier;
static atomic_int stop;
static atomic_llong executions, wrong, refused;

static gops_status execute(const subject *s, const gops_plan *plan,
                           const gops_packed_filter *filter, void *output)
{
    const gops_arguments arguments = {.size = sizeof arguments,
                                      .data = s->buffers.data.memory,
                                      .filter = filter,
                                      .scale = s->buffers.scale.memory,
                                      .bias = s->buffers.bias.memory,
                                      .slopes = s->buffers.slopes.memory,
                                      .residual = s->buffers.residual.memory,
                                      .output = output};
    return gops_execute(plan, &arguments, NULL);
}

static void judge(const subject *s, gops_status status, const void *output)
{
    atomic_fetch_add(&executions, 1);
    if (status != GOPS_OK)
        atomic_fetch_add(&refused, 1);
    else if (memcmp(output, s->buffers.output.memory, s->bytes) != 0)
        atomic_fetch_add(&wrong, 1);
}

/* Plan, filter, another shape's plan, execute, destroy. */
static void live(const subject *s, void *output)
{
    gops_plan *plan, *reshaped = NULL;
    gops_packed_filter *filter = NULL;
    gops_tensor data = s->problem.data;
    gops_status status = gops_problem_plan(&s->problem, &plan, NULL);
    if (status == GOPS_OK && s->filter != NULL)
        status = gops_problem_pack(&s->problem, plan, s->buffers.weights.memory, &filter, NULL);
    if (status == GOPS_OK)
        status = execute(s, plan, filter, output);
    judge(s, status, output);
    data.dims[0] += 1;
    if (plan != NULL)
        gops_plan_reshape(plan, &data, NULL, &reshaped, NULL);
    gops_plan_destroy(reshaped);
    gops_filter_destroy(filter);
    gops_plan_destroy(plan);
}

static void *storm(void *context)
{
    const int thread = *(const int *)context;
    size_t most = 0;
    for (int i = 0; i < PROBLEMS; i++)
        most = subjects[i].bytes > most ? subjects[i].bytes : most;
    unsigned char *output = gops_test_allocate(most);
    for (int round = 0;; round++) {
        pthread_barrier_wait(&barrier);
        if (atomic_load(&stop))
            break;
        for (int turn = 0; turn < TURNS; turn++) {
            /* All on one plan in even turns, each on others in odd ones. */
            const int pick = turn % 2 == 0 ? round + turn : round + turn + thread;
            const subject *s = &subjects[pick % PROBLEMS];
            memset(output, 0xff, s->bytes);
            if (turn % 2 == 0)
                judge(s, execute(s, s->plan, s->filter, output), output);
            else
                live(s, output);
        }
        pthread_barrier_wait(&barrier);
    }
    free(output);
    return NULL;
}

/* Fills in the output, the inputs and what they lead to, by the problem. */
static void begin(subject *s, gops_test_random *random)
{
    s->buffers = gops_problem_buffers_create(&s->problem, &s->output, random);
    gops_status status = gops_problem_plan(&s->problem, &s->plan, NULL);
    if (status == GOPS_OK && s->problem.operation != GOPS_PROBLEM_NORM)
        status =
            gops_problem_pack(&s->problem, s->plan, s->buffers.weights.memory, &s->filter, NULL);
    if (status == GOPS_OK)
        status = execute(s, s->plan, s->filter, s->buffers.output.memory);
    if (gops_test_check(status == GOPS_OK, "problem %d: %s", (int)(s - subjects),
                        gops_status_name(status)))
        gops_test_count(&tally, &s->problem, s->plan);
}

static int measure_output(subject *s)
{
    gops_reference_geometry g;
    gops_problem_reference_shape(&s->problem, &g, &s->output);
    s->bytes = (size_t)gops_test_elements(&s->output) * gops_test_type_bytes(s->output.type);
    return s->bytes > 0;
}

/* The first witness that the algorithm serves; 0 where it serves none. */
static int find_witness(gops_problem *problem, gops_problem_operation operation, const char *name)
{
    int serves = 0;
    for (int w = 0; !serves && gops_test_witness(operation, GOPS_F32, w).data.rank > 0; w++) {
        gops_plan *plan;
        *problem = gops_test_witness(operation, GOPS_F32, w);
        problem->algorithm = name;
        serves = gops_problem_plan(problem, &plan, NULL) == GOPS_OK;
        gops_plan_destroy(plan);
    }
    return serves;
}

/* Convolutions of 8-bit integers are quantized. */
static void draw_post_ops(subject *s, gops_test_random *random)
{
    const gops_type type = s->problem.data.type;
    if (type != GOPS_I8 && type != GOPS_U8) {
        gops_random_fusion(&s->problem, random);
        return;
    }
    gops_random_quantize(&s->problem, &s->memory, random);
    s->problem.data_zero_point = NULL; /* which execute() does not set */
}

/* One problem for each algorithm of each operation, and random ones. */
static void prepare(gops_test_random *random)
{
    static const gops_type types[] = {GOPS_F32, GOPS_F16, GOPS_F64, GOPS_I8, GOPS_U8, GOPS_U32};
    int i = 0;
    for (int n = 0; gops_algorithm_name(n / 3) != NULL && i < PROBLEMS; n++) {
        subject *s = &subjects[i];
        if (find_witness(&s->problem, (gops_problem_operation)(n % 3),
                         gops_algorithm_name(n / 3))) {
            s->problem.threads = 1 + i++ % 2;
            measure_output(s);
            begin(s, random);
        }
    }
    for (; i < PROBLEMS; i++) {
        subject *s = &subjects[i];
        const gops_problem_operation operation = (gops_problem_operation)(i % 3);
        const gops_type type = types[i % (operation == GOPS_PROBLEM_NORM ? 3 : 6)];
        do {
            s->problem = gops_random_problem(operation, type, random);
            draw_post_ops(s, random);
        } while (!measure_output(s));
        s->problem.threads = 1 + i % 2;
        begin(s, random);
    }
    for (int operation = 0; operation < GOPS_TEST_OPERATIONS; operation++)
        gops_test_check_tally(&tally, (gops_problem_operation)operation, NULL);
}

static void clean_up(void)
{
    for (int i = 0; i < PROBLEMS; i++) {
        gops_filter_destroy(subjects[i].filter);
        gops_plan_destroy(subjects[i].plan);
        gops_problem_buffers_destroy(&subjects[i].buffers);
    }
}

static double seconds_wanted(void)
{
    const char *text = getenv("GROUPOPS_TEST_STORM_SECONDS");
    return text != NULL && text[0] != '\0' ? strtod(text, NULL) : SHORT_SECONDS;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static size_t resident_bytes(void)
{
    size_t total = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file != NULL && fscanf(file, "%zu %zu", &total, &resident) != 2)
        resident = 0;
    if (file != NULL)
        fclose(file);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

static size_t allocated_bytes(void)
{
    const struct mallinfo2 info = mallinfo2();
    gops_test_written(&info, sizeof info);
    return info.uordblks + info.hblkhd;
}

static void sixteen_threads(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 95);
    pthread_t threads[THREADS];
    int numbers[THREADS], rounds = 0;
    size_t early = 0, late = 0, early_resident = 0;
    gops_test_keep_isa();
    prepare(&random);
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, storm, &numbers[i]);
    }
    const double end = now() + seconds_wanted();
    /* Three times around all problems, at least: after two, every thread has what its runtimes keep. */
    for (; now() < end || rounds < 3 * PROBLEMS; rounds++) {
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier); /* nobody works between this and the next one */
        late = allocated_bytes();
        if (rounds == 2 * PROBLEMS) {
            early = late;
            early_resident = resident_bytes();
        }
    }
    const size_t late_resident = resident_bytes();
    atomic_store(&stop, 1);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%lld executions in %d rounds of %d threads, %zu KiB allocated after %d rounds and %zu "
           "at the end, resident %zu and %zu: ",
           atomic_load(&executions), rounds, THREADS, early >> 10, 2 * PROBLEMS, late >> 10,
           early_resident >> 10, late_resident >> 10);
    gops_test_check(atomic_load(&wrong) == 0 && atomic_load(&refused) == 0,
                    "%lld results have other bits, %lld calls failed", atomic_load(&wrong),
                    atomic_load(&refused));
    gops_test_check(late <= early + SLACK_BYTES, "%zu bytes allocated, then %zu", early, late);
    pthread_barrier_destroy(&barrier);
    clean_up();
}

int main(void)
{
    static const gops_test_case cases[] = {{"sixteen_threads", sixteen_threads}, {NULL, NULL}};
    return gops_test_main("storm", cases);
}
