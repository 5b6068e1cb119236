/* test_tool_suites.c: every line of every suite makes a plan, by every algorithm that serves it,
 * whose default workspace is what groupops/plan.h promises: at most 4 MiB a thread. */
#include "common/operation.h"
#include "bench/suite.h"
#include "harness.h"
#include "wide_numbers.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t bytes_a_thread = 4 << 20;

/* What all plans together came to. */
static struct {
    int64_t suites, layers, plans, refused;
    int64_t most_bytes; /* a thread */
} total;

static void check_plan(const gops_bench_layer *layer, const char *algorithm, int32_t threads)
{
    gops_settings settings = layer->settings;
    gops_tensor inputs[GOPS_TOOL_MAX_INPUTS];
    gops_plan *plan;
    gops_plan_info info;
    gops_tool_error error;
    size_t bytes_of_data;
    settings.algorithm = algorithm;
    settings.threads = threads;
    gops_operation_tensors(layer->operation, &settings, inputs);
    if (GOPS_TEST_32_BIT && gops_tensor_bytes(&inputs[0], &bytes_of_data, NULL) != GOPS_OK) {
        total.refused++;
        return;
    }
    if (!gops_operation_plan(layer->operation, &settings, inputs, NULL, &plan, &info, &error)) {
        gops_test_check(algorithm != NULL, "%s: %s", layer->name, error.message);
        total.refused++;
        return;
    }
    const int64_t bytes = (int64_t)info.workspace_bytes;
    gops_test_check(info.threads >= 1 && info.threads <= threads &&
                        bytes <= bytes_a_thread * info.threads,
                    "%s by %s: %lld bytes of workspace for %d threads of %d", layer->name,
                    info.algorithm, (long long)bytes, (int)info.threads, (int)threads);
    if (bytes / info.threads > total.most_bytes) {
        total.most_bytes = bytes / info.threads;
    }
    total.plans++;
    gops_plan_destroy(plan);
}

static void check_layer(const gops_bench_layer *layer)
{
    static const int32_t threads[] = {1, 2, 5};
    static const int64_t batches[] = {1, 8};
    for (size_t b = 0; b < sizeof batches / sizeof batches[0]; b++) {
        gops_bench_layer of_batch = *layer;
        of_batch.settings.data.dims[0] *= batches[b];
        for (size_t t = 0; t < sizeof threads / sizeof threads[0]; t++) {
            check_plan(&of_batch, NULL, threads[t]);
            for (int i = 0; gops_algorithm_name(i) != NULL; i++) {
                check_plan(&of_batch, gops_algorithm_name(i), threads[t]);
            }
        }
    }
    total.layers++;
}

static void check_suite(const char *path)
{
    gops_suite suite;
    gops_tool_error error;
    if (gops_test_check(gops_suite_read(path, &suite, &error), "%s: %s", path, error.message)) {
        for (size_t i = 0; i < suite.count; i++) {
            check_layer(&suite.layers[i]);
        }
        gops_suite_release(&suite);
        total.suites++;
    }
}

static void workspaces(void)
{
    char path[4096];
    DIR *folder = opendir(SUITES_FOLDER);
    if (!gops_test_check(folder != NULL, "%s cannot be read", SUITES_FOLDER)) {
        return;
    }
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        const char *dot = strrchr(entry->d_name, '.');
        if (dot != NULL && strcmp(dot, ".txt") == 0) {
            snprintf(path, sizeof path, "%s/%s", SUITES_FOLDER, entry->d_name);
            check_suite(path);
        }
    }
    closedir(folder);
    printf("%lld suites, %lld layers, %lld plans (%lld refused), at most %lld bytes a thread\n",
           (long long)total.suites, (long long)total.layers, (long long)total.plans,
           (long long)total.refused, (long long)total.most_bytes);
    gops_test_check(total.suites >= 15 && total.layers >= 400, "suites are missing");
}

int main(void)
{
    static const gops_test_case cases[] = {{"workspaces", workspaces}, {NULL, NULL}};
    return gops_test_main("tool_suites", cases);
}
