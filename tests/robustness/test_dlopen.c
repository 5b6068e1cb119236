/*
 * The shared library loaded, used and unloaded in a loop by a program that has nothing of it
 * otherwise: it works each time, and memory stays flat.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include <groupops/groupops.h>

#include "harness.h"
#include "written.h"

enum {
    ROUNDS = 60,
    SETTLED = 20, /* rounds after which nothing may be added */
    /* dlopen's own tables; a plan or filter lost per round would be far more */
    SLACK_BYTES = 16 << 10
};

/* ISO C has no conversion from what dlsym returns to a function. */
#define FIND(library, symbol)                                                                      \
    __typeof__(gops_##symbol) *symbol = NULL;                                                      \
    do {                                                                                           \
        void *found = dlsym(library, "gops_" #symbol);                                             \
        memcpy(&symbol, &found, sizeof found);                                                     \
    } while (0)

enum { GROUPS = 4, C_IN = 3, C_OUT = 2, TAPS = 3, PIXELS = 4096, OUTPUTS = PIXELS - TAPS + 1 };

static int64_t datum(int64_t i)
{
    return i * 7 % 11 - 4;
}

static int64_t weight(int64_t i)
{
    return i * 5 % 13 - 3;
}

/* Of all outputs, each times its place's number modulo 5: whole numbers that a float has. */
static float expected_sum(void)
{
    int64_t sum = 0;
    for (int64_t row = 0; row < GROUPS * C_OUT; row++)
        for (int64_t c = 0; c < C_IN; c++)
            for (int64_t tap = 0; tap < TAPS; tap++)
                for (int64_t x = 0; x < OUTPUTS; x++)
                    sum += weight((row * C_IN + c) * TAPS + tap) *
                           datum((row / C_OUT * C_IN + c) * PIXELS + x + tap) *
                           ((row * OUTPUTS + x) % 5);
    return (float)sum;
}

/* The same sum by the library. */
static float use(void *library, int32_t threads)
{
    static float data[GROUPS * C_IN * PIXELS], weights[GROUPS * C_OUT * C_IN * TAPS],
        output[GROUPS * C_OUT * OUTPUTS];
    const gops_tensor data_tensor = {GOPS_F32, 3, {1, GROUPS * C_IN, PIXELS}};
    const gops_tensor filter_tensor = {GOPS_F32, 4, {GROUPS, C_OUT, C_IN, TAPS}};
    const gops_options options = {.size = sizeof options, .threads = threads};
    gops_plan *plan = NULL;
    gops_packed_filter *filter = NULL;
    float sum = 0;
    FIND(library, conv_plan_create);
    FIND(library, filter_create);
    FIND(library, execute);
    FIND(library, plan_destroy);
    FIND(library, filter_destroy);
    for (size_t i = 0; i < sizeof data / sizeof *data; i++)
        data[i] = (float)datum((int64_t)i);
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++)
        weights[i] = (float)weight((int64_t)i);
    if (conv_plan_create(&data_tensor, &filter_tensor, NULL, &options, &plan, NULL) != GOPS_OK ||
        filter_create(plan, weights, NULL, &filter, NULL) != GOPS_OK)
        return -1;
    const gops_arguments arguments = {
        .size = sizeof arguments, .data = data, .filter = filter, .output = output};
    if (execute(plan, &arguments, NULL) == GOPS_OK)
        for (size_t i = 0; i < sizeof output / sizeof *output; i++)
            sum += output[i] * (float)(i % 5);
    filter_destroy(filter);
    plan_destroy(plan);
    return sum;
}

static void load_and_unload(void)
{
    size_t settled = 0, last = 0;
    for (int round = 0; round < ROUNDS; round++) {
        void *library = dlopen(LIBRARY_PATH, RTLD_NOW | RTLD_LOCAL);
        if (!gops_test_check(library != NULL, "round %d: %s", round, dlerror()))
            return;
        const float sum = use(library, 1 + round % 2);
        gops_test_check(sum == expected_sum(), "round %d: the sum is %g", round, (double)sum);
        gops_test_check(dlclose(library) == 0, "round %d: %s", round, dlerror());
        const struct mallinfo2 info = mallinfo2();
        gops_test_written(&info, sizeof info);
        last = info.uordblks;
        settled = round == SETTLED ? last : settled;
    }
    printf("%d rounds, %zu KiB allocated after %d and %zu at the end: ", ROUNDS, settled >> 10,
           SETTLED, last >> 10);
    gops_test_check(last <= settled + SLACK_BYTES, "%zu bytes, then %zu", settled, last);
}

int main(void)
{
    static const gops_test_case cases[] = {{"load_and_unload", load_and_unload}, {NULL, NULL}};
    return gops_test_main("dlopen", cases);
}
