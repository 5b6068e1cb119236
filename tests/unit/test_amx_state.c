/*
 * What AMX is to a process and its threads: threads from before the kernel was asked and from after,
 * a child process, signals in between, and tiles that no execution leaves in use. Each execution has
 * the bits of the first one, whatever instruction set the processor has.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <groupops/groupops.h>

#include "harness.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#if defined(__SANITIZE_THREAD__)
#define UNDER_THREAD_SANITIZER 1
#elif defined(__has_feature)
#define UNDER_THREAD_SANITIZER __has_feature(thread_sanitizer)
#else
#define UNDER_THREAD_SANITIZER 0
#endif

enum { IN = 67, OUT = 35, SIDE = 15, KERNEL = 3, TAPS = KERNEL * KERNEL, THREADS = 3, ROUNDS = 50 };
enum { DATA = IN * SIDE * SIDE, WEIGHTS = OUT * IN * TAPS, OUTPUT = OUT * SIDE * SIDE };

typedef struct layer {
    gops_plan *plan;
    gops_packed_filter *filter;
    uint8_t data[DATA], expected[OUTPUT];
    int8_t weights[WEIGHTS];
} layer;

static layer the_layer;

/* With a workspace of its own: a signal's handler must not allocate. */
static gops_status execute(const layer *of, uint8_t *output)
{
    enum { WORKSPACE = 1 << 20 }; /* Winograd's products by AVX-512 alone take 411648 bytes */
    _Alignas(GOPS_WORKSPACE_ALIGNMENT) unsigned char workspace[WORKSPACE];
    const gops_arguments given = {.size = sizeof given,
                                  .data = of->data,
                                  .filter = of->filter,
                                  .output = output,
                                  .workspace = workspace,
                                  .workspace_bytes = sizeof workspace};
    return gops_execute(of->plan, &given, NULL);
}

static bool is_right(const layer *of)
{
    uint8_t output[OUTPUT] = {0};
    return execute(of, output) == GOPS_OK && memcmp(output, of->expected, OUTPUT) == 0;
}

static void *run_thread(void *given)
{
    const layer *of = given;
    bool right = true;
    for (int i = 0; i < ROUNDS; i++)
        right &= is_right(of);
    return right ? given : NULL;
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

/* Exists before the library was asked for anything. */
static void *run_early_thread(void *given)
{
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    return run_thread(given);
}

/* Once: a case may be run alone. */
static void prepare(layer *of)
{
    if (of->plan != NULL)
        return;
    const gops_tensor data = {GOPS_U8, 4, {1, IN, SIDE, SIDE}};
    const gops_tensor filter = {GOPS_I8, 5, {1, OUT, IN, KERNEL, KERNEL}};
    const gops_conv_attributes attributes = {.pads_begin = {2, {1, 1}}, .pads_end = {2, {1, 1}}};
    const gops_options options = {.size = sizeof options, .threads = 1, .output_type = GOPS_U8};
    const gops_quantization quantization = {.size = sizeof quantization,
                                            .data_scale = 0.5f,
                                            .data_zero_point = 131,
                                            .output_scale = 700,
                                            .output_zero_point = 120};
    for (unsigned i = 0; i < DATA; i++)
        of->data[i] = (uint8_t)(i * i * 7 + i / 3);
    for (unsigned i = 0; i < WEIGHTS; i++)
        of->weights[i] = (int8_t)(i * i * 5 + i / 7);
    gops_error error = {GOPS_OK, ""};
    gops_status status =
        gops_conv_plan_create(&data, &filter, &attributes, &options, &of->plan, &error);
    if (status == GOPS_OK)
        status = gops_filter_create(of->plan, of->weights, &quantization, &of->filter, &error);
    if (status == GOPS_OK)
        status = execute(of, of->expected);
    gops_test_check(status == GOPS_OK, "%s", error.message);
}

static void threads(void)
{
    pthread_t early, late[THREADS];
    void *right = NULL;
    pthread_mutex_lock(&gate);
    const bool waits = pthread_create(&early, NULL, run_early_thread, &the_layer) == 0;
    prepare(&the_layer);
    pthread_mutex_unlock(&gate);
    gops_test_check(waits && pthread_join(early, &right) == 0 && right != NULL,
                    "a thread from before");
    for (int i = 0; i < THREADS; i++)
        gops_test_check(pthread_create(&late[i], NULL, run_thread, &the_layer) == 0, "no thread");
    for (int i = 0; i < THREADS; i++)
        gops_test_check(pthread_join(late[i], &right) == 0 && right != NULL, "thread %d", i);
}

static void child(void)
{
    prepare(&the_layer);
    const pid_t pid = fork();
    if (pid == 0)
        _exit(run_thread(&the_layer) != NULL ? 0 : 1);
    int status = 1;
    gops_test_check(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "status %d", status);
}

static volatile sig_atomic_t signals;

/* Runs a layer of its own in the middle of another. */
static void on_signal(int number)
{
    (void)number;
    signals += is_right(&the_layer) ? 1 : 1 << 20;
}

static void interrupted(void)
{
    const struct itimerval soon = {{0, 0}, {0, 300}}, never = {{0, 0}, {0, 0}};
    struct sigaction before, with = {.sa_handler = on_signal};
    bool right = true;
    if (UNDER_THREAD_SANITIZER) {
        gops_test_skip(
            "it calls handlers from functions such as memcpy, and the kernel saves no tiles then");
    }
    prepare(&the_layer);
    with.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &with, &before);
    /* One signal at a time, or a slow machine would do nothing else. */
    for (int i = 0, asked = -1; signals < ROUNDS && i < 100 * ROUNDS; i++) {
        if (asked != (int)signals) {
            asked = (int)signals;
            setitimer(ITIMER_REAL, &soon, NULL);
        }
        right &= is_right(&the_layer);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &before, NULL);
    gops_test_check(right && signals > 0 && signals < 1 << 20, "%d signals", (int)signals);
}

/* XINUSE tells which registers of the thread are not in their initial state. */
static void released(void)
{
    prepare(&the_layer);
    gops_test_check(is_right(&the_layer), "wrong");
#if defined(__x86_64__)
    enum { TILE_CONFIGURATION = 1 << 17, TILE_DATA = 1 << 18, TILES = 1 << 24 };
    unsigned a, b, c, d, low = 0, high = 0;
    const bool has_tiles = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & TILES) != 0;
    if (has_tiles)
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
    gops_test_check((low & (TILE_CONFIGURATION | TILE_DATA)) == 0, "in use: %x", low);
#endif
    gops_filter_destroy(the_layer.filter);
    gops_plan_destroy(the_layer.plan);
}

int main(void)
{
    static const gops_test_case cases[] = {{"threads", threads},
                                           {"child", child},
                                           {"interrupted", interrupted},
                                           {"released", released},
                                           {NULL, NULL}};
    return gops_test_main("AMX in a process", cases);
}
