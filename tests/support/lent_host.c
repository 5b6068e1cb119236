/* lent_host.c: POSIX threads and a GEMM of plain loops, set as the process's host where the
 * environment asks. */
#include "lent_host.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <groupops/host.h>

#include "written.h"

/* Not every test program is linked with the library. */
extern gops_status gops_set_default_host(const gops_host *host, gops_error *error)
    __attribute__((weak));

typedef struct piece {
    void (*task)(void *argument, int64_t index);
    void *argument;
    int64_t index;
    pthread_t thread;
    int started;
} piece;

static void *run(void *argument)
{
    const piece *p = argument;
    p->task(p->argument, p->index);
    return NULL;
}

int gops_test_threads_for(void *context, void (*task)(void *argument, int64_t index),
                          void *argument, int64_t count)
{
    (void)context;
    piece *pieces = calloc((size_t)count, sizeof *pieces);
    if (pieces == NULL)
        return 1;
    for (int64_t i = 1; i < count; i++) {
        pieces[i] = (piece){.task = task, .argument = argument, .index = i};
        pieces[i].started = pthread_create(&pieces[i].thread, NULL, run, &pieces[i]) == 0;
    }
    task(argument, 0);
    for (int64_t i = 1; i < count; i++) {
        if (pieces[i].started)
            pthread_join(pieces[i].thread, NULL);
        else
            task(argument, i);
    }
    free(pieces);
    return 0;
}

int gops_test_in_turn_for(void *context, void (*task)(void *argument, int64_t index),
                          void *argument, int64_t count)
{
    (void)context;
    for (int64_t i = 0; i < count; i++)
        task(argument, i);
    return 0;
}

/* gops_sgemm_fn and gops_dgemm_fn by their definition. */
#define DEFINE_GEMM(name, type)                                                                    \
    static void name(void *context, int32_t m, int32_t n, int32_t k, const type *a, int32_t lda,   \
                     const type *b, int32_t ldb, type beta, type *c, int32_t ldc)                  \
    {                                                                                              \
        (void)context;                                                                             \
        for (int64_t i = 0; i < m; i++)                                                            \
            for (int64_t j = 0; j < n; j++) {                                                      \
                type sum = 0;                                                                      \
                for (int64_t l = 0; l < k; l++)                                                    \
                    sum += a[i * lda + l] * b[l * ldb + j];                                        \
                c[i * ldc + j] = beta == 0 ? sum : c[i * ldc + j] + sum;                           \
            }                                                                                      \
    }
DEFINE_GEMM(multiply_f32, float)
DEFINE_GEMM(multiply_f64, double)

/* NULL: the library's own default. */
static const char *asked_for(void)
{
    const char *wanted = getenv("GROUPOPS_TEST_HOST");
#ifdef GOPS_TEST_MEMORY_SANITIZER
    if (wanted == NULL || wanted[0] == '\0')
        return "own";
#endif
    return wanted != NULL && wanted[0] != '\0' ? wanted : NULL;
}

#ifdef GOPS_TEST_MEMORY_SANITIZER
/* Read by MemorySanitizer as it starts: the strings that OpenMP reads when it is loaded come from
 * its own code, which is not built for it. */
const char *__msan_default_options(void);

const char *__msan_default_options(void)
{
    return "intercept_strlen=0";
}
#endif

static int is_own(const char *wanted)
{
    return wanted != NULL && strcmp(wanted, "own") == 0;
}

const gops_gemm *gops_test_own_gemm(void)
{
    static const gops_gemm gemm = {sizeof gemm, multiply_f32, multiply_f64, NULL};
    return &gemm;
}

const gops_gemm *gops_test_host_gemm(void)
{
    return is_own(asked_for()) ? gops_test_own_gemm() : NULL;
}

void gops_test_host_from_environment(void)
{
    const char *wanted = asked_for();
    if (wanted == NULL || gops_set_default_host == NULL)
        return;
    const gops_host host = {
        .size = sizeof host, .gemm = gops_test_host_gemm(), .parallel_for = gops_test_threads_for};
    if ((!is_own(wanted) && strcmp(wanted, "threads") != 0) ||
        gops_set_default_host(&host, NULL) != GOPS_OK) {
        fprintf(stderr, "GROUPOPS_TEST_HOST is \"%s\"; it takes \"threads\" or \"own\"\n", wanted);
        exit(EXIT_FAILURE);
    }
}
