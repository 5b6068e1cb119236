/* Nodes that become part of a region, or of one in it, and the forms of them that must not: pools, means,
 * normalizations, slopes, gates. */
#include "ort_graphs.h"

#include "harness.h"

#include <math.h>
#include <stdlib.h>

typedef gops_ort_graph_builder builder;

#define FROM(...) GOPS_ORT_FROM(__VA_ARGS__)

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
    gops_ort_graph_images(&graph, 8, 13, 2, 3, 11, width);
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

/* Planes in another size, of the forms that exporters write, and of others. */
static void resizes(void)
{
    static const struct {
        const char *mode, *coordinates, *rounds;
        float scales[4];
        int opset;
        bool by_sizes, taken;
    } all[] = {
        {"nearest", "asymmetric", "floor", {1, 1, 2, 2}, 13, false, true},
        {"nearest", "half_pixel", "round_prefer_floor", {1, 1, 4, 1}, 13, false, true},
        {"nearest", "align_corners", "ceil", {1, 1, 0.5F, 2}, 13, false, true},
        {"linear", "half_pixel", "floor", {1, 1, 2, 2}, 13, false, true},
        {"linear", "pytorch_half_pixel", "floor", {1, 1, 3, 2}, 13, true, true},
        {"linear", "align_corners", "floor", {1, 1, 2, 0.5F}, 13, true, true},
        {"linear", "asymmetric", "floor", {1, 1, 1.5F, 4}, 18, false, true},
        {"linear", NULL, NULL, {1, 1, 2, 2}, 10, false, true},
        {"nearest", NULL, NULL, {1, 1, 2, 3}, 10, false, true},
        {"nearest", NULL, NULL, {1, 1, 0.5F, 3}, 10, false, false}, /* rounds up */
        {"cubic", "half_pixel", "floor", {1, 1, 2, 2}, 13, false, false},
        {"nearest", "asymmetric", "floor", {1, 2, 2, 2}, 13, false, false},
    };
    static const int64_t four = 4;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        const int64_t sizes[] = {2, 4, (int64_t)(12 * all[i].scales[2]),
                                 (int64_t)(30 * all[i].scales[3])};
        const bool is_new = all[i].opset > 10;
        builder graph;
        gops_ort_graph_images(&graph, 18, all[i].opset, 2, 3, 12, 30);
        gops_ort_graph_conv(&graph, "a", "x", 3, 5, 1, 1);
        gops_ort_graph_conv(&graph, "b", "a", 5, 4, 1, 1);
        gops_onnx_build_constant(&graph.builder, "scales", GOPS_ONNX_FLOAT, 1, &four, all[i].scales,
                                 sizeof all[i].scales);
        gops_onnx_build_constant(&graph.builder, "sizes", GOPS_ONNX_INT64, 1, &four, sizes,
                                 sizeof sizes);
        gops_ort_graph_node(&graph, "Resize", "p",
                            !is_new           ? FROM("b", "scales")
                            : all[i].by_sizes ? FROM("b", "", "", "sizes")
                                              : FROM("b", "", "scales"));
        gops_onnx_build_string(&graph.builder, "mode", all[i].mode);
        if (is_new) {
            gops_onnx_build_string(&graph.builder, "coordinate_transformation_mode",
                                   all[i].coordinates);
            gops_onnx_build_string(&graph.builder, "nearest_mode", all[i].rounds);
        }
        gops_ort_graph_node(&graph, "Relu", "y", FROM("p"));
        gops_ort_graph_output(&graph, "y");
        gops_ort_graph_check(&graph, all[i].mode, all[i].taken ? 4 : 2, 1);
    }
}

/* The runtime infers 4 rows of a pool that computes 3. */
static void misjudged_pool(void)
{
    builder graph;
    gops_ort_graph_images(&graph, 17, 13, 2, 3, 6, 4);
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
    for (size_t i = 0; i < 2 * sizeof all / sizeof all[0]; i++) {
        const bool inputs = i % 2 != 0; /* from opset 18 on */
        const int64_t count = all[i / 2].count;
        builder graph;
        gops_ort_graph_images(&graph, 9, inputs ? 18 : 13, 2, 3, 11, 13);
        gops_ort_graph_conv(&graph, "a", "x", 3, 5, 1, 1);
        gops_ort_graph_conv(&graph, "b", "a", 5, 4, 3, 2);
        if (inputs) {
            gops_onnx_build_constant(&graph.builder, "axes", GOPS_ONNX_INT64, 1, &count,
                                     all[i / 2].axes, (size_t)count * sizeof(int64_t));
        }
        gops_ort_graph_node(&graph, "ReduceMean", "y", inputs ? FROM("b", "axes") : FROM("b"));
        if (!inputs) {
            gops_ort_graph_ints(&graph, "axes", (int)count, all[i / 2].axes[0], all[i / 2].axes[1],
                                0, 0);
        }
        gops_onnx_build_int(&graph.builder, "keepdims", all[i / 2].keepdims);
        gops_ort_graph_output(&graph, "y");
        gops_ort_graph_check(&graph, "ReduceMean", all[i / 2].taken ? 3 : 2, 1);
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
     * gives the shape; of an open batch the runtime infers none then. */
    static const int taken[FORMS] = {8, 6, 6, 7, 1, 4, 3}, parts[FORMS] = {1, 1, 2, 1, 1, 1, 2};
    const int64_t groups = 3, channels[] = {6, 1, 1}, width[] = {13}, to[] = {0, 3, -1};
    for (int form = 0; form < FORMS; form++) {
        builder graph;
        const int64_t three = 3, four = 4, count = form == ALONE ? 6 : groups;
        gops_ort_graph_images(&graph, 10, 13, 2, 5, 11, 13);
        const int64_t back[] = {gops_ort_graph_batch(&graph), 6, 11, 13};
        const int64_t moved[] = {gops_ort_graph_batch(&graph), 11, 6, 13};
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
        const bool unknown = form == LIKE_DATA && graph.is_open;
        gops_ort_graph_check(&graph, names[form], unknown ? 2 : taken[form], parts[form]);
    }
}

/* Moments in another type are the runtime's. */
static void stash_type(void)
{
    const int64_t six = 6;
    for (int type = ORT_FLOAT; type <= ORT_FLOAT16; type += ORT_FLOAT16 - ORT_FLOAT) {
        builder graph;
        gops_ort_graph_images(&graph, 26, 21, 2, 6, 11, 13);
        gops_ort_graph_constant(&graph, "scale", 1, &six, 0.5, 1.5);
        gops_ort_graph_constant(&graph, "shift", 1, &six, -1, 1);
        gops_ort_graph_node(&graph, "GroupNormalization", "y", FROM("x", "scale", "shift"));
        gops_onnx_build_int(&graph.builder, "num_groups", 3);
        gops_onnx_build_int(&graph.builder, "stash_type", type);
        gops_ort_graph_output(&graph, "y");
        gops_ort_graph_check(&graph, "stash_type", type == ORT_FLOAT ? 1 : 0, type == ORT_FLOAT);
    }
}

/* Scales of six channels in two groups that ONNX does not allow: before opset 21 there is one for each group. A
 * region must not take what the call by itself refuses. */
static void wrong_scales(void)
{
    const struct {
        int opset, rank;
        int64_t dims[2];
        const char *text;
    } forms[] = {
        {21, 1, {2}, "scale is f32 {2}"},
        {21, 2, {1, 6}, "scale is f32 {1,6}"},
        {18, 1, {6}, "scale is f32 {6}"},
        {18, 1, {3}, "scale is f32 {3}"},
    };
    const gops_ort_session_settings with = {GROUPOPS_ORT_PROVIDER, ORT_OPTIMIZE_NONE, 1, false};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        builder graph;
        ort_session *session = NULL;
        gops_onnx_buffer model;
        const int64_t count = forms[i].opset < 21 ? 2 : 6;
        float data[6 * 7 * 9] = {0};
        gops_ort_graph_images(&graph, 27, forms[i].opset, 1, 6, 7, 9);
        gops_ort_graph_conv(&graph, "a", "x", 6, 6, 3, 1);
        gops_ort_graph_constant(&graph, "scale", forms[i].rank, forms[i].dims, 0.5, 1.5);
        gops_ort_graph_constant(&graph, "shift", 1, &count, -1, 1);
        gops_ort_graph_node(&graph, "GroupNormalization", "n", FROM("a", "scale", "shift"));
        gops_onnx_build_int(&graph.builder, "num_groups", 2);
        gops_ort_graph_conv(&graph, "y", "n", 6, 4, 1, 1);
        gops_ort_graph_output(&graph, "y");
        gops_test_check(gops_onnx_build_end(&graph.builder, &model), "no memory for a model");
        ort_status *status = gops_ort_open(&model, &with, &session);
        if (status == NULL) {
            const gops_ort_tensor x = {"x", ORT_FLOAT, 4, graph.x, data};
            ort_value *output = NULL;
            status = gops_ort_run(session, &x, 1, &output);
            gops_ort_load()->release_value(output);
        }
        gops_ort_is_refused(status, forms[i].text, "a scale of another shape");
        gops_ort_load()->release_session(session);
        free(model.bytes);
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
        gops_ort_graph_images(&graph, 11, 16, 2, 3, 7, 9);
        gops_ort_graph_conv(&graph, "a", "x", 3, 4, 1, 1);
        gops_ort_graph_conv(&graph, "b", "a", 4, 5, 3, 1);
        gops_ort_graph_constant(&graph, "slopes", forms[i].rank, forms[i].dims, -1, 1);
        gops_ort_graph_node(&graph, "PRelu", "y", FROM("b", "slopes"));
        gops_ort_graph_output(&graph, "y");
        gops_ort_graph_check(&graph, "PRelu", forms[i].taken, 1);
    }
}

/* Sums, differences and products with a number, or one for each channel, on either side. */
static void numbers(void)
{
    const int64_t channels[] = {1, 5, 1, 1}, rows[] = {9}, one[] = {1};
    builder graph;
    gops_ort_graph_images(&graph, 28, 13, 2, 3, 7, 9);
    gops_ort_graph_constant(&graph, "number", 0, NULL, 0.1, 1);
    gops_ort_graph_constant(&graph, "one", 1, one, -1, 1);
    gops_ort_graph_constant(&graph, "three", 3, channels + 1, -1, 1);
    gops_ort_graph_constant(&graph, "four", 4, channels, -1, 1);
    gops_ort_graph_conv(&graph, "a", "x", 3, 5, 1, 1);
    gops_ort_graph_node(&graph, "Mul", "b", FROM("number", "a"));
    gops_ort_graph_node(&graph, "Relu", "c", FROM("b"));
    gops_ort_graph_node(&graph, "Add", "d", FROM("c", "three"));
    gops_ort_graph_node(&graph, "Sub", "e", FROM("four", "d"));
    gops_ort_graph_node(&graph, "Sub", "f", FROM("e", "one"));
    gops_ort_graph_node(&graph, "Add", "g", FROM("f", "a"));
    gops_ort_graph_node(&graph, "Mul", "h", FROM("g", "four"));
    gops_ort_graph_node(&graph, "Sigmoid", "i", FROM("h"));
    gops_ort_graph_conv(&graph, "y", "i", 5, 4, 3, 1);
    gops_ort_graph_output(&graph, "y");
    gops_ort_graph_check(&graph, "numbers", 10, 1);
    gops_ort_graph_images(&graph, 29, 13, 2, 3, 7, 9);
    gops_ort_graph_constant(&graph, "rows", 1, rows, -1, 1);
    gops_ort_graph_conv(&graph, "a", "x", 3, 5, 1, 1);
    gops_ort_graph_node(&graph, "Mul", "b", FROM("rows", "a"));
    gops_ort_graph_conv(&graph, "y", "b", 5, 4, 3, 1);
    gops_ort_graph_output(&graph, "y");
    gops_ort_graph_check(&graph, "numbers of rows", 2, 2);
}

/* x * HardSigmoid(x) with another alpha than hard_swish has. */
static void other_gates(void)
{
    builder graph;
    gops_ort_graph_images(&graph, 12, 13, 1, 3, 7, 9);
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

/* Bounds of a Clip below opset 11 that are not in order: max wins, and NaN is none. The runtime loads
 * such a Clip where it is fused to a Conv, and refuses it elsewhere. */
static void crossed_bounds(void)
{
    enum { CHANNELS = 3, HEIGHT = 2, WIDTH = 5, COUNT = CHANNELS * HEIGHT * WIDTH };
    static const struct {
        float low, high;
    } bounds[] = {{0.25F, -0.5F}, {INFINITY, -INFINITY}, {NAN, 0.5F}, {-0.5F, NAN}, {NAN, NAN}};
    const int64_t dims[] = {CHANNELS, 1, 1, 1};
    const float ones[CHANNELS] = {1, 1, 1};
    float data[COUNT], expected[COUNT];
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        const float low = bounds[i].low, high = bounds[i].high;
        builder graph;
        gops_ort_graph_images(&graph, 27, 10, 1, CHANNELS, HEIGHT, WIDTH);
        for (int k = 0; k < COUNT; k++) {
            data[k] = k == 4 ? NAN : (float)(k - 11) / 8;
            expected[k] = data[k] < low ? low : data[k];
            expected[k] = expected[k] > high ? high : expected[k];
        }
        gops_onnx_build_constant(&graph.builder, "w", GOPS_ONNX_FLOAT, 4, dims, ones, sizeof ones);
        gops_ort_graph_node(&graph, "Conv", "c", FROM("x", "w"));
        gops_onnx_build_int(&graph.builder, "group", CHANNELS);
        gops_ort_graph_node(&graph, "Clip", "y", FROM("c"));
        gops_onnx_build_float(&graph.builder, "min", low);
        gops_onnx_build_float(&graph.builder, "max", high);
        gops_ort_graph_output(&graph, "y");
        gops_ort_graph_check_values(&graph, "crossed bounds", data, expected, 2, 1);
    }
}

/* The same where the model leaves the batch open. */
static void open_batch(void)
{
    gops_ort_graph_leave_open(true);
    pools();
    means();
    group_norm();
    slopes();
    numbers();
    other_gates();
    gops_ort_graph_leave_open(false);
}

int main(void)
{
    const gops_test_case cases[] = {
        {"pools", pools},
        {"resizes", resizes},
        {"misjudged_pool", misjudged_pool},
        {"means", means},
        {"group_norm", group_norm},
        {"stash_type", stash_type},
        {"wrong_scales", wrong_scales},
        {"slopes", slopes},
        {"numbers", numbers},
        {"other_gates", other_gates},
        {"crossed_bounds", crossed_bounds},
        {"open_batch", open_batch},
        {NULL, NULL},
    };
    const int status = gops_test_main("ONNX Runtime, nodes of regions", cases);
    gops_ort_unload();
    return status;
}
