/* Slices of channels and channel shuffles in regions: views and copies to every second or third
 * channel; and the forms that are none. */
#include "ort_graphs.h"

#include "harness.h"

#include <stdint.h>
#include <stdio.h>

typedef gops_ort_graph_builder builder;

#define FROM(...) GOPS_ORT_FROM(__VA_ARGS__)

enum { BATCH = 2, IN = 5, HALF = 6, ALL = 2 * HALF, HEIGHT = 13, WIDTH = 11 };

static void start(builder *graph, uint64_t stream)
{
    gops_ort_graph_images(graph, stream, 13, BATCH, IN, HEIGHT, WIDTH);
}

static void numbers(builder *graph, const char *name, int64_t count, const int64_t *values)
{
    gops_onnx_build_constant(&graph->builder, name, GOPS_ONNX_INT64, 1, &count, values,
                             (size_t)count * sizeof *values);
}

static void slice(builder *graph, const char *to, const char *from, int64_t first, int64_t end,
                  int64_t axis, int64_t step)
{
    enum { NAME_BYTES = 32, NUMBERS = 4 };
    const int64_t values[NUMBERS] = {first, end, axis, step};
    char names[NUMBERS][NAME_BYTES];
    for (int i = 0; i < NUMBERS; i++) {
        snprintf(names[i], sizeof names[i], "%s_%d", to, i);
        numbers(graph, names[i], 1, &values[i]);
    }
    gops_ort_graph_node(graph, "Slice", to, FROM(from, names[0], names[1], names[2], names[3]));
}

/* `second` and `third` are the axes of the Transpose that are 2 and 1 in a shuffle. */
static void shuffle(builder *graph, const char *to, const char *from, int64_t channels,
                    int64_t groups, int64_t second, int64_t third)
{
    enum { NAME_BYTES = 32 };
    const int64_t split[] = {gops_ort_graph_batch(graph), groups, channels / groups, HEIGHT, WIDTH};
    const int64_t back[] = {gops_ort_graph_batch(graph), channels, HEIGHT, WIDTH},
                  order[] = {0, second, third, 3, 4};
    char names[4][NAME_BYTES];
    for (int i = 0; i < 4; i++) {
        snprintf(names[i], sizeof names[i], "%s_%d", to, i);
    }
    numbers(graph, names[0], 5, split);
    numbers(graph, names[1], 4, back);
    gops_ort_graph_node(graph, "Reshape", names[2], FROM(from, names[0]));
    gops_ort_graph_node(graph, "Transpose", names[3], FROM(names[2]));
    gops_onnx_build_ints(&graph->builder, "perm", order, 5);
    gops_ort_graph_node(graph, "Reshape", to, FROM(names[3], names[1]));
}

/* Two units of ShuffleNet v2: what a slice leaves out goes on beside a convolution of the rest. */
static void units(void)
{
    for (int outputs = 0; outputs < 2; outputs++) {
        builder graph;
        start(&graph, 1);
        gops_ort_graph_conv(&graph, "a", "x", IN, HALF, 3, 1);
        gops_ort_graph_conv(&graph, "b", "x", IN, HALF, 1, 1);
        gops_ort_graph_node(&graph, "Concat", "ab", FROM("a", "b"));
        gops_onnx_build_int(&graph.builder, "axis", 1);
        shuffle(&graph, "s", "ab", ALL, 2, 2, 1);
        slice(&graph, "low", "s", 0, HALF, 1, 1);
        slice(&graph, "high", "s", HALF, INT64_MAX, 1, 1);
        gops_ort_graph_conv(&graph, "c", "high", HALF, HALF, 3, 1);
        gops_ort_graph_node(&graph, "Concat", "lc", FROM("low", "c"));
        gops_onnx_build_int(&graph.builder, "axis", 1);
        shuffle(&graph, "t", "lc", ALL, 2, 2, 1);
        gops_ort_graph_conv(&graph, "y", "t", ALL, 3, 1, 1);
        gops_ort_graph_output(&graph, "y");
        if (outputs) {
            gops_ort_graph_output(&graph, "low");
            gops_ort_graph_output(&graph, "t");
            gops_ort_graph_output(&graph, "lc");
        }
        gops_ort_graph_check(&graph, outputs ? "units with outputs" : "units", 14, 1);
    }
}

/* Groups of one tensor, and slices that are added in place of others, concatenated and of the data. */
static void parts(void)
{
    builder graph;
    start(&graph, 2);
    slice(&graph, "x1", "x", -3, IN, -3, 1);
    gops_ort_graph_conv(&graph, "a", "x1", 3, ALL, 3, 1);
    shuffle(&graph, "s", "a", ALL, 3, 2, 1);
    slice(&graph, "p", "s", 2, 8, 1, 1);
    slice(&graph, "q", "p", 1, 5, 1, 1);
    gops_ort_graph_conv(&graph, "b", "s", ALL, 4, 3, 1);
    gops_ort_graph_node(&graph, "Add", "d", FROM("b", "q"));
    gops_ort_graph_node(&graph, "Concat", "e", FROM("q", "d", "p", "x1", "q"));
    gops_onnx_build_int(&graph.builder, "axis", 1);
    gops_ort_graph_conv(&graph, "y", "e", 21, 3, 1, 1);
    gops_ort_graph_output(&graph, "y");
    gops_ort_graph_check(&graph, "parts", 11, 1);
}

/* A Split in unequal parts, which layers read and a Concat joins in another order. One part may be given out, or read
 * by nothing; sizes may be left to the operator. */
static void splits(void)
{
    enum { WHOLE, GIVEN_OUT, DEAD, EVEN, ROWS, FORMS };
    static const char *const names[FORMS] = {"a split", "a split that is given out",
                                             "a part that nothing reads", "even parts",
                                             "a split of rows"};
    for (int form = 0; form < FORMS; form++) {
        const int64_t sizes[] = {form == EVEN ? 4 : 2, form == EVEN ? 4 : 3, form == EVEN ? 4 : 7};
        const int64_t rows[] = {4, HEIGHT - 4};
        builder graph;
        start(&graph, 4);
        gops_ort_graph_conv(&graph, "a", "x", IN, ALL, 3, 1);
        numbers(&graph, "sizes", form == ROWS ? 2 : 3, form == ROWS ? rows : sizes);
        if (form == EVEN) {
            gops_ort_graph_node(&graph, "Split", "p", FROM("a"));
        } else {
            gops_ort_graph_node(&graph, "Split", "p", FROM("a", "sizes"));
        }
        gops_onnx_build_more(&graph.builder, "q");
        if (form != ROWS) {
            gops_onnx_build_more(&graph.builder, "r");
        }
        gops_onnx_build_int(&graph.builder, "axis", form == ROWS ? 2 : form == EVEN ? -3 : 1);
        if (form == ROWS) {
            gops_ort_graph_node(&graph, "Neg", "y", FROM("q"));
            gops_ort_graph_output(&graph, "y");
            gops_ort_graph_check(&graph, names[form], 1, 1);
            continue;
        }
        gops_ort_graph_conv(&graph, "b", "r", sizes[2], 5, 3, 1);
        gops_ort_graph_conv(&graph, "c", form == DEAD ? "p" : "q", sizes[form == DEAD ? 0 : 1], 3,
                            1, 1);
        gops_ort_graph_node(&graph, "Concat", "d", FROM("b", "p", "c", "r", "p"));
        gops_onnx_build_int(&graph.builder, "axis", 1);
        gops_ort_graph_conv(&graph, "y", "d", 5 + 2 * sizes[0] + 3 + sizes[2], 3, 1, 1);
        gops_ort_graph_output(&graph, "y");
        if (form == GIVEN_OUT) {
            gops_ort_graph_output(&graph, "q");
            gops_ort_graph_output(&graph, "r");
        }
        gops_ort_graph_check(&graph, names[form], 6, 1);
    }
}

/* What is no shuffle, no slice of channels, or a shuffle whose groups are not the operands. */
static void others(void)
{
    enum { OTHER_ORDER, GROUPS, ROWS, EVERY_SECOND, READ, FORMS };
    static const char *const names[FORMS] = {"another order", "three groups of two operands",
                                             "a slice of rows", "every second channel",
                                             "read in between"};
    static const int taken[FORMS] = {3, 7, 6, 6, 3}, regions[FORMS] = {1, 1, 1, 1, 1};
    for (int form = 0; form < FORMS; form++) {
        builder graph;
        start(&graph, 3);
        gops_ort_graph_conv(&graph, "a", "x", IN, HALF, 3, 1);
        gops_ort_graph_conv(&graph, "b", "x", IN, HALF, 1, 1);
        gops_ort_graph_node(&graph, "Concat", "ab", FROM("a", "b"));
        gops_onnx_build_int(&graph.builder, "axis", 1);
        const bool swapped = form != OTHER_ORDER;
        shuffle(&graph, "s", "ab", ALL, form == GROUPS ? 3 : 2, swapped ? 2 : 1, swapped ? 1 : 2);
        if (form == ROWS || form == EVERY_SECOND) {
            slice(&graph, "y", "s", 1, 7, form == ROWS ? 2 : 1, form == ROWS ? 1 : 2);
        } else if (form == GROUPS) {
            gops_ort_graph_conv(&graph, "y", "s", ALL, 3, 1, 1);
        } else {
            gops_ort_graph_node(&graph, "Neg", "y", FROM("s"));
        }
        gops_ort_graph_output(&graph, "y");
        if (form == READ) {
            gops_ort_graph_output(&graph, "s_2");
        }
        gops_ort_graph_check(&graph, names[form], taken[form], regions[form]);
    }
}

int main(void)
{
    const gops_test_case cases[] = {
        {"units", units}, {"parts", parts}, {"splits", splits}, {"others", others}, {NULL, NULL}};
    const int status = gops_test_main("ONNX Runtime, shuffles", cases);
    gops_ort_unload();
    return status;
}
