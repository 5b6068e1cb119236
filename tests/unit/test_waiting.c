/* OpenMP's threads as the library uses them: each call is made once, and by the calling thread alone
 * after it had to wait for another one twice. */
#include "base/host_default.h"

#include "harness.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

/* Another process may hold up a try for longer than the calling thread works alone. */
enum { CALLS = 3, MS = 1000000, TRIES = 20 };

typedef struct calls {
    pthread_t caller;
    atomic_int made[CALLS], elsewhere; /* on another thread */
    long sleep_ns;                     /* of all calls but the first */
} calls;

static void call(void *argument, int64_t index)
{
    calls *of = argument;
    const struct timespec time = {0, of->sleep_ns};
    atomic_fetch_add(&of->made[index], 1);
    atomic_fetch_add(&of->elsewhere, !pthread_equal(pthread_self(), of->caller));
    if (index > 0 && of->sleep_ns > 0) {
        nanosleep(&time, NULL);
    }
}

static int run(const gops_host *host, long sleep_ns)
{
    calls of = {.caller = pthread_self(), .sleep_ns = sleep_ns};
    gops_test_check(host->parallel_for(host->context, call, &of, CALLS) == 0, "it failed");
    for (int i = 0; i < CALLS; i++) {
        gops_test_check(of.made[i] == 1, "call %d was made %d times", i, (int)of.made[i]);
    }
    return of.elsewhere;
}

static void waiting(void)
{
    const struct timespec rested = {0, 250 * MS};
    gops_host host;
    gops_gemm gemm;
    gops_error error;
    if (getenv("GROUPOPS_TEST_HOST") != NULL) {
        gops_test_skip("the tests lend threads of their own");
    }
    if (!gops_test_check(gops_host_complete(NULL, &host, &gemm, &error) == GOPS_OK, "no host")) {
        return;
    }
    run(&host, 0); /* starts the threads */
    int once = 0, after = 1;
    for (int i = 0; i < TRIES && (once == 0 || after > 0); i++) {
        nanosleep(&rested, NULL);
        run(&host, 0);
        if (run(&host, 20L * MS) == 0) {
            gops_test_skip("OpenMP gives a call one thread here");
        }
        once = run(&host, 0);
        run(&host, 20L * MS);
        run(&host, 20L * MS);
        after = run(&host, 0);
    }
    gops_test_check(once > 0, "no other thread worked after one was waited for once");
    gops_test_check(after == 0, "another thread worked after one was waited for twice");
    nanosleep(&rested, NULL);
    run(&host, 0);
}

int main(void)
{
    const gops_test_case cases[] = {{"waiting", waiting}, {NULL, NULL}};
    return gops_test_main("waiting for OpenMP's threads", cases);
}
