/*
 * What works in the child of a fork after the library was used, its OpenMP threads and the BLAS
 * included: plans of one thread, and plans whose host lends a parallel_for (groupops/host.h).
 */
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

int main(void)
{
    static const gops_test_case cases[] = {{"after_use", after_use}, {NULL, NULL}};
    return gops_test_main("fork", cases);
}
