/* ort_drawn_nodes.h: a graph of ONNX that is drawn node by node, and the sizes of its values. */
#ifndef GROUPOPS_TESTS_ORT_DRAWN_NODES_H
#define GROUPOPS_TESTS_ORT_DRAWN_NODES_H

#include "ort_graphs.h"

#include <stddef.h>

enum { GOPS_DRAWN_VALUES = 24, GOPS_DRAWN_NAME_BYTES = 16, GOPS_DRAWN_TEXT_BYTES = 4096 };

typedef struct gops_drawn_value {
    char name[GOPS_DRAWN_NAME_BYTES];
    int64_t channels, height, width;
} gops_drawn_value;

/* A graph, and what can be read in it: its input and what its nodes made. */
typedef struct gops_drawn_network {
    gops_ort_graph_builder graph;
    int64_t batch;
    int opset;
    gops_drawn_value values[GOPS_DRAWN_VALUES];
    int count, names;
    char text[GOPS_DRAWN_TEXT_BYTES]; /* the nodes, to be read */
    size_t length;
} gops_drawn_network;

/* A number from low to high; true in so many cases of a hundred. */
int64_t gops_drawn_number(gops_drawn_network *n, int64_t low, int64_t high);
bool gops_drawn_chance(gops_drawn_network *n, int percent);
/* One of the values, the last ones most often. */
gops_drawn_value gops_drawn_any(gops_drawn_network *n);

/* A name that no value and no constant has; constants and attributes by name. */
void gops_drawn_name(gops_drawn_network *n, char *name);
void gops_drawn_constant(gops_drawn_network *n, char *name, int rank, const int64_t *dims,
                         double low, double high);
void gops_drawn_integers(gops_drawn_network *n, char *name, int64_t count, const int64_t *values);
void gops_drawn_int(gops_drawn_network *n, const char *name, int64_t number);

/* Adds to the text that says what the graph is; a part of it where there is no room. */
void gops_drawn_tell(gops_drawn_network *n, const char *format, const char *word);

/* A node; *to gets a new name, and keeps its size. Its old name may be among the inputs. */
void gops_drawn_node(gops_drawn_network *n, const char *type, gops_drawn_value *to,
                     const char *const *from);
gops_drawn_value gops_drawn_unary(gops_drawn_network *n, const char *type,
                                  const gops_drawn_value *from);
gops_drawn_value gops_drawn_binary(gops_drawn_network *n, const char *type,
                                   const gops_drawn_value *first, const char *second);

/* An axis of a window: its output has at least one element. */
typedef struct gops_drawn_window {
    int64_t kernel, stride, dilation, begin, end;
} gops_drawn_window;

gops_drawn_window gops_drawn_axis(gops_drawn_network *n, int64_t size, int64_t kernel,
                                  bool dilates);
int64_t gops_drawn_outputs(const gops_drawn_window *w, int64_t size);
void gops_drawn_windows(gops_drawn_network *n, const gops_drawn_window *y,
                        const gops_drawn_window *x);

/* A Conv; if it is not strided its output has the size of its input, and the kernel is odd. */
gops_drawn_value gops_drawn_conv(gops_drawn_network *n, const gops_drawn_value *from,
                                 int64_t groups, int64_t channels, int64_t kernel, bool strided);

#endif
