/* ort_drawn_nodes.c: draws nodes, and finds the sizes of what they make. */
#include "ort_drawn_nodes.h"

#include <stdio.h>
#include <string.h>

int64_t gops_drawn_number(gops_drawn_network *n, int64_t low, int64_t high)
{
    return gops_test_random_range(&n->graph.random, low, high);
}

bool gops_drawn_chance(gops_drawn_network *n, int percent)
{
    return gops_test_random_chance(&n->graph.random, percent);
}

gops_drawn_value gops_drawn_any(gops_drawn_network *n)
{
    const int64_t recent = gops_drawn_chance(n, 80) ? 4 : GOPS_DRAWN_VALUES;
    return n->values[n->count - 1 -
                     gops_drawn_number(n, 0, (n->count < recent ? n->count : recent) - 1)];
}

void gops_drawn_name(gops_drawn_network *n, char *name)
{
    snprintf(name, GOPS_DRAWN_NAME_BYTES, "t%d", n->names++);
}

void gops_drawn_tell(gops_drawn_network *n, const char *format, const char *word)
{
    const int written =
        snprintf(n->text + n->length, GOPS_DRAWN_TEXT_BYTES - n->length, format, word);
    n->length += (size_t)written;
    if (n->length >= GOPS_DRAWN_TEXT_BYTES) {
        n->length = GOPS_DRAWN_TEXT_BYTES - 1;
    }
}

void gops_drawn_node(gops_drawn_network *n, const char *type, gops_drawn_value *to,
                     const char *const *from)
{
    char name[GOPS_DRAWN_NAME_BYTES];
    gops_drawn_name(n, name);
    gops_ort_graph_node(&n->graph, type, name, from);
    gops_drawn_tell(n, "  %s =", name);
    gops_drawn_tell(n, " %s", type);
    for (int i = 0; from[i] != NULL; i++) {
        gops_drawn_tell(n, " %s", from[i]);
    }
    gops_drawn_tell(n, "%s", "\n");
    memcpy(to->name, name, sizeof name);
}

gops_drawn_value gops_drawn_unary(gops_drawn_network *n, const char *type,
                                  const gops_drawn_value *from)
{
    gops_drawn_value to = *from;
    gops_drawn_node(n, type, &to, GOPS_ORT_FROM(from->name));
    return to;
}

gops_drawn_value gops_drawn_binary(gops_drawn_network *n, const char *type,
                                   const gops_drawn_value *first, const char *second)
{
    gops_drawn_value to = *first;
    const bool exchanged = gops_drawn_chance(n, 30);
    gops_drawn_node(n, type, &to,
                    exchanged ? GOPS_ORT_FROM(second, first->name)
                              : GOPS_ORT_FROM(first->name, second));
    return to;
}

void gops_drawn_int(gops_drawn_network *n, const char *name, int64_t number)
{
    gops_onnx_build_int(&n->graph.builder, name, number);
}

void gops_drawn_constant(gops_drawn_network *n, char *name, int rank, const int64_t *dims,
                         double low, double high)
{
    gops_drawn_name(n, name);
    gops_ort_graph_constant(&n->graph, name, rank, dims, low, high);
}

void gops_drawn_integers(gops_drawn_network *n, char *name, int64_t count, const int64_t *values)
{
    gops_drawn_name(n, name);
    gops_onnx_build_constant(&n->graph.builder, name, GOPS_ONNX_INT64, 1, &count, values,
                             (size_t)count * sizeof *values);
}

gops_drawn_window gops_drawn_axis(gops_drawn_network *n, int64_t size, int64_t kernel, bool dilates)
{
    gops_drawn_window w = {kernel, gops_drawn_number(n, 1, 2),
                           dilates && gops_drawn_chance(n, 15) ? 2 : 1, 0, 0};
    const int64_t reach = (kernel - 1) * w.dilation;
    w.begin = w.end = (reach + 1) / 2;
    if (gops_drawn_chance(n, 30) && size + w.begin > reach) {
        w.end = gops_drawn_number(n, 0, w.begin);
    }
    return w;
}

int64_t gops_drawn_outputs(const gops_drawn_window *w, int64_t size)
{
    return (size + w->begin + w->end - (w->kernel - 1) * w->dilation - 1) / w->stride + 1;
}

void gops_drawn_windows(gops_drawn_network *n, const gops_drawn_window *y,
                        const gops_drawn_window *x)
{
    gops_ort_graph_builder *graph = &n->graph;
    gops_ort_graph_ints(graph, "kernel_shape", 2, y->kernel, x->kernel, 0, 0);
    gops_ort_graph_ints(graph, "strides", 2, y->stride, x->stride, 0, 0);
    gops_ort_graph_ints(graph, "pads", 4, y->begin, x->begin, y->end, x->end);
}

gops_drawn_value gops_drawn_conv(gops_drawn_network *n, const gops_drawn_value *from,
                                 int64_t groups, int64_t channels, int64_t kernel, bool strided)
{
    gops_drawn_value to = *from;
    gops_drawn_window y = gops_drawn_axis(n, from->height, kernel, true),
                      x = gops_drawn_axis(n, from->width, kernel, true);
    if (!strided) {
        y = x = (gops_drawn_window){kernel, 1, 1, kernel / 2, kernel / 2};
    }
    const int64_t each = from->channels / groups, dims[] = {channels, each, kernel, kernel};
    const double spread = 1.5 / (double)kernel / (each > 4 ? 2 : 1);
    char weights[GOPS_DRAWN_NAME_BYTES], bias[GOPS_DRAWN_NAME_BYTES];
    gops_drawn_constant(n, weights, 4, dims, -spread, spread);
    gops_drawn_constant(n, bias, 1, &channels, -0.5, 0.5);
    gops_drawn_node(n, "Conv", &to,
                    gops_drawn_chance(n, 70) ? GOPS_ORT_FROM(from->name, weights, bias)
                                             : GOPS_ORT_FROM(from->name, weights));
    gops_drawn_windows(n, &y, &x);
    gops_ort_graph_ints(&n->graph, "dilations", 2, y.dilation, x.dilation, 0, 0);
    gops_drawn_int(n, "group", groups);
    to.channels = channels;
    to.height = gops_drawn_outputs(&y, from->height);
    to.width = gops_drawn_outputs(&x, from->width);
    return to;
}
