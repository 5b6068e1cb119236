/* Regions: many nodes in one call, with the provider and without; and the nodes that must not become
 * part of one, or of a convolution. */
#include "ort_graphs.h"

#include "harness.h"

#include <stdlib.h>
#include <string.h>

typedef gops_ort_graph_builder builder;

#define FROM(...)                                                                                  \
    (const char *[])                                                                               \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

static void start(builder *graph, uint64_t stream, int opset, int64_t batch, int64_t channels,
                  int64_t height, int64_t width)
{
    const int64_t dims[] = {batch, channels, height, width};
    gops_ort_load();
    gops_ort_graph_start(graph, stream, opset, dims, 4);
}

static void axis(builder *graph, int64_t number)
{
    gops_onnx_build_int(&graph->builder, "axis", number);
}

/* Two branches and the data itself side by side, then a pool that leaves room at the end. */
static void concat(void)
{
    for (int64_t batch = 1; batch <= 3; batch += 2) {
        builder graph;
        start(&graph, 1, 13, batch, 5, 13, 11);
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
            start(&graph, 2, 13, batch, 3, 9, 7);
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
        start(&graph, 3, 13, 2, 3, 11, 13);
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

/* Products of other shapes stay where they are: a plane or a single image for all. */
static void products(void)
{
    static const int64_t shapes[][4] = {{1, 6, 1, 1}, {2, 1, 5, 7}, {2, 6, 1, 7}, {1, 1, 1, 1}};
    for (int i = 0; i < 4; i++) {
        builder graph;
        start(&graph, 4, 13, 2, 4, 5, 7);
        gops_ort_graph_conv(&graph, "a", "x", 4, 6, 3, 1);
        gops_ort_graph_node(&graph, "Relu", "r", FROM("a"));
        gops_ort_graph_conv(&graph, "b", "r", 6, 6, 3, 1);
        gops_ort_graph_constant(&graph, "f", 4, shapes[i], -1, 1);
        gops_ort_graph_node(&graph, "Mul", "y", FROM("b", "f"));
        gops_ort_graph_output(&graph, "y");
        gops_ort_graph_check(&graph, "a product with a constant", 3, 1);
    }
    builder graph;
    start(&graph, 5, 13, 2, 4, 5, 7);
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
        start(&graph, 15, 13, batch, 3, 7, 9);
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
        start(&graph, 16, 13, 2, 3, 7, 9);
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
    start(&graph, 6, 13, 2, 3, 7, 9);
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
        start(&graph, 7, 13, 1, 3, 7, 9);
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
        start(&graph, 21, 13, 2, 3, 7, 11);
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
    start(&graph, 18, 13, 1, 3, 7, 9);
    gops_ort_graph_conv(&graph, "a", "x", 3, 5, 3, 1);
    gops_ort_graph_node(&graph, "Abs", "s", FROM("x"));
    gops_ort_graph_conv(&graph, "b", "s", 3, 5, 3, 1);
    gops_ort_graph_node(&graph, "Sigmoid", "nothing", FROM("b"));
    gops_ort_graph_conv(&graph, "y", "a", 5, 4, 1, 1);
    gops_ort_graph_output(&graph, "y");
    gops_ort_graph_check(&graph, "nodes that nothing reads", 3, 1);
}

typedef struct pool {
    const char *type;
    int64_t kernel[2], strides[2], pads[4];
    const char *attribute; /* set to 1 */
    bool taken;
} pool;

/* A pool behind two convolutions, and behind it what may become part of an average, or may not. */
static void check_pool(const pool *of, int64_t width, bool relu)
{
    builder graph;
    start(&graph, 8, 13, 2, 3, 11, width);
    gops_ort_graph_conv(&graph, "a", "x", 3, 5, 1, 1);
    gops_ort_graph_conv(&graph, "b", "a", 5, 4, 1, 1);
    gops_ort_graph_node(&graph, of->type, "p", FROM("b"));
    gops_ort_graph_ints(&graph, "kernel_shape", 2, of->kernel[0], of->kernel[1], 0, 0);
    gops_ort_graph_ints(&graph, "strides", 2, of->strides[0], of->strides[1], 0, 0);
    gops_ort_graph_ints(&graph, "pads", 4, of->pads[0], of->pads[1], of->pads[2], of->pads[3]);
    if (of->attribute != NULL) {
        gops_onnx_build_int(&graph.builder, of->attribute, 1);
    }
    if (relu) {
        gops_ort_graph_node(&graph, "Relu", "y", FROM("p"));
    } else {
        gops_ort_graph_conv(&graph, "y", "p", 4, 3, 1, 1);
    }
    gops_ort_graph_output(&graph, "y");
    gops_ort_graph_check(&graph, of->type, of->taken ? 4 : relu ? 2 : 3, of->taken || relu ? 1 : 2);
}

static void pools(void)
{
    static const pool all[] = {
        {"MaxPool", {3, 2}, {2, 1}, {1, 0, 1, 1}, NULL, true},
        {"MaxPool", {2, 2}, {2, 2}, {0, 0, 0, 0}, "ceil_mode", true},
        {"MaxPool", {5, 3}, {1, 3}, {4, 2, 4, 2}, NULL, true},
        {"MaxPool", {1, 1}, {3, 2}, {0, 0, 0, 0}, NULL, true},
        {"MaxPool", {11, 13}, {1, 1}, {0, 0, 0, 0}, NULL, true},
        {"MaxPool", {3, 3}, {2, 2}, {1, 1, 1, 1}, "ceil_mode", true},
        {"MaxPool", {3, 3}, {1, 1}, {1, 1, 1, 1}, NULL, true},
        {"AveragePool", {3, 2}, {2, 1}, {0, 0, 0, 0}, NULL, true},
        {"AveragePool", {2, 2}, {2, 2}, {0, 0, 0, 0}, NULL, true},
        {"AveragePool", {2, 3}, {3, 2}, {1, 1, 1, 1}, "count_include_pad", true},
        {"AveragePool", {3, 3}, {1, 1}, {1, 1, 1, 1}, "count_include_pad", true},
        {"AveragePool", {3, 3}, {1, 1}, {1, 1, 1, 1}, NULL, false},
    };
    /* With 13 columns: rounded up, the last windows of the first are whole, of the second they are not. */
    static const pool rounded[] = {
        {"AveragePool", {3, 2}, {2, 1}, {0, 0, 0, 0}, "ceil_mode", true},
        {"AveragePool", {2, 2}, {2, 2}, {0, 0, 0, 0}, "ceil_mode", false},
    };
    static const int64_t widths[] = {3, 6, 13, 83}; /* fewer than vectors have, and more */
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        for (size_t k = 0; k < sizeof widths / sizeof widths[0]; k++) {
            if (all[i].kernel[1] <= widths[k]) {
                check_pool(&all[i], widths[k], true);
                check_pool(&all[i], widths[k], false);
            }
        }
    }
    for (size_t i = 0; i < sizeof rounded / sizeof rounded[0]; i++) {
        check_pool(&rounded[i], 13, true);
    }
}

/* The runtime infers 4 rows of a pool that computes 3. */
static void misjudged_pool(void)
{
    builder graph;
    start(&graph, 17, 13, 2, 3, 6, 4);
    gops_ort_graph_node(&graph, "MaxPool", "p", FROM("x"));
    gops_ort_graph_ints(&graph, "kernel_shape", 2, 2, 1, 0, 0);
    gops_ort_graph_ints(&graph, "strides", 2, 2, 1, 0, 0);
    gops_ort_graph_ints(&graph, "pads", 4, 0, 0, 1, 0);
    gops_onnx_build_int(&graph.builder, "ceil_mode", 1);
    gops_ort_graph_node(&graph, "Relu", "r", FROM("p"));
    gops_ort_graph_conv(&graph, "a", "r", 3, 4, 1, 1);
    gops_ort_graph_conv(&graph, "y", "a", 4, 4, 1, 1);
    gops_ort_graph_output(&graph, "y");
    gops_ort_graph_check(&graph, "a pool of another shape", 2, 2);
}

static void means(void)
{
    static const struct {
        int64_t axes[2], keepdims;
        int count;
        bool taken;
    } all[] = {
        {{2, 3}, 1, 2, true}, {{-1, -2}, 0, 2, true}, {{3, 3}, 1, 1, false}, {{1, 2}, 1, 2, false}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        builder graph;
        start(&graph, 9, 13, 2, 3, 11, 13);
        gops_ort_graph_conv(&graph, "a", "x", 3, 5, 1, 1);
        gops_ort_graph_conv(&graph, "b", "a", 5, 4, 3, 2);
        gops_ort_graph_node(&graph, "ReduceMean", "y", FROM("b"));
        gops_ort_graph_ints(&graph, "axes", all[i].count, all[i].axes[0], all[i].axes[1], 0, 0);
        gops_onnx_build_int(&graph.builder, "keepdims", all[i].keepdims);
        gops_ort_graph_output(&graph, "y");
        gops_ort_graph_check(&graph, "ReduceMean", all[i].taken ? 3 : 2, 1);
    }
}

/* A group normalization as it is exported below opset 18, and forms that are none. */
static void group_norm(void)
{
    enum { WHOLE, NO_SHIFT, OF_ROWS, READ_TWICE, MOVED, ALONE, LIKE_DATA, FORMS };
    static const char *const names[FORMS] = {"a group normalization",
                                             "one without scale and shift",
                                             "one with a scale for each row",
                                             "one that is read in between",
                                             "one that ends in another shape",
                                             "an instance normalization",
                                             "one that ends in the data's shape"};
    /* MOVED: Neg and what is normalized are the runtime's, and there is one Conv. LIKE_DATA: a Shape
     * gives the shape. */
    static const int taken[FORMS] = {8, 6, 6, 6, 1, 4, 3}, parts[FORMS] = {1, 1, 2, 2, 1, 1, 2};
    const int64_t groups = 3, channels[] = {6, 1, 1}, width[] = {13};
    const int64_t to[] = {0, 3, -1}, back[] = {2, 6, 11, 13}, moved[] = {2, 11, 6, 13};
    for (int form = 0; form < FORMS; form++) {
        builder graph;
        const int64_t three = 3, four = 4, count = form == ALONE ? 6 : groups;
        start(&graph, 10, 13, 2, 5, 11, 13);
        gops_ort_graph_conv(&graph, "c", "x", 5, 6, 3, 1);
        gops_ort_graph_constant(&graph, "ones", 1, &count, 0.5, 1.5);
        gops_ort_graph_constant(&graph, "zeros", 1, &count, -0.5, 0.5);
        gops_onnx_build_constant(&graph.builder, "to", GOPS_ONNX_INT64, 1, &three, to, sizeof to);
        gops_onnx_build_constant(&graph.builder, "back", GOPS_ONNX_INT64, 1, &four,
                                 form == MOVED ? moved : back, sizeof back);
        gops_ort_graph_constant(&graph, "scale", form == OF_ROWS ? 1 : 3,
                                form == OF_ROWS ? width : channels, 0.5, 1.5);
        gops_ort_graph_constant(&graph, "shift", 3, channels, -1, 1);
        if (form == ALONE) {
            gops_ort_graph_node(&graph, "InstanceNormalization", "m", FROM("c", "ones", "zeros"));
        } else {
            gops_ort_graph_node(&graph, "Reshape", "g", FROM("c", "to"));
            gops_ort_graph_node(&graph, "InstanceNormalization", "i", FROM("g", "ones", "zeros"));
            if (form == LIKE_DATA) {
                gops_ort_graph_node(&graph, "Shape", "shape", FROM("c"));
            }
            gops_ort_graph_node(&graph, "Reshape", "n",
                                FROM("i", form == LIKE_DATA ? "shape" : "back"));
            if (form == WHOLE || form == OF_ROWS || form == READ_TWICE) {
                gops_ort_graph_node(&graph, "Mul", "m", FROM("scale", "n"));
            }
        }
        const char *normal = form == NO_SHIFT || form == MOVED || form == LIKE_DATA ? "n" : "m";
        if (form == WHOLE) {
            gops_ort_graph_node(&graph, "Add", "s", FROM("m", "shift"));
            normal = "s";
        }
        if (form == MOVED) {
            gops_ort_graph_node(&graph, "Neg", "y", FROM(normal));
        } else {
            gops_ort_graph_node(&graph, "Relu", "r", FROM(normal));
            gops_ort_graph_conv(&graph, "y", "r", 6, 4, 1, 1);
        }
        gops_ort_graph_output(&graph, "y");
        if (form == READ_TWICE) {
            gops_ort_graph_output(&graph, "n");
        }
        gops_ort_graph_check(&graph, names[form], taken[form], parts[form]);
    }
}

/* Slopes of rows, which are no channels, and slopes of channels for a batch normalization. */
static void slopes(void)
{
    const int64_t rows[] = {9}, channels[] = {5, 1, 1}, all[] = {1, 5, 1, 1}, one[] = {1};
    const struct {
        int rank;
        const int64_t *dims;
        int taken;
    } forms[] = {{1, rows, 2}, {3, channels, 3}, {4, all, 3}, {1, one, 3}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        builder graph;
        start(&graph, 11, 16, 2, 3, 7, 9);
        gops_ort_graph_conv(&graph, "a", "x", 3, 4, 1, 1);
        gops_ort_graph_conv(&graph, "b", "a", 4, 5, 3, 1);
        gops_ort_graph_constant(&graph, "slopes", forms[i].rank, forms[i].dims, -1, 1);
        gops_ort_graph_node(&graph, "PRelu", "y", FROM("b", "slopes"));
        gops_ort_graph_output(&graph, "y");
        gops_ort_graph_check(&graph, "PRelu", forms[i].taken, 1);
    }
}

/* x * HardSigmoid(x) with another alpha than hard_swish has. */
static void other_gates(void)
{
    builder graph;
    start(&graph, 12, 13, 1, 3, 7, 9);
    gops_ort_graph_conv(&graph, "a", "x", 3, 4, 1, 1);
    gops_ort_graph_node(&graph, "HardSigmoid", "h", FROM("a")); /* alpha is 0.2 */
    gops_ort_graph_node(&graph, "Mul", "m", FROM("h", "a"));
    gops_ort_graph_conv(&graph, "b", "m", 4, 5, 3, 1);
    gops_ort_graph_node(&graph, "Sigmoid", "s", FROM("b"));
    gops_ort_graph_node(&graph, "Mul", "n", FROM("s", "s"));
    gops_ort_graph_node(&graph, "Add", "y", FROM("n", "n"));
    gops_ort_graph_output(&graph, "y");
    gops_ort_graph_check(&graph, "other gates", 7, 1);
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

static void grouped_conv(builder *graph, const char *to, const char *from, const char *weights,
                         int64_t channels_in, int64_t channels_out)
{
    const int64_t dims[] = {channels_out, channels_in / 3, 3, 3};
    gops_ort_graph_constant(graph, weights, 4, dims, -1, 1);
    gops_ort_graph_node(graph, "Conv", to, FROM(from, weights));
    gops_onnx_build_int(&graph->builder, "group", 3);
}

/* A region that would take longer than the runtime does is left to it, on all processors one of dense layers of few
 * channels on large planes. Groups of three channels its layout has not. */
static void worth(void)
{
    static const char *const activations[] = {"Relu", "Sigmoid"};
    gops_ort_set_claim(NULL);
    for (int i = 0; i < 2; i++) {
        builder graph;
        start(&graph, 14, 13, 1, i == 0 ? 15 : 7, i == 0 ? 41 : 61, i == 0 ? 37 : 59);
        if (i == 0) {
            grouped_conv(&graph, "a", "x", "v", 15, 9);
        } else {
            gops_ort_graph_conv(&graph, "a", "x", 7, 11, 3, 1);
        }
        gops_ort_graph_node(&graph, activations[i], "b", FROM("a"));
        if (i == 0) {
            grouped_conv(&graph, "c", "b", "w", 9, 21);
        } else {
            gops_ort_graph_conv(&graph, "c", "b", 11, 13, 3, 1);
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

/* Of a network, the part that gains is taken: between dense layers the groups, and what follows them. */
static void worth_in_part(void)
{
    builder graph;
    gops_ort_set_claim(NULL);
    start(&graph, 25, 13, 1, 16, 61, 59);
    gops_ort_graph_conv(&graph, "a", "x", 16, 33, 3, 1);
    gops_ort_graph_node(&graph, "Sigmoid", "b", FROM("a"));
    grouped_conv(&graph, "c", "b", "v", 33, 39);
    gops_ort_graph_node(&graph, "Relu", "d", FROM("c"));
    grouped_conv(&graph, "e", "d", "w", 39, 48);
    gops_ort_graph_conv(&graph, "f", "e", 48, 64, 3, 1);
    gops_ort_graph_node(&graph, "Sigmoid", "g", FROM("f"));
    gops_ort_graph_conv(&graph, "y", "g", 64, 16, 3, 1);
    gops_ort_graph_output(&graph, "y");
    gops_ort_graph_check(&graph, "in part", -1, -1);
    gops_ort_set_claim("all");
}

/* So is one of dense layers of few channels on large planes, where the runtime's are faster. */
static void worth_dense(void)
{
    builder graph;
    gops_ort_set_claim("worthwhile");
    start(&graph, 22, 13, 1, 7, 61, 59);
    gops_ort_graph_conv(&graph, "a", "x", 7, 11, 3, 1);
    gops_ort_graph_node(&graph, "Relu", "b", FROM("a"));
    gops_ort_graph_conv(&graph, "y", "b", 11, 13, 3, 1);
    gops_ort_graph_output(&graph, "y");
    gops_ort_graph_check(&graph, "dense layers", 0, 0);
    gops_ort_set_claim("all");
}

/* A layer by itself is estimated too, of a closed shape and an open one: one that is not grouped may have
 * to be reordered, and gains less than a call costs. The option decides without the estimate. */
static void worth_alone(void)
{
    static const char *const claims[] = {NULL, "all"};
    for (int i = 0; i < 8; i++) {
        const bool grouped = i % 2 != 0, open = i / 2 % 2 != 0, all = i / 4 != 0;
        const int64_t dims[] = {open ? -1 : 1, 15, 37, 31}, weights[] = {9, grouped ? 5 : 15, 3, 3};
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
    start(&graph, 23, 13, 1, 67, 61, 59);
    gops_ort_graph_conv(&graph, "a", "x", 67, 71, 3, 1);
    gops_ort_graph_node(&graph, "Relu", "b", FROM("a"));
    gops_ort_graph_conv(&graph, "y", "b", 71, 73, 3, 1);
    gops_ort_graph_output(&graph, "y");
    gops_ort_graph_check(&graph, "relaxed layers", vectors ? 3 : -1, 1);
    unsetenv("GROUPOPS_ACCURACY");
    gops_ort_set_claim("all");
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
        {"pools", pools},
        {"misjudged_pool", misjudged_pool},
        {"means", means},
        {"group_norm", group_norm},
        {"slopes", slopes},
        {"other_gates", other_gates},
        {"ranks", ranks},
        {"worth", worth},
        {"worth_in_part", worth_in_part},
        {"worth_dense", worth_dense},
        {"worth_relaxed", worth_relaxed},
        {"worth_alone", worth_alone},
        {NULL, NULL},
    };
    gops_ort_listen();
    const int status = gops_test_main("ONNX Runtime, regions", cases);
    gops_ort_unload();
    return status;
}
