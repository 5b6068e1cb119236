/* Pairs of convolutions that a region computes by chunks: with the provider and without, and that they are
 * one step where what lies between is larger than the cache or its planes are small, and two elsewhere. */
#include "ort_counting.h"
#include "ort_graphs.h"

#include "base/machine.h"
#include "elements.h"
#include "guarded_memory.h"
#include "harness.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef gops_ort_graph_builder builder;

#define FROM(...)                                                                                  \
    (const char *[])                                                                               \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

/* Planes of more than a page, of which CHANNELS fit any cache. */
enum { CHANNELS_IN = 13, CHANNELS = 29, HEIGHT = 41, WIDTH = 31, THIN = 3, MANY = 127 };

/* Channels that are enough to make chunks for each thread. */
static int64_t many_channels(void)
{
    return 64 * gops_ort_cores() + 5;
}

/* Checks the graph where each step asks for threads by itself, so that their number is seen. */
static void check(builder *graph, const char *what, int claimed, int steps)
{
    enum { RUNS = 16 }; /* of gops_ort_graph_check */
    void *library = dlopen(GROUPOPS_ORT_COUNTING, RTLD_NOW | RTLD_NOLOAD);
    const gops_ort_counts *seen = library != NULL ? dlsym(library, GOPS_ORT_COUNTS) : NULL;
    if (!gops_test_check(seen != NULL, "the counting library is not loaded")) {
        return;
    }
    const long long before = seen->parallel_fors;
    gops_ort_set_spinning(false);
    gops_ort_graph_check(graph, what, claimed, 1);
    const long long loops = seen->parallel_fors - before;
    gops_test_check(gops_ort_cores() == 1 || loops == (long long)RUNS * steps,
                    "%s: %lld parallel loops in %d runs of %d steps", what, loops, RUNS, steps);
}

/* Of images whose many_channels do not fit the cache, or of small ones. */
static void start(builder *graph, uint64_t stream, int64_t images, bool fits)
{
    const int64_t channel = gops_machine_read().l2_bytes * 4 / 3 / many_channels();
    const int64_t side = 1 + (int64_t)sqrt((double)channel / sizeof(float));
    const int64_t dims[] = {images, CHANNELS_IN, fits ? HEIGHT : side, fits ? WIDTH : side};
    gops_ort_load();
    gops_ort_graph_start(graph, stream, 16, dims, 4);
}

/* A Conv of `groups` groups without bias, `factor` output channels for each input channel. */
static void grouped(builder *graph, const char *to, const char *from, int64_t channels,
                    int64_t groups, int64_t factor, int64_t kernel, int64_t stride)
{
    const int64_t dims[] = {channels * factor, channels / groups, kernel, kernel};
    const double spread = sqrt(3.0 / (double)(channels / groups * kernel * kernel));
    char weights[32];
    snprintf(weights, sizeof weights, "w%d", graph->constants++);
    gops_ort_graph_constant(graph, weights, 4, dims, -spread, spread);
    gops_ort_graph_node(graph, "Conv", to, FROM(from, weights));
    gops_onnx_build_int(&graph->builder, "group", groups);
    gops_ort_graph_ints(graph, "strides", 2, stride, stride, 0, 0);
    gops_ort_graph_ints(graph, "pads", 4, kernel / 2 - 1, kernel / 2, kernel / 2 + 1, kernel / 2);
}

static void prelu(builder *graph, const char *to, const char *from, int64_t channels)
{
    const int64_t dims[] = {channels, 1, 1};
    char slopes[32];
    snprintf(slopes, sizeof slopes, "s%d", graph->constants++);
    gops_ort_graph_constant(graph, slopes, 3, dims, -0.5, 0.5);
    gops_ort_graph_node(graph, "PRelu", to, FROM(from, slopes));
}

/* An image that does not fit the cache, one that does, and an image for each thread, which does without the others. The
 * last layer has so many outputs that it takes several threads. */
static void large(void)
{
    enum { WHOLE, FITS, IMAGES, CASES };
    static const char *const names[] = {"large", "fits", "images"};
    static const int steps[] = {2, 3, 1};
    for (int i = 0; i < CASES; i++) {
        const int64_t channels = i == FITS ? CHANNELS : many_channels();
        builder graph;
        start(&graph, 1, i == IMAGES ? gops_ort_cores() : 1, i == FITS);
        gops_ort_graph_conv(&graph, "a", "x", CHANNELS_IN, channels, 1, 1);
        gops_ort_graph_node(&graph, "Relu", "b", FROM("a"));
        grouped(&graph, "c", "b", channels, channels, 1, 5, 1);
        gops_ort_graph_node(&graph, "HardSwish", "d", FROM("c"));
        gops_ort_graph_conv(&graph, "y", "d", channels, 61, 1, 1);
        gops_ort_graph_output(&graph, "y");
        check(&graph, names[i], 5, steps[i]);
    }
}

/* Planes of less than a page: chunks though all fit the cache. */
static void small(void)
{
    const int64_t dims[] = {1, THIN, 13, 11}, channels = many_channels();
    builder graph;
    gops_ort_load();
    gops_ort_graph_start(&graph, 17, 16, dims, 4);
    gops_ort_graph_conv(&graph, "a", "x", THIN, channels, 1, 1);
    gops_ort_graph_node(&graph, "HardSwish", "b", FROM("a"));
    grouped(&graph, "c", "b", channels, channels, 1, 5, 1);
    grouped(&graph, "y", "c", channels, channels, 1, 5, 1);
    gops_ort_graph_output(&graph, "y");
    check(&graph, "small", 4, 2);
}

/* Chunks of which the last is smaller, with slopes for each channel and a depthwise
 * convolution that has twice as many outputs as inputs; data and output lie in one Concat. The
 * first layer reads so many channels that it takes several threads with any cache. With more than two
 * there may be no chunks. */
static void channels(void)
{
    const int64_t plane = gops_machine_read().l2_bytes / (int64_t)sizeof(float) / 60,
                  width = (int64_t)sqrt((double)plane);
    const int64_t dims[] = {1, MANY, plane / width, width};
    builder graph;
    gops_ort_load();
    gops_ort_graph_start(&graph, 3, 16, dims, 4);
    gops_ort_graph_conv(&graph, "a", "x", MANY, THIN, 3, 1);
    gops_ort_graph_conv(&graph, "b", "a", THIN, MANY, 1, 1);
    prelu(&graph, "c", "b", MANY);
    grouped(&graph, "d", "c", MANY, MANY, 2, 3, 1);
    prelu(&graph, "e", "d", 2 * MANY);
    gops_ort_graph_node(&graph, "Concat", "f", FROM("a", "e"));
    gops_onnx_build_int(&graph.builder, "axis", 1);
    gops_ort_graph_conv(&graph, "y", "f", THIN + 2 * MANY, 5, 1, 1);
    gops_ort_graph_output(&graph, "y");
    if (gops_ort_cores() <= 2) {
        check(&graph, "channels", 7, 3);
    } else {
        gops_ort_graph_check(&graph, "channels", 7, 1);
    }
}

/* With one thread, which takes all chunks, and with two: the same bits. */
static void bits(void)
{
    gops_ort_session_settings settings = {GROUPOPS_ORT_PROVIDER, ORT_OPTIMIZE_ALL, 1, false};
    const int64_t channels = many_channels();
    ort_value *outputs[2] = {NULL, NULL};
    gops_onnx_buffer model = {0};
    gops_tensor tensor;
    builder graph;
    start(&graph, 9, 1, false);
    const int64_t count = graph.x[1] * graph.x[2] * graph.x[3];
    float *data = gops_test_allocate((size_t)count * sizeof *data);
    const gops_ort_tensor input = {"x", ORT_FLOAT, 4, graph.x, data};
    gops_ort_graph_conv(&graph, "a", "x", CHANNELS_IN, channels, 1, 1);
    grouped(&graph, "y", "a", channels, channels, 1, 3, 1);
    gops_ort_graph_output(&graph, "y");
    gops_test_random_fill(&graph.random, GOPS_F32, data, count);
    bool works =
        gops_test_check(gops_onnx_build_end(&graph.builder, &model), "no memory for a model");
    for (int i = 0; i < 2 && works; i++) {
        ort_session *session = NULL;
        settings.threads = 1 + i;
        works = gops_ort_works(gops_ort_open(&model, &settings, &session), "bits") &&
                gops_ort_works(gops_ort_run(session, &input, 1, &outputs[i]), "bits");
        gops_ort_load()->release_session(session);
    }
    if (works) {
        const void *one = gops_ort_values(outputs[0], &tensor);
        const void *two = gops_ort_values(outputs[1], &tensor);
        const size_t bytes = (size_t)gops_test_elements(&tensor) * sizeof(float);
        gops_test_check(memcmp(one, two, bytes) == 0, "two threads make other bits than one");
    }
    gops_ort_load()->release_value(outputs[0]);
    gops_ort_load()->release_value(outputs[1]);
    free(model.bytes);
    free(data);
}

/* What must not be: another reads what lies between, groups of more than a channel, a kernel of 3, a
 * residual. */
static void others(void)
{
    enum { READ_TWICE, GIVEN_OUT, GROUPED, LARGE, ADDED, CASES };
    static const char *const names[] = {"read twice", "given out", "grouped", "large", "added"};
    for (int i = 0; i < CASES; i++) {
        builder graph;
        const int64_t count = many_channels() + (i == GROUPED ? 1 : 0);
        start(&graph, 4 + (uint64_t)i, 1, false);
        if (i == ADDED) {
            gops_ort_graph_conv(&graph, "r", "x", CHANNELS_IN, count, 1, 2);
        }
        gops_ort_graph_conv(&graph, "a", "x", CHANNELS_IN, count, i == LARGE ? 3 : 1, 1);
        grouped(&graph, "b", "a", count, i == GROUPED ? count / 2 : count, 1, 3, 2);
        if (i == ADDED) {
            gops_ort_graph_node(&graph, "Add", "c", FROM("b", "r"));
        }
        gops_ort_graph_conv(&graph, "y", i == ADDED ? "c" : "b", count, 7, 1, 1);
        gops_ort_graph_output(&graph, "y");
        if (i == READ_TWICE) {
            gops_ort_graph_conv(&graph, "z", "a", count, 3, 1, 1);
            gops_ort_graph_output(&graph, "z");
        } else if (i == GIVEN_OUT) {
            gops_ort_graph_output(&graph, "a");
        }
        check(&graph, names[i],
              i == ADDED        ? 5
              : i == READ_TWICE ? 4
                                : 3,
              i == ADDED || i == READ_TWICE ? 4 : 3);
    }
}

int main(void)
{
    const gops_test_case cases[] = {{"large", large}, {"small", small},   {"channels", channels},
                                    {"bits", bits},   {"others", others}, {NULL, NULL}};
    gops_ort_use(GROUPOPS_ORT_COUNTING);
    const int status = gops_test_main("ONNX Runtime, chunks", cases);
    gops_ort_unload();
    return status;
}
