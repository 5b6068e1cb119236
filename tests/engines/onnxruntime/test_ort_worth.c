/* What the provider leaves to the runtime by its estimate. */
#include "ort_graphs.h"

#include "engines/onnxruntime/worth/ort_rates.h"
#include "harness.h"

#include <stdlib.h>
#include <string.h>

typedef gops_ort_graph_builder builder;

#define FROM(...) GOPS_ORT_FROM(__VA_ARGS__)

static void grouped_conv(builder *graph, const char *to, const char *from, const char *weights,
                         int64_t channels_in, int64_t channels_out, int64_t groups)
{
    const int64_t dims[] = {channels_out, channels_in / groups, 3, 3};
    gops_ort_graph_constant(graph, weights, 4, dims, -1, 1);
    gops_ort_graph_node(graph, "Conv", to, FROM(from, weights));
    gops_onnx_build_int(&graph->builder, "group", groups);
}

/* A region that would take longer than the runtime does is left to it, on all processors one of dense layers of few
 * channels on large planes. Groups of three channels its layout has not. */
static void worth(void)
{
    static const char *const activations[] = {"Relu", "Sigmoid"};
    gops_ort_set_claim(NULL);
    for (int i = 0; i < 2; i++) {
        builder graph;
        gops_ort_graph_images(&graph, 14, 13, 1, i == 0 ? 15 : 7, i == 0 ? 41 : 61,
                              i == 0 ? 37 : 59);
        if (i == 0) {
            grouped_conv(&graph, "a", "x", "v", 15, 9, 3);
        } else {
            gops_ort_graph_conv(&graph, "a", "x", 7, 16, 3, 1);
        }
        gops_ort_graph_node(&graph, activations[i], "b", FROM("a"));
        if (i == 0) {
            grouped_conv(&graph, "c", "b", "w", 9, 21, 3);
        } else {
            gops_ort_graph_conv(&graph, "c", "b", 16, 32, 3, 1);
        }
        gops_ort_graph_node(&graph, activations[i], "y", FROM("c"));
        gops_ort_graph_output(&graph, "y");
        gops_ort_graph_check(&graph, activations[i], i == 0 ? 4 : 0, i == 0 ? 1 : 0);
        const char *said = i == 0 ? "groupops takes 4 nodes" : "groupops leaves 4 nodes";
        gops_test_check(strncmp(gops_ort_heard(), said, strlen(said)) == 0,
                        "the log has \"%s\", not \"%s\"", gops_ort_heard(), said);
    }
    gops_ort_set_claim("all");
}

/* Of a network, the part that gains is taken, where the rates of the processor say so: between dense layers of
 * few channels, which are the runtime's on every processor, the groups, and what follows them. */
static void worth_in_part(void)
{
    const bool in_part = gops_ort_rates_here()->part > 0;
    builder graph;
    gops_ort_set_claim(NULL);
    gops_ort_graph_images(&graph, 25, 13, 1, 32, 61, 59);
    gops_ort_graph_conv(&graph, "a", "x", 32, 32, 5, 1);
    gops_ort_graph_conv(&graph, "b", "a", 32, 66, 5, 1);
    grouped_conv(&graph, "c", "b", "v", 66, 66, 22);
    gops_ort_graph_node(&graph, "Relu", "d", FROM("c"));
    grouped_conv(&graph, "e", "d", "w", 66, 12, 6);
    gops_ort_graph_node(&graph, "Relu", "f", FROM("e"));
    gops_ort_graph_conv(&graph, "g", "f", 12, 32, 5, 1);
    gops_ort_graph_conv(&graph, "y", "g", 32, 64, 5, 1);
    gops_ort_graph_output(&graph, "y");
    gops_ort_graph_check(&graph, "in part", in_part ? 4 : -1, in_part ? 1 : -1);
    gops_ort_set_claim("all");
}

/* So is one of dense layers of few channels on large planes, where the runtime's are faster, unless they have so few
 * outputs that these fill no block of its layout. */
static void worth_dense(void)
{
    for (int few = 0; few < 2; few++) {
        const int64_t kernel = few ? 5 : 3;
        builder graph;
        gops_ort_set_claim("worthwhile");
        gops_ort_graph_images(&graph, 22, 13, 1, 7, 61, 59);
        gops_ort_graph_conv(&graph, "a", "x", 7, few ? 3 : 16, kernel, 1);
        gops_ort_graph_node(&graph, "Relu", "b", FROM("a"));
        gops_ort_graph_conv(&graph, "y", "b", few ? 3 : 16, few ? 2 : 32, kernel, 1);
        gops_ort_graph_output(&graph, "y");
        gops_ort_graph_check(&graph, few ? "few outputs" : "dense layers", few ? 3 : 0, few);
    }
    gops_ort_set_claim("all");
}

/* What the log says that calls of two dense layers would lose, us; a Resize lies between them, and none is taken. */
static double resized(const char *mode, uint64_t stream)
{
    enum { CHANNELS = 32 };
    static const float scales[] = {1, 1, 2, 2};
    static const int64_t count = 4;
    const char *const before_number = "of them takes ";
    builder graph;
    gops_ort_graph_images(&graph, stream, 13, 1, CHANNELS, 61, 59);
    gops_ort_graph_conv(&graph, "a", "x", CHANNELS, CHANNELS, 3, 1);
    gops_onnx_build_constant(&graph.builder, "s", GOPS_ONNX_FLOAT, 1, &count, scales,
                             sizeof scales);
    gops_ort_graph_node(&graph, "Resize", "r", FROM("a", "", "s"));
    gops_onnx_build_string(&graph.builder, "mode", mode);
    gops_ort_graph_conv(&graph, "y", "r", CHANNELS, CHANNELS, 3, 1);
    gops_ort_graph_output(&graph, "y");
    gops_ort_graph_check(&graph, mode, 0, 0);
    const char *at = strstr(gops_ort_heard(), before_number);
    return at != NULL ? strtod(at + strlen(before_number), NULL) : -1;
}

/* The runtime interpolates in its own layout much faster than in ONNX's. That counts where no region can have the
 * Resize; between two elements ours takes a bit longer, too. */
static void worth_resize(void)
{
    enum { LEFT = 300, TAKEN = 30 }; /* us, at least; 32 channels of 122x118 */
    gops_ort_set_claim(NULL);
    const double copied = resized("nearest", 26), taken = resized("linear", 27),
                 left = resized("cubic", 28);
    gops_test_check(copied > 0 && taken > copied + TAKEN && left > taken + LEFT,
                    "%.0f us are lost where a Resize is left, %.0f and %.0f where it is not", left,
                    taken, copied);
    gops_ort_set_claim("all");
}

/* A layer by itself is estimated too, of a closed shape and an open one: one that is not grouped may have
 * to be reordered, and gains less than a call costs. The option decides without the estimate. */
static void worth_alone(void)
{
    static const char *const claims[] = {NULL, "all"};
    for (int i = 0; i < 8; i++) {
        const bool grouped = i % 2 != 0, open = i / 2 % 2 != 0, all = i / 4 != 0;
        const int64_t dims[] = {open ? -1 : 1, 15, 37, 31},
                      weights[] = {grouped ? 9 : 16, grouped ? 5 : 15, 3, 3};
        builder graph;
        gops_ort_load();
        gops_ort_graph_start(&graph, 24, 13, dims, 4);
        graph.x[0] = open ? 2 : 1;
        gops_ort_set_claim(claims[all]);
        gops_ort_graph_constant(&graph, "w", 4, weights, -1, 1);
        gops_ort_graph_node(&graph, "Conv", "y", FROM("x", "w"));
        gops_onnx_build_int(&graph.builder, "group", grouped ? 3 : 1);
        gops_ort_graph_output(&graph, "y");
        const int taken = grouped || all;
        gops_ort_graph_check(&graph, open ? "open, alone" : "alone", taken, taken);
    }
}

/* What Winograd's method wins is counted where the environment admits it. Portable code is held to
 * SSE2, the BLAS is not, so that there a GEMM is chosen. */
static void worth_relaxed(void)
{
    const char *isa = getenv("GROUPOPS_ISA");
    const bool vectors = isa == NULL || strncmp(isa, "avx", 3) == 0 || strcmp(isa, "amx") == 0;
    setenv("GROUPOPS_ACCURACY", "relaxed", 1);
    gops_ort_set_claim(NULL);
    builder graph;
    gops_ort_graph_images(&graph, 23, 13, 1, 67, 61, 59);
    gops_ort_graph_conv(&graph, "a", "x", 67, 71, 3, 1);
    gops_ort_graph_node(&graph, "Relu", "b", FROM("a"));
    gops_ort_graph_conv(&graph, "y", "b", 71, 73, 3, 1);
    gops_ort_graph_output(&graph, "y");
    gops_ort_graph_check(&graph, "relaxed layers", vectors ? 3 : -1, 1);
    unsetenv("GROUPOPS_ACCURACY");
    gops_ort_set_claim("all");
}

/* A large convolution of integers whose taps lie too far apart for any algorithm but `gemm`; and one all of whose taps
 * but that in the middle meet padding, which is one of 1x1. */
static void worth_far_taps(void)
{
    enum { CHANNELS = 2048, TO = 64, SIDE = 33, SMALL = 14, TAPS = 9, FAR = 24 };
    static signed char weights[CHANNELS * TO * TAPS];
    static const char *const inputs[] = {"x", "s", "z", "w", "s", "v", "s", "z"};
    const int64_t filter[] = {TO, CHANNELS, 3, 3}, far[] = {FAR, FAR};
    const int64_t pads[] = {FAR, FAR, FAR, FAR}, open[] = {-1, -1, -1, -1};
    const unsigned char zero = 0;
    const float scale = 0.5F;
    for (int i = 0; i < 4; i++) {
        const bool all = i % 2 != 0, small = i / 2 != 0;
        const int64_t side = small ? SMALL : SIDE, dims[] = {1, CHANNELS, side, side};
        const gops_ort_session_settings settings = {GROUPOPS_ORT_PROVIDER, ORT_OPTIMIZE_ALL, 1,
                                                    false};
        gops_onnx_builder made;
        gops_onnx_buffer model;
        ort_session *session = NULL;
        gops_ort_load();
        gops_ort_set_claim(all ? "all" : NULL);
        gops_onnx_build(&made, 13);
        gops_onnx_build_input(&made, "x", GOPS_ONNX_UINT8, 4, dims);
        gops_onnx_build_constant(&made, "w", GOPS_ONNX_INT8, 4, filter, weights, sizeof weights);
        gops_onnx_build_constant(&made, "s", GOPS_ONNX_FLOAT, 0, NULL, &scale, sizeof scale);
        gops_onnx_build_constant(&made, "z", GOPS_ONNX_UINT8, 0, NULL, &zero, 1);
        gops_onnx_build_constant(&made, "v", GOPS_ONNX_INT8, 0, NULL, &zero, 1);
        gops_onnx_build_node(&made, "QLinearConv", "y", inputs, 8);
        gops_onnx_build_ints(&made, "dilations", far, 2);
        gops_onnx_build_ints(&made, "pads", pads, 4);
        gops_onnx_build_output(&made, "y", GOPS_ONNX_UINT8, 4, open);
        gops_test_check(gops_onnx_build_end(&made, &model), "no memory for a model");
        if (gops_ort_works(gops_ort_open(&model, &settings, &session), "far taps")) {
            const int claimed = gops_ort_claimed(session, false);
            const int expected = all || small;
            gops_test_check(claimed == expected || (!all && gops_ort_8_bit_rates_here() != NULL),
                            "%d nodes are claimed, not %d", claimed, expected);
        }
        gops_ort_load()->release_session(session);
        free(model.bytes);
    }
}

int main(void)
{
    const gops_test_case cases[] = {
        {"worth", worth},
        {"worth_in_part", worth_in_part},
        {"worth_dense", worth_dense},
        {"worth_resize", worth_resize},
        {"worth_alone", worth_alone},
        {"worth_relaxed", worth_relaxed},
        {"worth_far_taps", worth_far_taps},
        {NULL, NULL},
    };
    gops_ort_listen();
    const int status = gops_test_main("ONNX Runtime, what is worth it", cases);
    gops_ort_unload();
    return status;
}
