/* Layer normalizations over the channels and products by matrices, with the channels last between two
 * Transpose: all of it becomes part of a region, or nothing. */
#include "ort_graphs.h"

#include "harness.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef gops_ort_graph_builder builder;

#define FROM(...) GOPS_ORT_FROM(__VA_ARGS__)

enum { BATCH = 2, IN = 5, CHANNELS = 7, WIDE = 11 };

typedef struct form {
    const char *name;
    int64_t height, width;
    bool first;         /* channels are first all the time */
    bool middle;        /* the first Transpose is behind Sub */
    bool no_product;    /* the second Transpose is behind the normalization */
    bool gemm;          /* Reshape, Gemm, Reshape, Relu */
    bool scaled_behind; /* the factors are behind the second Transpose */
    float exponent;     /* 0: 2 */
    bool stays;         /* the channels stay last */
    bool read;          /* a value in between is an output */
    bool read_front;    /* so is what the first Transpose writes */
    bool other_axis;    /* the means are of rows; of a LayerNormalization of rows and channels */
    bool whole;         /* LayerNormalization */
    bool shiftless;     /* without shifts and with the operator's own epsilon */
    bool late;          /* opset 18: axes are inputs */
    int claimed, parts; /* with the two Conv and the Add of both */
} form;

static const form forms[] = {
    {.name = "whole", .height = 13, .width = 11, .claimed = 24, .parts = 1},
    {.name = "large planes", .height = 37, .width = 31, .claimed = 24, .parts = 1},
    {.name = "axes as inputs", .height = 13, .width = 11, .late = true, .claimed = 24, .parts = 1},
    {.name = "a Transpose behind Sub",
     .height = 13,
     .width = 11,
     .middle = true,
     .claimed = 24,
     .parts = 1},
    {.name = "Gemm", .height = 9, .width = 13, .gemm = true, .claimed = 21, .parts = 1},
    {.name = "factors behind",
     .height = 9,
     .width = 13,
     .scaled_behind = true,
     .claimed = 24,
     .parts = 1},
    {.name = "channels first", .height = 9, .width = 13, .first = true, .claimed = 12, .parts = 1},
    {.name = "no product", .height = 9, .width = 13, .no_product = true, .claimed = 14, .parts = 1},
    {.name = "cubes", .height = 9, .width = 13, .exponent = 3, .claimed = 3, .parts = 2},
    {.name = "channels stay last",
     .height = 9,
     .width = 13,
     .stays = true,
     .claimed = 1,
     .parts = 1},
    {.name = "read in between", .height = 9, .width = 13, .read = true, .claimed = 3, .parts = 2},
    {.name = "means of rows",
     .height = 9,
     .width = 13,
     .other_axis = true,
     .claimed = 3,
     .parts = 2},
    {.name = "LayerNormalization",
     .height = 13,
     .width = 11,
     .whole = true,
     .claimed = 16,
     .parts = 1},
    {.name = "LayerNormalization without shifts",
     .height = 37,
     .width = 31,
     .gemm = true,
     .whole = true,
     .shiftless = true,
     .claimed = 13,
     .parts = 1},
    {.name = "LayerNormalization alone",
     .height = 9,
     .width = 13,
     .no_product = true,
     .whole = true,
     .claimed = 6,
     .parts = 1},
    {.name = "LayerNormalization, read in front",
     .height = 9,
     .width = 13,
     .read_front = true,
     .whole = true,
     .claimed = 3,
     .parts = 2},
    {.name = "LayerNormalization, channels first",
     .height = 9,
     .width = CHANNELS,
     .first = true,
     .whole = true,
     .claimed = 3,
     .parts = 2},
    {.name = "LayerNormalization of rows",
     .height = 9,
     .width = 13,
     .other_axis = true,
     .whole = true,
     .claimed = 3,
     .parts = 2},
};

static void number_of(builder *graph, const char *name, int rank, double value)
{
    const int64_t ones[] = {1, 1, 1, 1, 1};
    gops_ort_graph_constant(graph, name, rank, ones, value, value);
}

static void number(builder *graph, const char *name, double value)
{
    number_of(graph, name, 1, value);
}

static void transpose(builder *graph, const char *to, const char *from, bool to_last)
{
    gops_ort_graph_node(graph, "Transpose", to, FROM(from));
    gops_ort_graph_ints(graph, "perm", 4, 0, to_last ? 2 : 3, to_last ? 3 : 1, to_last ? 1 : 2);
}

static void mean(builder *graph, const form *of, const char *to, const char *from, int64_t axis)
{
    const int64_t one = 1;
    const char *axes = strcmp(to, "m") == 0 ? "m_axes" : "v_axes";
    if (of->late) {
        gops_onnx_build_constant(&graph->builder, axes, GOPS_ONNX_INT64, 1, &one, &axis,
                                 sizeof axis);
        gops_ort_graph_node(graph, "ReduceMean", to, FROM(from, axes));
    } else {
        gops_ort_graph_node(graph, "ReduceMean", to, FROM(from));
        gops_ort_graph_ints(graph, "axes", 1, axis, 0, 0, 0);
    }
}

/* "h" is the normalized "c", or with the channels first its rows are. */
static void layer_norm(builder *graph, const form *of)
{
    const int64_t dims[] = {of->width, CHANNELS}, *scale = of->other_axis ? dims : dims + 1;
    const int rank = of->other_axis ? 2 : 1;
    const char *data = of->first ? "c" : "t";
    if (!of->first) {
        transpose(graph, "t", "c", true);
    }
    gops_ort_graph_constant(graph, "scale", rank, scale, 0.5, 1.5);
    gops_ort_graph_constant(graph, "shift", rank, scale, -1, 1);
    gops_ort_graph_node(graph, "LayerNormalization", "h",
                        of->shiftless ? FROM(data, "scale") : FROM(data, "scale", "shift"));
    if (of->other_axis) {
        gops_onnx_build_int(&graph->builder, "axis", -2);
    }
    if (!of->shiftless) {
        gops_onnx_build_float(&graph->builder, "epsilon", 0.01F);
    }
}

/* "h" is the normalized "c". */
static void norm(builder *graph, const form *of)
{
    const int64_t channels[] = {CHANNELS, 1, 1};
    const bool front = !of->first && !of->middle;
    const int64_t axis = of->other_axis ? 2 : of->first ? 1 : -1;
    const char *data = front ? "t" : "c", *centred = of->middle ? "dt" : "d";
    if (front) {
        transpose(graph, "t", "c", true);
    }
    mean(graph, of, "m", data, of->middle ? -3 : axis);
    gops_ort_graph_node(graph, "Sub", "d", FROM(data, "m"));
    if (of->middle) {
        transpose(graph, "dt", "d", true);
    }
    number(graph, "two", of->exponent > 0 ? (double)of->exponent : 2);
    /* Cubes cancel: their mean may be next to 0, off by more than it is. */
    number(graph, "epsilon", of->exponent > 0 ? 1 : 0.01);
    gops_ort_graph_constant(graph, "scale", of->first ? 3 : 1, channels, 0.5, 1.5);
    gops_ort_graph_constant(graph, "shift", of->first ? 3 : 1, channels, -1, 1);
    gops_ort_graph_node(graph, "Pow", "p", FROM(centred, "two"));
    mean(graph, of, "v", "p", axis);
    if (of->exponent > 0) { /* cubes may be below 0 */
        gops_ort_graph_node(graph, "Abs", "va", FROM("v"));
    }
    gops_ort_graph_node(graph, "Add", "e", FROM(of->exponent > 0 ? "va" : "v", "epsilon"));
    gops_ort_graph_node(graph, "Sqrt", "s", FROM("e"));
    gops_ort_graph_node(graph, "Div", "q", FROM(centred, "s"));
    gops_ort_graph_node(graph, "Mul", "g", FROM("q", "scale"));
    gops_ort_graph_node(graph, "Add", "h", FROM("g", "shift"));
}

/* `rank` is that of the last number. */
static void gelu(builder *graph, const char *to, const char *from, int rank)
{
    number(graph, "root", 1.4142135381698608);
    number(graph, "one", 1);
    number_of(graph, "half", rank, 0.5);
    gops_ort_graph_node(graph, "Div", "u1", FROM(from, "root"));
    gops_ort_graph_node(graph, "Erf", "u2", FROM("u1"));
    gops_ort_graph_node(graph, "Add", "u3", FROM("u2", "one"));
    gops_ort_graph_node(graph, "Mul", "u4", FROM(from, "u3"));
    gops_ort_graph_node(graph, "Mul", to, FROM("u4", "half"));
}

static void matrix(builder *graph, const char *name, const char *bias, int64_t rows,
                   int64_t columns, bool transposed)
{
    const int64_t dims[] = {transposed ? columns : rows, transposed ? rows : columns};
    gops_ort_graph_constant(graph, name, 2, dims, -0.5, 0.5);
    gops_ort_graph_constant(graph, bias, 1, &columns, -0.5, 0.5);
}

/* "k" is an activation of a product of "h". */
static void first_product(builder *graph, const form *of)
{
    const int64_t flat[] = {-1, CHANNELS}, back[] = {BATCH, of->height, of->width, WIDE};
    const int64_t two = 2, four = 4;
    matrix(graph, "matrix1", "bias1", CHANNELS, WIDE, of->gemm);
    if (!of->gemm) {
        gops_ort_graph_node(graph, "MatMul", "p1", FROM("h", "matrix1"));
        gops_ort_graph_node(graph, "Add", "a1", FROM("bias1", "p1"));
        gelu(graph, "k", "a1", 1);
        return;
    }
    gops_onnx_build_constant(&graph->builder, "flat", GOPS_ONNX_INT64, 1, &two, flat, sizeof flat);
    gops_onnx_build_constant(&graph->builder, "back", GOPS_ONNX_INT64, 1, &four, back, sizeof back);
    gops_ort_graph_node(graph, "Reshape", "r1", FROM("h", "flat"));
    gops_ort_graph_node(graph, "Gemm", "p1", FROM("r1", "matrix1", "bias1"));
    gops_onnx_build_int(&graph->builder, "transB", 1);
    gops_ort_graph_node(graph, "Reshape", "a1", FROM("p1", "back"));
    gops_ort_graph_node(graph, "Relu", "k", FROM("a1"));
}

/* "z" is a scaled product of "k", with its channels first unless they stay last. */
static void second_product(builder *graph, const form *of)
{
    const int64_t channels[] = {CHANNELS, 1, 1};
    matrix(graph, "matrix2", "bias2", WIDE, CHANNELS, false);
    gops_ort_graph_constant(graph, "factors", of->scaled_behind ? 3 : 1, channels, 0.5, 1.5);
    gops_ort_graph_node(graph, "MatMul", "p2", FROM("k", "matrix2"));
    gops_ort_graph_node(graph, "Add", "a2", FROM("p2", "bias2"));
    if (of->stays) {
        gops_ort_graph_node(graph, "Mul", "y", FROM("factors", "a2"));
    } else if (of->scaled_behind) {
        transpose(graph, "z2", "a2", false);
        gops_ort_graph_node(graph, "Mul", "z", FROM("factors", "z2"));
    } else {
        gops_ort_graph_node(graph, "Mul", "z2", FROM("a2", "factors"));
        transpose(graph, "z", "z2", false);
    }
}

static void build(builder *graph, uint64_t stream, const form *of)
{
    const int64_t dims[] = {BATCH, IN, of->height, of->width};
    const char *last = of->first ? "h" : "z";
    gops_ort_load();
    gops_ort_graph_start(graph, stream, of->late ? 18 : of->whole ? 17 : 13, dims, 4);
    gops_ort_graph_conv(graph, "c", "x", IN, CHANNELS, 3, 1);
    if (of->whole) {
        layer_norm(graph, of);
    } else {
        norm(graph, of);
    }
    if (of->no_product) {
        transpose(graph, "z", "h", false);
    } else if (!of->first) {
        first_product(graph, of);
        second_product(graph, of);
    }
    if (!of->stays) {
        gops_ort_graph_node(graph, "Add", "sum", FROM("c", last));
        gops_ort_graph_conv(graph, "y", "sum", CHANNELS, 3, 1, 1);
    }
    gops_ort_graph_output(graph, "y");
    if (of->read) {
        gops_ort_graph_output(graph, "a1");
    }
    if (of->read_front) {
        gops_ort_graph_output(graph, "t");
    }
}

static void last(void)
{
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        builder graph;
        build(&graph, i + 1, &forms[i]);
        gops_ort_graph_check(&graph, forms[i].name, forms[i].claimed, forms[i].parts);
    }
}

/* One number in place of a bias for each channel: the chain ends there. */
static void one_number(void)
{
    const int64_t dims[] = {BATCH, IN, 9, 13};
    const form of = {.name = "one number", .whole = true};
    builder graph;
    gops_ort_load();
    gops_ort_graph_start(&graph, 21, 17, dims, 4);
    gops_ort_graph_conv(&graph, "c", "x", IN, CHANNELS, 3, 1);
    layer_norm(&graph, &of);
    matrix(&graph, "matrix", "unused", CHANNELS, WIDE, false);
    number(&graph, "bias", 0.25);
    gops_ort_graph_node(&graph, "MatMul", "p", FROM("h", "matrix"));
    gops_ort_graph_node(&graph, "Add", "a", FROM("p", "bias"));
    transpose(&graph, "z", "a", false);
    gops_ort_graph_conv(&graph, "y", "z", WIDE, 3, 1, 1);
    gops_ort_graph_output(&graph, "y");
    gops_ort_graph_check(&graph, of.name, 2, 2);
}

/* What is added behind the product comes from a node of the runtime, or from a convolution behind it: all of the chain
 * waits for it. Without a convolution that waits too, a region of it is not worth a call. */
static void late_residual(void)
{
    const int64_t dims[] = {BATCH, IN, 9, 13};
    for (int convolves = 0; convolves < 2; convolves++) {
        const form of = {.name = "late residual", .whole = true};
        builder graph;
        gops_ort_load();
        gops_ort_graph_start(&graph, 23, 17, dims, 4);
        gops_ort_graph_conv(&graph, "c", "x", IN, CHANNELS, 3, 1);
        gops_ort_graph_node(&graph, "Abs", "late", FROM("c"));
        if (convolves) {
            gops_ort_graph_conv(&graph, "d", "late", CHANNELS, CHANNELS, 3, 1);
        }
        layer_norm(&graph, &of);
        matrix(&graph, "matrix", "bias", CHANNELS, CHANNELS, false);
        gops_ort_graph_node(&graph, "MatMul", "p", FROM("h", "matrix"));
        gops_ort_graph_node(&graph, "Add", "a", FROM("p", "bias"));
        transpose(&graph, "z", "a", false);
        gops_ort_graph_node(&graph, "Add", "y", FROM(convolves ? "d" : "late", "z"));
        gops_ort_graph_output(&graph, "y");
        gops_ort_graph_check(&graph, of.name, convolves ? 8 : 1, convolves ? 2 : 1);
    }
}

/* The same activation behind a convolution; a number with more axes than the data gives the result as many. */
static void erf_behind_conv(void)
{
    const int64_t dims[] = {1, IN, 9, 13};
    for (int rank = 1; rank <= 5; rank++) {
        const bool more = rank > 4;
        builder graph;
        gops_ort_load();
        gops_ort_graph_start(&graph, 20, 13, dims, 4);
        gops_ort_graph_conv(&graph, "c", "x", IN, CHANNELS, 3, 1);
        gelu(&graph, more ? "y" : "k", "c", rank);
        if (!more) {
            gops_ort_graph_conv(&graph, "y", "k", CHANNELS, 3, 1, 1);
        }
        gops_ort_graph_output(&graph, "y");
        gops_ort_graph_check(&graph, "erf", more ? 1 : 7, 1);
    }
}

/* Pixels whose sums or squares no float holds, and one of usual numbers. */
static void large_numbers(void)
{
    enum { HEIGHT = 2, WIDTH = 3, PIXELS = HEIGHT * WIDTH, COUNT = CHANNELS * PIXELS };
    static const float scales[PIXELS] = {1, FLT_MAX, 1e30F, 1e19F, FLT_MAX, 3e38F};
    const int64_t dims[] = {1, CHANNELS, HEIGHT, WIDTH}, channels[] = {CHANNELS, 1, 1, 1};
    const int64_t seven = CHANNELS;
    builder graph;
    float ones[CHANNELS], data[COUNT], expected[COUNT];
    for (int p = 0; p < PIXELS; p++) {
        long double mean = 0, variance = 0;
        for (int c = 0; c < CHANNELS; c++) {
            const float signed_one = c % 3 == 0 ? -1 : 1 - (float)c / 16;
            ones[c] = 1;
            data[c * PIXELS + p] = scales[p] * (p == 4 ? 1 : signed_one);
            mean += (long double)data[c * PIXELS + p] / CHANNELS;
        }
        for (int c = 0; c < CHANNELS; c++) {
            const long double distance = (long double)data[c * PIXELS + p] - mean;
            variance += distance * distance / CHANNELS;
        }
        for (int c = 0; c < CHANNELS; c++) {
            const long double distance = (long double)data[c * PIXELS + p] - mean;
            expected[c * PIXELS + p] = (float)(distance / sqrtl(variance + 0.01L));
        }
    }
    gops_ort_load();
    gops_ort_graph_start(&graph, 25, 17, dims, 4);
    transpose(&graph, "t", "x", true);
    gops_ort_graph_constant(&graph, "scale", 1, &seven, 1, 1);
    gops_ort_graph_node(&graph, "LayerNormalization", "h", FROM("t", "scale"));
    gops_onnx_build_float(&graph.builder, "epsilon", 0.01F);
    transpose(&graph, "z", "h", false);
    gops_onnx_build_constant(&graph.builder, "w", GOPS_ONNX_FLOAT, 4, channels, ones, sizeof ones);
    gops_ort_graph_node(&graph, "Conv", "y", FROM("z", "w"));
    gops_onnx_build_int(&graph.builder, "group", CHANNELS);
    gops_ort_graph_output(&graph, "y");
    gops_ort_graph_check_values(&graph, "large numbers", data, expected, 4, 1);
}

int main(void)
{
    const gops_test_case cases[] = {{"last", last},
                                    {"one_number", one_number},
                                    {"late_residual", late_residual},
                                    {"erf", erf_behind_conv},
                                    {"large_numbers", large_numbers},
                                    {NULL, NULL}};
    const int status = gops_test_main("ONNX Runtime, channels last", cases);
    gops_ort_unload();
    return status;
}
