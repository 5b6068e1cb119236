/* ort_graph.h: the runtime's graph as the provider walks it: nodes, and who reads which value. */
#ifndef GROUPOPS_ENGINES_ORT_GRAPH_H
#define GROUPOPS_ENGINES_ORT_GRAPH_H

#include "ort_runtime.h"

/* Strings and value infos are the runtime's and live as long as its graph. */
typedef struct gops_ort_node {
    const ort_node *handle;
    const char *name;
    const char *type; /* "" for an operator of another domain than ONNX's own */
    int version;
    size_t input_count;
    size_t output_count;
    const ort_value_info **inputs; /* NULL where an optional one is left out */
    const ort_value_info **outputs;
    const char **input_names; /* "" where one is left out */
    const char **output_names;
    bool claimed;
} gops_ort_node;

typedef struct gops_ort_use {
    const char *value;
    const gops_ort_node *reader; /* NULL: an output of the graph */
} gops_ort_use;

typedef struct gops_ort_graph {
    gops_ort_node *nodes; /* each before those that read its outputs */
    size_t node_count;
    const gops_ort_use *uses; /* sorted by value */
    size_t use_count;
    bool nested; /* nodes contain graphs that read values of this one, which `uses` lacks */
    void *memory;
} gops_ort_graph;

/* The names of values; "" where the info is NULL. */
ort_status *gops_ort_value_names(const gops_ort_runtime *runtime,
                                 const ort_value_info *const *infos, size_t count,
                                 const char **names);

ort_status *gops_ort_graph_read(const gops_ort_runtime *runtime, const ort_graph *from,
                                gops_ort_graph *graph);
void gops_ort_graph_free(gops_ort_graph *graph);

/* The first use of the value; *count is how many there are. */
const gops_ort_use *gops_ort_uses(const gops_ort_graph *graph, const char *value, size_t *count);

#endif
