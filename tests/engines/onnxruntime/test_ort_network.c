/* Whole networks of grouped convolutions, with the provider and without: the same outputs, what was
 * claimed, and the time of a run. */
#include "ort_host.h"
#include "ort_networks.h"

#include "elements.h"
#include "harness.h"
#include "guarded_memory.h"
#include "random_numbers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

/* Largest difference over the largest expected magnitude. */
static double difference(ort_value *expected_value, ort_value *got_value)
{
    gops_tensor tensor, other;
    const float *expected = gops_ort_values(expected_value, &tensor);
    const float *got = gops_ort_values(got_value, &other);
    double largest = 0, worst = 0;
    if (gops_test_elements(&tensor) != gops_test_elements(&other)) {
        return INFINITY;
    }
    for (int64_t i = 0; i < gops_test_elements(&tensor); i++) {
        const double error = fabs((double)got[i] - (double)expected[i]);
        largest = fmax(largest, fabs((double)expected[i]));
        worst = error <= worst ? worst : error; /* NaN too */
    }
    return worst / largest;
}

/* The least time of a run with and without us, in GROUPOPS_TEST_ORT_ROUNDS turns. */
static void measure(const gops_ort_network *network, ort_session *const *sessions,
                    const gops_ort_tensor *input, int threads)
{
    enum { RUNS = 3 };
    const int64_t rounds = gops_test_environment_number("GROUPOPS_TEST_ORT_ROUNDS", 0);
    double least[2] = {INFINITY, INFINITY};
    for (int round = 0; round < rounds; round++) {
        for (int with = 0; with < 2; with++) {
            for (int run = 0; run < RUNS; run++) {
                ort_value *output = NULL;
                const double start = now_ms();
                if (!gops_ort_works(gops_ort_run(sessions[with], input, 1, &output), "a run")) {
                    return;
                }
                least[with] = fmin(least[with], now_ms() - start);
                gops_ort_load()->release_value(output);
            }
        }
    }
    if (rounds > 0)
        printf("  %s, %d threads: %.3f ms without groupops, %.3f ms with it, ratio %.2f\n",
               network->name, threads, least[0], least[1], least[0] / least[1]);
}

static void check_level(const gops_ort_network *network, const gops_onnx_buffer *model,
                        const gops_ort_tensor *input, int level, int threads, bool timed)
{
    const ort_api *api = gops_ort_load();
    ort_session *sessions[2] = {NULL, NULL};
    ort_value *outputs[2] = {NULL, NULL};
    bool works = true;
    for (int with = 0; with < 2 && works; with++) {
        const gops_ort_session_settings settings = {with ? GROUPOPS_ORT_PROVIDER : NULL, level,
                                                    threads, false};
        works =
            gops_ort_works(gops_ort_open(model, &settings, &sessions[with]), network->name) &&
            gops_ort_works(gops_ort_run(sessions[with], input, 1, &outputs[with]), network->name);
    }
    if (works) {
        const int claimed = gops_ort_claimed(sessions[1], timed && threads == 1);
        const double error = difference(outputs[0], outputs[1]);
        printf("  %s, level %d, %d threads: %d nodes claimed, outputs differ by %.2g\n",
               network->name, level, threads, claimed, error);
        gops_test_check(claimed >= network->convolutions, "%s: %d nodes claimed, of %d Conv",
                        network->name, claimed, network->convolutions);
        gops_test_check(gops_ort_claimed(sessions[0], false) == 0, "claimed without being asked");
        gops_test_check(error <= 1e-4, "%s, level %d, %d threads: outputs differ by %g",
                        network->name, level, threads, error);
        if (timed) {
            measure(network, sessions, input, threads);
        }
    }
    for (int with = 0; with < 2; with++) {
        api->release_value(outputs[with]);
        api->release_session(sessions[with]);
    }
}

static void check_network(const gops_ort_network *network, const int *levels, size_t level_count)
{
    gops_onnx_buffer model;
    gops_tensor data = {GOPS_F32, 4, {0}};
    memcpy(data.dims, network->data, sizeof network->data);
    const int64_t count = gops_test_elements(&data);
    gops_ort_load();
    float *values = gops_test_allocate((size_t)count * sizeof *values);
    gops_test_random random = gops_test_random_start(gops_test_seed(), 1);
    gops_test_random_fill(&random, GOPS_F32, values, count);
    const gops_ort_tensor input = {"x", ORT_FLOAT, 4, network->data, values};
    network->build(&model);
    printf("\n");
    for (size_t i = 0; i < level_count; i++) {
        for (int threads = 1; threads <= 2; threads++) {
            check_level(network, &model, &input, levels[i], threads, levels[i] == ORT_OPTIMIZE_ALL);
        }
    }
    free(model.bytes);
    free(values);
}

static void shufflenet(void)
{
    static const int levels[] = {ORT_OPTIMIZE_NONE, 1, 2, 3, ORT_OPTIMIZE_ALL};
    check_network(&gops_ort_networks[0], levels, sizeof levels / sizeof levels[0]);
}

/* Twenty times the work, and the levels make no other difference to us. */
static void resnext(void)
{
    static const int levels[] = {ORT_OPTIMIZE_ALL};
    check_network(&gops_ort_networks[1], levels, 1);
}

int main(void)
{
    const gops_test_case cases[] = {{"shufflenet", shufflenet}, {"resnext", resnext}, {NULL, NULL}};
    const int status = gops_test_main("ONNX Runtime, networks", cases);
    gops_ort_unload();
    return status;
}
