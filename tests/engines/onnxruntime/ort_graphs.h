/* ort_graphs.h: small graphs for tests, written node by node, and run with the provider and without. */
#ifndef GROUPOPS_TESTS_ORT_GRAPHS_H
#define GROUPOPS_TESTS_ORT_GRAPHS_H

#include "ort_host.h"
#include "random_numbers.h"

enum { GOPS_ORT_MAX_OUTPUTS = 4 };

/* Values are named by the test; input "x", made by gops_ort_graph_start, is data. */
typedef struct gops_ort_graph_builder {
    gops_onnx_builder builder;
    gops_test_random random;
    int64_t x[5]; /* the input's shape; as many as `rank` */
    int rank;
    bool is_open; /* the model leaves the batch open */
    const char *outputs[GOPS_ORT_MAX_OUTPUTS];
    int output_count;
    int constants;
} gops_ort_graph_builder;

/* Whether graphs that are started from now on leave the batch open; at first they do not. */
void gops_ort_graph_leave_open(bool leaves);
void gops_ort_graph_start(gops_ort_graph_builder *graph, uint64_t stream, int opset,
                          const int64_t *dims, int rank);
/* Loads the runtime and starts a graph of images. */
void gops_ort_graph_images(gops_ort_graph_builder *graph, uint64_t stream, int opset, int64_t batch,
                           int64_t channels, int64_t height, int64_t width);

/* The batch as the shape of a Reshape has it: 0, that of the data, where it is open. */
int64_t gops_ort_graph_batch(const gops_ort_graph_builder *graph);

/* The names of a node's inputs. */
#define GOPS_ORT_FROM(...)                                                                         \
    (const char *[])                                                                               \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

/* A node of up to six inputs, ended by NULL. */
void gops_ort_graph_node(gops_ort_graph_builder *graph, const char *type, const char *to,
                         const char *const *from);
void gops_ort_graph_ints(gops_ort_graph_builder *graph, const char *name, int count, int64_t first,
                         int64_t second, int64_t third, int64_t fourth);

/* A constant of numbers from low to high. */
void gops_ort_graph_constant(gops_ort_graph_builder *graph, const char *name, int rank,
                             const int64_t *dims, double low, double high);

/* A Conv with bias, `kernel` taps an axis, padded by half of them. */
void gops_ort_graph_conv(gops_ort_graph_builder *graph, const char *to, const char *from,
                         int64_t channels_in, int64_t channels_out, int64_t kernel, int64_t stride);
void gops_ort_graph_batch_norm(gops_ort_graph_builder *graph, const char *to, const char *from,
                               int64_t channels);

/* A value whose shape the model leaves open; outputs are compared. */
void gops_ort_graph_output(gops_ort_graph_builder *graph, const char *name);

/* Ends the graph. It is run at all levels of optimization, with one thread and two, with the provider
 * and, at level 0, without: outputs must not differ by more than rounding, where the batch is open for several.
 * `claimed`, unless it is
 * negative, is how many nodes the provider takes at level 0, and `parts` in how many parts. Returns whether all
 * of it held. */
bool gops_ort_graph_check(gops_ort_graph_builder *graph, const char *what, int claimed, int parts);

/* The same with this data, and with what the only output, of the data's shape, must be: where the runtime
 * alone has something else, or none. The batch is not open. */
bool gops_ort_graph_check_values(gops_ort_graph_builder *graph, const char *what, float *data,
                                 float *expected, int claimed, int parts);

#endif
