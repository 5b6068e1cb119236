/* ort_graphs.c: writes and runs small graphs. */
#include "ort_graphs.h"

#include "elements.h"
#include "guarded_memory.h"
#include "harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RUNS = 3 }; /* of a session */

static bool leaves_open;

void gops_ort_graph_leave_open(bool leaves)
{
    leaves_open = leaves;
}

void gops_ort_graph_start(gops_ort_graph_builder *graph, uint64_t stream, int opset,
                          const int64_t *dims, int rank)
{
    int64_t given[GOPS_MAX_RANK];
    *graph = (gops_ort_graph_builder){.rank = rank, .is_open = leaves_open};
    graph->random = gops_test_random_start(gops_test_seed(), stream);
    memcpy(graph->x, dims, (size_t)rank * sizeof *dims);
    memcpy(given, dims, (size_t)rank * sizeof *dims);
    given[0] = leaves_open ? GOPS_ONNX_BATCH : dims[0];
    gops_onnx_build(&graph->builder, opset);
    gops_onnx_build_input(&graph->builder, "x", GOPS_ONNX_FLOAT, rank, given);
}

int64_t gops_ort_graph_batch(const gops_ort_graph_builder *graph)
{
    return graph->is_open ? 0 : graph->x[0];
}

void gops_ort_graph_images(gops_ort_graph_builder *graph, uint64_t stream, int opset, int64_t batch,
                           int64_t channels, int64_t height, int64_t width)
{
    const int64_t dims[] = {batch, channels, height, width};
    gops_ort_load();
    gops_ort_graph_start(graph, stream, opset, dims, 4);
}

void gops_ort_graph_node(gops_ort_graph_builder *graph, const char *type, const char *to,
                         const char *const *from)
{
    int count = 0;
    while (from[count] != NULL) {
        count++;
    }
    gops_onnx_build_node(&graph->builder, type, to, from, count);
}

void gops_ort_graph_ints(gops_ort_graph_builder *graph, const char *name, int count, int64_t first,
                         int64_t second, int64_t third, int64_t fourth)
{
    const int64_t values[] = {first, second, third, fourth};
    gops_onnx_build_ints(&graph->builder, name, values, count);
}

void gops_ort_graph_constant(gops_ort_graph_builder *graph, const char *name, int rank,
                             const int64_t *dims, double low, double high)
{
    size_t count = 1;
    for (int i = 0; i < rank; i++) {
        count *= (size_t)dims[i];
    }
    float *values = gops_test_allocate(count * sizeof *values);
    for (size_t i = 0; i < count; i++) {
        values[i] = (float)(low + (high - low) * (gops_test_random_real(&graph->random) + 1) / 2);
    }
    gops_onnx_build_constant(&graph->builder, name, GOPS_ONNX_FLOAT, rank, dims, values,
                             count * sizeof *values);
    free(values);
}

void gops_ort_graph_conv(gops_ort_graph_builder *graph, const char *to, const char *from,
                         int64_t channels_in, int64_t channels_out, int64_t kernel, int64_t stride)
{
    enum { NAME_BYTES = 32 };
    const int64_t dims[] = {channels_out, channels_in, kernel, kernel}, pad = kernel / 2;
    const double spread = sqrt(3.0 / (double)(channels_in * kernel * kernel));
    char weights[NAME_BYTES], bias[NAME_BYTES];
    snprintf(weights, sizeof weights, "w%d", graph->constants);
    snprintf(bias, sizeof bias, "b%d", graph->constants++);
    gops_ort_graph_constant(graph, weights, 4, dims, -spread, spread);
    gops_ort_graph_constant(graph, bias, 1, dims, -0.5, 0.5);
    gops_ort_graph_node(graph, "Conv", to, (const char *[]){from, weights, bias, NULL});
    gops_ort_graph_ints(graph, "strides", 2, stride, stride, 0, 0);
    gops_ort_graph_ints(graph, "pads", 4, pad, pad, pad, pad);
}

void gops_ort_graph_batch_norm(gops_ort_graph_builder *graph, const char *to, const char *from,
                               int64_t channels)
{
    enum { NAME_BYTES = 32, CONSTANTS = 4 };
    static const double bounds[CONSTANTS][2] = {{-1.5, 1.5}, {-0.5, 0.5}, {-0.5, 0.5}, {0.5, 2}};
    char names[CONSTANTS][NAME_BYTES];
    const char *inputs[CONSTANTS + 2] = {from};
    for (int i = 0; i < CONSTANTS; i++) {
        snprintf(names[i], sizeof names[i], "k%d", graph->constants++);
        gops_ort_graph_constant(graph, names[i], 1, &channels, bounds[i][0], bounds[i][1]);
        inputs[1 + i] = names[i];
    }
    gops_ort_graph_node(graph, "BatchNormalization", to, inputs);
    gops_onnx_build_float(&graph->builder, "epsilon", 0.01F);
}

void gops_ort_graph_output(gops_ort_graph_builder *graph, const char *name)
{
    gops_onnx_build_output(&graph->builder, name, GOPS_ONNX_FLOAT, -1, NULL);
    graph->outputs[graph->output_count++] = name;
}

/* Nothing must be left of the run before. */
static int runs_of(const gops_ort_graph_builder *graph)
{
    return graph->is_open ? MAX_RUNS : 2;
}

/* The images of a run: the model's, or as many as come: one for each core, and one more. */
static int64_t images_of(const gops_ort_graph_builder *graph, int number)
{
    const int64_t images[MAX_RUNS] = {graph->x[0], 1, gops_ort_cores() + 1};
    return graph->is_open ? images[number] : graph->x[0];
}

static bool run(const gops_ort_graph_builder *graph, ort_session *session, float *data, int number,
                ort_value **outputs, const char *what)
{
    static const char *const names[] = {"x"};
    int64_t dims[GOPS_MAX_RANK];
    memcpy(dims, graph->x, (size_t)graph->rank * sizeof *dims);
    dims[0] = images_of(graph, number);
    const gops_ort_tensor input = {"x", ORT_FLOAT, graph->rank, dims, data};
    ort_value *x = gops_ort_value(&input);
    const bool ran =
        gops_ort_works(gops_ort_load()->run(session, NULL, names, (const ort_value *const *)&x, 1,
                                            graph->outputs, (size_t)graph->output_count, outputs),
                       what);
    gops_ort_load()->release_value(x);
    return ran;
}

static bool compare(const char *what, const char *name, ort_value *expected_value,
                    ort_value *got_value)
{
    gops_tensor tensor, other;
    const float *expected = gops_ort_values(expected_value, &tensor);
    const float *got = gops_ort_values(got_value, &other);
    double largest = 0.1, worst = 0; /* where sums of larger numbers cancel, too */
    bool same = tensor.rank == other.rank && tensor.type == other.type;
    for (int i = 0; i < tensor.rank && same; i++) {
        same = tensor.dims[i] == other.dims[i];
    }
    if (!gops_test_check(same, "%s: the shape of %s is another", what, name)) {
        return false;
    }
    for (int64_t i = 0; i < gops_test_elements(&tensor); i++) {
        const bool equal = got[i] == expected[i] || (isnan(got[i]) && isnan(expected[i]));
        const double error = equal ? 0 : fabs((double)got[i] - (double)expected[i]);
        largest = fmax(largest, fabs((double)expected[i]));
        worst = error <= worst || isnan(worst) ? worst : error; /* NaN stays */
    }
    return gops_test_check(worst <= 2e-5 * largest, "%s: %s differs by %g, beside values to %g",
                           what, name, worst, largest);
}

static bool check_session(const gops_ort_graph_builder *graph, const gops_onnx_buffer *model,
                          const gops_ort_session_settings *settings, float *data,
                          ort_value *(*expected)[GOPS_ORT_MAX_OUTPUTS], const char *what,
                          int claimed, int parts)
{
    const ort_api *api = gops_ort_load();
    ort_session *session = NULL;
    ort_value *outputs[GOPS_ORT_MAX_OUTPUTS] = {NULL};
    bool right = gops_ort_works(gops_ort_open(model, settings, &session), what);
    if (right && settings->level == ORT_OPTIMIZE_NONE) {
        const int nodes = gops_ort_claimed(session, false), found = gops_ort_parts(session);
        right = gops_test_check(claimed < 0 || (nodes == claimed && found == parts),
                                "%s: %d nodes were claimed in %d parts, not %d in %d", what, nodes,
                                found, claimed, parts);
    }
    for (int number = 0; number < runs_of(graph) && right; number++) {
        right = run(graph, session, data, number, outputs, what);
        for (int i = 0; i < graph->output_count; i++) {
            right = right && compare(what, graph->outputs[i], expected[number][i], outputs[i]);
            api->release_value(outputs[i]);
            outputs[i] = NULL;
        }
    }
    api->release_session(session);
    return right;
}

static void end(gops_ort_graph_builder *graph, gops_onnx_buffer *model)
{
    if (!gops_onnx_build_end(&graph->builder, model)) {
        fprintf(stderr, "no memory for a model\n");
        exit(EXIT_FAILURE);
    }
}

/* At all levels of optimization, with one thread and two. */
static bool check_levels(const gops_ort_graph_builder *graph, const gops_onnx_buffer *model,
                         float *data, ort_value *(*expected)[GOPS_ORT_MAX_OUTPUTS],
                         const char *what, int claimed, int parts)
{
    enum { LEVELS = 4, NAME_BYTES = 256 };
    static const int levels[LEVELS] = {ORT_OPTIMIZE_NONE, 1, 2, ORT_OPTIMIZE_ALL};
    char name[NAME_BYTES];
    bool right = true;
    for (int i = 0; i < 2 * LEVELS && right; i++) {
        const gops_ort_session_settings with = {GROUPOPS_ORT_PROVIDER, levels[i / 2], 1 + i % 2,
                                                false};
        snprintf(name, sizeof name, "%s, level %d, %d threads", what, with.level, with.threads);
        right = check_session(graph, model, &with, data, expected, name, claimed, parts);
    }
    return right;
}

bool gops_ort_graph_check_values(gops_ort_graph_builder *graph, const char *what, float *data,
                                 float *expected, int claimed, int parts)
{
    const gops_ort_tensor tensor = {"y", ORT_FLOAT, graph->rank, graph->x, expected};
    ort_value *value = gops_ort_value(&tensor);
    ort_value *values[MAX_RUNS][GOPS_ORT_MAX_OUTPUTS] = {{value}, {value}, {value}};
    gops_onnx_buffer model;
    end(graph, &model);
    const bool right = check_levels(graph, &model, data, values, what, claimed, parts);
    gops_ort_load()->release_value(value);
    free(model.bytes);
    return right;
}

bool gops_ort_graph_check(gops_ort_graph_builder *graph, const char *what, int claimed, int parts)
{
    const gops_ort_session_settings alone = {NULL, ORT_OPTIMIZE_NONE, 1, false};
    const ort_api *api = gops_ort_load();
    ort_value *expected[MAX_RUNS][GOPS_ORT_MAX_OUTPUTS] = {{NULL}};
    ort_session *session = NULL;
    gops_onnx_buffer model;
    int64_t count = graph->x[0] + gops_ort_cores() + 1; /* images_of */
    for (int i = 1; i < graph->rank; i++) {
        count *= graph->x[i];
    }
    float *data = gops_test_allocate((size_t)count * sizeof *data);
    gops_test_random_fill(&graph->random, GOPS_F32, data, count);
    end(graph, &model);
    bool right = gops_ort_works(gops_ort_open(&model, &alone, &session), what);
    for (int i = 0; i < runs_of(graph); i++) {
        right = right && run(graph, session, data, i, expected[i], what);
    }
    api->release_session(session);
    right = right && check_levels(graph, &model, data, expected, what, claimed, parts);
    for (int i = 0; i < MAX_RUNS * GOPS_ORT_MAX_OUTPUTS; i++) {
        api->release_value(expected[i / GOPS_ORT_MAX_OUTPUTS][i % GOPS_ORT_MAX_OUTPUTS]);
    }
    free(model.bytes);
    free(data);
    return right;
}
