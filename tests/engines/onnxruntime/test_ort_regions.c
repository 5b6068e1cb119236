/* Regions: many nodes in one call, with the provider and without; and the nodes that must not become
 * part of one. */
#include "ort_graphs.h"

#include "harness.h"

#include <stdio.h>

#include <math.h>

typedef gops_ort_graph_builder builder;

#define FROM(...) GOPS_ORT_FROM(__VA_ARGS__)

static void axis(builder *graph, int64_t number)
{
    gops_onnx_build_int(&graph->builder, "axis", number);
}

/* Two branches and the data itself side by side, then a pool that leaves room at the end. */
static void concat(void)
{
    for (int64_t batch = 1; batch <= 3; batch += 2) {
        builder graph;
        gops_ort_graph_images(&graph, 1, 13, batch, 5, 13, 11);
        gops_ort_graph_conv(&graph, "c1", "x", 5, 3, 1, 1);
        gops_ort_graph_node(&graph, "Relu", "r1", FROM("c1"));
        gops_ort_graph_conv(&graph, "c2", "r1", 3, 7, 3, 1);
        gops_ort_graph_conv(&graph, "c3", "r1", 3, 4, 1, 1);
        gops_ort_graph_node(&graph, "Concat", "all", FROM("c2", "x", "c3", "c2"));
        axis(&graph, 1);
        gops_ort_graph_node(&graph, "MaxPool", "pool", FROM("all"));
        gops_ort_graph_ints(&graph, "kernel_shape", 2, 3, 3, 0, 0);
        gops_ort_graph_ints(&graph, "strides", 2, 2, 3, 0, 0);
        gops_onnx_build_int(&graph.builder, "ceil_mode", 1);
        gops_ort_graph_conv(&graph, "y", "pool", 23, 6, 1, 1);
        gops_ort_graph_output(&graph, "y");
        gops_ort_graph_check(&graph, "concat", 7, 1);
    }
}

/* Each layer concatenates all before it, as DenseNet's do; one is an output too. */
static void dense_block(void)
{
    for (int64_t batch = 1; batch <= 2; batch++) {
        for (int kept = 0; kept < 2; kept++) {
            builder graph;
            gops_ort_graph_images(&graph, 2, 13, batch, 3, 9, 7);
            gops_ort_graph_conv(&graph, "f0", "x", 3, 5, 3, 1);
            gops_ort_graph_batch_norm(&graph, "n1", "f0", 5);
            gops_ort_graph_node(&graph, "Relu", "r1", FROM("n1"));
            gops_ort_graph_conv(&graph, "f1", "r1", 5, 4, 3, 1);
            gops_ort_graph_node(&graph, "Concat", "a1", FROM("f0", "f1"));
            axis(&graph, -3);
            gops_ort_graph_batch_norm(&graph, "n2", "a1", 9);
            gops_ort_graph_node(&graph, "Relu", "r2", FROM("n2"));
            gops_ort_graph_conv(&graph, "f2", "r2", 9, 4, 3, 1);
            gops_ort_graph_node(&graph, "Concat", "a2", FROM("f0", "f1", "f2"));
            axis(&graph, 1);
            gops_ort_graph_batch_norm(&graph, "n3", "a2", 13);
            gops_ort_graph_conv(&graph, "f3", "n3", 13, 4, 1, 1);
            gops_ort_graph_node(&graph, "Concat", "a3", FROM("a2", "f3", "f1"));
            axis(&graph, 1);
            gops_ort_graph_node(&graph, "GlobalAveragePool", "y", FROM("a3"));
            gops_ort_graph_output(&graph, "y");
            if (kept) {
                gops_ort_graph_output(&graph, "f1");
                gops_ort_graph_output(&graph, "a2");
            }
            gops_ort_graph_check(&graph, kept ? "dense block with outputs" : "dense block", 13, 1);
        }
    }
}

/* Squeeze and excitation; the gate comes first or second, as sigmoid or hard_sigmoid. */
static void gate(void)
{
    static const char *const types[] = {"HardSigmoid", "Sigmoid"};
    for (int i = 0; i < 4; i++) {
        builder graph;
        gops_ort_graph_images(&graph, 3, 13, 2, 3, 11, 13);
        gops_ort_graph_conv(&graph, "c", "x", 3, 7, 3, 2);
        gops_ort_graph_node(&graph, "HardSigmoid", "h", FROM("c"));
        gops_onnx_build_float(&graph.builder, "alpha", 1.0F / 6);
        gops_ort_graph_node(&graph, "Mul", "s", FROM("c", "h"));
        gops_ort_graph_node(&graph, "GlobalAveragePool", "g", FROM("s"));
        gops_ort_graph_conv(&graph, "g1", "g", 7, 2, 1, 1);
        gops_ort_graph_node(&graph, "Relu", "g2", FROM("g1"));
        gops_ort_graph_conv(&graph, "g3", "g2", 2, 7, 1, 1);
        gops_ort_graph_node(&graph, types[i % 2], "g4", FROM("g3"));
        gops_ort_graph_node(&graph, "Mul", "m", i < 2 ? FROM("s", "g4") : FROM("g4", "s"));
        gops_ort_graph_conv(&graph, "y", "m", 7, 5, 1, 1);
        gops_ort_graph_output(&graph, "y");
        gops_ort_graph_check(&graph, "gate", 10, 1);
    }
}

/* Products by a plane for all, or by rows, stay where they are; by a number, or one for each channel, they do not. */
static void products(void)
{
    static const int64_t shapes[][4] = {{1, 6, 1, 1}, {2, 1, 5, 7}, {2, 6, 1, 7}, {1, 1, 1, 1}};
    for (int i = 0; i < 4; i++) {
        builder graph;
        gops_ort_graph_images(&graph, 4, 13, 2, 4, 5, 7);
        gops_ort_graph_conv(&graph, "a", "x", 4, 6, 3, 1);
        gops_ort_graph_node(&graph, "Relu", "r", FROM("a"));
        gops_ort_graph_conv(&graph, "b", "r", 6, 6, 3, 1);
        gops_ort_graph_constant(&graph, "f", 4, shapes[i], -1, 1);
        gops_ort_graph_node(&graph, "Mul", "y", FROM("b", "f"));
        gops_ort_graph_output(&graph, "y");
        gops_ort_graph_check(&graph, "a product with a constant", i % 3 == 0 ? 4 : 3, 1);
    }
    builder graph;
    gops_ort_graph_images(&graph, 5, 13, 2, 4, 5, 7);
    gops_ort_graph_conv(&graph, "a", "x", 4, 6, 3, 1);
    gops_ort_graph_conv(&graph, "b", "x", 4, 6, 3, 1);
    gops_ort_graph_node(&graph, "Tanh", "t", FROM("b"));
    gops_ort_graph_node(&graph, "Mul", "m", FROM("a", "t"));
    gops_ort_graph_node(&graph, "Mul", "square", FROM("m", "m"));
    gops_ort_graph_conv(&graph, "y", "square", 6, 3, 1, 1);
    gops_ort_graph_output(&graph, "y");
    gops_ort_graph_check(&graph, "products of tensors", 6, 1);
}

/* A factor lies in a Concat, where images are further apart than those of the other. */
static void products_in_concat(void)
{
    for (int64_t batch = 1; batch <= 2; batch++) {
        builder graph;
        gops_ort_graph_images(&graph, 15, 13, batch, 3, 7, 9);
        gops_ort_graph_conv(&graph, "a", "x", 3, 4, 3, 1);
        gops_ort_graph_conv(&graph, "b", "x", 3, 4, 3, 1);
        gops_ort_graph_node(&graph, "Mul", "m", FROM("a", "b"));
        gops_ort_graph_node(&graph, "Concat", "all", FROM("a", "m"));
        axis(&graph, 1);
        gops_ort_graph_conv(&graph, "y", "all", 8, 3, 1, 1);
        gops_ort_graph_output(&graph, "y");
        gops_ort_graph_check(&graph, "products in a Concat", 5, 1);
    }
}

/* A constant as large as what it is added to stays with the runtime, but with a convolution. */
static void constant_sums(void)
{
    enum { NORM, INSTANCE, POOL, FORMS };
    static const char *const names[FORMS] = {"a batch normalization and a constant",
                                             "an instance normalization and a constant",
                                             "an average and a constant"};
    const int64_t dims[] = {2, 4, 7, 9}, four = 4;
    for (int form = 0; form < FORMS; form++) {
        builder graph;
        gops_ort_graph_images(&graph, 16, 13, 2, 3, 7, 9);
        gops_ort_graph_conv(&graph, "a", "x", 3, 4, 3, 1);
        gops_ort_graph_node(&graph, "Relu", "r", FROM("a"));
        gops_ort_graph_constant(&graph, "constant", 4, dims, -1, 1);
        gops_ort_graph_constant(&graph, "ones", 1, &four, 0.5, 1.5);
        gops_ort_graph_constant(&graph, "zeros", 1, &four, -0.5, 0.5);
        if (form == NORM) {
            gops_ort_graph_batch_norm(&graph, "n", "r", 4);
        } else if (form == INSTANCE) {
            gops_ort_graph_node(&graph, "InstanceNormalization", "n", FROM("r", "ones", "zeros"));
        } else {
            gops_ort_graph_node(&graph, "AveragePool", "n", FROM("r"));
            gops_ort_graph_ints(&graph, "kernel_shape", 2, 1, 1, 0, 0);
        }
        gops_ort_graph_node(&graph, "Add", "s", FROM("n", "constant"));
        gops_ort_graph_conv(&graph, "y", "s", 4, 3, 1, 1);
        gops_ort_graph_output(&graph, "y");
        gops_ort_graph_check(&graph, names[form], 4, 2);
    }
}

/* A node that is the runtime's between ours: what comes behind it is another region. */
static void levels(void)
{
    builder graph;
    gops_ort_graph_images(&graph, 6, 13, 2, 3, 7, 9);
    gops_ort_graph_conv(&graph, "a", "x", 3, 5, 3, 1);
    gops_ort_graph_conv(&graph, "b", "a", 5, 5, 3, 1);
    gops_ort_graph_node(&graph, "Abs", "s", FROM("a"));
    gops_ort_graph_node(&graph, "Add", "sum", FROM("b", "s"));
    gops_ort_graph_node(&graph, "Relu", "r", FROM("sum"));
    gops_ort_graph_conv(&graph, "c", "a", 5, 4, 1, 1);
    gops_ort_graph_conv(&graph, "y", "r", 5, 4, 1, 1);
    gops_ort_graph_conv(&graph, "z", "c", 4, 2, 1, 1);
    gops_ort_graph_output(&graph, "y");
    gops_ort_graph_output(&graph, "z");
    /* a, c, z; then b with its Add, which waits for Abs, and y */
    gops_ort_graph_check(&graph, "levels", 7, 2);
}

/* What others read too, or the graph gives, is not fused away. */
static void consumers(void)
{
    for (int kept = 0; kept < 2; kept++) {
        builder graph;
        gops_ort_graph_images(&graph, 7, 13, 1, 3, 7, 9);
        gops_ort_graph_conv(&graph, "a", "x", 3, 5, 3, 1);
        gops_ort_graph_node(&graph, "Relu", "r", FROM("a"));
        gops_ort_graph_node(&graph, "Sigmoid", "s", FROM("a"));
        gops_ort_graph_node(&graph, "Mul", "m", FROM("a", "s"));
        gops_ort_graph_conv(&graph, "b", "m", 5, 5, 3, 1);
        gops_ort_graph_node(&graph, "LeakyRelu", "l", FROM("b"));
        gops_ort_graph_node(&graph, "Add", "after", FROM("l", "r"));
        gops_ort_graph_node(&graph, "Elu", "y", FROM("after"));
        gops_ort_graph_node(&graph, "Add", "z", FROM("r", "m"));
        gops_ort_graph_output(&graph, "y");
        gops_ort_graph_output(&graph, "z");
        if (kept) {
            gops_ort_graph_output(&graph, "b");
            gops_ort_graph_output(&graph, "a");
        }
        gops_ort_graph_check(&graph, kept ? "consumers and outputs" : "consumers", 9, 1);
    }
}

/* Sums lie where their residuals were, but for residuals that are read again, are the convolution's
 * data, or lie in a Concat. */
static void residuals(void)
{
    for (int again = 0; again < 2; again++) {
        builder graph;
        gops_ort_graph_images(&graph, 21, 13, 2, 3, 7, 11);
        gops_ort_graph_conv(&graph, "a", "x", 3, 5, 3, 1);
        gops_ort_graph_conv(&graph, "h", "a", 5, 5, 1, 1);
        gops_ort_graph_conv(&graph, "b", "h", 5, 5, 3, 1);
        gops_ort_graph_node(&graph, "Add", "plus", FROM("b", "a"));
        gops_ort_graph_node(&graph, "Relu", "p", FROM("plus"));
        gops_ort_graph_conv(&graph, "c", "p", 5, 5, 1, 1);
        gops_ort_graph_node(&graph, "Add", "q", FROM("p", "c"));
        gops_ort_graph_conv(&graph, "d", again ? "a" : "q", 5, 5, 3, 1);
        gops_ort_graph_node(&graph, "Add", "more", FROM("d", "q"));
        gops_ort_graph_node(&graph, "Relu", "r", FROM("more"));
        gops_ort_graph_conv(&graph, "e", "r", 5, 5, 3, 1);
        gops_ort_graph_conv(&graph, "f", "r", 5, 5, 5, 1);
        gops_ort_graph_node(&graph, "Add", "s", FROM("f", "e"));
        gops_ort_graph_node(&graph, "Concat", "all", FROM("e", "s", again ? "h" : "r"));
        axis(&graph, 1);
        gops_ort_graph_conv(&graph, "y", "all", 15, 4, 1, 1);
        gops_ort_graph_output(&graph, "y");
        gops_ort_graph_check(&graph, "residuals", 15, 1);
    }
}

/* A convolution that nothing reads, which the runtime keeps at level 0, is its own. */
static void dead(void)
{
    builder graph;
    gops_ort_graph_images(&graph, 18, 13, 1, 3, 7, 9);
    gops_ort_graph_conv(&graph, "a", "x", 3, 5, 3, 1);
    gops_ort_graph_node(&graph, "Abs", "s", FROM("x"));
    gops_ort_graph_conv(&graph, "b", "s", 3, 5, 3, 1);
    gops_ort_graph_node(&graph, "Sigmoid", "nothing", FROM("b"));
    gops_ort_graph_conv(&graph, "y", "a", 5, 4, 1, 1);
    gops_ort_graph_output(&graph, "y");
    gops_ort_graph_check(&graph, "nodes that nothing reads", 3, 1);
}

/* Values that graphs within a node read, of a region and of nodes by themselves: also a convolution that only such a
 * graph reads, beside one that nothing does. */
static void within(void)
{
    const int64_t one = 1;
    builder graph;
    gops_onnx_builder then, otherwise;
    gops_ort_graph_images(&graph, 20, 13, 1, 3, 7, 9);
    gops_ort_graph_conv(&graph, "a", "x", 3, 5, 3, 1);
    gops_ort_graph_node(&graph, "Relu", "r", FROM("a"));
    gops_ort_graph_conv(&graph, "b", "r", 5, 5, 3, 1);
    gops_ort_graph_conv(&graph, "inner", "b", 5, 2, 1, 1);
    gops_ort_graph_conv(&graph, "nothing", "r", 5, 4, 3, 1);
    gops_ort_graph_conv(&graph, "z", "b", 5, 4, 1, 1);
    gops_ort_graph_node(&graph, "ReduceMax", "most", FROM("x"));
    gops_onnx_build_int(&graph.builder, "keepdims", 0);
    gops_ort_graph_constant(&graph, "low", 1, &one, -9, -9);
    gops_ort_graph_node(&graph, "Greater", "is_more", FROM("most", "low"));
    gops_ort_graph_node(&graph, "If", "y", FROM("is_more"));
    gops_onnx_build(&then, 0);
    gops_onnx_build_node(&then, "Conv", "again", FROM("a", "w1", "b1"), 3);
    gops_onnx_build_ints(&then, "pads", (const int64_t[]){1, 1, 1, 1}, 4);
    gops_onnx_build_node(&then, "Concat", "t", FROM("again", "inner"), 2);
    gops_onnx_build_int(&then, "axis", 1);
    gops_onnx_build_output(&then, "t", GOPS_ONNX_FLOAT, -1, NULL);
    gops_onnx_build(&otherwise, 0);
    gops_onnx_build_node(&otherwise, "Sigmoid", "e", FROM("b"), 1);
    gops_onnx_build_output(&otherwise, "e", GOPS_ONNX_FLOAT, -1, NULL);
    gops_onnx_build_graph(&graph.builder, "then_branch", &then);
    gops_onnx_build_graph(&graph.builder, "else_branch", &otherwise);
    gops_ort_graph_output(&graph, "y");
    gops_ort_graph_output(&graph, "z");
    gops_ort_graph_check(&graph, "graphs within a node", 6, 2); /* one of them in a graph within */
}

/* Shapes that the runtime infers and its kernels do not make: 10 times 0.7 in floats is 7; output_padding beside
 * SAME_UPPER; a window of ceil_mode that begins on padding, read within a node too, or fed to a Scan; dilations beside SAME_UPPER, where
 * what is added to the sum has another shape besides; an output_shape that is smaller than the data on its last axis,
 * which is then left out. */
static void misjudged(void)
{
    const float scales[] = {1, 1, 0.7F, 1}, larger[] = {1, 1, 1.9F, 1};
    const int64_t four = 4, dims[] = {4, 2, 2, 2};
    for (int what = 0; what < 9; what++) {
        builder graph;
        gops_onnx_builder inner;
        gops_ort_graph_images(&graph, 40 + (uint64_t)what,
                              what == 4   ? 7
                              : what == 8 ? 12
                                          : 17,
                              1, 4, what < 2 || what == 4 ? 10 : 4, 4);
        if (what == 4) {
            gops_ort_graph_node(&graph, "Upsample", "r", FROM("x"));
            gops_onnx_build_floats(&graph.builder, "scales", larger, 4);
        } else if (what == 0) {
            gops_onnx_build_constant(&graph.builder, "scales", GOPS_ONNX_FLOAT, 1, &four, scales,
                                     sizeof scales);
            gops_ort_graph_node(&graph, "Resize", "r", FROM("x", "", "scales"));
            gops_onnx_build_string(&graph.builder, "mode", "nearest");
        } else if (what == 1) {
            gops_ort_graph_constant(&graph, "weights", 4, dims, -1, 1);
            gops_ort_graph_node(&graph, "ConvTranspose", "r", FROM("x", "weights"));
            gops_ort_graph_ints(&graph, "strides", 2, 2, 2, 0, 0);
            gops_ort_graph_ints(&graph, "output_padding", 2, 1, 1, 0, 0);
            gops_onnx_build_string(&graph.builder, "auto_pad", "SAME_UPPER");
        } else if (what == 7) {
            gops_ort_graph_constant(&graph, "weights", 4, dims, -1, 1);
            gops_ort_graph_node(&graph, "ConvTranspose", "r", FROM("x", "weights"));
            gops_ort_graph_ints(&graph, "strides", 2, 2, 1, 0, 0);
            gops_ort_graph_ints(&graph, "output_shape", 2, 8, 3, 0, 0);
        } else if (what > 4 && what < 7) {
            const int64_t dilation = what == 5 ? 2 : 4;
            gops_ort_graph_node(&graph, "MaxPool", "r", FROM("x"));
            gops_ort_graph_ints(&graph, "kernel_shape", 2, 2, 2, 0, 0);
            gops_ort_graph_ints(&graph, "dilations", 2, dilation, dilation, 0, 0);
            gops_onnx_build_string(&graph.builder, "auto_pad", "SAME_UPPER");
        } else {
            gops_ort_graph_node(&graph, "MaxPool", "r", FROM("x"));
            gops_ort_graph_ints(&graph, "kernel_shape", 2, 2, 2, 0, 0);
            gops_ort_graph_ints(&graph, "strides", 2, 3, 3, 0, 0);
            gops_ort_graph_ints(&graph, "pads", 4, 1, 1, 1, 1);
            gops_onnx_build_int(&graph.builder, "ceil_mode", 1);
        }
        if (what == 3) {
            const int64_t one = 1, weights[] = {4, 4, 1, 1};
            gops_ort_graph_constant(&graph, "w", 4, weights, -1, 1);
            gops_ort_graph_node(&graph, "ReduceMax", "most", FROM("x"));
            gops_onnx_build_int(&graph.builder, "keepdims", 0);
            gops_ort_graph_constant(&graph, "low", 1, &one, -9, -9);
            gops_ort_graph_node(&graph, "Greater", "is_more", FROM("most", "low"));
            gops_ort_graph_node(&graph, "If", "y", FROM("is_more"));
            for (int branch = 0; branch < 2; branch++) {
                gops_onnx_build(&inner, 0);
                gops_onnx_build_node(&inner, "Conv", "a", FROM("r", "w"), 2);
                gops_onnx_build_node(&inner, "GlobalAveragePool", "m", FROM("a"), 1);
                gops_onnx_build_output(&inner, "m", GOPS_ONNX_FLOAT, -1, NULL);
                gops_onnx_build_graph(&graph.builder, branch == 0 ? "then_branch" : "else_branch",
                                      &inner);
            }
        } else if (what == 8) {
            const int64_t weights[] = {4, 4, 1, 1};
            gops_ort_graph_constant(&graph, "w", 4, weights, -1, 1);
            gops_ort_graph_node(&graph, "Unsqueeze", "u", FROM("r"));
            gops_ort_graph_ints(&graph, "axes", 1, 1, 0, 0, 0);
            gops_ort_graph_node(&graph, "Scan", "y", FROM("u"));
            gops_onnx_build_int(&graph.builder, "num_scan_inputs", 1);
            gops_onnx_build(&inner, 0);
            gops_onnx_build_input(&inner, "each", GOPS_ONNX_FLOAT, -1, NULL);
            gops_onnx_build_node(&inner, "Conv", "a", FROM("each", "w"), 2);
            gops_onnx_build_node(&inner, "GlobalAveragePool", "m", FROM("a"), 1);
            gops_onnx_build_output(&inner, "m", GOPS_ONNX_FLOAT, -1, NULL);
            gops_onnx_build_graph(&graph.builder, "body", &inner);
        } else if (what == 6) {
            gops_ort_graph_conv(&graph, "a", "r", 4, 4, 1, 1);
            gops_ort_graph_node(&graph, "Add", "y", FROM("a", "x"));
        } else if (what == 7) {
            gops_ort_graph_node(&graph, "Concat", "y", FROM("r", "r"));
            gops_onnx_build_int(&graph.builder, "axis", 1);
        } else {
            gops_ort_graph_conv(&graph, "a", "r", what == 1 ? 2 : 4, 4, 1, 1);
            gops_ort_graph_conv(&graph, "b", "a", 4, 4, 1, 1);
            gops_ort_graph_node(&graph, "GlobalAveragePool", "y", FROM("b"));
        }
        gops_ort_graph_output(&graph, "y");
        gops_ort_graph_check(&graph, "misjudged", -1, 0);
    }
}

/* A Loop whose body declares a shape that only the first iteration has. */
static void shrinking_loop(void)
{
    const int64_t none = 0, weights[] = {4, 4, 2, 2}, three = 3, dims[] = {1, 4, 10, 10};
    const unsigned char yes = 1;
    builder graph;
    gops_onnx_builder inner;
    gops_ort_graph_images(&graph, 60, 17, 1, 4, 10, 10);
    gops_ort_graph_constant(&graph, "w", 4, weights, -1, 1);
    gops_onnx_build_constant(&graph.builder, "count", GOPS_ONNX_INT64, 0, &none, &three,
                             sizeof three);
    gops_onnx_build_constant(&graph.builder, "yes", GOPS_ONNX_BOOL, 0, &none, &yes, 1);
    gops_ort_graph_node(&graph, "Loop", "l", FROM("count", "yes", "x"));
    gops_onnx_build(&inner, 0);
    gops_onnx_build_input(&inner, "number", GOPS_ONNX_INT64, 0, NULL);
    gops_onnx_build_input(&inner, "goes_on", GOPS_ONNX_BOOL, 0, NULL);
    gops_onnx_build_input(&inner, "state", GOPS_ONNX_FLOAT, 4, dims);
    gops_onnx_build_node(&inner, "Conv", "a", FROM("state", "w"), 2);
    gops_onnx_build_node(&inner, "Conv", "b", FROM("a", "w"), 2);
    gops_onnx_build_node(&inner, "Identity", "still", FROM("goes_on"), 1);
    gops_onnx_build_output(&inner, "still", GOPS_ONNX_BOOL, 0, NULL);
    gops_onnx_build_output(&inner, "b", GOPS_ONNX_FLOAT, -1, NULL);
    gops_onnx_build_graph(&graph.builder, "body", &inner);
    gops_ort_graph_node(&graph, "Relu", "y", FROM("l"));
    gops_ort_graph_output(&graph, "y");
    gops_ort_graph_check(&graph, "shrinking loop", -1, 0);
}

/* A Resize with a roi that is computed, which its mode does not read. */
static void computed_roi(void)
{
    const int64_t four = 4, eight = 8;
    const float scales[] = {1, 1, 2, 2};
    builder graph;
    gops_ort_graph_images(&graph, 61, 17, 1, 4, 10, 10);
    gops_onnx_build_constant(&graph.builder, "scales", GOPS_ONNX_FLOAT, 1, &four, scales,
                             sizeof scales);
    gops_ort_graph_constant(&graph, "corners", 1, &eight, 0, 1);
    gops_ort_graph_node(&graph, "Neg", "roi", FROM("corners"));
    gops_ort_graph_conv(&graph, "a", "x", 4, 4, 1, 1);
    gops_ort_graph_node(&graph, "Resize", "r", FROM("a", "roi", "scales"));
    gops_onnx_build_string(&graph.builder, "mode", "nearest");
    gops_ort_graph_conv(&graph, "y", "r", 4, 4, 1, 1);
    gops_ort_graph_output(&graph, "y");
    gops_ort_graph_check(&graph, "computed roi", -1, 0);
}

/* One and three axes. */
static void ranks(void)
{
    for (int rank = 3; rank <= 5; rank += 2) {
        const int64_t dims[] = {2, 3, 9, 5, 4}, weights[] = {4, 3, 2, 2, 2};
        builder graph;
        gops_ort_load();
        gops_ort_graph_start(&graph, 13, 13, dims, rank);
        gops_ort_graph_constant(&graph, "w", rank, weights, -1, 1);
        gops_ort_graph_node(&graph, "Conv", "c", FROM("x", "w"));
        gops_ort_graph_batch_norm(&graph, "n", "x", 3);
        gops_ort_graph_node(&graph, "Relu", "r", FROM("n"));
        gops_ort_graph_node(&graph, "Conv", "d", FROM("r", "w"));
        gops_ort_graph_node(&graph, "Concat", "all", FROM("d", "c", "c"));
        axis(&graph, 1);
        gops_ort_graph_node(&graph, "GlobalAveragePool", "y", FROM("all"));
        gops_ort_graph_output(&graph, "y");
        gops_ort_graph_check(&graph, "ranks", 6, 1);
    }
}

/* A bound of Clip that is left out is the largest number, which infinity becomes. */
static void one_bound(void)
{
    const int64_t one[] = {1, 1, 1, 1};
    for (int which = 0; which < 2; which++) {
        builder graph;
        gops_ort_graph_images(&graph, 23, 13, 2, 1, 7, 9);
        gops_ort_graph_constant(&graph, "w", 4, one, 1e38, 2e38);
        gops_ort_graph_constant(&graph, "bound", 0, NULL, -1, 1);
        gops_ort_graph_node(&graph, "Conv", "a", FROM("x", "w"));
        gops_ort_graph_node(&graph, "Conv", "b", FROM("a", "w"));
        gops_ort_graph_node(&graph, "Clip", "y",
                            which == 0 ? FROM("b", "bound") : FROM("b", "", "bound"));
        gops_ort_graph_output(&graph, "y");
        gops_ort_graph_check(&graph, which == 0 ? "no largest" : "no least", 3, 1);
    }
}

/* Additions of zeros of either sign, told apart by their reciprocals. */
static void signs(void)
{
    builder graph;
    gops_ort_graph_images(&graph, 24, 13, 2, 3, 7, 9);
    gops_ort_graph_constant(&graph, "zero", 0, NULL, 0, 0);
    gops_ort_graph_node(&graph, "Mul", "zeros", FROM("x", "zero"));
    gops_ort_graph_node(&graph, "Add", "sum", FROM("zeros", "zeros"));
    gops_ort_graph_conv(&graph, "z", "sum", 3, 4, 1, 1);
    gops_ort_graph_node(&graph, "Reciprocal", "infinite", FROM("sum"));
    gops_ort_graph_node(&graph, "Erf", "y", FROM("infinite"));
    gops_ort_graph_output(&graph, "y");
    gops_ort_graph_output(&graph, "z");
    gops_ort_graph_check(&graph, "zeros", -1, 0);
}

/* Windows of which the last value is NaN, which the runtime leaves out where it has maxps. */
static void nan_in_window(void)
{
#ifdef __x86_64__
    enum { SIDE = 17, PIXELS = SIDE * SIDE };
    static float added[PIXELS];
    const int64_t plane[] = {1, SIDE, SIDE};
    builder graph;
    added[PIXELS - 1] = NAN;
    gops_ort_graph_images(&graph, 25, 13, 2, 3, SIDE, SIDE);
    gops_onnx_build_constant(&graph.builder, "added", GOPS_ONNX_FLOAT, 3, plane, added,
                             sizeof added);
    gops_ort_graph_node(&graph, "Add", "sum", FROM("x", "added"));
    gops_ort_graph_conv(&graph, "a", "sum", 3, 4, 1, 1);
    gops_ort_graph_node(&graph, "MaxPool", "m", FROM("a"));
    gops_ort_graph_ints(&graph, "kernel_shape", 2, 3, 3, 0, 0);
    gops_ort_graph_ints(&graph, "strides", 2, 2, 2, 0, 0);
    gops_ort_graph_ints(&graph, "pads", 4, 1, 1, 1, 1);
    gops_ort_graph_conv(&graph, "y", "m", 4, 4, 1, 1);
    gops_ort_graph_output(&graph, "y");
    gops_ort_graph_check(&graph, "NaN", -1, 0);
#else
    gops_test_skip("the runtime has no maxps here");
#endif
}

/* Taps that meet padding alone, at one end or both, of one axis or all: also where these are all there are, where what
 * is left would need pads below 0, and on planes of one pixel. */
static void dead_taps(void)
{
    enum { CHANNELS = 4, AXES = 2, NAME_BYTES = 32 };
    static const struct {
        int64_t side[AXES], kernel[AXES], dilations[AXES], strides[AXES], pads[2 * AXES];
    } forms[] = {
        {{14, 14}, {3, 3}, {36, 36}, {1, 1}, {36, 36, 36, 36}},
        {{14, 14}, {3, 3}, {12, 14}, {1, 1}, {12, 14, 12, 14}},
        {{1, 1}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
        {{1, 5}, {7, 5}, {1, 2}, {1, 1}, {3, 4, 3, 4}},
        {{9, 7}, {4, 3}, {9, 5}, {2, 3}, {18, 5, 9, 10}},
        {{9, 7}, {5, 2}, {4, 11}, {3, 2}, {13, 11, 11, 0}},
        {{5, 6}, {3, 3}, {20, 17}, {1, 2}, {33, 17, 7, 30}},
        {{6, 5}, {2, 3}, {9, 8}, {1, 1}, {14, 16, 0, 0}},
        {{4, 4}, {2, 1}, {30, 1}, {1, 1}, {10, 0, 60, 0}},
        {{8, 3}, {1, 3}, {1, 40}, {1, 1}, {0, 41, 0, 42}},
    };
    for (size_t i = 0; i < 2 * sizeof forms / sizeof forms[0]; i++) {
        const int64_t *kernel = forms[i / 2].kernel, *side = forms[i / 2].side,
                      *dilations = forms[i / 2].dilations, *strides = forms[i / 2].strides,
                      *pads = forms[i / 2].pads;
        const int64_t groups = i % 2 != 0 ? CHANNELS : 1;
        const int64_t dims[] = {CHANNELS, CHANNELS / groups, kernel[0], kernel[1]};
        builder graph;
        char what[NAME_BYTES];
        snprintf(what, sizeof what, "dead taps, form %d, %d groups", (int)(i / 2), (int)groups);
        gops_ort_graph_images(&graph, 30 + i, 13, 2, CHANNELS, side[0], side[1]);
        gops_ort_graph_constant(&graph, "w", 4, dims, -1, 1);
        gops_ort_graph_node(&graph, "Conv", "c", FROM("x", "w"));
        gops_onnx_build_int(&graph.builder, "group", groups);
        gops_ort_graph_ints(&graph, "dilations", AXES, dilations[0], dilations[1], 0, 0);
        gops_ort_graph_ints(&graph, "strides", AXES, strides[0], strides[1], 0, 0);
        gops_ort_graph_ints(&graph, "pads", 2 * AXES, pads[0], pads[1], pads[2], pads[3]);
        gops_ort_graph_conv(&graph, "y", "c", CHANNELS, 3, 1, 1);
        gops_ort_graph_output(&graph, "y");
        gops_ort_graph_check(&graph, what, 2, 1);
    }
}

/* The same where the model leaves the batch open: image by image. */
static void open_batch(void)
{
    gops_ort_graph_leave_open(true);
    concat();
    dense_block();
    gate();
    products_in_concat();
    levels();
    consumers();
    residuals();
    dead();
    within();
    ranks();
    gops_ort_graph_leave_open(false);
}

/* A mean over the batch has one image whatever the batch is, and the runtime repeats it. */
static void one_for_all(void)
{
    gops_ort_graph_leave_open(true);
    builder graph;
    gops_ort_graph_images(&graph, 22, 13, 2, 3, 7, 9);
    gops_ort_graph_conv(&graph, "a", "x", 3, 4, 3, 1);
    gops_ort_graph_conv(&graph, "b", "a", 4, 4, 3, 1);
    gops_ort_graph_node(&graph, "ReduceMean", "mean", FROM("a"));
    gops_ort_graph_ints(&graph, "axes", 1, 0, 0, 0, 0);
    gops_ort_graph_conv(&graph, "c", "mean", 4, 4, 3, 1);
    gops_ort_graph_conv(&graph, "d", "c", 4, 4, 1, 1);
    gops_ort_graph_node(&graph, "Add", "sum", FROM("b", "d"));
    gops_ort_graph_node(&graph, "Mul", "product", FROM("sum", "d"));
    gops_ort_graph_conv(&graph, "y", "product", 4, 3, 1, 1);
    gops_ort_graph_output(&graph, "y");
    /* a and b; c and d by themselves, as they have not the model's batch; y */
    gops_ort_graph_check(&graph, "one image for all", 5, 4);
    gops_ort_graph_leave_open(false);
}

int main(void)
{
    const gops_test_case cases[] = {
        {"concat", concat},
        {"dense_block", dense_block},
        {"gate", gate},
        {"products", products},
        {"products_in_concat", products_in_concat},
        {"constant_sums", constant_sums},
        {"levels", levels},
        {"consumers", consumers},
        {"residuals", residuals},
        {"dead", dead},
        {"within", within},
        {"misjudged", misjudged},
        {"shrinking_loop", shrinking_loop},
        {"computed_roi", computed_roi},
        {"ranks", ranks},
        {"one_bound", one_bound},
        {"signs", signs},
        {"nan_in_window", nan_in_window},
        {"dead_taps", dead_taps},
        {"open_batch", open_batch},
        {"one_for_all", one_for_all},
        {NULL, NULL},
    };
    const int status = gops_test_main("ONNX Runtime, regions", cases);
    gops_ort_unload();
    return status;
}
