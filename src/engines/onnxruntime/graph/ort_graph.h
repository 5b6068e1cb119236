/* ort_graph.h: the runtime's graph as the provider walks it: nodes, who writes which value, and who
 * reads it. */
#ifndef GROUPOPS_ENGINES_ORT_GRAPH_H
#define GROUPOPS_ENGINES_ORT_GRAPH_H

#include "engines/onnxruntime/runtime/ort_runtime.h"

/* Strings and value infos are the runtime's and live as long as its graph. */
typedef struct gops_ort_node {
    const ort_node *handle;
    const char *name;
    /* "" for an operator of another domain than ONNX's own, except those of integers that regions have. */
    const char *type;
    int version;
    size_t input_count;
    size_t output_count;
    /* NULL where an optional one is left out. Those that graphs within the node read come last. */
    const ort_value_info **inputs;
    const ort_value_info **outputs;
    const char **input_names; /* "" where one is left out */
    const char **output_names;
    bool claimed;
} gops_ort_node;

typedef struct gops_ort_use {
    const char *value;
    gops_ort_node *reader; /* NULL: an output of the graph */
} gops_ort_use;

typedef struct gops_ort_output {
    const char *value;
    gops_ort_node *writer;
} gops_ort_output;

typedef struct gops_ort_graph {
    const gops_ort_runtime *runtime;
    gops_ort_node *nodes; /* each before those that read its outputs */
    size_t node_count;
    gops_ort_use *uses; /* sorted by value */
    size_t use_count;
    gops_ort_output *outputs; /* sorted by value */
    size_t output_count;
    /* The batch of the first convolution or normalization, else of the first MaxPool: the name that the model gives it,
     * or how many images it has. */
    const char *batch; /* NULL: none */
    int64_t images;    /* of a batch without a name; 0: open */
    /* The runtime may infer other shapes than its kernels make, so that none is to be relied on: there are no regions. */
    bool misjudged;
} gops_ort_graph;

/* The names of values; "" where the info is NULL. */
ort_status *gops_ort_value_names(const gops_ort_runtime *runtime,
                                 const ort_value_info *const *infos, size_t count,
                                 const char **names);

ort_status *gops_ort_graph_read(const gops_ort_runtime *runtime, const ort_graph *from,
                                gops_ort_graph *graph);
void gops_ort_graph_free(gops_ort_graph *graph);

/* ort_batch.c: sets graph->batch or graph->images. */
ort_status *gops_ort_find_batch(gops_ort_graph *graph);

/* ort_misjudged.c: what graph->misjudged is. */
ort_status *gops_ort_misjudges(const gops_ort_graph *graph, const ort_graph *from, bool *does);

/* The first use of the value; *count is how many there are. */
const gops_ort_use *gops_ort_uses(const gops_ort_graph *graph, const char *value, size_t *count);

/* The node that reads the value, if it is the only reader and is not claimed; else NULL. */
gops_ort_node *gops_ort_only_reader(const gops_ort_graph *graph, const char *value);

/* The node that writes the value; NULL if none does. */
gops_ort_node *gops_ort_writer(const gops_ort_graph *graph, const char *value);

/* The node of that type that writes the value, if `reader` is the only one to read it and the node
 * is not claimed; else NULL. */
gops_ort_node *gops_ort_only_writer(const gops_ort_graph *graph, const char *value,
                                    const char *type, const gops_ort_node *reader);

/* Whether a node, which may be NULL, is a QuantizeLinear or a DequantizeLinear. Those of com.microsoft are, which
 * no claim takes. */
bool gops_ort_quantizes(const gops_ort_node *node);

/* Whether it is a Relu or Clip, which the runtime leaves out before a QuantizeLinear that does as much. */
bool gops_ort_bounds(const gops_ort_node *node);
bool gops_ort_dequantizes(const gops_ort_node *node);

/* Whether a node, which may be NULL, is a Reshape to a constant shape: a region has no shapes among its inputs. */
ort_status *gops_ort_is_reshape(const gops_ort_runtime *runtime, const gops_ort_node *node,
                                bool *is);

#endif
